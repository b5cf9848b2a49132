"""Results for the records of a file: created, unchanged, revised, rejected, and their lines in the report."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from annotator.models import Dialogue, Draft, Event, Finding, Revision, ToolsetRevision
from annotator.services.dialogues.drafts import open_draft
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.dialogues.variants import variants_of
from annotator.services.history.events import broken_links
from annotator.services.jobs import jobs
from benchmark.models import ImportBatch
from benchmark.services.imports import publishing, report, runner
from reviews.models import Cycle, CycleState, GoldItem, Slot, SlotState
from reviews.services.cycles.start import supersede_cycle
from reviews.services.queue.claims import claim_slot
from reviews.services.statistics.accuracy import read_accuracy
from reviews.services.statistics.all_counts import fold_all
from reviews.services.submission.submit import submit_review
from tests.benchmark.conftest import as_lines, begin_import, candidate, candidates, counters, make_verified, report_of
from tests.factories import Team, broken, changed, claim_and_submit, current, make_document, make_team, open_slot
from tests.racing import race
from tests.reviews.gold.gold_team import gold_team, make_gold, verified

RunImport = Callable[..., ImportBatch]


def test_records_become_dialogues_that_wait_for_review(team: Team, run_import: RunImport) -> None:
    batch = run_import(candidates(3))

    assert (batch.job.state, counters(batch)) == ("done", (3, 3, 0, 0, 0, 0))
    dialogue = Dialogue.objects.get(project=team.project, external_id="c00001")
    assert (dialogue.published, dialogue.status, dialogue.stage) == (True, "in_review", "self_check_single")
    assert (dialogue.title, dialogue.policies, dialogue.topologies, dialogue.information, dialogue.language) == (
        "What is the weather like in Ghent c00001?",
        ",single_tool,",
        ",single,",
        ",explicit,",
        "en",
    )
    assert (dialogue.task_count, dialogue.call_count, dialogue.switches, dialogue.native_format) == (1, 1, 0, "neutral")
    assert dialogue.head is not None
    assert (dialogue.head.number, dialogue.head.author, dialogue.head.batch_id) == (1, None, batch.job_id)
    assert dialogue.head.document() == make_document("c00001")
    assert broken_links(dialogue) == []
    assert [event.kind for event in Event.objects.filter(dialogue=dialogue).order_by("number")] == [
        "dialogue.imported",
        "cycle.begun",
    ]
    assert open_slot(dialogue).state == SlotState.OPEN
    claim_and_submit(team.annotator, dialogue)


def test_equal_toolsets_are_stored_once(team: Team, run_import: RunImport) -> None:
    other = [{"type": "function", "function": {"name": "nothing", "parameters": {"type": "object", "properties": {}}}}]
    run_import([*candidates(3), candidate("x", tools=other)])
    run_import(candidates(2, start=10))

    names = (
        ToolsetRevision.objects.filter(project=team.project).order_by("pk").values_list("toolset__name", "tool_count")
    )
    assert [(name.partition(" (")[0], count) for name, count in names] == [
        ("get_weather, find_trains", 2),
        ("nothing", 1),
    ]


def test_content_with_errors_comes_in_and_is_reported(team: Team, run_import: RunImport) -> None:
    batch = run_import([candidate("good"), candidate("bad", document=broken(make_document()))])

    assert counters(batch) == (2, 2, 0, 0, 0, 1)
    dialogue = Dialogue.objects.get(external_id="bad")
    assert dialogue.error_count == Finding.objects.filter(revision=dialogue.head, severity="error").count() > 0
    errors = [entry for entry in report_of(batch) if entry["severity"] == "error"]
    assert {(entry["id"], entry["line"]) for entry in errors} == {("bad", 2)}
    assert {"schema.missing_argument", "schema.unknown_argument"} <= {entry["check"] for entry in errors}
    assert all(entry["pointer"].startswith("/tasks/t1/steps/s0/arguments/") for entry in errors)
    assert set(errors[0]) == {"line", "id", "pointer", "check", "severity", "message"}


def test_an_unreadable_record_is_listed_and_the_others_come_in(team: Team, run_import: RunImport) -> None:
    lines = [
        candidate("a"),
        '{"id": "cut',
        {"id": "b", "document": {"kind": "multi_turn"}},
        "[1]",
        candidate("c"),
        '{"a": {"b": 1, "b": 2}}',
    ]
    batch = run_import(lines)

    assert (batch.job.state, counters(batch)) == ("done", (6, 2, 0, 0, 4, 0))
    rejected = [(entry["line"], entry["id"], entry["pointer"], entry["check"]) for entry in report_of(batch)]
    assert rejected == [
        (2, "", "", "import.line"),
        (3, "b", "/document/tasks", "import.unreadable"),
        (4, "", "", "import.line"),
        (6, "", "/a/b", "import.line"),
    ]
    assert sorted(team.project.dialogues.values_list("external_id", flat=True)) == ["a", "c"]


def test_a_record_whose_name_cannot_be_stored_is_listed_and_the_others_come_in(
    team: Team, run_import: RunImport
) -> None:
    """PostgreSQL stores no NUL: the note about it failed the whole import, and no line was named."""
    batch = run_import([candidate("a") | {"id": "a\0b"}, candidate("good"), candidate("c") | {"variant_group": "x\0y"}])
    assert (batch.job.state, counters(batch)) == ("done", (3, 1, 0, 0, 2, 0))
    rejected = batch.notes.filter(rejects=True).order_by("line")
    assert [*rejected.values_list("line", "external_id", "pointer")] == [(1, "a␀b", "/id"), (3, "c", "/variant_group")]
    assert report_of(batch)[0]["id"] == "a\0b"


def test_the_same_records_again_are_unchanged(team: Team, run_import: RunImport) -> None:
    run_import(candidates(3))
    before = Revision.objects.count(), Event.objects.filter(dialogue__isnull=False).count()
    batch = run_import(candidates(4))

    assert counters(batch) == (4, 1, 0, 3, 0, 0)
    assert (Revision.objects.count(), Event.objects.filter(dialogue__isnull=False).count()) == (
        before[0] + 1,
        before[1] + 2,
    )


def test_a_record_stays_known_after_people_have_changed_the_dialogue(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a")])
    dialogue = Dialogue.objects.get(external_id="a")
    claim_and_submit(team.annotator, dialogue, "fix", document=changed(make_document("a")))

    assert counters(run_import([candidate("a")])) == (1, 0, 0, 1, 0, 0)
    assert counters(run_import([candidate("a")], revise=True)) == (1, 0, 0, 1, 0, 0)


def test_a_known_id_with_other_content_is_rejected(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a")])
    batch = run_import([candidate("a", document=changed(make_document("a"))), candidate("b")])

    assert counters(batch) == (2, 1, 0, 0, 1, 0)
    (entry,) = report_of(batch)
    assert (entry["check"], entry["id"], entry["line"]) == ("import.conflict", "a", 1)
    assert "revise" in entry["message"]
    assert Revision.objects.filter(dialogue__external_id="a").count() == 1


def test_other_tools_are_other_content(team: Team, run_import: RunImport) -> None:
    record = candidate("a")
    run_import([record])
    assert counters(run_import([record | {"tools": record["tools"][:1]}])) == (1, 0, 0, 0, 1, 0)


def test_revising_makes_the_next_revision_and_a_new_cycle(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a")])
    batch = run_import([candidate("a", document=broken(make_document("a")))], revise=True)

    assert counters(batch) == (1, 0, 1, 0, 0, 1)
    dialogue = Dialogue.objects.get(external_id="a")
    assert dialogue.head is not None
    assert (dialogue.head.number, dialogue.head.sealed, dialogue.head.parent.number) == (2, False, 1)  # type: ignore[union-attr]
    assert dialogue.error_count == dialogue.findings.filter(severity="error").count() > 0
    assert broken_links(dialogue) == []
    cycles = list(Cycle.objects.filter(dialogue=dialogue).order_by("number").values_list("state", flat=True))
    assert cycles == [CycleState.SUPERSEDED, CycleState.ACTIVE]
    assert open_slot(dialogue).revision_id == dialogue.head_id


def test_a_verified_dialogue_is_reopened_only_when_a_dry_run_has_named_it_and_somebody_asks(
    team: Team, run_import: RunImport
) -> None:
    dialogue = make_verified(team, "v", make_document("v"))
    records = [candidate("v", document=changed(make_document("v")))]
    # Neither alone, nor both without a dry run that named it.
    for options in ({}, {"reopen": True}):
        batch = run_import(records, revise=True, **options)
        assert counters(batch) == (1, 0, 0, 0, 1, 0)
        [entry] = report_of(batch)
        assert (entry["check"], entry["id"]) == ("import.worked_on", "v")
        assert "v is verified" in entry["message"]
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"

    dry = run_import(records, revise=True, dry_run=True)
    assert [entry["check"] for entry in report_of(dry)] == ["import.worked_on"]
    assert counters(run_import(records, revise=True))[2] == 0
    batch = run_import(records, revise=True, reopen=True)
    assert counters(batch)[2] == 1
    [entry] = report_of(batch)
    assert (entry["check"], entry["id"], entry["severity"]) == ("import.reopened", "v", "warning")
    dialogue.refresh_from_db()
    assert dialogue.status == "in_review"
    assert list(Cycle.objects.filter(dialogue=dialogue).order_by("number").values_list("state", flat=True)) == [
        "verified",
        "active",
    ]


@pytest.mark.any_database
def test_a_dry_run_names_what_it_would_reopen_however_many_findings_come_first(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "ROWS", 1)
    monkeypatch.setattr(report, "LINES", 1)
    make_verified(team, "v", make_document("v"))
    records = [
        candidate("new", document=broken(make_document("new"))),
        candidate("v", document=changed(make_document("v"))),
    ]
    dry = run_import(records, revise=True, reopen=True, dry_run=True)
    assert [entry["id"] for entry in report_of(dry) if entry["check"] == "import.reopened"] == ["v"]
    assert counters(run_import(records, revise=True, reopen=True))[:3] == (2, 1, 1)


def verify(team: Team, dialogue: Dialogue, **first: Any) -> None:
    claim_and_submit(team.annotator, dialogue, **first)
    claim_and_submit(team.annotator, dialogue)
    for person in team.annotators[1:3]:
        claim_and_submit(person, dialogue, "approve")


def test_a_reopened_dialogue_is_measured_by_the_passage_of_its_new_record(team: Team, run_import: RunImport) -> None:
    def accuracy() -> dict[str, tuple[int, int]]:
        fold_all()
        return {point.key: (point.right, point.of) for point in read_accuracy(project=team.project).by_stage}

    dialogue = make_verified(team, "v", make_document("v"))
    first = accuracy()
    records = [candidate("v", document=changed(make_document("v"), "Of the new record."))]
    run_import(records, revise=True, dry_run=True)
    run_import(records, revise=True, reopen=True)
    for _ in range(2):
        verify(team, dialogue)
        assert accuracy() == first == dict.fromkeys(first, (1, 1))
        # Importing the same record again starts another cycle.
        supersede_cycle(actor=team.administrator, dialogue=dialogue, reason="An erratum.")
    verify(team, dialogue, verdict="fix", document=changed(current(dialogue), "By hand."))
    assert accuracy() == dict.fromkeys(first, (0, 1))


def test_a_label_or_draft_of_somebody_is_work_that_an_import_names(team: Team, run_import: RunImport) -> None:
    run_import(candidates(4))
    labelled, drafted, begun, _ = Dialogue.objects.order_by("pk")
    document = current(labelled)
    document["tasks"][0]["information"] = "partial_information"
    revise(actor=team.annotator, dialogue=lock_dialogue(labelled.pk), seen=labelled.head, document=document, message="")
    for dialogue, version in ((drafted, 1), (begun, 0)):
        open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")
        Draft.objects.filter(dialogue=dialogue).update(version=version)
    names = [one.external_id for one in Dialogue.objects.order_by("pk")]
    records = [candidate(name, document=changed(make_document(name), "Imported anew.")) for name in names]
    dry = run_import(records, revise=True, dry_run=True)
    # Nothing of theirs is lost, so no one has to agree.
    said = {entry["id"]: entry["message"] for entry in report_of(dry) if entry["check"] == "import.merged"}
    assert set(said) == {labelled.external_id, drafted.external_id}
    assert "was edited" in said[labelled.external_id]
    assert "is being edited" in said[drafted.external_id]
    assert dry.revised == 4


def test_what_is_changed_while_an_import_runs_stays_as_it_is(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_import([candidate("a")])
    publish = publishing.publish

    def edit_first(**options: Any) -> Any:
        dialogue = Dialogue.objects.get(external_id="a")
        edited = changed(make_document("a"), "By hand.")
        revise(actor=None, dialogue=lock_dialogue(dialogue.pk), seen=dialogue.head, document=edited, message="")
        return publish(**options)

    monkeypatch.setattr(runner, "publish", edit_first)
    batch = run_import([candidate("a", document=changed(make_document("a")))], revise=True)
    assert counters(batch) == (1, 0, 0, 0, 1, 0)
    assert "newer revision" in report_of(batch)[0]["message"]
    assert current(Dialogue.objects.get())["tasks"][0]["steps"][-1]["text"] == "By hand."


@pytest.mark.parametrize("ticked", [False, True])
def test_the_page_of_a_dry_run_names_what_it_would_reopen_and_asks(
    client: Client, team: Team, run_import: RunImport, ticked: bool
) -> None:
    make_verified(team, "v", make_document("v"))
    dry = run_import([candidate("v", document=changed(make_document("v")))], revise=True, dry_run=True)
    client.force_login(team.administrator)
    url = f"/p/{team.project.slug}/imports/{dry.public_id}/"
    page = client.get(url).content.decode()
    assert "v is verified" in page.partition('id="import-state"')[2]
    assert 'name="reopen"' in page
    client.post(url, {"reopen": "1"} if ticked else {})
    again = ImportBatch.objects.latest("pk")
    assert (again.dry_run, again.revise, again.reopen) == (False, True, ticked)


def test_what_somebody_works_on_is_not_revised(team: Team, run_import: RunImport) -> None:
    run_import([candidate("claimed"), candidate("reviewed")])
    claim_slot(actor=team.annotator, slot=open_slot(Dialogue.objects.get(external_id="claimed")))
    claim_and_submit(team.annotators[1], Dialogue.objects.get(external_id="reviewed"))
    batch = run_import(
        [candidate(name, document=changed(make_document(name))) for name in ("claimed", "reviewed")], revise=True
    )

    assert counters(batch) == (2, 0, 0, 0, 2, 0)
    said = {entry["id"]: entry["message"] for entry in report_of(batch)}
    assert "Somebody has claimed claimed" in said["claimed"]
    assert "open it to everyone on the Assignments page" in said["claimed"]
    assert "has reviews in its current cycle" in said["reviewed"]
    assert "Finish its review first" in said["reviewed"]
    assert "“reopen”" in said["reviewed"]
    assert not Revision.objects.filter(batch=batch.job).exists()


def test_a_revision_nobody_sees_before_the_end_gives_way_to_whoever_claims_meanwhile(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_import([candidate("a"), candidate("b")])
    publish = publishing.publish

    def claim_first(**options: Any) -> Any:
        dialogue = Dialogue.objects.get(external_id="a")
        held = Revision.objects.get(dialogue=dialogue, batch=options["job"])
        assert not Revision.objects.visible_to(team.administrator).filter(pk=held.pk).exists()
        claim_slot(actor=team.annotator, slot=open_slot(dialogue))
        return publish(**options)

    monkeypatch.setattr(runner, "publish", claim_first)
    batch = run_import([candidate(name, document=changed(make_document(name))) for name in "ab"], revise=True)

    assert (batch.job.state, counters(batch)) == ("done", (2, 0, 1, 0, 1, 0))
    assert [entry["id"] for entry in report_of(batch)] == ["a"]
    assert Revision.objects.filter(dialogue__external_id="a").count() == 1
    assert Dialogue.objects.get(external_id="b").head.number == 2  # type: ignore[union-attr]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_who_works_on_a_dialogue_does_not_wait_for_an_import_that_leaves_it_as_it_is(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is revised is locked until the import has published: of a large file for minutes."""
    publish, names = publishing.publish, ["claimed", "other"]
    run_import([candidate(name) for name in names])
    outcomes: list[Any] = []

    def claim() -> Any:
        return claim_slot(actor=team.annotator, slot=open_slot(Dialogue.objects.get(external_id="claimed")))

    def submit(held: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1s'")
        return submit_review(actor=team.annotator, slot=held.slot, token=held.token, verdict="approve")

    def publish_and_submit(**options: Any) -> Any:
        [held] = race(claim)
        late = publish(**options)
        outcomes.extend(race(lambda: submit(held)))
        return late

    monkeypatch.setattr(runner, "publish", publish_and_submit)
    batch = run_import([candidate(name, document=changed(make_document(name))) for name in names], revise=True)

    assert [getattr(outcome, "verdict", outcome) for outcome in outcomes] == ["approve"]
    assert counters(batch) == (2, 0, 1, 0, 1, 0)
    [entry] = report_of(batch)
    assert "Somebody has claimed claimed" in entry["message"]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("chunk", [1, 500])
def test_an_id_that_stands_twice_in_a_file(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch, chunk: int, dry_run: bool
) -> None:
    monkeypatch.setattr(runner, "CHUNK_RECORDS", chunk)
    records = [candidate("a"), candidate("a"), candidate("a", document=changed(make_document("a"))), candidate("b")]
    batch = run_import(records, dry_run=dry_run)

    assert counters(batch) == (4, 2, 0, 1, 1, 0)
    assert [(entry["line"], entry["severity"]) for entry in report_of(batch)] == [(2, "warning"), (3, "error")]
    assert all("twice" in entry["message"] for entry in report_of(batch))


def test_a_dry_run_reports_and_writes_nothing(team: Team, run_import: RunImport) -> None:
    run_import([candidate("known")])
    rows = Dialogue.objects.count(), Revision.objects.count(), ToolsetRevision.objects.count(), Slot.objects.count()
    records = [
        candidate("known"),
        candidate("new", document=broken(make_document())),
        candidate("x", tools=[]),
        "{",
        candidate("known", document=changed(make_document("known"))),
    ]
    batch = run_import(records, dry_run=True)

    assert (batch.job.state, counters(batch)) == ("done", (5, 2, 0, 1, 2, 2))
    assert rows == (
        Dialogue.objects.count(),
        Revision.objects.count(),
        ToolsetRevision.objects.count(),
        Slot.objects.count(),
    )
    assert {entry["line"] for entry in report_of(batch)} == {2, 3, 4, 5}


def test_a_project_without_a_protocol_keeps_candidates(run_import: RunImport) -> None:
    team = make_team()
    batch = run_import([candidate("a")], project=team.project, actor=team.administrator)
    dialogue = Dialogue.objects.get(project=team.project)
    assert (counters(batch)[1], dialogue.status, dialogue.published) == (1, "candidate", True)
    assert not Cycle.objects.filter(dialogue=dialogue).exists()


def bilingual() -> dict[str, Any]:
    return {
        "id": "pair",
        "english_env_info": "2025-05-02",
        "env_info": "2025-05-02",
        "english_tools": candidate("x")["tools"],
        "english_tasks": ["Good morning!"],
        "tasks": ["早上好！"],
        "english_task_types": ["Chat"],
        "task_types": ["Chat"],
        "english_turn_subtypes": [],
        "turn_subtypes": [],
    }


PAIR = [("pair", "en", "pair"), ("pair:zh", "zh", "pair")]


def groups() -> list[tuple[str, str, str]]:
    return list(Dialogue.objects.order_by("pk").values_list("external_id", "language", "variant_group"))


def test_every_member_of_a_bilingual_record_is_a_dialogue(team: Team, run_import: RunImport) -> None:
    batch = run_import([bilingual()], native_format="wild")
    assert counters(batch)[:2] == (1, 2)
    assert groups() == PAIR


@pytest.mark.any_database
def test_a_language_that_comes_later_joins_the_dialogue_that_is_there(team: Team, run_import: RunImport) -> None:
    english = {key: value for key, value in bilingual().items() if key == "id" or key.startswith("english_")}
    run_import([english], native_format="wild")
    assert groups() == [("pair", "en", "")]
    assert counters(run_import([bilingual()], native_format="wild", dry_run=True)) == (1, 1, 0, 1, 0, 0)
    assert groups() == [("pair", "en", "")]
    batch = run_import([bilingual()], native_format="wild")
    assert (counters(batch), groups()) == ((1, 1, 0, 1, 0, 0), PAIR)
    dialogue = Dialogue.objects.get(external_id="pair")
    assert [event.kind for event in dialogue.events.order_by("number")][-1] == "dialogue.joined_variants"
    assert broken_links(dialogue) == []
    assert [one.dialogue.external_id for one in variants_of(actor=team.administrator, dialogue=dialogue)] == ["pair:zh"]
    # As earlier imports left them.
    Dialogue.objects.filter(pk=dialogue.pk).update(variant_group="")
    assert (counters(run_import([bilingual()], native_format="wild")), groups()) == ((1, 0, 0, 2, 0, 0), PAIR)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_who_works_on_a_dialogue_does_not_wait_until_the_second_language_has_joined_all_others(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "JOINED_AT_ONCE", 1)
    records = [bilingual() | {"id": name} for name in ("one", "two")]
    run_import(
        [{k: v for k, v in one.items() if k == "id" or k.startswith("english_")} for one in records],
        native_format="wild",
    )
    free: list[list[str]] = []
    join = runner.join_variants

    def others_can_lock() -> list[str]:
        with transaction.atomic():
            rows = Dialogue.objects.select_for_update(skip_locked=True).filter(external_id__in=["one", "two"])
            return [dialogue.external_id for dialogue in rows]

    def joining(*given: Any) -> None:
        join(*given)
        free.extend(race(others_can_lock))

    monkeypatch.setattr(runner, "join_variants", joining)
    batch = run_import(records, native_format="wild")
    assert (batch.job.state, free) == ("done", [["two"], ["one"]])
    assert [group for name, _, group in groups()] == ["one", "two", "one", "two"]


@pytest.mark.any_database
def test_a_second_language_joins_although_the_worker_was_killed_before_it_did(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    english = {key: value for key, value in bilingual().items() if key == "id" or key.startswith("english_")}
    run_import([english], native_format="wild")

    def killed(*given: Any) -> None:
        raise jobs.Lost

    with monkeypatch.context() as patch:
        patch.setattr(runner, "join_variants", killed)
        batch = run_import([bilingual()], native_format="wild")
    assert (batch.job.state, groups()[0]) == ("running", ("pair", "en", ""))
    assert jobs.run(batch.job_id, heartbeat_timeout=timedelta(0)).state == "done"
    assert groups() == PAIR


@pytest.mark.parametrize("revising", [False, True])
def test_a_dialogue_is_replaced_by_no_other_language(team: Team, run_import: RunImport, revising: bool) -> None:
    english, chinese = ({"id": "pair"}, {"id": "pair"})
    for key, value in bilingual().items():
        if key != "id":
            (english if key.startswith("english_") else chinese)[key] = value
    run_import([english], native_format="wild")
    head = Dialogue.objects.get().head_id
    batch = run_import([chinese], native_format="wild", revise=revising)
    assert (counters(batch), groups()) == ((1, 0, 0, 0, 1, 0), [("pair", "en", "")])
    assert Dialogue.objects.get().head_id == head
    [note] = [one for one in report_of(batch) if one["check"] == "import.language"]
    assert "has “pair” in the language en, but the record has it in zh" in note["message"]
    # If the Chinese one was imported first, a record of both would import it again.
    run_import([chinese | {"id": "other"}], native_format="wild")
    batch = run_import([bilingual() | {"id": "other"}], native_format="wild", revise=revising)
    assert counters(batch) == (1, 0, 0, 0, 2, 0)
    assert groups() == [("pair", "en", ""), ("other", "zh", "")]
    # Both in one record, as the sentence says.
    assert counters(run_import([bilingual()], native_format="wild", revise=revising)) == (1, 1, 0, 1, 0, 0)


def test_a_file_is_unchanged_where_a_person_has_corrected_a_language(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a")])
    dialogue = Dialogue.objects.get()
    with transaction.atomic():
        locked = lock_dialogue(dialogue.pk)
        corrected = make_document("a") | {"language": "zh"}
        revise(actor=team.annotator, dialogue=locked, seen=locked.head, document=corrected, message="")
    assert counters(run_import([candidate("a")], revise=True)) == (1, 0, 0, 1, 0, 0)


def test_a_group_that_the_project_does_not_have_is_said_to_be_left_out(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a"), candidate("b", variant_group="b")])
    batch = run_import([candidate("a", variant_group="g"), candidate("b", variant_group="b"), candidate("c")])
    assert counters(batch) == (3, 1, 0, 2, 0, 0)
    [note] = [one for one in report_of(batch) if one["check"] == "import.variant_group"]
    assert (note["line"], note["id"], note["severity"]) == (1, "a", "warning")
    assert note["message"].startswith("The project has “a” in no variant group, but the record puts it in the variant ")


def test_a_record_of_one_language_of_a_pair_is_not_warned_of(team: Team, run_import: RunImport) -> None:
    run_import([bilingual()], native_format="wild")
    english = {key: value for key, value in bilingual().items() if key == "id" or key.startswith("english_")}
    english["english_tasks"] = ["Another one.", *english["english_tasks"][1:]]
    batch = run_import([english], native_format="wild", revise=True)
    assert (counters(batch)[2], groups()) == (1, PAIR)
    assert not [one for one in report_of(batch) if one["check"] == "import.variant_group"]


def test_the_page_keeps_the_first_rows_and_the_file_all(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "ROWS", 3)
    monkeypatch.setattr(report, "REJECTION_ROWS", 2)
    monkeypatch.setattr(runner, "CHUNK_RECORDS", 2)
    bad = broken(make_document())
    records: list[Any] = [candidate(f"w{n}", document=bad) for n in range(6)] + ["{"] * 4
    batch = run_import(records)

    entries = report_of(batch)
    assert [entry["line"] for entry in entries if entry["check"] == "import.line"] == [7, 8, 9, 10]
    assert batch.notes.count() == 5
    assert list(batch.notes.filter(rejects=True).order_by("pk").values_list("line", flat=True)) == [7, 8]
    assert batch.job.result["notes"]["lines"] == len(entries)


def test_a_long_report_drops_findings_before_reasons(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "LINES", 4)
    monkeypatch.setattr(report, "REJECTION_LINES", 6)
    bad = broken(make_document())
    batch = run_import([candidate(f"w{n}", document=bad) for n in range(3)] + ["{"] * 4)
    assert [entry["check"] for entry in report_of(batch)][4:] == ["import.line", "import.line"]
    assert batch.job.result["notes"]["dropped"] > 0


def test_a_record_of_endless_faults_is_cut_short(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmark.services.imports import outcome

    monkeypatch.setattr(outcome, "NOTES_PER_RECORD", 1)
    batch = run_import([candidate("bad", document=broken(make_document()))])
    entries = report_of(batch)
    assert [entry["check"] for entry in entries][1:] == ["import.more"]
    assert Dialogue.objects.get().findings.count() > 1


def test_another_import_s_unfinished_rows_are_not_this_one_s(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(**_: Any) -> None:
        raise jobs.Lost

    other = begin_import(team, as_lines([candidate("a"), candidate("same")]), actor=None)
    with monkeypatch.context() as patch:
        patch.setattr(runner, "publish", lost)
        jobs.run(other.job_id)
    assert Dialogue.objects.filter(published=False).count() == 2
    batch = run_import([candidate("a", city="Bruges"), candidate("same"), candidate("b")])
    jobs.cancel_job(actor=None, job=other.job)
    jobs.run(other.job_id, heartbeat_timeout=timedelta(0))
    # Rows that the other one rolled back were not counted.
    assert list(Dialogue.objects.values_list("external_id", flat=True)) == ["b"]
    assert counters(batch) == (3, 1, 0, 0, 2, 0)
    assert ["another import" in entry["message"] for entry in report_of(batch)] == [True, True]


@pytest.mark.django_db
def test_a_known_answer_whose_other_language_comes_in_is_retired_as_it_joins() -> None:
    team = gold_team()
    source = verified(team)
    make_gold(team, source)
    name = source.external_id
    batch = begin_import(team, as_lines([candidate(f"{name}:zh", city="Oslo", variant_group=name)]))
    jobs.run(batch.job_id)
    source.refresh_from_db()
    assert (source.variant_group, source.gold_role) == (name, "")
    assert not GoldItem.objects.filter(retired_at=None)
    Dialogue.objects.filter(pk=source.pk).update(variant_group="")
    source.refresh_from_db()
    make_gold(team, source)
    jobs.run(begin_import(team, as_lines([candidate("another")])).job_id)
    source.refresh_from_db()
    assert (source.variant_group, source.gold_role) == (name, "")
    assert not GoldItem.objects.filter(retired_at=None)
