"""A constrained dialogue by the services: imported, reviewed under the cctu protocol, released, imported again."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from annotator.core.schema import load_text
from annotator.errors import Conflict
from annotator.models import Dialogue, Finding, Role, ValidatorTrial
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.revisions import move_head
from annotator.services.jobs import jobs
from benchmark.core.archives.verifying import verify_archive
from benchmark.demo import constrained_cases
from benchmark.demo.project import FOLDER
from benchmark.models import ImportBatch, LeftOutDialogue, Release
from benchmark.services.imports import trials
from benchmark.services.imports.requests import follow_up
from benchmark.services.imports.trials import trials_of
from benchmark.services.releases.requests import archive_path
from reviews.services.cycles.start import begin_cycles
from reviews.services.protocols.versions import adopt_preset
from tests.annotator.case_documents import CODE, END
from tests.benchmark.conftest import as_zip, begin_import, counters, fresh, report_of, run_release
from tests.benchmark.formats.cctu_records import files, members, record, whole
from tests.factories import Team, claim_and_submit, current, give_role, make_dialogue, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=4, seniors=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    return team


def imported(team: Team, content: bytes, name: str = "cases.zip", **options: Any) -> ImportBatch:
    batch = begin_import(team, content, name, **{"native_format": "cctu"} | options)
    jobs.run(batch.job_id)
    return fresh(batch)


def verify(team: Team, dialogue: Dialogue) -> None:
    """Two reviewers in a row agree on the data, then two on the validators."""
    for person in team.annotators:
        claim_and_submit(person, dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == DialogueStatus.VERIFIED


def complete(dialogue: Dialogue) -> None:
    """Do what its annotator did before, so that no check blocks it."""
    assert not dialogue.findings.exclude(severity="info").exists()


def names(release: Release) -> dict[str, bytes]:
    with zipfile.ZipFile(archive_path(release)) as archive:
        prefix = f"release-{release.version}/"
        return {name.removeprefix(prefix): archive.read(name) for name in archive.namelist()}


def test_import_review_release_and_the_same_again(team: Team) -> None:
    batch = imported(team, as_zip(members(whole("7"), whole("8"))))
    assert counters(batch) == (2, 2, 0, 0, 0, 0)
    seven, eight = Dialogue.objects.order_by("external_id")
    assert (seven.title, seven.task_count, seven.language) == ("When does the last boat leave Norhavn today?", 1, "en")
    assert (seven.kind, eight.kind) == ("constrained", "constrained")
    complete(seven)
    for dialogue in (seven, eight):
        verify(team, dialogue)

    release = run_release(team, native_format="cctu")
    assert (release.state, release.item_count, release.left_out_count) == ("frozen", 2, 0)
    content = names(release)
    assert len([name for name in content if name.startswith("check_code/")]) == 10
    (line, _) = content["input_data.jsonl"].splitlines()
    native = json.loads(line)
    assert {key: value for key, value in native.items() if key != "canary"} == record("7")
    assert content["check_code/7/check_constraint_4.py"] == f"# {native['canary']}\n{CODE}".encode()
    report = verify_archive(archive_path(release))
    assert (report.problems, report.items) == ([], 2)
    said = json.loads(content["manifest.json"])["validators"]
    assert (said["validators"], said["tried"], said["passed"]) == (2, 2, 2)
    (row,) = said["items"]["7"]
    assert (row["constraint"], row["validator"], row["errors"]) == ("c4", "code", 0)
    assert row["responses"] > 5
    assert json.loads(content["items.jsonl"].splitlines()[0])["validators"] == [row]

    nothing_new(team, release, 2)


def nothing_new(team: Team, release: Release, count: int) -> None:
    """The release is whole, and imported again, in either of its formats, it changes nothing."""
    report = verify_archive(archive_path(release))
    assert (report.problems, report.items) == ([], count)
    again = imported(team, archive_path(release).read_bytes(), f"release-{release.version}.zip")
    assert counters(again) == (count, 0, 0, count, 0, 0)
    assert not [note for note in report_of(again) if "check_code" in json.dumps(note)]
    neutral = imported(team, archive_path(release).read_bytes(), "release.zip", native_format="neutral")
    assert counters(neutral) == (count, 0, 0, count, 0, 0)


def test_the_demos_cases_go_the_same_way(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Good ones and faulty ones, as the demo's people fix them in both stages."""
    batch = imported(team, (FOLDER / "cases.jsonl").read_bytes(), "cases.jsonl")
    assert counters(batch)[:2] == (15, 15)
    people = dict(zip(("lucia", "boris", "dilara"), team.annotators, strict=False))
    give_role(team.project, people["lucia"], Role.ADMINISTRATOR)
    said: list[str] = []

    def refuse(subjects: Any) -> int:
        raise Conflict("No code is run here.")

    with monkeypatch.context() as patched:
        # On a machine without a sandbox nothing is approved, and nobody is left with a case in hand.
        patched.setattr(constrained_cases, "ensure_tried", refuse)
        constrained_cases.play(team.project, people, log=said.append, advance=lambda seconds: None)
    assert said.pop() == "The cases of Harbour radio stay in their first stage: No code is run here."
    assert set(Dialogue.objects.filter(project=team.project).values_list("stage", flat=True)) == {"data"}
    constrained_cases.play(team.project, people, log=said.append, advance=lambda seconds: None)
    assert said == ["Reviewed the cases of Harbour radio and published a release."]
    states = {case.external_id: (case.status, case.stage) for case in Dialogue.objects.filter(project=team.project)}
    assert states["pilot-02"] == (DialogueStatus.ESCALATED, "settlement")
    assert states["tide-03"] == states["fee-01"] == (DialogueStatus.IN_REVIEW, "validators")
    assert states["wind-01"] == states["berth-01-s5"] == (DialogueStatus.IN_REVIEW, "data")
    release = Release.objects.get(project=team.project)
    assert (release.state, release.item_count) == ("frozen", 5)
    nothing_new(team, release, 5)

    content = names(release)
    # Who fixed what: one case in its data, one in its code in one round, one in two.
    rounds = json.loads(content["manifest.json"])["figures"]["revision_rounds"]
    assert [(one["stage"], one["items"], one["revised"]) for one in rounds] == [
        ("data", 5, {"1": 1}),
        ("validators", 5, {"1": 1, "2": 1}),
    ]
    assert "| Code verification | 5 | 1 | 1 | 2 | 40.0 % (11.8 to 76.9) |" in content["README.md"].decode()
    code = content["check_code/berth-02/check_constraint_3.py"].decode()
    assert "words" not in code
    assert "json.loads" in code
    records = {one["id"]: one for one in map(json.loads, content["input_data.jsonl"].splitlines())}
    assert "contains a JSON object" in records["quay-01"]["messages"][0]["content"]


