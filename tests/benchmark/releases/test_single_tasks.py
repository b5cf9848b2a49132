"""Single tasks in the application: imported, run, edited, run again, verified, released and imported again."""

import io
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from annotator.core.execution.running import execute
from annotator.core.sandbox import Sandbox
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Execution, Finding, Job, JobState
from annotator.models.content import DialogueStatus
from annotator.services.dialogues import executions
from annotator.services.dialogues.drafts import edit_draft
from annotator.services.jobs import jobs
from benchmark.core.archives.executing import execute_release
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.formats import FORMATS
from benchmark.demo import single_tasks
from benchmark.demo.project import FOLDER
from benchmark.models import Release
from benchmark.services.releases.requests import archive_path
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.workbench import Workbench, open_workbench
from tests.api_client import ApiClient
from tests.benchmark.conftest import as_lines, begin_import, counters, fresh, run_release
from tests.benchmark.formats.format_records import single_record
from tests.factories import Team, claim_and_submit, make_team, open_slot
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database, pytest.mark.usefixtures("shared_sandbox")]

SHELF = """
class Shelf:
    def __init__(self):
        self.books, self.open = [], False
    def load(self, state):
        self.books = state['books']
    def unlock(self):
        self.open = True
    def take(self, title: str):
        if not self.open:
            return {'error': 'it is locked'}
        self.books.remove(title)
        return {'taken': title}
    def look(self):
        return {'books': self.books}
"""


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "object", "properties": properties, "required": list(properties)}}


TOOLS = [tool("unlock"), tool("take", title={"type": "string"}), tool("look")]


def record(**changes: Any) -> dict[str, Any]:
    return {
        "id": "shelf_0",
        "category": "library",
        "question": "Unlock the shelf and take Emma.",
        "initial_config": {"books": ["Emma", "Ulysses"]},
        "ground_truth": ["unlock()", "take('Emma')"],
        "tools": TOOLS,
        "implementation": {"source": SHELF, "class": "Shelf", "load": "load"},
        **changes,
    }


FAULTY = record(id="shelf_1", ground_truth=["look()", "take(title='Emma')"])


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="async", without_rounds=True)
    return team


def run_jobs() -> None:
    """Run everything that waits for a worker."""
    while job := Job.objects.filter(state=JobState.QUEUED).order_by("pk").first():
        jobs.run(job.pk)


def imported(team: Team, *records: dict[str, Any]) -> list[Dialogue]:
    begin_import(team, as_lines(records), native_format="async")
    run_jobs()
    return list(Dialogue.objects.filter(project=team.project).order_by("pk"))


def claimed(team: Team, dialogue: Dialogue) -> Workbench:
    slot = open_slot(dialogue, team.annotator)
    claim_slot(actor=team.annotator, slot=slot)
    return open_workbench(actor=team.annotator, slot_id=slot.public_id)


def checks_of(dialogue: Dialogue) -> list[str]:
    return sorted(Finding.objects.filter(dialogue=dialogue).values_list("check_id", flat=True))


def test_an_import_runs_every_trajectory_before_people_look_at_it(team: Team) -> None:
    good, faulty = imported(team, record(), FAULTY)
    assert (good.kind, good.policies, good.call_count, good.title) == (
        "single_task", "", 2, "Unlock the shelf and take Emma.",
    )  # fmt: skip
    assert checks_of(good) == []
    # Both have the same question.
    assert checks_of(faulty) == [
        "dialogue.near_duplicate", "execution.error_result", "execution.first_call_unused", "execution.order_free",
    ]  # fmt: skip
    assert Execution.objects.count() == 2
    assert Dialogue.objects.matching("library").count() == 2


def test_the_tools_and_their_code_come_from_the_archive(team: Team) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        row = {key: value for key, value in record(toolset="shelf").items() if key not in ("tools", "implementation")}
        archive.writestr("set/single_tasks.jsonl", json.dumps(row))
        toolset = {
            "id": "shelf",
            "source_file": "classes/shelf.py",
            "class": "Shelf",
            "load": "load",
            "functions": TOOLS,
        }
        archive.writestr("set/toolsets.jsonl", json.dumps(toolset))
        archive.writestr("set/classes/shelf.py", SHELF)
    begin_import(team, data.getvalue(), "set.zip", native_format="async")
    run_jobs()
    (dialogue,) = Dialogue.objects.filter(project=team.project)
    assert dialogue.head is not None
    assert dialogue.head.toolset_revision.implementation() == record()["implementation"]
    assert checks_of(dialogue) == []


