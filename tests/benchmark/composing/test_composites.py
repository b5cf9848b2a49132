"""Composites in the application: drawn, reviewed, played, stale, released and imported again."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from annotator.core.composites.messages import COMPLETED, write_call_message, write_content
from annotator.core.schema import canonical, content_hash
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import CompositeMember, Dialogue, Event, Finding, Job, Project
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.drafts import edit_draft
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.jobs import jobs
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.composing.drawing import Kind
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.scoring import scoring_run
from benchmark.models import ImportBatch, LeftOutDialogue, Run
from benchmark.services import plays
from benchmark.services.composing import Request, preview, read_composites, read_coverage, start_composing
from benchmark.services.releases.requests import archive_path
from benchmark.services.runs import rescoring, uploads
from reviews.services.gold.creation import PUBLIC_IN
from reviews.services.protocols.versions import adopt_preset
from tests.api_client import ApiClient, refusal
from tests.benchmark.conftest import as_lines, begin_import, fresh, run_release
from tests.benchmark.releases.test_single_tasks import claimed, record, run_jobs
from tests.factories import Team, claim_and_submit, make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database, pytest.mark.usefixtures("shared_sandbox")]


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="async", without_rounds=True)
    return team


def single(name: str, category: str, *books: str) -> dict[str, Any]:
    return record(
        id=name,
        category=category,
        question=f"Unlock the shelf of {name} and take {books[0]}.",
        initial_config={"books": list(books)},
        ground_truth=["unlock()", f"take({books[0]!r})"],
    )


SINGLES = [
    single("lib_1", "library", "Emma"),
    single("lib_2", "library", "Ulysses"),
    single("shop_1", "shop", "Dracula"),
    single("shop_2", "shop", "Persuasion"),
]
CROSS = Request(Kind.CROSS, 2, 2, 7)


def with_singles(team: Team) -> dict[str, Dialogue]:
    """Import the single tasks, and verify them."""
    begin_import(team, as_lines(SINGLES), native_format="async")
    run_jobs()
    for dialogue in Dialogue.objects.filter(project=team.project, kind="single_task").order_by("pk"):
        if dialogue.status != DialogueStatus.VERIFIED:
            one_round(team, dialogue)
    return {one.external_id: one for one in Dialogue.objects.filter(project=team.project)}


def one_round(team: Team, dialogue: Dialogue) -> None:
    """Approve a dialogue until it is verified."""
    for person in team.annotators:
        dialogue.refresh_from_db()
        if dialogue.status == DialogueStatus.VERIFIED:
            return
        claim_and_submit(person, dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == DialogueStatus.VERIFIED


def drawn(team: Team, request: Request = CROSS) -> list[Dialogue]:
    batch, _ = start_composing(actor=team.administrator, project=team.project, request=request, wake_worker=False)
    run_jobs()
    assert fresh(batch).job.state == "done"
    return list(Dialogue.objects.filter(project=team.project, kind="composite", batch=batch.job).order_by("pk"))


def checks_of(dialogue: Dialogue) -> list[str]:
    return sorted(Finding.objects.filter(dialogue=dialogue).values_list("check_id", flat=True))


def test_a_draw_becomes_dialogues_that_refer_to_revisions(team: Team) -> None:
    singles = with_singles(team)
    first, second = drawn(team)
    assert [first.external_id, second.external_id] == ["cross2_7_000", "cross2_7_001"]
    assert (first.kind, first.task_count, first.call_count, first.status) == ("composite", 2, 4, "in_review")
    document = first.head.document()
    assert document["max_rounds"] == 10 + 4 * 4
    for task in document["tasks"]:
        head = singles[task["single"]].head
        assert (task["sha256"], task["toolset_sha256"]) == (head.content_hash, head.toolset_revision.content_hash)
    assert {task["category"] for task in document["tasks"]} == {"library", "shop"}
    assert checks_of(first) == []
    assert set(first.composite_members.values_list("single", flat=True)) == {t["single"] for t in document["tasks"]}
    # Every task is used once before any is used twice.
    _, used = read_coverage(team.project)
    assert used.singles == dict.fromkeys(("lib_1", "lib_2", "shop_1", "shop_2"), 1)
    event = Event.objects.get(kind="composites.drawn")
    assert (event.after["composites"], event.after["seed"]) == (2, 7)
    # The same seed again makes other combinations, with other ids.
    third, fourth = drawn(team)
    assert [third.external_id, fourth.external_id] == ["cross2_7_002", "cross2_7_003"]
    assert len({frozenset(one) for one in read_composites(team.project)}) == 4
    with pytest.raises(Invalid, match="nothing left"):
        drawn(team)


def test_only_verified_tasks_without_gold_answers_are_drawn(team: Team) -> None:
    singles = with_singles(team)
    Dialogue.objects.filter(pk=singles["lib_1"].pk).update(gold_role="answer")
    Dialogue.objects.filter(pk=singles["shop_1"].pk).update(status="in_review")
    draw = preview(actor=team.administrator, project=team.project, request=CROSS)
    assert [set(one.tasks) for one in draw.composites] == [{"lib_2", "shop_2"}]
    assert [one.short for one in draw.strata] == [1]
    assert not Dialogue.objects.filter(kind="composite").exists()
    with pytest.raises(Denied):
        preview(actor=team.annotator, project=team.project, request=CROSS)


def test_a_task_of_a_composite_cannot_become_a_gold_answer(team: Team) -> None:
    singles = with_singles(team)
    (ask,) = [ask for ask in PUBLIC_IN if ask.__name__ == "where_composed"]
    assert ask(singles["lib_1"]) == ""
    drawn(team)
    assert ask(singles["lib_1"]) == "Composites refer to lib_1, so their reviewers know the answer."


def test_one_draw_at_a_time(team: Team) -> None:
    with_singles(team)
    start_composing(actor=team.administrator, project=team.project, request=CROSS, wake_worker=False)
    with pytest.raises(Conflict, match="Another draw"):
        start_composing(actor=team.administrator, project=team.project, request=CROSS, wake_worker=False)


def test_a_composite_is_outdated_when_a_task_changes(team: Team) -> None:
    singles = with_singles(team)
    first, _ = drawn(team)
    name = first.head.document()["tasks"][0]["single"]
    changed = singles[name]
    document = changed.head.document()
    document["tasks"][0]["user_message"] += " Please."
    lock_dialogue(changed.pk)
    revise(actor=team.annotator, dialogue=changed, seen=changed.head, document=document, message="Politer")
    assert Job.objects.filter(kind="composites", state="queued").count() == 1
    run_jobs()
    first.refresh_from_db()
    assert (checks_of(first), first.error_count) == (["composite.outdated"], 1)
    # The reviewer takes the current revision with one click, and the error is gone.
    bench = claimed(team, first)
    assert [one.check for one in bench.view.errors] == ["composite.outdated"]
    task = bench.document["tasks"][0]
    client = Client()
    client.force_login(team.annotator)
    url = reverse("workspace", args=[bench.work.slot.public_id])
    assert "Use its current revision" in one_line(client.get(f"{url}?at=/tasks/{task['id']}"))
    posted = {"op": "replace_task", "anchor": f"/tasks/{task['id']}", "single": name, "seen": "0"}
    assert client.post(reverse("workspace-edit", args=[bench.work.slot.public_id]), posted).status_code == 302
    bench = claimed_again(team, bench)
    assert bench.view.errors == []
    assert bench.document["tasks"][0]["sha256"] == changed.head.content_hash
    assert bench.document["tasks"][0]["user_message"].endswith("Please.")


def claimed_again(team: Team, bench: Any) -> Any:
    from reviews.services.submission.workbench import open_workbench

    return open_workbench(actor=team.annotator, slot_id=bench.work.slot.public_id)


def test_a_task_is_replaced_with_a_reason_by_a_verified_one(team: Team) -> None:
    singles = with_singles(team)
    first, _ = drawn(team)
    bench = claimed(team, first)
    held = [task["single"] for task in bench.document["tasks"]]
    here = next(task for task in bench.document["tasks"] if task["category"] == "library")
    other = next(name for name in ("lib_1", "lib_2") if name not in held)

    def replace(seen: int = 0, **fields: Any) -> Any:
        operation = {"op": "replace_task", "anchor": f"/tasks/{here['id']}", **fields}
        return edit_draft(actor=team.annotator, draft=bench.draft, operation=operation, seen=seen)

    for fields, sentence in (
        ({"single": other}, "Say why"),
        ({"single": "lib_9", "reason": "x"}, "There is no single task “lib_9”"),
        ({"single": next(name for name in held if name != here["single"]), "reason": "x"}, "is in this composite"),
        ({"single": other, "reason": "x", "member": {"single": "forged"}}, None),
    ):
        if sentence is None:
            assert replace(**fields).draft.document()["tasks"]
            continue
        with pytest.raises(Invalid, match=sentence):
            replace(**fields)
    document = claimed_again(team, bench).document
    new = next(task for task in document["tasks"] if task["category"] == "library")
    # What the request says about the revision does not count.
    assert (new["single"], new["sha256"]) == (other, singles[other].head.content_hash)
    assert (new["replaced"]["single"], new["replaced"]["reason"]) == (here["single"], "x")
    Dialogue.objects.filter(pk=singles[here["single"]].pk).update(status="in_review")
    with pytest.raises(Invalid, match="is not verified"):
        edit_draft(
            actor=team.annotator,
            draft=bench.draft,
            operation={"op": "replace_task", "anchor": f"/tasks/{new['id']}", "single": here["single"], "reason": "y"},
            seen=1,
        )


def test_what_a_composite_repeats_of_its_tasks_must_be_right(team: Team) -> None:
    with_singles(team)
    first, _ = drawn(team)
    document = first.head.document()
    document["tasks"][0]["user_message"] = "Something else."
    with pytest.raises(Invalid, match="The question, category or calls are not those of"):
        claim_and_submit(team.annotator, first, "fix", document=document)


def test_the_reference_is_played_under_each_delay_without_running_anything(team: Team) -> None:
    with_singles(team)
    first, _ = drawn(team)
    client = Client()
    client.force_login(team.annotator)
    url = reverse("dialogue-play", args=[team.project.slug, first.public_id])
    jobs = Job.objects.count()
    for delay in ("0", "1", "2", "0-1", "1-2"):
        page = one_line(client.get(f"{url}?delay={delay}&seed=3"))
        assert "All tasks solved" in page
        assert "<svg" in page
    assert "<option selected>7</option>" in one_line(client.get(f"{url}?delay=7"))
    waiting = one_line(client.get(f"{url}?delay=2"))
    assert "The current function is being executed." in waiting
    assert "Answer with exactly one JSON object in each round" in waiting
    for task in first.head.document()["tasks"]:
        assert escape(task["user_message"]) in waiting
        assert f"<summary>State of {task['id']} before its first call</summary>" in waiting
        assert f"<summary>State of {task['id']} after this call</summary>" in waiting
    assert "Still waiting for:" in waiting
    assert Job.objects.count() == jobs
    for query in ("delay=9999", "delay=x", "seed=-1", "seed=9999999999", "delay=2-1"):
        assert client.get(f"{url}?{query}").status_code == 200
    assert "is no delay" in one_line(client.get(f"{url}?delay=x"))
    bench = claimed(team, first)
    page = one_line(client.get(reverse("workspace-play", args=[bench.work.slot.public_id])))
    assert "All tasks solved" in page


def test_a_models_messages_are_run_and_each_error_is_explained(team: Team) -> None:
    with_singles(team)
    first, _ = drawn(team)
    one = next(task["id"] for task in first.head.document()["tasks"])
    client = Client()
    client.force_login(team.annotator)
    url = reverse("dialogue-play", args=[team.project.slug, first.public_id])
    messages = [
        json.dumps({"id": one, "func_name": "look", "params": {}}),
        "I will call take now.",
        json.dumps({"id": "other", "func_name": "look", "params": {}}),
        json.dumps({"id": one, "func_name": "take", "params": {"title": "Moby"}}),
        json.dumps({"content": "ALL COMPLETED"}),
    ]
    answer = client.post(url, {"delay": "0", "seed": "0", "messages": "\n".join(messages)})
    assert answer.status_code == 302
    assert "Queued" in one_line(client.get(answer.url))
    run_jobs()
    page = one_line(client.get(answer.url))
    for sentence in (
        "The pasted dialogue, delay 0",
        "Not all tasks solved",
        "The message is not one JSON object of the agreed form",
        "The message names a task that the dialogue does not have.",
        "The function is right, but an argument is wrong.",
        "No call was made for this task.",
        "The final state differs from that of the gold calls.",
    ):
        assert sentence in page, sentence
    # Nobody else sees it.
    other = Client()
    other.force_login(team.annotators[1])
    assert other.get(answer.url).status_code in (200, 404)
    assert "Moby" not in one_line(other.get(answer.url))
    for bad, sentence in (("{" * 200_001, "The limit is"), ("[1]", "has no text under"), ("\n" * 3, "")):
        refused = client.post(url, {"delay": "0", "seed": "0", "messages": bad})
        assert refused.status_code == (422 if sentence else 302)
        assert sentence in one_line(refused)


def test_a_program_plays_a_composite_as_the_page_does(team: Team) -> None:
    singles = with_singles(team)
    first, _ = drawn(team)
    program = ApiClient(team.annotator)
    base = f"/api/projects/{team.project.slug}/"
    url = f"{base}dialogues/{first.public_id}/plays/"
    answer = program.send(url, {"delay": "0-1", "seed": 3})
    assert answer.status_code == 202
    begun = answer.json()
    assert (begun["job"]["state"], begun["play"]) == ("queued", None)
    assert refusal(program.send(url)) == (409, "conflict")
    run_jobs()
    played = program.get(f"{url}{begun['public_id']}/").json()
    assert played["job"]["state"] == "done"
    assert played["play"]["tasks"] == [task["id"] for task in first.head.document()["tasks"]]
    page = Client()
    page.force_login(team.annotator)
    shown = reverse("dialogue-play", args=[team.project.slug, first.public_id])
    assert "All tasks solved" in one_line(page.get(f"{shown}?delay=0-1&seed=3&job={begun['public_id']}"))
    assert refusal(ApiClient(team.annotators[1]).get(f"{url}{begun['public_id']}/"))[0] == 404
    for wrong, status in (({"delay": "x"}, 422), ({"seed": -1}, 400), ({"messages": "[1]"}, 422), ({"text": ""}, 400)):
        assert refusal(program.send(url, wrong))[0] == status, wrong
    said = {"messages": json.dumps({"content": "ALL COMPLETED"})}
    assert program.send(url, said).json()["job"]["state"] == "queued"
    assert refusal(program.send(f"{base}dialogues/{singles['lib_1'].public_id}/plays/"))[0] == 404


def test_a_program_reads_how_often_composites_use_each_task(team: Team) -> None:
    with_singles(team)
    drawn(team)
    url = f"/api/projects/{team.project.slug}/composites/"
    found = ApiClient(team.administrator).get(url).json()
    singles, used = read_coverage(team.project)
    assert (found["composites"], found["uses"], found["categories"]) == (2, used.singles, used.categories)
    assert set(found["uses"]) == {single.id for single in singles}
    assert {tuple(one["categories"]): one["uses"] for one in found["pairs"]} == used.pairs
    assert refusal(ApiClient(team.seniors[0]).get(url))[0] == 403


def test_only_composites_are_played(team: Team) -> None:
    singles = with_singles(team)
    client = Client()
    client.force_login(team.annotator)
    url = reverse("dialogue-play", args=[team.project.slug, singles["lib_1"].public_id])
    assert client.get(url).status_code == 404
    with pytest.raises(Hidden):
        plays.require_composite(singles["lib_1"].head.document())


def test_a_release_has_composites_with_their_tasks_and_is_imported_again(team: Team) -> None:
    with_singles(team)
    for composite in drawn(team):
        one_round(team, composite)
    release = run_release(team)
    assert release.item_count == 6
    path = archive_path(release)
    report = verify_archive(path)
    assert report.problems == []
    other = Project.objects.create(slug="other", name="Other")
    batch = begin_import(team, path.read_bytes(), "release.zip", project=other, actor=None)
    run_jobs()
    assert fresh(batch).created == 6
    again = {one.external_id: one for one in Dialogue.objects.filter(project=other)}
    for one in Dialogue.objects.filter(project=team.project):
        assert again[one.external_id].content_hash == one.content_hash
    assert [checks_of(one) for one in again.values() if one.kind == "composite"] == [[], []]
    assert CompositeMember.objects.filter(composite__project=other).count() == 4


def test_a_composite_whose_task_does_not_enter_is_left_out(team: Team) -> None:
    singles = with_singles(team)
    first, second = drawn(team)
    for composite in (first, second):
        one_round(team, composite)
    gone = first.head.document()["tasks"][0]["single"]
    Dialogue.objects.filter(pk=singles[gone].pk).update(status="in_review")
    release = run_release(team)
    left_out = dict(LeftOutDialogue.objects.filter(release=release).values_list("dialogue__external_id", "reason"))
    assert set(left_out) == {gone, first.external_id}
    assert f"{gone} is not verified" in left_out[first.external_id]


def test_composites_of_asynctool_are_imported_and_come_out_as_they_were(shared_data: Path) -> None:
    form, count = FORMATS["async"], 0
    for line in (shared_data / "async/composites.jsonl").read_text().splitlines():
        [dialogue] = form.read(json.loads(line))
        assert form.write([dialogue]) == json.loads(line)
        count += 1
    assert count == 175


def test_a_composite_is_released_in_the_format_of_single_tasks(team: Team) -> None:
    with_singles(team)
    first, _ = drawn(team)
    one_round(team, first)
    release = run_release(team, native_format="async")
    assert release.item_count == 5
    assert verify_archive(archive_path(release)).problems == []
    [read] = FORMATS["async"].read(FORMATS["async"].write([_as_read(first)]))
    assert content_hash(canonical(read.document)) == first.content_hash


def test_thoughts_are_left_out_when_a_run_is_scored_again(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with_singles(team)
    composite, _ = drawn(team)
    one_round(team, composite)
    release = run_release(team, native_format="async")
    books = {record["id"]: record["initial_config"]["books"][0] for record in SINGLES}
    calls = [
        write_call_message(task["single"], name, arguments)
        for task in composite.head.document()["tasks"]
        for name, arguments in (("unlock", {}), ("take", {"title": books[task["single"]]}))
    ]
    turns = [
        {"assistant": f"<think>{write_content('What next?')}</think>{said}"}
        for said in (*calls, write_content(COMPLETED))
    ]
    line = {"id": "1", "composite": composite.external_id, "model": "m", "delay": "0", "seed": 0, "turns": turns}
    file = uploads.start_scoring(
        actor=team.administrator, release=release, upload=io.BytesIO(as_lines([line])), filename="m.jsonl",
        family="async", strip_thinking=True, wake_worker=False,
    )  # fmt: skip
    jobs.run(file.job_id)
    run = Run.objects.get()
    first = run.score_sets.get()
    assert (first.entries, first.right) == (1, 1), first.scores.get().detail
    monkeypatch.setattr(scoring_run, "VERSION", 2)
    jobs.run(rescoring.start_rescoring(actor=team.administrator, run=run, wake_worker=False).pk)
    again = run.score_sets.get(version=2)
    assert (again.entries, again.right) == (1, 1)
    before, after = ({**one.scores.get().detail, "id": "", "run": ""} for one in (first, again))
    assert after == before


def _as_read(dialogue: Dialogue) -> ReadDialogue:
    return ReadDialogue(dialogue.external_id, dialogue.language, "", dialogue.head.document(), [], [])


def test_bad_composites_are_refused_with_the_place(team: Team) -> None:
    def composite(**changes: Any) -> dict[str, Any]:
        tasks = [{"id": name, "user_message": "x", "single": name, "calls": 2} for name in ("a", "b")]
        document = {"kind": "composite", "composition": "cross", "tasks": tasks, "max_rounds": 20, **changes}
        return {"id": "c", "document": document}

    same = [{"id": name, "user_message": "x", "single": "a"} for name in ("a", "b")]
    step = {"id": "s1", "type": "call", "name": "f", "arguments": {}}
    for changes, pointer in (
        ({"tasks": same}, "/document/tasks/1/single"),
        ({"tasks": [{"id": "a", "user_message": "x", "single": "a"}]}, "/document/tasks"),
        ({"tasks": [{**same[0], "steps": [step]}, {**same[1], "single": "b"}]}, "/document/tasks/0/steps"),
        ({"tasks": [{**same[0], "sha256": "0" * 64}, {**same[1], "single": "b"}]}, "/document/tasks/0/sha256"),
        ({"max_rounds": 0}, "/document/max_rounds"),
        ({"composition": "mixed"}, "/document/composition"),
    ):
        batch = begin_import(team, as_lines([composite(**changes)]))
        run_jobs()
        assert fresh(batch).rejected == 1, changes
        assert [note.pointer for note in batch.notes.all()] == [pointer]
    begin_import(team, as_lines([composite()]))
    run_jobs()
    (dialogue,) = Dialogue.objects.filter(project=team.project)
    assert checks_of(dialogue) == [
        "composite.categories", "composite.missing_task", "composite.missing_task", "composite.no_revision",
        "composite.no_revision",
    ]  # fmt: skip
    # The tasks come later: the composite is checked again.
    begin_import(team, as_lines([{**SINGLES[0], "id": "a"}, {**SINGLES[1], "id": "b"}]), native_format="async")
    run_jobs()
    assert "composite.missing_task" not in checks_of(dialogue)


def test_the_page_shows_coverage_draws_and_says_what_is_wrong(team: Team) -> None:
    client = Client()
    client.force_login(team.administrator)
    url = reverse("composite-list", args=[team.project.slug])
    assert "No verified single tasks yet" in one_line(client.get(url))
    asked = {"kind": "cross", "size": "2", "per_stratum": "3", "seed": "5"}
    empty = client.post(url, asked | {"preview": ""})
    assert empty.status_code == 422
    assert "fewer than 2 categories" in one_line(empty)
    with_singles(team)
    page = one_line(client.post(url, asked | {"preview": ""}))
    assert "library × shop" in page
    assert "3 composites." in page
    assert not Dialogue.objects.filter(kind="composite").exists()
    answer = client.post(url, asked | {"draw": ""})
    assert answer.status_code == 302
    run_jobs()
    assert Dialogue.objects.filter(kind="composite").count() == 3
    assert "heat-5" in one_line(client.get(url))
    assert client.post(url, asked | {"size": "9"}).status_code == 422
    client.force_login(team.annotator)
    assert client.get(url).status_code == 403


def test_composites_are_drawn_over_the_api(team: Team) -> None:
    with_singles(team)
    client = ApiClient(team.administrator)
    url = reverse("api-compose", args=[team.project.slug])
    asked = {"kind": "cross", "size": 2, "per_stratum": 1, "seed": 4, "dry_run": True}
    answer = client.send(url, asked)
    assert (answer.status_code, answer.json()["composites"], answer.json()["import_id"]) == (200, 1, None)
    assert answer.json()["strata"] == [{"categories": ["library", "shop"], "combinations": 4, "missing": 0}]
    answer = client.send(url, asked | {"dry_run": False})
    assert answer.status_code == 202
    run_jobs()
    (composite,) = Dialogue.objects.filter(kind="composite")
    assert ImportBatch.objects.get(job=composite.batch).public_id == answer.json()["import_id"]
    assert client.send(url, asked | {"size": 5}).status_code == 400
    assert client.send(url, {}).status_code == 400
    assert ApiClient(team.annotator).send(url, asked).status_code == 403


def test_play_reads_dialogues_as_the_command_writes_them() -> None:
    from benchmark.core.composing.plays import UnreadableMessages, read_messages

    turns = {"turns": [{"assistant": "a", "environment": []}, {"assistant": "b"}]}
    assert read_messages(json.dumps(turns)) == read_messages('["a", "b"]') == read_messages("a\n\nb\n") == ["a", "b"]
    assert read_messages('{"content": "x"}') == ['{"content": "x"}']
    with pytest.raises(UnreadableMessages, match="500"):
        read_messages("a\n" * 501)
