"""The sandbox's calls, limits and results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a call ended. All but ``ok`` and ``sandbox_unavailable`` are the code's own fault."""

    OK = "ok"
    SYNTAX_ERROR = "syntax_error"
    IMPORT_ERROR = "import_error"
    MISSING_FUNCTION = "missing_function"
    BAD_RETURN_TYPE = "bad_return_type"
    EXCEPTION = "exception"
    TIMEOUT_CPU = "timeout_cpu"
    TIMEOUT_WALL = "timeout_wall"
    MEMORY = "memory"
    OUTPUT_LIMIT = "output_limit"
    FORBIDDEN = "forbidden"
    CRASHED = "crashed"
    NO_RESULT = "no_result"
    #: Only in trajectories of stateful tools.
    MISSING_CLASS = "missing_class"
    LOAD_FAILED = "load_failed"
    UNKNOWN_FUNCTION = "unknown_function"
    BAD_ARGUMENTS = "bad_arguments"
    RESULT_NOT_JSON = "result_not_json"
    NOT_RUN = "not_run"
    #: Not the code's fault; try again.
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"

    @property
    def words(self) -> str:
        """A sentence about what happened, for the author of the code."""
        return _WORDS[self]


_WORDS = {
    Status.OK: "The function returned.",
    Status.SYNTAX_ERROR: "The code is not valid Python.",
    Status.IMPORT_ERROR: "The code imports a module that is not available. Use common modules of the standard library.",
    Status.MISSING_FUNCTION: "The code does not define this function.",
    Status.BAD_RETURN_TYPE: "The function did not return True or False and a message.",
    Status.EXCEPTION: "The code raised an exception.",
    Status.TIMEOUT_CPU: "The code exceeded the CPU time limit.",
    Status.TIMEOUT_WALL: "The code exceeded the time limit.",
    Status.MEMORY: "The code exceeded the memory limit.",
    Status.OUTPUT_LIMIT: "The code returned too much data.",
    Status.FORBIDDEN: "The code used a forbidden operation: files, network, processes or threads.",
    Status.CRASHED: "The code crashed its interpreter.",
    Status.NO_RESULT: "The code ended its interpreter without a result.",
    Status.MISSING_CLASS: "The code does not define the tool's class.",
    Status.LOAD_FAILED: "The tool could not be loaded with this initial state.",
    Status.UNKNOWN_FUNCTION: "The tool does not have this function.",
    Status.BAD_ARGUMENTS: "The function does not take these arguments.",
    Status.RESULT_NOT_JSON: "The result cannot be written as JSON.",
    Status.NOT_RUN: "An earlier call ended the trajectory, so this one did not run.",
    Status.SANDBOX_UNAVAILABLE: "The sandbox is not available, so the code did not run. Try again later.",
}


class Expected(StrEnum):
    """The type of value that the function should return."""

    #: A tuple or list of a boolean and a text.
    VERDICT = "verdict"
    #: Any JSON value.
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a call. A batch of calls shares one limit; when it is reached, they are tried one by one."""

    #: Seconds.
    wall: float = 3.0
    cpu: int = 2
    #: Seconds after which no further calls of a source are started. A job sends its heartbeat between two sources, and
    #: must do so within ``annotator.services.jobs.jobs.HEARTBEAT_TIMEOUT``.
    total: float = 20.0
    #: Bytes of address space, including the interpreter's own.
    memory: int = 256 << 20
    #: Bytes of one answer, of the message in it, and of the source.
    result: int = 1 << 20
    message: int = 64 << 10
    source: int = 256 << 10


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments of one call: JSON values."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call.

    ``accepted`` is the verdict of an ``ok`` validator, ``value`` what an ``ok`` tool returned; ``message`` the
    validator's message, or what went wrong (for an exception, the traceback through the code's own lines). ``signal``
    is the signal that ended a child that ``crashed``.
    """

    status: Status
    accepted: bool | None = None
    message: str = ""
    value: Any = None
    signal: int | None = None

    @property
    def ok(self) -> bool:
        return self.status is Status.OK


class SandboxUnavailable(Exception):
    """No code can run; the text says why, and what to do."""