def test_an_edit_makes_the_result_stale_and_a_run_makes_it_known_again(team: Team) -> None:
    _, faulty = imported(team, record(), FAULTY)
    bench = claimed(team, faulty)
    client = Client()
    client.force_login(team.annotator)
    page = one_line(client.get(reverse("workspace", args=[bench.work.slot.public_id])))
    assert "What the model reads" in page
    assert "it is locked" in page
    url = reverse("workspace-run", args=[bench.work.slot.public_id])
    assert "Error result" in one_line(client.get(url))
    sent = {"calls": "unlock()\ntake('Emma')\nlook()", "seen": bench.draft.version}
    answer = client.post(url, sent)
    assert answer.status_code == 302
    stale = one_line(client.get(url))
    assert "This version of the task has not been run" in stale
    run_jobs()
    page = one_line(client.get(answer.url))
    assert "Error result" not in page
    assert "<del>" in page or "<ins>" in page
    draft = open_workbench(actor=team.annotator, slot_id=bench.work.slot.public_id).draft.document()
    steps = draft["tasks"][0]["steps"]
    # The calls that stay keep their ids.
    assert [(step["id"], step["name"]) for step in steps] == [("s3", "unlock"), ("s2", "take"), ("s1", "look")]


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"calls": "take(open('x'))"}, "Line 1: Character 6: “open(&#x27;x&#x27;)” is not a literal."),
        ({"calls": "take('a'"}, "cannot be read as Python"),
        ({"state": "{'books': []}"}, "This is not JSON"),
    ],
)
def test_what_cannot_be_run_is_a_sentence_and_the_text_stays(team: Team, sent: dict[str, str], sentence: str) -> None:
    (dialogue,) = imported(team, record())
    bench = claimed(team, dialogue)
    client = Client()
    client.force_login(team.annotator)
    url = reverse("workspace-run", args=[bench.work.slot.public_id])
    answer = client.post(url, sent | {"seen": bench.draft.version})
    assert answer.status_code == 422
    assert sentence in one_line(answer)
    typed = next(iter(sent.values()))
    assert not typed or escape(typed) in answer.content.decode()


def test_a_stored_change_that_cannot_run_is_shown_as_stored(team: Team) -> None:
    (dialogue,) = imported(team, record())
    bench = claimed(team, dialogue)
    client = Client()
    client.force_login(team.annotator)
    url = reverse("workspace-run", args=[bench.work.slot.public_id])
    answer = client.post(url, {"calls": "", "seen": bench.draft.version, "sending": "a1b2"})
    assert answer.status_code == 302
    page = one_line(client.get(answer.url))
    assert page.count("The trajectory has no calls yet.") == 1
    assert 'data-stored="a1b2"' in page
    draft = open_workbench(actor=team.annotator, slot_id=bench.work.slot.public_id).draft
    assert draft.document()["tasks"][0]["steps"] == []
    answer = client.post(url, {"calls": "", "seen": draft.version, "sending": '"><b>'})
    assert "stored" not in answer.url


def test_a_suggested_call_is_added_and_run_with_what_was_typed(team: Team) -> None:
    (dialogue,) = imported(team, record(id="shelf_2", ground_truth=["take(title='Emma')", "look()"]))
    bench = claimed(team, dialogue)
    client = Client()
    client.force_login(team.annotator)
    url = reverse("workspace-run", args=[bench.work.slot.public_id])
    page = one_line(client.get(url))
    assert "Call 1 succeeds after <code>unlock()</code>" in page
    calls = "unlock()\ntake(title='Emma')\nlook()"
    assert escape(calls).replace("\n", " ") in page
    both = {"calls": calls, "state": '{"books": ["Emma"]}', "seen": bench.draft.version}
    assert client.post(url, both).status_code == 302
    run_jobs()
    bench = open_workbench(actor=team.annotator, slot_id=bench.work.slot.public_id)
    assert [finding.check for finding in bench.view.findings if finding.severity == "error"] == []
    assert bench.document["initial_state"] == {"books": ["Emma"]}
    assert "All calls return" in one_line(client.get(url))
    # Two edits, each of which can be undone.
    assert bench.draft.version == 2
    # Nothing changed: only the run is asked for, and it is known.
    assert client.post(url, both | {"seen": 2}).status_code == 302
    assert open_workbench(actor=team.annotator, slot_id=bench.work.slot.public_id).draft.version == 2


def test_what_was_not_run_cannot_pass(team: Team) -> None:
    (dialogue,) = imported(team, record())
    bench = claimed(team, dialogue)
    text = "unlock()\ntake('Ulysses')"
    edit_draft(
        actor=team.annotator,
        draft=bench.draft,
        operation={"op": "set_calls", "anchor": "/tasks/t1", "text": text},
        seen=0,
    )
    bench = open_workbench(actor=team.annotator, slot_id=bench.work.slot.public_id)
    assert [one.check for one in bench.view.errors] == ["execution.not_run"]
    client = Client()
    client.force_login(team.annotator)
    url = reverse("workspace-submit", args=[bench.work.slot.public_id])
    answer = client.post(url, {"verdict": "fix", "seen": bench.draft.version, "reason": "Another book."})
    assert "The trajectory is being run. Submit again in a moment." in one_line(answer)
    run_jobs()
    bench = open_workbench(actor=team.annotator, slot_id=bench.work.slot.public_id)
    assert bench.view.errors == []


