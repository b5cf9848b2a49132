"""The work of an isolated child: read the work, load the source, call the function, answer.

Nothing here protects anything. The source runs in this interpreter and can change everything, including its own
answers. Therefore a batch has only one source, and the host checks what it reads.
"""

import errno
import json
import os
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any

#: The child's only file descriptor.
CHANNEL = 3
#: The exit code of a child that has no memory left for an answer.
OUT_OF_MEMORY = 97
NAME = "<validator>"
_WORDS = 2_000
_LINES = 12

Answer = tuple[str, Any, str]


def serve() -> None:
    """Do the work from the channel, with one frame for each answer. Never returns."""
    code = 0
    try:
        request = json.loads(_read_frame())
        _work(request)
    except MemoryError:
        code = OUT_OF_MEMORY
    finally:
        os._exit(code)


def _work(request: dict[str, Any]) -> None:
    """Answer calls one by one: the host sends the next call after each answer, and never the number of calls."""
    send, receive = _sender(request["result"]), _receiver()
    loaded = load(request["source"], request["function"])
    if not callable(loaded):
        send(["load", *loaded])
        return
    judge = verdict if request["expected"] == "verdict" else value
    index = 0
    while True:
        send([index, *answer(loaded, receive(), judge, request["source"], request["message"])])
        index += 1


def load(source: str, function: str) -> "Callable[..., Any] | Answer":
    """Return the function of a source, or what went wrong."""
    try:
        # Like Python with files, ignore a byte order mark.
        code: CodeType = compile(source.removeprefix("\ufeff"), NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError) as error:
        return "syntax_error", None, _describe_syntax(error)
    except MemoryError:
        # The parser raises this for code that is nested too deeply.
        return "syntax_error", None, "The code is too large or nested too deeply to be read."
    names: dict[str, Any] = {"__name__": "validator", "__builtins__": __builtins__}
    try:
        exec(code, names)  # noqa: S102 - that is what this process is for
    except BaseException as error:
        return _failure(error, source, loading=True)
    found: Callable[..., Any] | None = names.get(function)
    if found is None or not callable(found):
        return "missing_function", None, f"There is no function {function}."
    return found


def answer(
    function: Callable[..., Any],
    call: dict[str, Any],
    judge: "Callable[[Any, int], Answer]",
    source: str,
    longest: int,
) -> Answer:
    """Make one call; return (status, verdict or value, message)."""
    try:
        return judge(function(*call["args"], **call["kwargs"]), longest)
    except BaseException as error:
        return _failure(error, source)


def verdict(returned: Any, longest: int) -> Answer:
    """Check that the result is exactly a tuple or list of a boolean and a text; 1 is not a boolean."""
    kind = type(returned)
    if (kind is tuple or kind is list) and len(returned) == 2:
        accepted, message = returned
        if type(accepted) is bool and type(message) is str:
            if len(message) > longest:
                return "output_limit", None, f"The message has {len(message):,} characters. The limit is {longest:,}."
            return "ok", accepted, message
        what = f"({_name(type(accepted))}, {_name(type(message))})"
    else:
        what = _name(kind)
    return "bad_return_type", None, f"It returned {what} instead of (bool, str)."


def value(returned: Any, longest: int) -> Answer:
    """Check that the result can be written as JSON."""
    try:
        json.dumps(returned, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return "bad_return_type", None, f"It returned a value that is not JSON: {_text(error)}."
    return "ok", returned, ""


def _failure(error: BaseException, source: str, *, loading: bool = False) -> Answer:
    if isinstance(error, MemoryError):
        return "memory", None, "The code exceeded the memory limit."
    if isinstance(error, OSError) and error.errno == errno.EPERM:
        return "forbidden", None, _traceback(error, source)
    if isinstance(error, RuntimeError) and "start new thread" in _text(error):
        return "forbidden", None, _traceback(error, source)
    if loading and isinstance(error, ImportError):
        return "import_error", None, f"{_name(type(error))}: {_text(error)}"
    return "exception", None, _traceback(error, source)


def _describe_syntax(error: BaseException) -> str:
    where = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{_name(type(error))}: {words}{where}"[:_WORDS]


def _traceback(error: BaseException, source: str) -> str:
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
    return "\n".join([*steps, f"{_name(type(error))}: {_text(error)}"])


def _name(kind: type) -> str:
    name: str = type.__getattribute__(kind, "__name__")
    return name[:100]


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_WORDS]
    except BaseException:
        return "(its text cannot be read)"


def _read_frame() -> bytes:
    size = int.from_bytes(_read(4), "little")
    return _read(size)


def _read(count: int) -> bytes:
    parts = []
    while count:
        part = os.read(CHANNEL, min(count, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _receiver() -> Callable[[], dict[str, Any]]:
    # Kept in variables for the same reason as in _sender.
    loads, read = json.loads, _read_frame

    def receive() -> dict[str, Any]:
        call: dict[str, Any] = loads(read())
        return call

    return receive


def _sender(limit: int) -> Callable[[list[Any]], None]:
    # Kept in variables, because the source may replace the originals.
    dumps, write = json.dumps, os.write

    def send(frame: list[Any]) -> None:
        data = dumps(frame).encode()
        if len(data) > limit:
            data = dumps([frame[0], "output_limit", None, f"The result has more than {limit:,} bytes."]).encode()
        data = len(data).to_bytes(4, "little") + data
        while data:
            data = data[write(CHANNEL, data) :]

    return send
