"""Load a source, and say what went wrong in it: shared by validators and stateful tools."""

import errno
from types import CodeType, TracebackType
from typing import Any

NAME = "<validator>"
_WORDS = 2_000
_LINES = 12

#: Status, value, message.
Answer = tuple[str, Any, str]


def run_source(source: str, module: str) -> "dict[str, Any] | Answer":
    """Return the names that a source defines, or what went wrong. ``module``: the name that its classes get."""
    try:
        # Like Python with files, ignore a byte order mark.
        code: CodeType = compile(source.removeprefix("\ufeff"), NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError) as error:
        return "syntax_error", None, _describe_syntax(error)
    except MemoryError:
        # The parser raises this for code that is nested too deeply.
        return "syntax_error", None, "The code is too large or nested too deeply to be read."
    names: dict[str, Any] = {"__name__": module, "__builtins__": __builtins__}
    try:
        exec(code, names)  # noqa: S102 - that is what this process is for
    except BaseException as error:
        return failure(error, source, loading=True)
    return names


def failure(error: BaseException, source: str, *, loading: bool = False) -> Answer:
    if isinstance(error, MemoryError):
        return "memory", None, "The code exceeded the memory limit."
    if isinstance(error, OSError) and error.errno == errno.EPERM:
        return "forbidden", None, traceback_of(error, source)
    if isinstance(error, RuntimeError) and "start new thread" in text_of(error):
        return "forbidden", None, traceback_of(error, source)
    if loading and isinstance(error, ImportError):
        return "import_error", None, f"{name_of(type(error))}: {text_of(error)}"
    return "exception", None, traceback_of(error, source)


def _describe_syntax(error: BaseException) -> str:
    where = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{name_of(type(error))}: {words}{where}"[:_WORDS]


def traceback_of(error: BaseException, source: str) -> str:
    """Return the traceback with only the source's own lines, then the error."""
    lines = source.split("\n")
    steps: list[str] = []
    at: TracebackType | None = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_filename == NAME:
            text = lines[at.tb_lineno - 1].strip()[:200] if 0 < at.tb_lineno <= len(lines) else ""
            steps.append(f"line {at.tb_lineno}, in {code.co_name}\n    {text}")
        at = at.tb_next
    if len(steps) > 2 * _LINES:
        steps = [*steps[:_LINES], f"… {len(steps) - 2 * _LINES:,} more …", *steps[-_LINES:]]
    return "\n".join([*steps, f"{name_of(type(error))}: {text_of(error)}"])


def name_of(kind: type) -> str:
    name: str = type.__getattribute__(kind, "__name__")
    return name[:100]


def text_of(error: BaseException) -> str:
    try:
        return str(error)[:_WORDS]
    except BaseException:
        return "(its text cannot be read)"