def test_a_tool_that_gives_something_else_each_time_is_an_error(team: Team) -> None:
    source = (
        "import secrets\nclass Shelf:\n    def unlock(self):\n        return secrets.token_hex()\n"
        "    def look(self): pass\n"
    )
    code = {"source": source, "class": "Shelf", "load": None}
    (dialogue,) = imported(team, record(ground_truth=["look()", "unlock()"], implementation=code))
    assert "execution.nondeterministic" in checks_of(dialogue)


def test_code_that_does_not_fit_the_schema_of_a_called_function_is_told(team: Team) -> None:
    code = record()["implementation"] | {"source": SHELF.replace("title: str", "title: str, hurry")}
    imported(team, record(implementation=code))
    (message,) = Finding.objects.filter(check_id="execution.signature").values_list("message", flat=True)
    assert message == "take needs hurry, which its schema does not name."


def test_a_value_without_a_source_is_shown_to_the_reader(team: Team) -> None:
    made_up = record(
        id="shelf_4", question="Unlock the shelf and take a book.", ground_truth=["unlock()", "take('Emma')"]
    )
    held = record(
        id="shelf_5", question="Unlock the shelf and take Dracula.", ground_truth=["unlock()", "take('Moby')"]
    )
    in_state, invented = imported(team, made_up, held)
    client = Client()
    client.force_login(team.administrator)
    words = "Without a source in the question, the initial state or an earlier result:"
    page = one_line(client.get(reverse("dialogue-run", args=[team.project.slug, in_state.public_id])))
    assert words not in page
    page = one_line(client.get(reverse("dialogue-run", args=[team.project.slug, invented.public_id])))
    assert f"{words} <code>Moby</code>" in page


def test_a_call_that_another_one_could_replace_is_reported(team: Team) -> None:
    source = SHELF + "    def borrow(self, title: str):\n        return self.take(title)\n"
    code = record()["implementation"] | {"source": source}
    tools = [*TOOLS, tool("borrow", title={"type": "string"})]
    (dialogue,) = imported(team, record(implementation=code, tools=tools))
    (message,) = Finding.objects.filter(check_id="execution.ambiguous").values_list("message", flat=True)
    assert message == "borrow(title='Emma') would do the same here. Check that the question says which one is meant."
    assert dialogue.warning_count == 1


def test_tools_without_code_cannot_be_run_and_it_says_so(team: Team) -> None:
    without = {key: value for key, value in record().items() if key != "implementation"}
    (dialogue,) = imported(team, without)
    client = Client()
    client.force_login(team.administrator)
    url = reverse("dialogue-run", args=[team.project.slug, dialogue.public_id])
    assert "The toolset has no implementation" in one_line(client.get(url))
    assert "The toolset has no implementation" in one_line(client.post(url))
    assert Execution.objects.count() == 0


def test_runs_are_asked_for_once_and_a_few_at_a_time(team: Team) -> None:
    books = ("Emma", "Ulysses", "Dracula", "Persuasion")
    rows = [record(id=f"shelf_{n}", initial_config={"books": [*books, str(n)]}) for n in range(4)]
    dialogues = imported(team, *rows)
    Execution.objects.all().delete()

    def start(dialogue: Dialogue) -> Job | None:
        assert dialogue.head is not None
        return executions.start_execution(
            actor=team.annotator, project=team.project, document=dialogue.head.document(),
            toolset_revision=dialogue.head.toolset_revision, dialogue=dialogue,
        )  # fmt: skip

    first = start(dialogues[0])
    assert start(dialogues[0]) == first
    start(dialogues[1])
    start(dialogues[2])
    with pytest.raises(Conflict, match="3 runs in progress"):
        start(dialogues[3])
    run_jobs()
    assert start(dialogues[0]) is None
    with pytest.raises(Invalid, match="no calls yet"):
        executions.start_execution(
            actor=team.annotator, project=team.project, toolset_revision=dialogues[0].head.toolset_revision,
            document=FORMATS["async"].read(record(ground_truth=[]))[0].document,
        )  # fmt: skip


