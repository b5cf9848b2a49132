"""Run the functions of a generation that have code, in the sandbox of this worker."""

from dataclasses import dataclass

from annotator.core.sandbox import SandboxUnavailable, Trajectory, TrajectoryRun, shared_sandbox
from annotator.core.text import Message, message
from benchmark.core.generation.state import State
from benchmark.core.generation.tool_runs import CannotRun, ToolCode, run_calls
from benchmark.models import Generation


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of running tools in the state after ``events`` events: an answer, or why there is none.

    ``may_help``: running them again may give another result.
    """

    events: int
    text: str = ""
    problem: Message | None = None
    may_help: bool = False


@dataclass(frozen=True, slots=True)
class ToolRun:
    """Calls that wait in a state and have code."""

    state: State
    code: ToolCode

    def run(self) -> ToolResult:
        """Run the calls. Nothing is stored, and no lock is needed."""
        events = len(self.state.events)
        try:
            return ToolResult(events, run_calls(_run_in_sandbox, self.state, self.code))
        except CannotRun as problem:
            return ToolResult(events, problem=problem.message)
        except SandboxUnavailable as why:
            text = message("The code couldn’t be run. %(reason)s", reason=str(why))
            return ToolResult(events, problem=text, may_help=True)


def code_of(generation: Generation) -> ToolCode:
    """Return the code that the functions of a generation have."""
    if generation.query is not None:
        return ToolCode(codes=generation.query.document["tool_codes"])
    return ToolCode(generation.toolset_revision.implementation())


def _run_in_sandbox(trajectory: Trajectory, twice: bool) -> TrajectoryRun:
    return shared_sandbox().run_trajectory(trajectory, twice=twice)
