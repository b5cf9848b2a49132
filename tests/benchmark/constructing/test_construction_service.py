"""Constrained cases made from those of a project: stored, once, with their history; page, API and command."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.core.case_construction import CannotConstruct
from annotator.core.schema import canonical, read_document
from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Event, Finding, ValidatorTrial
from annotator.services.jobs import jobs
from benchmark.core.constructing import Options, make
from benchmark.core.formats import FORMATS
from benchmark.models import ImportBatch
from benchmark.services.constructing import runner
from benchmark.services.constructing.requests import preview, start_constructing
from benchmark.services.constructing.runner import KEPT_REASONS, Construction, store_cases
from benchmark.services.constructing.sources import Request, where_constructed
from reviews.services.history.dialogue_history import event_words
from reviews.services.protocols.versions import adopt_preset
from tests.annotator.case_documents import TOOLS, case
from tests.api_client import ApiClient
from tests.benchmark.conftest import as_lines, begin_import, fresh
from tests.benchmark.releases.test_single_tasks import run_jobs
from tests.factories import Team, make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

ALL = Request(Options(7), only_verified=False)
#: Every category that the query allows, so that the tests know what to expect.
FULL = Request(Options(7, 1.0), only_verified=False)


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    return team


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "document": case(**fields), "tools": TOOLS}


def with_sources(team: Team) -> None:
    """Import a case and one without a trajectory."""
    begin_import(team, as_lines([record("ferry"), record("late", reference_trajectory=None)]))
    run_jobs()


def constructed(team: Team) -> list[Dialogue]:
    return list(Dialogue.objects.filter(project=team.project, external_id__contains="-s").order_by("external_id"))


def test_cases_become_candidates_with_their_history(team: Team) -> None:
    with_sources(team)
    job = start_constructing(actor=team.administrator, project=team.project, request=FULL)
    with pytest.raises(Conflict, match="Other cases are being made"):
        start_constructing(actor=team.administrator, project=team.project, request=ALL)
    run_jobs()
    job.refresh_from_db()
    assert job.state == "done"
    assert {name: job.result[name] for name in ("made", "there", "refused")} == {"made": 1, "there": 0, "refused": 1}
    assert job.result["reasons"] == [["late", "The case has no reference trajectory."]]
    (one,) = constructed(team)
    assert (one.external_id, one.kind, one.status) == ("ferry-s7", "constrained", "in_review")
    source = Dialogue.objects.get(project=team.project, external_id="ferry")
    wanted = make("ferry", source.head.document(), TOOLS, FULL.options)
    document = one.head.document()
    assert {key: value for key, value in document.items() if key != "extra"} == {
        key: value for key, value in wanted.case.document.items() if key != "extra"
    }
    assert one.head.toolset_revision_id == source.head.toolset_revision_id
    assert ("constructed.source", "ferry") in one.metadata.values_list("key", "value")
    event = Event.objects.get(dialogue=one, kind="dialogue.constructed")
    assert event.actor == team.administrator
    assert event.after["source_sha256"] == source.head.content_hash
    assert event_words(event, {}) == (
        "Made from ferry with seed 7 and probability 1.0. Left out: parallel dependencies: The scenario has no "
        "parallel calls. parallel calls count: The scenario has no parallel calls."
    )
    event = Event.objects.get(project=team.project, kind="cases.constructed")
    assert event_words(event, {}) == "Constrained cases made: 1, seed 7"
    assert event.after["import"] == job.result["import"]
    assert "know the answer" in where_constructed(source)
    assert where_constructed(one) == ""
    # Its query is that of its source; the import has tried its validators in the sandbox.
    found = Finding.objects.filter(dialogue=one).exclude(severity="info")
    assert list(found.values_list("check_id", "severity")) == [("dialogue.near_duplicate", "warning")]
    trials = ValidatorTrial.objects.filter(error_count=0, warning_count=0)
    assert trials.count() >= sum(each["validator"] is not None for each in document["constraints"])


def test_a_repeat_makes_no_duplicates(team: Team) -> None:
    with_sources(team)
    for _ in range(2):
        jobs.run(start_constructing(actor=None, project=team.project, request=ALL, wake_worker=False).pk)
        run_jobs()
        begin_import(team, as_lines([record("wharf")]))
        run_jobs()
    # The second time, only the new source was used; cases are no sources.
    assert [one.external_id for one in constructed(team)] == ["ferry-s7", "wharf-s7"]
    request = Request(ALL.options, ("ferry", "wharf"), only_verified=False)
    with pytest.raises(Invalid, match="exist already"):
        start_constructing(actor=None, project=team.project, request=request)
    # What is left cannot be made.
    job = jobs.run(start_constructing(actor=None, project=team.project, request=ALL, wake_worker=False).pk)
    assert job.error == "No case can be made. late: The case has no reference trajectory."
    assert len(constructed(team)) == 2
    other = Request(Options(8), ("ferry",), only_verified=False)
    jobs.run(start_constructing(actor=None, project=team.project, request=other, wake_worker=False).pk)
    run_jobs()
    assert [one.external_id for one in constructed(team)] == ["ferry-s7", "ferry-s8", "wharf-s7"]


def test_a_job_that_was_killed_after_its_import_began_does_not_start_another(team: Team) -> None:
    with_sources(team)
    job = start_constructing(actor=team.administrator, project=team.project, request=ALL, wake_worker=False)
    running = jobs.acquire(job.pk)
    assert running is not None
    from benchmark.services.constructing.runner import run_constructing

    first = run_constructing(running)
    assert run_constructing(running) == first
    assert ImportBatch.objects.filter(public_id=first["import"]).count() == 1
    assert ImportBatch.objects.filter(project=team.project).count() == 2


def test_a_source_that_becomes_a_known_answer_is_left_out(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with_sources(team)
    found = Construction(ALL.options)
    Dialogue.objects.filter(external_id="ferry").update(gold_role="answer")
    runner.make_cases(team.project, ALL, ["ferry", "late"], found)
    assert found.made == []
    assert found.refused == [
        ("ferry", "It is no longer in the list of sources."),
        ("late", "The case has no reference trajectory."),
    ]
    # After that, until the cases are published, its gold items are retired.
    Dialogue.objects.filter(external_id="ferry").update(gold_role="")
    runner.make_cases(team.project, ALL, ["ferry"], found)
    store_cases(actor=team.administrator, project=team.project, found=found)
    source = Dialogue.objects.get(external_id="ferry")
    Dialogue.objects.filter(pk=source.pk).update(gold_role="answer")
    retired: list[list[int]] = []
    monkeypatch.setattr(runner, "retire_with", lambda *, dialogue_ids, **_: retired.append(dialogue_ids))
    run_jobs()
    assert retired == [[source.pk]]


def test_the_source_is_known_however_many_fields_a_record_has(team: Team) -> None:
    begin_import(team, as_lines([record("ferry") | {f"a{number:02}": "x" for number in range(40)}]))
    run_jobs()
    source = Dialogue.objects.get(external_id="ferry")
    made = make("ferry", source.head.document(), TOOLS, Options(7))
    fields = {f"a{number:02}": "x" for number in range(40)}
    begin_import(team, as_lines([made.record | fields]), native_format="neutral")
    run_jobs()
    assert [one.external_id for one in constructed(team)] == ["ferry-s7"]
    assert "know the answer" in where_constructed(source)


def test_unreadable_tools_refuse_only_their_source() -> None:
    with pytest.raises(CannotConstruct, match="No case can be made from this one"):
        make("ferry", case(), [{"type": "function"}], Options(7))


def test_only_imports_of_the_pipeline_write_the_history(team: Team) -> None:
    made = make("ferry", case(), TOOLS, Options(7))
    begin_import(team, made.line, filename="Constrained cases, seed 7.jsonl", native_format="neutral")
    run_jobs()
    assert [one.external_id for one in constructed(team)] == ["ferry-s7"]
    assert not Event.objects.filter(kind="dialogue.constructed").exists()


def test_who_may_make_cases_and_from_what(team: Team) -> None:
    with_sources(team)
    for person in team.annotators:
        with pytest.raises(Denied):
            preview(actor=person, project=team.project, request=ALL)
        with pytest.raises(Denied):
            start_constructing(actor=person, project=team.project, request=ALL)
    shown = preview(actor=team.administrator, project=team.project, request=ALL)
    assert (shown.sources, shown.there, shown.refused) == (2, 0, [])
    assert shown.example is not None
    assert shown.example.name == "ferry-s7"
    # Nothing is verified yet.
    with pytest.raises(Invalid, match="no case from which"):
        preview(actor=team.administrator, project=team.project, request=Request(Options(7)))
    unknown = Request(Options(7), ("ferry", "fery"), only_verified=False)
    with pytest.raises(Invalid, match="“fery”"):
        preview(actor=team.administrator, project=team.project, request=unknown)
    for options in ({"seed": -1}, {"seed": 1, "probability": 0}, {"seed": 1, "without": ("toolset",)}):
        with pytest.raises(CannotConstruct):
            Options(**options)


def test_the_page_shows_one_case_and_makes_all(team: Team) -> None:
    client = Client()
    client.force_login(team.administrator)
    url = reverse("construct-cases", args=[team.project.slug])
    assert "No constrained cases yet" in one_line(client.get(url))
    asked = {"sources": "", "seed": "7", "percent": "100", "without": ["length"]}
    assert client.post(url, asked | {"preview": ""}).status_code == 422
    with_sources(team)
    page = one_line(client.post(url, asked | {"sources": "late\nferry", "preview": ""}))
    assert "ferry-s7" in page
    assert "max_callTimes" in page
    assert "Left out on request." in page
    assert "The scenario has no parallel calls." in page
    assert "late: The case has no reference trajectory." not in page
    page = one_line(client.post(url, asked | {"sources": "late", "preview": ""}))
    assert "late: The case has no reference trajectory." in page
    assert not constructed(team)
    for wrong in ({"percent": "0"}, {"seed": "x"}, {"without": ["no such"]}, {"sources": "nothing"}):
        assert client.post(url, asked | wrong | {"make": ""}).status_code == 422
    assert client.post(url, asked | {"make": ""}).status_code == 302
    assert 'hx-trigger="every 1s"' in client.get(url).content.decode()
    run_jobs()
    page = one_line(client.get(url))
    assert "Made: 1. Existed already: 0. Not made: 1." in page
    assert "late: The case has no reference trajectory." in page
    assert len(constructed(team)) == 1
    assert "Constrained cases, seed 7.jsonl" in one_line(client.get(reverse("job-list", args=[team.project.slug])))
    history = reverse("dialogue", args=[team.project.slug, constructed(team)[0].public_id])
    assert "Made from ferry with seed 7" in one_line(client.get(history))
    assert KEPT_REASONS > 1
    client.force_login(team.annotators[0])
    assert client.get(url).status_code == 403


def test_the_api_shows_one_case_and_makes_all(team: Team) -> None:
    with_sources(team)
    client = ApiClient(team.administrator)
    url = reverse("api-construct-cases", args=[team.project.slug])
    asked = {"seed": 7, "only_verified": False, "dry_run": True}
    answer = client.send(url, asked)
    assert (answer.status_code, answer.json()["sources"], answer.json()["job"]) == (200, 2, None)
    example = answer.json()["example"]
    assert example["id"] == "ferry-s7"
    assert FORMATS["neutral"].read(example["record"])[0].external_id == "ferry-s7"
    answer = client.send(url, asked | {"dry_run": False})
    assert (answer.status_code, answer.json()["job"]["state"]) == (202, "queued")
    run_jobs()
    assert len(constructed(team)) == 1
    assert client.send(url, asked | {"without": ["x"]}).status_code == 400
    assert client.send(url, asked | {"probability": 0}).status_code == 400
    assert client.send(url, asked | {"sources": ["x"]}).status_code == 422
    assert ApiClient(team.annotators[0]).send(url, asked).status_code == 403


def test_the_command_writes_or_imports_cases(team: Team, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_bytes(as_lines([record("ferry"), record("late", reference_trajectory=None)]) + b"{\n")
    written = []
    for _ in range(2):
        with pytest.raises(SystemExit):
            call_command("make_constrained_cases", str(file), "--seed", "7")
        output = capsys.readouterr()
        written.append(output.out)
        assert "late: The case has no reference trajectory." in output.err
        assert "Line 3" in output.err
    assert written[0] == written[1]
    (line,) = map(json.loads, written[0].splitlines())
    wanted = make("ferry", case(), TOOLS, Options(7)).case.document
    assert canonical(read_document(line["document"])) == canonical(wanted)
    for made, there in ((1, 0), (0, 1)):
        with pytest.raises(SystemExit):
            call_command("make_constrained_cases", str(file), "--seed", "7", "--project", team.project.slug)
        told = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert told == {"made": made, "there": there, "refused": 2}
    assert [one.external_id for one in constructed(team)] == ["ferry-s7"]
    begin_import(team, as_lines([record("ferry")]))
    run_jobs()
    chosen = ("--project", team.project.slug, "--unverified", "--source", "ferry")
    call_command("make_constrained_cases", "--seed", "9", *chosen)
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["made"] == 1
    for wrong in (("--seed", "1"), ("--seed", "1", "--project", "none"), ("--seed", "-1", str(file))):
        with pytest.raises(CommandError):
            call_command("make_constrained_cases", *wrong)


def test_cases_that_are_stored_are_those_that_were_made(team: Team) -> None:
    found = Construction(Options(3), [make("ferry", case(), TOOLS, Options(3))])
    batch = store_cases(actor=None, project=team.project, found=found, wake_worker=False)
    run_jobs()
    assert fresh(batch).created == 1
    with pytest.raises(CannotConstruct, match="would have 203 characters"):
        make("x" * 200, case(), TOOLS, Options(3))