def test_the_api_runs_a_task_and_tells_what_it_came_to(team: Team) -> None:
    (dialogue,) = imported(team, record())
    Execution.objects.all().delete()
    api = ApiClient(team.annotator)
    url = reverse("api-run", args=[team.project.slug, dialogue.public_id])
    assert api.get(url).json()["known"] is False
    begun = api.send(url)
    assert (begun.status_code, begun.json()["job"]["state"]) == (202, "queued")
    run_jobs()
    found = api.get(url).json()
    assert [(one["status"], one["needs"], one["state_changed"]) for one in found["calls"]] == [
        ("ok", [], True), ("ok", [0], True),
    ]  # fmt: skip
    assert (found["known"], found["differs"], found["order_forced"]) == (True, None, [True])
    assert found["final_state"] == {"books": ["Ulysses"], "open": True}
    assert api.send(url).status_code == 200


def test_an_untouched_record_comes_back_as_it_was() -> None:
    for one in (record(), FAULTY, single_record()):
        assert FORMATS["async"].write(FORMATS["async"].read(one)) == one


def test_a_verified_task_is_released_with_its_code_and_imported_again_unchanged(team: Team) -> None:
    good, _ = imported(team, record(), FAULTY)
    claim_and_submit(team.annotator, good, "approve")
    good.refresh_from_db()
    assert good.status == DialogueStatus.VERIFIED
    release = run_release(team, native_format="async")
    assert (release.state, release.item_count, release.left_out_count) == ("frozen", 1, 1)
    report = verify_archive(archive_path(release))
    assert (report.problems, report.items) == ([], 1)
    with zipfile.ZipFile(archive_path(release)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("async.jsonl"))
        (line,) = archive.read(name).splitlines()
    assert json.loads(line)["implementation"] == record()["implementation"]
    content = archive_path(release).read_bytes()
    for form in ("async", "neutral"):
        batch = begin_import(team, content, "release.zip", native_format=form)
        run_jobs()
        assert counters(fresh(batch)) == (1, 0, 0, 1, 0, 0), form


def test_a_release_says_what_its_tasks_came_to_and_whoever_checks_it_runs_them_again(
    team: Team, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, other = imported(team, record(), record(id="shelf_3", ground_truth=["unlock()", "take('Ulysses')"]))
    for dialogue in (good, other):
        claim_and_submit(team.annotator, dialogue, "approve")
    path = archive_path(run_release(team, native_format="async"))
    call_command("verify_release", str(path), "--execute")
    said = capsys.readouterr()
    assert "Run again: 2 single tasks, with the same results and states." in said.err
    assert json.loads(said.out.splitlines()[-1])["executed"] == 2
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("items.jsonl"))
        first = json.loads(archive.read(name).splitlines()[0])
    assert [call["status"] for call in first["execution"]["calls"]] == ["ok", "ok"]
    assert first["execution"]["final_state_sha256"] == first["execution"]["calls"][1]["state_sha256"]

    # A difference is reported with its place: here the release states another hash.
    altered = tmp_path / "altered.zip"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(altered, "w") as target:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("items.jsonl"):
                content = content.replace(first["execution"]["final_state_sha256"].encode(), b"0" * 64)
            target.writestr(name, content)
    with Sandbox() as sandbox:
        report = execute_release(
            altered,
            lambda runner, subject: execute(runner, subject.tool, subject.start, subject.tool_calls),
            lambda trajectory, twice: sandbox.run_trajectory(trajectory, twice=twice),
        )
    assert report.problems == ["shelf_0: call 2 comes to another state than the release says."]


def test_the_demos_tasks_go_the_same_way(team: Team) -> None:
    """Right ones, and faulty ones that the demo's people fix, or leave with what running has shown."""
    begin_import(team, single_tasks.archive(FOLDER / "singles").read(), "desks.zip", native_format="async")
    run_jobs()
    people = dict(zip(("chen", "dilara", "emeka"), team.annotators, strict=True)) | {"rafael": team.administrator}
    said: list[str] = []
    single_tasks.play(team.project, people, log=said.append, advance=lambda seconds: None)
    assert said == ["Reviewed the tasks of Three desks and published a release."]
    states = {one.external_id: one for one in Dialogue.objects.filter(project=team.project)}
    assert Counter(one.status for one in states.values()) == {"verified": 14, "in_review": 14, "escalated": 2}
    assert states["library_07"].status == DialogueStatus.ESCALATED
    found = {name: checks_of(one) for name, one in states.items() if one.status == DialogueStatus.IN_REVIEW}
    assert "execution.error_result" in found["garden_05"]
    assert "execution.nondeterministic" in found["workshop_05"]
    assert "execution.failed" in found["workshop_06"]
    assert found["garden_07"] == ["task.function_named"]
    release = Release.objects.get(project=team.project)
    assert (release.item_count, verify_archive(archive_path(release)).problems) == (14, [])
    assert [found[name] for name in sorted(found) if name.startswith(("cross", "similar"))] == [[]] * 6
