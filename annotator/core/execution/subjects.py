"""One trajectory to run, the key of everything that decides what it comes to, and the result as it is stored.

Nothing runs here: ``annotator.services.dialogues.executions`` runs subjects in workers and stores the results.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Self

from annotator.core.execution.alternatives import find_alternative
from annotator.core.execution.dependencies import Reruns, run_again
from annotator.core.execution.numbers import whole_numbers
from annotator.core.execution.prerequisites import missing_prerequisite
from annotator.core.execution.running import Execution, Runner, Start, StatefulTool, describe, execute
from annotator.core.sandbox.trajectories import (
    MAX_CALLS,
    Implementation,
    ToolCall,
    Trajectory,
    TrajectoryRun,
    run_from_json,
)
from annotator.core.schema.canonical import canonical, content_hash
from annotator.core.schema.toolsets import CompiledToolset

#: Increased when running or explaining changes, so that everything is run again.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Subject:
    """A trajectory with everything that decides the result. ``now`` is in ISO 8601; without a zone it is UTC."""

    source: str
    class_name: str | None
    load: str | None
    functions: tuple[str, ...]
    initial_state: Any
    seed: int | None
    now: str | None
    #: Pairs of name and arguments.
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    #: Pairs of function and the arguments that it requires.
    required: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def key(self) -> str:
        """SHA-256 over all of it: an equal trajectory is never run twice."""
        return content_hash(canonical(self.as_json() | {"version": VERSION}))

    @property
    def tool(self) -> StatefulTool:
        """The tool that the calls go to."""
        return StatefulTool(Implementation(self.source, self.class_name, self.load), frozenset(self.functions))

    @property
    def start(self) -> Start:
        """What the trajectory starts from."""
        return Start(self.initial_state, self.seed, None if self.now is None else read_moment(self.now))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls with whole floats as integers."""
        return tuple(ToolCall(name, whole_numbers(dict(arguments))) for name, arguments in self.calls)

    def as_json(self) -> dict[str, Any]:
        """Return the parameters for a job; ``from_json`` reads them."""
        calls = [[name, dict(arguments)] for name, arguments in self.calls]
        required = [[name, list(names)] for name, names in self.required]
        return asdict(self) | {"functions": list(self.functions), "calls": calls, "required": required}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        calls = tuple((name, arguments) for name, arguments in data["calls"])
        required = tuple((name, tuple(names)) for name, names in data["required"])
        return cls(**{**data, "functions": tuple(data["functions"]), "calls": calls, "required": required})


def subject_of(document: Mapping[str, Any], toolset: CompiledToolset) -> Subject | str:
    """Return the trajectory of a single task, or a sentence with the reason why it cannot be run."""
    implementation = toolset.implementation
    if implementation is None:
        return "The toolset has no implementation, so nothing can be run. Import the tools with their code."
    trajectory = document["tasks"][0]["steps"]
    if not trajectory:
        return "The trajectory has no calls yet. Add the first one."
    if len(trajectory) > MAX_CALLS:
        return f"A trajectory of more than {MAX_CALLS:,} calls is not run. This one has {len(trajectory):,}."
    for number, call in enumerate(trajectory, 1):
        if not isinstance(call["arguments"], dict):
            return f"The arguments of call {number} are not an object. Repair them first."
    if document["now"] is not None:
        try:
            read_moment(document["now"])
        except (ValueError, OverflowError):
            return "The current time is not a date and time such as 2026-02-03T09:30:00. Correct it first."
    return Subject(
        source=implementation["source"],
        class_name=implementation["class"],
        load=implementation["load"],
        functions=tuple(sorted(toolset.names)),
        initial_state=document["initial_state"],
        seed=document["seed"],
        now=document["now"],
        calls=tuple((call["name"], call["arguments"]) for call in trajectory),
        required=tuple((name, _required(tool.parameters)) for name, tool in sorted(toolset.tools.items())),
    )


def _required(schema: Mapping[str, Any]) -> tuple[str, ...]:
    found = schema.get("required")
    return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


def read_moment(text: str) -> float:
    """Return the seconds since 1970 of a date and time in ISO 8601. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, slots=True)
class Record:
    """The result of a subject: what the trajectory came to, and what running it again showed."""

    run: TrajectoryRun
    reruns: Reruns | None
    #: See ``prerequisites``.
    prerequisite: tuple[int, ToolCall] | None = None
    #: See ``alternatives``.
    alternative: tuple[int, ToolCall] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON value; ``from_json`` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        found = data["reruns"]
        reruns = found and Reruns(
            tuple(map(tuple, found["needs"])), tuple(found["leaves_trace"]), tuple(found["exchangeable"])
        )
        missing, other = data["prerequisite"], data.get("alternative")
        return cls(
            run_from_json(data["run"]),
            reruns,
            missing and (missing[0], ToolCall(**missing[1])),
            other and (other[0], ToolCall(**other[1])),
        )

    def execution(self, subject: Subject) -> Execution:
        """Return what each call came to."""
        return describe(_trajectory(subject), self.run)


def run_subject(runner: Runner, subject: Subject) -> Record:
    """Run a subject twice, and again to explain it. Raises SandboxUnavailable."""
    kept: list[TrajectoryRun] = []

    def keeping(trajectory: Trajectory, twice: bool) -> TrajectoryRun:
        kept.append(runner(trajectory, twice))
        return kept[-1]

    execution = execute(keeping, subject.tool, subject.start, subject.tool_calls)
    reruns = run_again(runner, subject.tool, subject.start, subject.tool_calls, execution)
    missing = missing_prerequisite(
        runner, subject.tool, subject.start, subject.tool_calls, execution, dict(subject.required)
    )
    other = find_alternative(runner, subject.tool, subject.start, subject.tool_calls, execution, dict(subject.required))
    return Record(kept[0], reruns, missing, other)


def _trajectory(subject: Subject) -> Trajectory:
    tool = subject.tool
    return Trajectory(tool.implementation, tool.functions, subject.initial_state, subject.tool_calls)
