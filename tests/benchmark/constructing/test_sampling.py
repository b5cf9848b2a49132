"""Trajectories sampled for queries until they are solved: attempts, budgets, kills, files, and cases made of them."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Job, Notice
from annotator.services.jobs import jobs
from annotator.services.toolsets.storing import ensure_toolset_revision
from annotator.translation import translated
from benchmark.core.constructing import Options
from benchmark.core.generation.records import Recorded
from benchmark.core.sampling import read_queries
from benchmark.models import ConstructedPart, Generation, ImportBatch, ModelCall, Sampling
from benchmark.services.constructing import runner as constructing
from benchmark.services.generation import stepping
from benchmark.services.generation.claims import waiting_for
from benchmark.services.generation.people import write_answer
from benchmark.services.generation.recordings import players_of
from benchmark.services.generation.requests import continue_generation
from benchmark.services.inference.requests import Budget
from benchmark.services.sampling.requests import (
    continue_sampling,
    counts_of,
    queries_of,
    queries_of_project,
    read_query_file,
    start_sampling,
)
from reviews.services.protocols.versions import adopt_preset
from tests.annotator.case_documents import TOOLS, case
from tests.benchmark.conftest import as_lines, begin_import
from tests.benchmark.releases.test_single_tasks import run_jobs
from tests.factories import make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

CODES = case()["tool_codes"]
#: The file of a query, as docs/construction.md describes it.
QUERY = {
    "id": "ferry", "question": "When does the last boat leave Norhavn today?", "tools": TOOLS, "codes": CODES,
    "expected": {"find_ferry": ["Gull"], "read_timetable": ["21:40"]}, "scenario": "multi_hop",
    "context": "You answer travellers on the island of Hald.", "answer": "The Gull leaves Norhavn at 21:40.",
}  # fmt: skip
RIGHT = ("verdict", '{"correct": true}')
FINISH = ("actions", '{"action": "finish"}')
ANSWER = ("answer", "The Gull leaves Norhavn at 21:40.")


def call(name, uses=(), **arguments):
    planned = {"name": name, "arguments": arguments, "uses": list(uses)}
    return ("actions", json.dumps({"action": "call", "calls": [planned]}))


FIND, READ = call("find_ferry", harbour="Norhavn"), call("read_timetable", ["s1"], ferry="Gull")
SOLVES = (FIND, RIGHT, READ, RIGHT, FINISH, RIGHT, ANSWER)
#: It never reads the timetable.
GUESSES = (FIND, RIGHT, FINISH, RIGHT, ANSWER)
ASKS = (
    ("actions", '{"action": "ask", "missing": "the day"}'), RIGHT, ("question", "On which day?"),
    ("reply", "Today."), FINISH, RIGHT, ANSWER,
)  # fmt: skip


def recorded(**attempts):
    """Return the answers of attempts by their names, with a hyphen for the underscore."""
    return [
        Recorded(name.replace("_", "-"), number, "", text, purpose, "m", input_tokens=10, output_tokens=5)
        for name, answers in attempts.items()
        for number, (purpose, text) in enumerate(answers, 1)
    ]


@pytest.fixture
def team():
    team = make_team(annotators=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    return team


def start(team, records, *records_of_queries, attempts=2, run=True, **more):
    queries = read_query_file(team.project, as_lines(records_of_queries or [QUERY]))
    given = {"players": players_of(records)} if records else {"players": {}}
    sampling = start_sampling(
        actor=team.administrator, project=team.project, queries=queries, attempts=attempts, options=Options(7),
        records=records, wake_worker=False, **given | more,
    )  # fmt: skip
    return work(sampling) if run else sampling


def work(sampling):
    jobs.run(Sampling.objects.get(pk=sampling.pk).job_id)
    return Sampling.objects.select_related("job", "project").get(pk=sampling.pk)


def outcomes(sampling):
    return {one.name: (one.outcome, translated(one.reason) if one.reason else "") for one in queries_of(sampling)}


def test_a_query_is_sampled_until_solved_and_becomes_a_case(team):
    sampling = start(team, recorded(ferry_a1=GUESSES, ferry_a2=SOLVES))
    assert sampling.job.state == "done", sampling.job.error
    assert outcomes(sampling) == {"ferry": ("solved", "")}
    first, second = Generation.objects.order_by("pk")
    assert [(one.name, one.status, one.dialogue) for one in (first, second)] == [
        ("ferry-a1", "failed", None), ("ferry-a2", "done", None)
    ]  # fmt: skip
    assert "no call of read_timetable returns “21:40”" in translated(first.reason)
    assert (first.setup["seed"], second.setup["seed"]) == (7, 8)
    (query,) = sampling.queries.all()
    trajectory = query.document["reference_trajectory"]
    assert [[one["name"] for one in each["calls"]] for each in trajectory] == [["find_ferry"], ["read_timetable"], []]
    assert [one["observation"] for each in trajectory for one in each["calls"]] == [{"ferry": "Gull"}, "21:40"]
    assert trajectory[-1]["final"] == ANSWER[1]
    run_jobs()
    made = Dialogue.objects.get(project=team.project)
    assert (made.external_id, made.kind, made.status) == ("ferry-s7", "constrained", "in_review")
    document = made.head.document()
    assert document["constraints"]
    assert document["system_prompt"].startswith("You answer travellers on the island of Hald.")
    assert document["reference_trajectory"] == trajectory
    assert ("constructed.attempt", "ferry-a2") in made.metadata.values_list("key", "value")
    assert not ConstructedPart.objects.exists()
    # The same answers, elsewhere, give the same bytes.
    other = make_team()
    again = start(other, recorded(ferry_a1=GUESSES, ferry_a2=SOLVES))
    assert again.queries.get().document == query.document


def test_unsolved_queries_are_listed_with_their_reason(team):
    other = QUERY | {"id": "wharf"}
    records = recorded(ferry_a1=GUESSES, ferry_a2=ASKS, wharf_a1=SOLVES)
    sampling = start(team, records, QUERY, other)
    found = outcomes(sampling)
    assert found["wharf"] == ("solved", "")
    assert found["ferry"] == ("unsolved", "It asks the user, who says no more than the query.")
    assert {name: sampling.job.result[name] for name in ("open", "solved", "unsolved")} == {
        "open": 0, "solved": 1, "unsolved": 1
    }  # fmt: skip
    # A later sampling of the same query goes on with the numbers.
    later = start(team, recorded(ferry_a3=SOLVES))
    assert outcomes(later) == {"ferry": ("solved", "")}
    assert Generation.objects.filter(name="ferry-a3", status="done").exists()


def test_code_that_fails_ends_only_its_attempt(team):
    slow = QUERY | {"codes": CODES | {"read_timetable": "def read_timetable(ferry):\n    while True: pass\n"}}
    sampling = start(team, recorded(ferry_a1=SOLVES, ferry_a2=SOLVES), slow)
    outcome, reason = outcomes(sampling)["ferry"]
    assert outcome == "unsolved"
    assert "The call of read_timetable could not be run." in reason


@pytest.mark.parametrize("method", ["_count", "store_candidate"])
def test_killed_in_the_middle_it_goes_on_without_a_second_call(team, monkeypatch, method):
    sampling = start(team, recorded(ferry_a1=GUESSES, ferry_a2=SOLVES), run=False, idempotent=True)
    original, calls = getattr(stepping, method), []

    def dies(*arguments, **more):
        original(*arguments, **more)
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stepping, method, dies)
        with pytest.raises(KeyboardInterrupt):
            jobs.run(sampling.job_id)
    running = Job.objects.get(pk=sampling.job_id)
    assert running.state == "running"
    jobs.run(sampling.job_id, heartbeat_timeout=timedelta(0))
    assert outcomes(sampling) == {"ferry": ("solved", "")}
    assert ModelCall.objects.count() == len(GUESSES) + len(SOLVES)
    sent = ModelCall.objects.filter(attempts__gt=1).count()
    assert sent == (1 if method == "_store_answer" else 0)


def test_a_budget_is_for_all_attempts_and_can_be_raised(team):
    # 15 tokens an answer as recorded; a replay does not need the budget, so a limit is shared out.
    sampling = start(team, recorded(ferry_a1=GUESSES, ferry_a2=SOLVES), budget=Budget(tokens=1_000))
    first, second = Generation.objects.order_by("pk")
    assert (first.token_budget, second.token_budget) == (1_000, 1_000 - 15 * len(GUESSES))
    with pytest.raises(Invalid, match="needs the prices"):
        start(team, recorded(ferry_a1=SOLVES), budget=Budget(cost=Decimal(1)))
    assert counts_of(sampling) == {"open": 0, "solved": 1, "unsolved": 0}


def test_missing_answers_pause_it_and_it_is_continued(team):
    sampling = start(team, recorded(ferry_a1=GUESSES))
    assert sampling.job.state == "failed"
    assert "ferry-a2 is paused. There is no recorded answer to request 1 of ferry-a2" in sampling.job.error
    Sampling.objects.update(recording="".join(one.to_line().decode() for one in recorded(ferry_a2=SOLVES)))
    continue_sampling(actor=team.administrator, sampling=sampling, budget=Budget(tokens=5_000), wake_worker=False)
    attempt = Generation.objects.get(name="ferry-a2")
    with pytest.raises(Conflict, match="A sampling works on this attempt"):
        continue_generation(actor=team.administrator, generation=attempt)
    with pytest.raises(Conflict, match="being sampled"):
        continue_sampling(actor=team.administrator, sampling=sampling)
    sampling = work(sampling)
    assert outcomes(sampling) == {"ferry": ("solved", "")}
    assert ModelCall.objects.filter(state="answered").count() == len(GUESSES) + len(SOLVES)
    assert Generation.objects.get(name="ferry-a2").token_budget == 5_000 - 15 * len(GUESSES)


def test_people_can_play_the_planner(team):
    sampling = start(team, [])
    assert counts_of(sampling) == {"open": 1, "solved": 0, "unsolved": 0}
    attempt = Generation.objects.get()
    assert attempt.status == "waiting"
    told = Notice.objects.filter(person=team.annotator)
    assert [one.text for one in told] == ["The generation ferry-a1 waits for a person. Others may be waiting too."]
    assert list(waiting_for(actor=team.annotator, project=team.project)) == [attempt]
    # While the sampling goes on, they can do nothing in it.
    Job.objects.filter(sampling=sampling).update(state="running", ended_at=None)
    assert not waiting_for(actor=team.annotator, project=team.project).exists()
    Job.objects.filter(sampling=sampling).update(state="done", ended_at=timezone.now())
    for purpose, text in SOLVES:
        if purpose != "verdict":
            write_answer(actor=team.administrator, generation=attempt, text=text)
            jobs.run(Generation.objects.get().job_id)
            attempt = Generation.objects.select_related("project").get()
    assert (attempt.status, attempt.dialogue) == ("done", None)
    assert outcomes(sampling) == {"ferry": ("solved", "")}
    continue_sampling(actor=team.administrator, sampling=sampling, wake_worker=False)
    work(sampling)
    run_jobs()
    assert Dialogue.objects.get(project=team.project).external_id == "ferry-s7"


def test_cases_of_the_project_and_finished_trajectories_are_sources(team):
    begin_import(team, as_lines([{"id": "late", "document": case(reference_trajectory=None), "tools": TOOLS}]))
    run_jobs()
    queries = queries_of_project(team.project, ["late"])
    assert (queries[0].document["constraints"], queries[0].document["system_prompt"]) == (
        [], "You answer travellers on the island of Hald."
    )  # fmt: skip
    with pytest.raises(Invalid, match="no constrained case or single task “early”"):
        queries_of_project(team.project, ["early"])
    records = recorded(late_a1=SOLVES)
    start_sampling(
        actor=team.administrator, project=team.project, queries=queries, attempts=1, options=Options(7),
        players=players_of(records), records=records, wake_worker=False,
    )  # fmt: skip
    run_jobs()
    assert Dialogue.objects.filter(external_id="late-s7").exists()
    # A finished trajectory needs no attempt.
    finished = QUERY | {"trajectory": case()["reference_trajectory"]}
    sampling = start(team, [], finished)
    assert outcomes(sampling) == {"ferry": ("solved", "")}
    assert not Generation.objects.filter(name__startswith="ferry").exists()
    run_jobs()
    assert Dialogue.objects.filter(external_id="ferry-s7").exists()


def test_a_toolset_of_the_project_is_named(team):
    source = "\n".join(CODES.values())
    implementation = {"source": source, "class": None, "load": None}
    ensure_toolset_revision(
        actor=None, project=team.project, tools=TOOLS, name="Ferries", implementation=implementation
    )
    named = {key: value for key, value in QUERY.items() if key not in ("tools", "codes")} | {"toolset": "Ferries"}
    assert outcomes(start(team, recorded(ferry_a1=SOLVES), named)) == {"ferry": ("solved", "")}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "Line 2 of the queries: it is not JSON. Write one object a line."),
        (b"[]", "Line 2 of the queries: expected an object."),
        (as_lines([QUERY]), "Line 2 of the queries: there is another query with the id “ferry”."),
        (as_lines([QUERY | {"id": ""}]), "“id” must be a text of 1 to 195 characters"),
        (as_lines([QUERY | {"id": "a", "question": ""}]), "“question” is missing"),
        (as_lines([QUERY | {"id": "a", "question": 3}]), "Line 2 of the queries"),
        (as_lines([QUERY | {"id": "a", "question": "x" * 4_001}]), "4,000"),
        (as_lines([QUERY | {"id": "a", "language": "zh"}]), "Line 2 of the queries: Write in Chinese"),
        (as_lines([QUERY | {"id": "a", "expected": {"sail": ["x"]}}]), "expects results of sail, which is not one"),
        (as_lines([QUERY | {"id": "a", "expected": ["x"]}]), "Line 2 of the queries"),
        (as_lines([QUERY | {"id": "a", "codes": {}}]), "The tool find_ferry has no code."),
        (as_lines([QUERY | {"id": "a", "toolset": "Ferries"}]), "give either “tools” or the name of a “toolset”"),
        (as_lines([QUERY | {"id": "a", "tools": None, "toolset": "Boats"}]), "the project has no toolset “Boats”"),
        (as_lines([QUERY | {"id": "a", "tools": None, "codes": None, "toolset": "Shelf"}]), "the tools keep a state"),
        (as_lines([QUERY | {"id": "a", "tools": None, "codes": None, "toolset": "Plain"}]), "the toolset has no code"),
        (as_lines([QUERY | {"id": "a", "tools": [3]}]), "Line 2 of the queries"),
        (as_lines([QUERY | {"id": "a", "hint": "x"}]), "the field “hint” is not known"),
        (as_lines([QUERY | {"id": "a", "trajectory": case()["reference_trajectory"][1:]}]), "does not solve the query"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_the_line(line, why):
    toolsets = {"Shelf": (TOOLS, {"source": "x = 1", "class": "Shelf", "load": None}), "Plain": (TOOLS, None)}
    with pytest.raises(ValueError, match="Line 2") as refusal:
        read_queries(as_lines([QUERY]).rstrip(b"\n") + b"\n" + line, toolsets)
    assert why in str(refusal.value)
    with pytest.raises(ValueError, match="no queries"):
        read_queries(b"\n", {})


def test_who_may_sample(team):
    with pytest.raises(Denied):
        start_sampling(
            actor=team.annotators[0], project=team.project, queries=read_query_file(team.project, as_lines([QUERY])),
            attempts=1, options=Options(7), players={},
        )  # fmt: skip
    for wrong in ({"attempts": 0}, {"attempts": 99}):
        with pytest.raises(Invalid, match="attempts"):
            start(team, [], **wrong)


def test_making_cases_goes_on_after_a_kill(team, monkeypatch):
    begin_import(team, as_lines([{"id": f"ferry-{n}", "document": case(), "tools": TOOLS} for n in range(3)]))
    run_jobs()
    monkeypatch.setattr(constructing, "_SLICE", 1)
    from benchmark.services.constructing.requests import start_constructing
    from benchmark.services.constructing.sources import Request

    request = Request(Options(7), only_verified=False)
    job = start_constructing(actor=team.administrator, project=team.project, request=request, wake_worker=False)
    original, made = constructing.make_cases, []

    def dies(project, request, names, found):
        original(project, request, names, found)
        made.append(names)
        if len(made) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(constructing, "make_cases", dies)
    with pytest.raises(KeyboardInterrupt):
        jobs.run(job.pk)
    assert ConstructedPart.objects.filter(job=job).count() == 1
    result = jobs.run(job.pk, heartbeat_timeout=timedelta(0)).result
    # The one that was being made is made again, the finished one is not.
    assert made == [["ferry-0"], ["ferry-1"], ["ferry-1"], ["ferry-2"]]
    assert (result["made"], ConstructedPart.objects.count()) == (3, 0)
    run_jobs()
    assert Dialogue.objects.filter(external_id__endswith="-s7").count() == 3
    assert ImportBatch.objects.filter(project=team.project).count() == 2


def test_the_command_samples_from_recorded_answers(team, tmp_path, capsys):
    queries, replay = tmp_path / "queries.jsonl", tmp_path / "answers.jsonl"
    queries.write_bytes(as_lines([QUERY, QUERY | {"id": "wharf"}]))
    answers = recorded(ferry_a1=GUESSES, ferry_a2=SOLVES, wharf_a1=GUESSES, wharf_a2=GUESSES)
    replay.write_bytes(b"".join(one.to_line() for one in answers))
    given = [str(queries), "--sample", "--seed", "7", "--attempts", "2", "--project", team.project.slug]
    with pytest.raises(CommandError, match="needs a file of queries"):
        call_command("make_constrained_cases", *given)
    call_command("make_constrained_cases", *given, "--replay", str(replay))
    output = capsys.readouterr()
    assert "wharf: Not solved: The reference trajectory does not solve the query" in output.err
    assert json.loads(output.out.splitlines()[-1]) == {"made": 1, "there": 0, "refused": 0}
    assert Dialogue.objects.get(project=team.project).external_id == "ferry-s7"
    queries.write_bytes(b"{}")
    with pytest.raises(CommandError, match="Line 1 of the queries"):
        call_command("make_constrained_cases", *given, "--replay", str(replay))


def test_the_page_starts_shows_and_continues(team):
    client = Client()
    client.force_login(team.administrator)
    url = reverse("sample-trajectories", args=[team.project.slug])
    asked = {"attempts": "2", "seed": "7", "percent": "50"}

    def files():
        answers = b"".join(one.to_line() for one in recorded(ferry_a1=GUESSES))
        query = as_lines([QUERY])
        return {"queries": ContentFile(query, "queries.jsonl"), "records": ContentFile(answers, "a.jsonl")}

    for wrong, why in (
        ({}, "Give either a file or cases of the project."),
        ({"sources": "early"}, "There is no constrained case or single task “early”"),
        (files() | {"queries": ContentFile(b"{", "q.jsonl")}, "Line 1 of the queries: it is not JSON."),
        (files() | {"model": "m"}, "Choose the endpoint of this model."),
    ):
        answer = client.post(url, asked | wrong)
        assert (answer.status_code, why in one_line(answer)) == (422, True)
    assert client.post(url, asked | files()).status_code == 302
    assert 'hx-trigger="every 1s"' in client.get(url).content.decode()
    run_jobs()
    page = one_line(client.get(url))
    assert "Solved: 0. Not solved: 0. Open: 1. 75 tokens" in page
    assert "ferry-a2" in page
    assert "no call of read_timetable returns" in page
    Sampling.objects.update(recording="".join(one.to_line().decode() for one in recorded(ferry_a2=SOLVES)))
    assert client.post(url, {"continue": "", "more-token_budget": "0"}).status_code == 422
    assert client.post(url, {"continue": ""}).status_code == 302
    run_jobs()
    page = one_line(client.get(url))
    assert "Solved: 1. Not solved: 0. Open: 0." in page
    assert 'name="continue"' not in page
    assert Dialogue.objects.get(project=team.project).external_id == "ferry-s7"
    again = start(team, recorded(ferry_a3=SOLVES))
    assert again.job.result["refusal"] == {
        "text": "The cases of these sources with this seed exist already. Use another seed."
    }
    assert "with this seed exist already" in one_line(client.get(url))
    attempt = Generation.objects.get(name="ferry-a2")
    assert client.get(reverse("generation", args=[team.project.slug, attempt.public_id])).status_code == 200
