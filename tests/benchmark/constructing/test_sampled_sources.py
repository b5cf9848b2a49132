"""What trajectories are sampled for: single tasks, and queries whose attempts meet names and results in their way."""

from decimal import Decimal

import pytest

from annotator.errors import Invalid
from annotator.models import Dialogue
from benchmark.core.constructing import Options
from benchmark.models import Generation, SampledQuery
from benchmark.services.generation.recordings import players_of
from benchmark.services.inference.requests import Budget
from benchmark.services.sampling.requests import continue_sampling, queries_of_project, start_sampling
from tests.annotator.case_documents import TOOLS, case
from tests.benchmark.conftest import as_lines, begin_import
from tests.benchmark.constructing.test_sampling import CODES, QUERY, SOLVES, outcomes, recorded, start, team, work
from tests.benchmark.generation.finding import seen_by
from tests.benchmark.releases.test_single_tasks import record, run_jobs

__all__ = ["team"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

#: A single task over the tools of the query.
TASK = {
    "id": "desk", "category": "ferries", "question": QUERY["question"], "tools": TOOLS,
    "ground_truth": ["find_ferry(harbour='Norhavn')", "read_timetable(ferry='Gull')"],
    "implementation": {"source": "\n".join(CODES.values()), "class": None, "load": None},
}  # fmt: skip


def test_single_tasks_without_a_state_are_sampled(team):
    tasks = [TASK, TASK | {"id": "loaded", "initial_config": {"n": 1}}, record(id="shelf")]
    begin_import(team, as_lines(tasks), native_format="async")
    run_jobs()
    (query,) = queries_of_project(team.project, ["desk"])
    assert query.document["unsolved_set"] == {"find_ferry": ['{"ferry": "Gull"}'], "read_timetable": ["21:40"]}
    records = recorded(desk_a1=SOLVES)
    start_sampling(
        actor=team.administrator, project=team.project, queries=[query], attempts=1, options=Options(7),
        players=players_of(records), records=records, wake_worker=False,
    )  # fmt: skip
    assert SampledQuery.objects.get().source == Dialogue.objects.get(external_id="desk")
    run_jobs()
    made = Dialogue.objects.get(external_id="desk-s7").head.document()
    assert (made["kind"], made["answer"]) == ("constrained", "The Gull leaves Norhavn at 21:40.")
    # Its trajectory is hidden as the dialogue is.
    Generation.objects.update(status="waiting")
    everywhere = ["list", "page", "API", "My work"]
    assert seen_by(team.annotator, Generation.objects.get()) == everywhere
    Dialogue.objects.filter(external_id="desk").update(gold_role="answer")
    assert seen_by(team.annotator, Generation.objects.get()) == []
    assert seen_by(team.administrator, Generation.objects.get()) == everywhere
    for name, why in (("loaded", "sets an initial state"), ("shelf", "the tools keep a state")):
        with pytest.raises(Invalid, match=f"{name}: .*{why}"):
            queries_of_project(team.project, [name])


def test_a_result_that_cannot_be_used_ends_only_its_attempt(team):
    codes = CODES | {"find_ferry": "def find_ferry(harbour):\n    return 'Gull' * 20_000"}
    sampling = start(team, recorded(ferry_a1=SOLVES, ferry_a2=SOLVES), QUERY | {"codes": codes})
    outcome, why = outcomes(sampling)["ferry"]
    assert (outcome, "60,000 characters" in why) == ("unsolved", True)


def test_an_attempt_takes_a_name_that_no_dialogue_has(team):
    begin_import(team, as_lines([{"id": "ferry-a1", "document": case(), "tools": TOOLS}]))
    run_jobs()
    assert outcomes(start(team, recorded(ferry_a2=SOLVES))) == {"ferry": ("solved", "")}
    assert Generation.objects.get().name == "ferry-a2"


def test_a_limit_on_the_cost_needs_prices_later_too(team):
    sampling = work(start(team, [], run=False))
    with pytest.raises(Invalid, match="needs the prices"):
        continue_sampling(actor=team.administrator, sampling=sampling, budget=Budget(None, Decimal(1)))