def test_imported_validators_are_tried_by_themselves(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    lenient = whole("8")
    lenient["check_code"]["check_constraint_4.py"] = "def validate_punctuation(response):\n    return True, ''\n"
    two = whole("9", constraints_list=[*whole()["constraints_list"], ["Response", "Punctuation", END]])
    two["check_code"] |= {f"check_constraint_{n}.py": f"{CODE}# {n}\n" for n in (4, 5)}
    batch = imported(team, as_zip(members(whole("7"), lenient, two)))
    # Each job tries for a bounded time, and leaves the rest, of one case also, to one at the end of the queue.
    monkeypatch.setattr(trials, "BUDGET", -1.0)
    jobs_run = 0
    while (job := trials_of(batch)) is not None:
        assert jobs.run(job.pk).state == "done"
        jobs_run += 1
    assert jobs_run == ValidatorTrial.objects.count() + 1 == 5
    seven, eight, nine = Dialogue.objects.order_by("external_id")
    assert (seven.error_count, seven.findings.filter(check_id__startswith="validator.").count()) == (0, 0)
    assert eight.error_count == eight.findings.filter(check_id="validator.matrix").count() == 1
    assert not nine.findings.filter(check_id="validator.untried").exists()


def test_a_changed_file_in_a_release_is_found(team: Team, tmp_path: Path) -> None:
    imported(team, as_zip(members(whole("7"))))
    verify(team, Dialogue.objects.get())
    release = run_release(team, native_format="cctu")
    altered = tmp_path / "altered.zip"
    with zipfile.ZipFile(archive_path(release)) as source, zipfile.ZipFile(altered, "w") as target:
        for name in source.namelist():
            text = source.read(name)
            if name.endswith("check_constraint_0.json"):
                text = text.replace(b"4", b"9")
            target.writestr(name.replace("check_code/7/check_constraint_1", "check_code/9/check_constraint_1"), text)
    problems = "\n".join(verify_archive(altered).problems)
    assert "check_code/7/check_constraint_0.json was changed" in problems
    assert "check_code/9/check_constraint_1.json is in the archive but not in the manifest" in problems
    assert "check_code/9 belongs to no record" in problems
    assert "check_code/7/check_constraint_0.json differs from the file of its document." in problems
    assert "check_code/7/check_constraint_1.json is missing, but its document has such a file." in problems
    assert "No document has the file check_code/9/check_constraint_1.json." in problems


def test_a_line_alone_is_imported_and_told_what_it_lacks(team: Team) -> None:
    batch = imported(team, json.dumps(record()).encode(), "cases.jsonl")
    assert counters(batch) == (1, 1, 0, 0, 0, 0)
    notes = [note for note in report_of(batch) if note["pointer"].startswith("/constraints_list")]
    assert len(notes) == 5
    assert "has no validator" in notes[4]["message"]


def test_a_constraint_without_its_label_is_imported_with_an_error(team: Team) -> None:
    data = whole()
    data["constraints_list"][2] = ["Response", None, None]
    batch = imported(team, as_zip(members(data)))
    assert counters(batch) == (1, 1, 0, 0, 0, 1)
    found = {note["check"] for note in report_of(batch) if note["severity"] == "error"}
    assert "constraint.unreadable" in found


def test_a_reviewers_fix_goes_into_the_release(team: Team) -> None:
    imported(team, as_zip(members(whole("7"))))
    dialogue = Dialogue.objects.get()
    document = load_text(dialogue.head.content)
    document["answer"] = "It leaves Norhavn at 21:40."
    claim_and_submit(team.annotators[0], dialogue, "fix", document=document)
    for person in (*team.annotators[1:], *team.seniors, *team.annotators[:1]):
        dialogue.refresh_from_db()
        if dialogue.status != DialogueStatus.VERIFIED:
            claim_and_submit(person, dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == DialogueStatus.VERIFIED
    release = run_release(team, native_format="cctu")
    native = json.loads(names(release)["input_data.jsonl"])
    assert native["answer"] == "It leaves Norhavn at 21:40."
    assert native["tools"] == record()["tools"]


def test_kinds_that_a_format_cannot_hold_are_left_out_with_the_reason(team: Team) -> None:
    imported(team, as_zip(members(whole("7"))))
    talk = make_dialogue(team.project, external_id="talk")
    begin_cycles(actor=None, project=team.project, dialogues=[talk], hidden=False)
    for dialogue in Dialogue.objects.all():
        verify(team, dialogue)
    cases, talks = run_release(team, native_format="cctu"), run_release(team, "1.1", native_format="wild")
    for release, left, words in ((cases, "talk", "multi-turn dialogues"), (talks, "7", "constrained dialogues")):
        assert release.item_count == 1
        row = LeftOutDialogue.objects.get(release=release)
        assert row.dialogue.external_id == left
        assert words in row.reason


def test_saving_a_case_keeps_what_lists_show(team: Team) -> None:
    imported(team, as_zip(members(whole("7"))))
    dialogue = Dialogue.objects.select_related("head", "project").get()
    assert current(dialogue)["kind"] == "constrained"
    move_head(dialogue=dialogue, revision=dialogue.head)
    dialogue.refresh_from_db()
    assert (dialogue.policies, dialogue.topologies, dialogue.call_count) == ("", "", 0)
    assert "ferry" in dialogue.search_text.split()
    assert len(files()) == 5


def test_two_cases_with_one_query_are_near_duplicates(team: Team) -> None:
    query = (
        "When does the last boat leave Norhavn today, and may I take my bicycle, two dogs and a small trailer along?"
    )
    asked = [{"role": "user", "content": query}]
    batch = imported(team, as_zip(members(whole("7", messages=asked), whole("8", messages=asked))))
    job = follow_up(batch)
    assert job is not None
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    assert job.result == {"compared": 2, "near_duplicates": 1}
    (finding,) = Finding.objects.filter(check_id="dialogue.near_duplicate")
    assert finding.dialogue.external_id == "8"
