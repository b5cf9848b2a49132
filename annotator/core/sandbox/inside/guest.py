"""The work of an isolated child: read the work, load the source, call the function, answer.

Nothing here protects anything. The source runs in this interpreter and can change everything, including its own
answers. Therefore a batch has only one source, and the host checks what it reads.
"""

import json
from collections.abc import Callable
from typing import Any

# Nothing above this package can be imported here.
from .channel import receiver, sender  # noqa: TID252
from .source import Answer, failure, name_of, run_source, text_of  # noqa: TID252


def work(request: dict[str, Any]) -> None:
    """Answer calls one by one: the host sends the next call after each answer, and never the number of calls."""
    send, receive = sender(request["result"]), receiver()
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
    names = run_source(source, "validator")
    if not isinstance(names, dict):
        return names
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
        return failure(error, source)


def verdict(returned: Any, longest: int) -> Answer:
    """Check that the result is exactly a tuple or list of a boolean and a text; 1 is not a boolean."""
    kind = type(returned)
    if (kind is tuple or kind is list) and len(returned) == 2:
        accepted, message = returned
        if type(accepted) is bool and type(message) is str:
            if len(message) > longest:
                return "output_limit", None, f"The message has {len(message):,} characters. The limit is {longest:,}."
            return "ok", accepted, message
        what = f"({name_of(type(accepted))}, {name_of(type(message))})"
    else:
        what = name_of(kind)
    return "bad_return_type", None, f"It returned {what} instead of (bool, str)."


def value(returned: Any, longest: int) -> Answer:
    """Check that the result can be written as JSON."""
    try:
        json.dumps(returned, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return "bad_return_type", None, f"It returned a value that is not JSON: {text_of(error)}."
    return "ok", returned, ""
