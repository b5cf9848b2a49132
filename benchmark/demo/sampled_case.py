"""The demo's constructed case: its trajectory is sampled from recorded answers, and the second attempt solves it."""

import json

from annotator.models import Job, Project, User
from annotator.services.jobs import jobs
from benchmark.core.constructing import Options
from benchmark.core.generation.records import Recorded
from benchmark.models import ImportBatch
from benchmark.services.generation.players import players_of
from benchmark.services.sampling.requests import queries_of_project, start_sampling

SOURCE = "berth-01"
_RIGHT = ("verdict", '{"correct": true}')
_FINISH = ("actions", '{"action": "finish"}')


def _call(name: str, uses: tuple[str, ...] = (), **arguments: object) -> tuple[str, str]:
    return ("actions", json.dumps({"action": "call", "calls": [{"name": name, "arguments": arguments, "uses": uses}]}))


_FIND = _call("find_vessel", call_sign="LKHT3")
_LIST = _call("list_berths", ("s1",), draught_m=4.2)
_RESERVE = _call("reserve_berth", ("s1", "s2"), berth="B4", vessel="Solvind")
#: The first attempt forgets to reserve the berth.
_ATTEMPTS = (
    (_FIND, _RIGHT, _LIST, _RIGHT, _FINISH, _RIGHT, ("answer", "Yes, Solvind, berth B4 is free tonight.")),
    (
        _FIND, _RIGHT, _LIST, _RIGHT, _RESERVE, _RIGHT, _FINISH, _RIGHT,
        ("answer", "Berth B4 is reserved for the Solvind."),
    ),
)  # fmt: skip


def make_sampled_case(project: Project, administrator: User) -> None:
    """Sample a trajectory for a query of the project, and make a case of it; it waits in the first stage."""
    records = [
        Recorded(f"{SOURCE}-a{attempt}", number, "", text, purpose, "scripted-roles")
        for attempt, answers in enumerate(_ATTEMPTS, 1)
        for number, (purpose, text) in enumerate(answers, 1)
    ]
    sampling = start_sampling(
        actor=administrator, project=project, queries=queries_of_project(project, [SOURCE]), attempts=3,
        options=Options(5), players=players_of(records), records=records, idempotent=True, wake_worker=False,
    )  # fmt: skip
    sampled = jobs.run(sampling.job_id or 0)
    making = jobs.run(Job.objects.get(project=project, public_id=sampled.result["job"]).pk)
    jobs.run(ImportBatch.objects.get(public_id=making.result["import"]).job_id)
