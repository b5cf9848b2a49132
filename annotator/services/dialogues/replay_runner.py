"""The job that runs a replay. Only workers run it, since the code of tools and validators is untrusted."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django.utils.translation import gettext_noop

from annotator.core.constraints.execution import Returned, run_trajectory
from annotator.core.sandbox import Call, CallResult, Expected, SandboxUnavailable, Status, shared_sandbox
from annotator.core.schema import SchemaProblem
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.text import message
from annotator.core.validators.sources import NoSource, source_of
from annotator.errors import Conflict, Invalid
from annotator.models import Replay
from annotator.services.dialogues.replays import document_of, key_of
from annotator.services.jobs.jobs import Running, job_kind

#: Seconds for all code of one replay; later calls are not tried. Other jobs wait at most this long.
MAX_SECONDS = 30.0
#: Seconds between heartbeats.
_BEAT = 3.0
#: After this many stopped calls, a tool is not tried again.
_MAX_STOPPED = 2
_STOPPED = (Status.TIMEOUT_CPU, Status.TIMEOUT_WALL, Status.MEMORY, Status.CRASHED, Status.OUTPUT_LIMIT)
_OUT_OF_TIME = f"Not tried: the code of this replay took more than {MAX_SECONDS:.0f} seconds."


class _Sandbox(Protocol):
    def run(
        self, source: str, function: str, calls: Sequence[Call], *, expected: Expected = Expected.VERDICT
    ) -> list[CallResult]: ...


@job_kind("replay", gettext_noop("Replay"), quiet=True, untrusted=True)
def run_replay(running: Running) -> dict[str, Any]:
    """Run one replay and store its result.

    A draft is run in its current version. Raises Conflict if there is nothing left to run or the sandbox is not
    available.
    """
    rows = Replay.objects.select_related("revision__toolset_revision", "draft__toolset_revision")
    replay = rows.filter(job=running.job).first()
    if replay is None:
        raise Conflict(message("This replay was removed. Start it again."))
    source = replay.revision or replay.draft
    assert source is not None  # noqa: S101 - a constraint of the table
    document = document_of(replay.revision, replay.draft)
    trajectory = document["reference_trajectory"] if replay.trajectory is None else replay.trajectory
    if not trajectory:
        raise Conflict(message("The case no longer has a reference trajectory. Add one, or paste a trajectory."))
    runner = SandboxRunner(document, running, total=sum(len(each.get("calls") or ()) for each in trajectory))
    try:
        record = run_trajectory(
            document, trajectory, toolset=CompiledToolset.of(source.toolset_revision.content), runner=runner
        )
    except SandboxUnavailable as why:
        raise Conflict(message("The code couldn’t be run. %(reason)s", reason=str(why))) from None
    except SchemaProblem as problem:
        what = problem.problems[0].message
        raise Invalid(message("The case can’t be replayed: %(problem)s", problem=what)) from None
    with running.chunk() as chunk:
        key = key_of(document, source.toolset_revision.content_hash, trajectory)
        Replay.objects.filter(pk=replay.pk).update(record=record, key=key)
        chunk.advance(done=runner.total, total=runner.total)
    return {"replay": replay.public_id, "solved": record["solved"]}


class SandboxRunner:
    """Runs a case's code in the sandbox of this worker (``annotator.core.constraints.execution.Runner``).

    Each call of a tool runs in its own process, because tools keep no state between calls; all verdicts of a validator
    share one. Raises SandboxUnavailable.
    """

    def __init__(
        self, document: Mapping[str, Any], running: Running | None, *, total: int, sandbox: _Sandbox | None = None
    ) -> None:
        self.document, self.running, self.total = document, running, total
        self.sandbox = sandbox or shared_sandbox()
        self.until = time.monotonic() + MAX_SECONDS
        self.beaten = time.monotonic()
        self.done = 0
        self.stopped: Counter[str] = Counter()

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Returned:
        """See ``Runner``."""
        self.done += 1
        source = self.document["tool_codes"].get(name)
        if source is None:
            return Returned("no_code", message=f"The case has no code for the tool {name}.")
        if self.stopped[name] >= _MAX_STOPPED:
            words = f"Not tried: {_MAX_STOPPED} earlier calls to {name} had to be stopped."
            return Returned("not_tried", message=words)
        if self._late():
            return Returned("not_tried", message=_OUT_OF_TIME)
        (result,) = self.sandbox.run(source, name, [Call(kwargs=dict(arguments))], expected=Expected.VALUE)
        if result.status in _STOPPED:
            self.stopped[name] += 1
        return returned_by(result, result.value)

    def judge(self, position: int, responses: Sequence[str]) -> Sequence[Returned]:
        """See ``Runner``."""
        try:
            source, function = source_of(self.document["constraints"][position]["validator"])
        except NoSource as why:
            return [Returned("no_code", message=str(why)) for _ in responses]
        if self._late():
            return [Returned("not_tried", message=_OUT_OF_TIME) for _ in responses]
        results = self.sandbox.run(source, function, [Call((response,)) for response in responses])
        return [returned_by(result, result.accepted) for result in results]

    def _late(self) -> bool:
        """Return whether time is up. Sends heartbeats; raises Lost or Cancelled."""
        now = time.monotonic()
        if self.running is not None and now - self.beaten > _BEAT:
            self.beaten = now
            with self.running.chunk() as chunk:
                chunk.advance(done=self.done, total=self.total)
        return now > self.until


def returned_by(result: CallResult, value: Any) -> Returned:
    """Return what code in the sandbox returned. Raises SandboxUnavailable."""
    if result.status is Status.SANDBOX_UNAVAILABLE:
        raise SandboxUnavailable(result.message or result.status.words)
    return Returned(result.status.value, value, result.message or ("" if result.ok else result.status.words))
