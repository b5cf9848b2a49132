"""The report of an import by check: a few errors among many notes, missing labels, counts after a killed worker."""

import re
from collections import Counter
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from annotator.models import Dialogue
from annotator.services.jobs.jobs import run
from benchmark.models import ImportBatch
from benchmark.services.imports import report, report_groups, runner
from benchmark.services.imports.report import Note, Report
from benchmark.services.imports.report_groups import CheckCount, count_by_check
from tests.api_client import ApiClient
from tests.benchmark.conftest import as_lines, begin_import, candidate, candidates, fresh, report_of
from tests.benchmark.imports.test_import_lifecycle import Killed, age_heartbeat, kill, stop_after
from tests.factories import Team, make_document

RunImport = Callable[..., ImportBatch]


def noted(name: str) -> dict[str, Any]:
    """A record with two notes of one check: its dependencies are not annotated."""
    document = make_document(name)
    for step in document["tasks"][0]["steps"]:
        step["depends_on"] = None
    return candidate(name, document=document)


def wrong(name: str) -> dict[str, Any]:
    """A record with one error."""
    document = make_document(name)
    document["tasks"][0]["steps"][0]["arguments"] = {}
    return candidate(name, document=document)


def unlabelled(name: str) -> dict[str, Any]:
    """A record without labels."""
    document = make_document(name, tasks=2)
    for task in document["tasks"]:
        task |= {"policy": None, "information": None}
    return candidate(name, document=document)


def counted(batch: ImportBatch) -> list[CheckCount]:
    return count_by_check(fresh(batch).job.checkpoint["notes"])


def in_file(batch: ImportBatch) -> set[tuple[str, str, int, int]]:
    """The same, counted in the file."""
    entries = report_of(batch)
    notes = Counter((entry["severity"], entry["check"]) for entry in entries)
    about = {(entry["severity"], entry["check"], entry["id"]) for entry in entries if entry["id"]}
    dialogues = Counter((severity, check) for severity, check, _ in about)
    return {(*key, number, dialogues[key]) for key, number in notes.items()}


class Page:
    """The report on the page of an import."""

    def __init__(self, team: Team, batch: ImportBatch, query: str = "") -> None:
        client = Client()
        client.force_login(team.administrator)
        response = client.get(f"/p/{batch.project.slug}/imports/{batch.public_id}/{query}")
        assert response.status_code == 200
        self.body = response.content.decode().partition('id="report-head"')[2].partition('id="import-state"')[0]
        text = re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", self.body, flags=re.S))
        self.words = " ".join(unescape(text).split())
        self.rows = self.body.count('<th scope="row"')


def test_errors_are_found_among_many_notes(team: Team, run_import: RunImport) -> None:
    batch = run_import([*[noted(f"n{n:03}") for n in range(200)], *[wrong(f"e{n:02}") for n in range(25)]])
    assert counted(batch) == [
        CheckCount("error", "schema.missing_argument", 25, 25),
        CheckCount("info", "graph.not_annotated", 400, 200),
    ]
    page = Page(team, batch)
    # All errors come first; of the notes, three stand for all.
    assert page.rows == 25 + 3
    assert "schema.missing_argument 25 findings in 25 dialogues Line" in page.words
    assert "graph.not_annotated 400 findings in 200 dialogues List all 400 Line" in page.words
    assert page.words.index("e24") < page.words.index("n000")
    first = Dialogue.objects.get(external_id="n000")
    assert f'href="/p/{team.project.slug}/dialogues/{first.public_id}/#at-tasks-t1-steps-s0"' in page.body
    # The link of the group lists all of the check, page by page.
    (query,) = re.findall(r'href="(\?severity=info&amp;check=graph.not_annotated)"', page.body)
    listed = Page(team, batch, unescape(query))
    assert listed.rows == 50
    assert "The dependencies of a step are not annotated 400 Show all checks" in listed.words
    (following,) = re.findall(r'href="(\?after=[^"]*check=graph.not_annotated)"', listed.body)
    assert "n025" in Page(team, batch, unescape(following)).words
    # A tab of one severity shows its checks only.
    assert Page(team, batch, "?severity=error").rows == 25
    # The file has every note.
    assert Counter(entry["severity"] for entry in report_of(batch)) == {"error": 25, "info": 400}


def test_fifty_notes_of_a_check_are_listed_and_one_more_is_a_group(team: Team, run_import: RunImport) -> None:
    assert Page(team, run_import([noted(f"n{n}") for n in range(25)])).rows == 50
    assert Page(team, run_import([wrong(f"e{n}") for n in range(51)])).rows == 3


def test_a_page_has_a_bound_of_rows(team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_groups, "ON_PAGE", 7)
    batch = run_import([*[noted(f"n{n}") for n in range(4)], *[wrong(f"e{n}") for n in range(5)]])
    assert Page(team, batch).rows == 5 + 3


