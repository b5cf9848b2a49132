"""The conversations of an inference, and their way to the scorers: the same for models and for people."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction

from annotator.core.constraints.execution import Returned
from annotator.core.sandbox import Call, Expected, Trajectory, TrajectoryRun, shared_sandbox
from annotator.core.schema.exact_json import dumps
from annotator.services.dialogues.replay_runner import returned_by
from annotator.services.jobs.jobs import Running, lock_requester
from benchmark.core.inference.asking import Unit
from benchmark.core.inference.planning import Plan, plan_units
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.verdicts import Verdicts
from benchmark.models import Inference
from benchmark.services.inference.options import Options
from benchmark.services.releases.requests import archive_path
from benchmark.services.runs.uploads import start_scoring

#: Seconds between heartbeats.
BEAT = 3.0


def planned_units(running: Running, inference: Inference) -> list[Unit]:
    """Return the conversations of an inference. Raises Unreadable, and Conflict if the archive is gone."""
    options, mode = Options.of(inference.settings), inference.mode
    plan = Plan(
        inference.family, mode.history, mode.language, mode.tool_mode, options.attempts, options.delays,
        options.delay_seed, options.limit,
    )  # fmt: skip
    tools = Tools(running)
    return plan_units(
        archive_path(inference.release), plan, verdicts=Verdicts(tools.run), call_tool=tools.call,
        runner=tools.run_trajectory,
    )  # fmt: skip


class Tools:
    """Runs the code of tools and validators, with heartbeats."""

    def __init__(self, running: Running) -> None:
        self._running, self._beaten = running, time.monotonic()

    def _beat(self) -> None:
        if time.monotonic() - self._beaten > BEAT:
            self._beaten = time.monotonic()
            self._running.beat()

    def run(self, source: str, function: str, calls: Any) -> Any:
        self._beat()
        return shared_sandbox().run(source, function, calls)

    def call(self, case: ReferenceCase, name: str, arguments: Mapping[str, Any]) -> Returned:
        self._beat()
        source = case.codes.get(name)
        if source is None:
            return Returned("no_code", message=f"The case has no code for the tool {name}.")
        (result,) = shared_sandbox().run(source, name, [Call(kwargs=dict(arguments))], expected=Expected.VALUE)
        return returned_by(result, result.value)

    def run_trajectory(self, trajectory: Trajectory, twice: bool) -> TrajectoryRun:
        self._beat()
        return shared_sandbox().run_trajectory(trajectory, twice=twice)


class _Lines:
    """A file of JSON lines that is written while it is read."""

    def __init__(self, records: Iterator[Any]) -> None:
        self._records = records

    def read(self, size: int = -1) -> bytes:
        found = bytearray()
        for record in self._records:
            found += dumps(record) + b"\n"
            if 0 <= size <= len(found):
                break
        return bytes(found)


def score_answers(running: Running, inference: Inference) -> None:
    """Hand the predictions to the scorers."""
    person = running.job.requester
    assert person is not None  # noqa: S101 - people start inferences
    records = inference.answers.order_by("pk").values_list("record", flat=True).iterator(chunk_size=100)
    endpoint = inference.endpoint
    with transaction.atomic():
        lock_requester(person.pk)
        with running.chunk():
            file = start_scoring(
                actor=person, release=inference.release, upload=_Lines(records), filename=f"{inference.name}.jsonl",
                family=inference.family, model=inference.name, provider=endpoint.name if endpoint else "",
                mode=inference.mode, even_if_same=True,
            )  # fmt: skip
            Inference.objects.filter(pk=inference.pk).update(predictions=file)