def test_missing_labels_are_one_line(team: Team, run_import: RunImport) -> None:
    batch = run_import([*[unlabelled(f"u{n}") for n in range(60)], *candidates(2), noted("n")])
    page = Page(team, batch)
    assert "Note Labels are missing in 60 of 63 dialogues: information 120, policy 120. List all 240" in page.words
    # The only rows are those of the other check.
    assert page.rows == 2
    assert "graph.not_annotated 2 findings in 1 dialogue Line" in page.words
    listed = Page(team, batch, "?severity=info&check=label.missing")
    assert listed.rows == 50
    assert {"label.policy_missing", "label.information_missing"} <= set(listed.words.split())
    assert len([entry for entry in report_of(batch) if entry["check"].startswith("label.")]) == 240


def test_a_check_that_finds_something_everywhere_leaves_room_for_others(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "ROWS", 12)
    monkeypatch.setattr(report, "ROWS_OF_CHECK", 6)
    monkeypatch.setattr(runner, "CHUNK_RECORDS", 4)
    batch = run_import([*[noted(f"n{n}") for n in range(20)], *[wrong(f"e{n}") for n in range(3)]])
    assert Counter(batch.notes.values_list("severity", flat=True)) == {"info": 6, "error": 3}
    page = Page(team, batch)
    assert "The download has all of them." in page.words
    assert page.words.index("schema.missing_argument") < page.words.index("graph.not_annotated 40 findings")
    assert len(report_of(batch)) == 43


def test_counts_after_a_killed_worker_are_those_of_the_file(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "CHUNK_RECORDS", 2)
    lines = as_lines([unlabelled("u1"), "{", noted("n1"), wrong("e1"), unlabelled("u2"), noted("n2"), "["])
    batch = begin_import(team, lines)
    with monkeypatch.context() as patch:
        stop_after(patch, 2, kill)
        with pytest.raises(Killed):
            run(batch.job_id)
    age_heartbeat(batch)
    job = run(batch.job_id)
    assert (job.state, job.attempt) == ("done", 2)
    assert {(one.severity, one.check, one.notes, one.dialogues) for one in counted(batch)} == in_file(batch)
    assert counted(batch)[:2] == [
        CheckCount("error", "import.line", 2, 0),
        CheckCount("error", "schema.missing_argument", 1, 1),
    ]
    assert "Labels are missing in 2 of 5 dialogues" in Page(team, fresh(batch)).words


def test_notes_of_a_transaction_that_failed_are_not_counted(team: Team) -> None:
    batch = begin_import(team, as_lines(candidates(1)))
    book, notes = (
        Report(batch),
        [Note(1, "", "a", "/tasks/t1/policy", "label.policy_missing", "info", "Choose it.")] * 2,
    )
    for _ in range(2):
        counts = book.add(notes, dialogues=1)
        assert counts["checks"] == {"info": {"label.policy_missing": [2, 1], "label.missing": [2, 1]}}
    book.committed(counts)
    again = book.add(notes, dialogues=1)
    assert (again["dialogues"], again["info"], again["checks"]["info"]["label.missing"]) == (2, 4, [4, 2])
    assert counts["checks"]["info"]["label.missing"] == [2, 1]


def test_a_report_from_before_checks_were_counted_is_a_list(team: Team, run_import: RunImport) -> None:
    batch = run_import([noted("n"), wrong("e")])
    job = batch.job
    del job.checkpoint["notes"]["checks"], job.checkpoint["notes"]["dialogues"]
    job.save()
    page = Page(team, batch)
    assert (page.rows, "List all" in page.words) == (3, False)
    assert Page(team, batch, "?severity=error").rows == 1
    # One that goes on after an upgrade is not counted from its middle on.
    assert "checks" not in Report(batch, {"lines": 3}).add([Note(4, "", "c", "", "import.line", "error", "What?")])


def test_programs_read_the_counts(team: Team, run_import: RunImport) -> None:
    batch = run_import([unlabelled("u"), wrong("e"), "{"])
    program = ApiClient(team.administrator, scopes=["import"])
    found = program.get(f"/api/projects/{team.project.slug}/imports/{batch.public_id}/").json()["checks"]
    assert found == [
        {"severity": "error", "check": "import.line", "notes": 1, "dialogues": 0},
        {"severity": "error", "check": "schema.missing_argument", "notes": 1, "dialogues": 1},
        {"severity": "info", "check": "label.information_missing", "notes": 2, "dialogues": 1},
        {"severity": "info", "check": "label.policy_missing", "notes": 2, "dialogues": 1},
    ]


def test_an_unknown_check_is_refused(team: Team, run_import: RunImport) -> None:
    batch = run_import([wrong("e")])
    client = Client()
    client.force_login(team.administrator)
    response = client.get(f"/p/{team.project.slug}/imports/{batch.public_id}/?check=graph.cycle")
    assert response.status_code == 400
