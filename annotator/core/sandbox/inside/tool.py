"""A trajectory in an isolated child: load a stateful tool, call it, and report the state after each call.

As for validators, nothing here protects anything; the host checks what it reads.
"""

import inspect
import json
import os
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

# Nothing above this package can be imported here.
from .channel import CHANNEL, receiver  # noqa: TID252
from .determinism import CHANCE, fix_clock, fix_randomness  # noqa: TID252
from .snapshot import NotJson, TooLarge, Writer  # noqa: TID252
from .source import failure, name_of, run_source, text_of  # noqa: TID252

#: The name of the module that the source is.
MODULE = "tool"

Functions = Callable[[str], Callable[..., Any] | None]


def work(request: dict[str, Any]) -> None:
    """Load the tool and report its state, then answer calls one by one."""
    receive, dumps, send = receiver(), _dumps(), _sender()
    limit = request["result"]
    fix_clock(request["now"])
    fix_randomness(request["seed"])
    status, message, find, states = load(request, dumps)
    if find is None or states is None:
        send(dumps(["load", status, message, None, False]))
        return
    send(f'["load", "ok", "", {states.first()}, {chance()}]')
    writer = Writer(MODULE)
    while True:
        call = receive()
        status, result, message = answer(find, call, writer, request["source"])
        text = dumps(result)
        if len(text) > limit:
            status, text, message = "output_limit", "null", f"The result has more than {limit:,} bytes."
        head = dumps([call["token"], status])[:-1]
        send(f"{head}, {text}, {dumps(message)}, {states.after_call()}, {chance()}]")


def chance() -> str:
    """Return whether the system's randomness was used since the last question, as JSON."""
    return "true" if CHANCE.take() else "false"


def load(request: dict[str, Any], dumps: Callable[[Any], str]) -> "tuple[str, str, Functions | None, States | None]":
    """Return (status, message, function that finds a tool's function, states); the last two are None if it failed."""
    source, class_name = request["source"], request["class"]
    names = run_source(source, MODULE)
    if not isinstance(names, dict):
        status, _, message = names
        return ("load_failed" if status == "exception" else status), message, None, None
    if class_name is None:
        return "ok", "", lambda name: function_of_module(names, name), States(None, request["result"], dumps)
    kind = names.get(class_name)
    if not isinstance(kind, type):
        return "missing_class", f"There is no class {class_name}.", None, None
    try:
        tool = kind()
        if request["load"] is not None:
            method = getattr(tool, request["load"], None)
            if not callable(method):
                return "missing_function", f"The class has no function {request['load']}.", None, None
            method({} if request["state"] is None else request["state"])
    except BaseException as error:
        status, _, message = failure(error, source)
        return ("load_failed" if status == "exception" else status), message, None, None
    return "ok", "", lambda name: function_of_class(tool, kind, name), States(tool, request["result"], dumps)


def function_of_class(tool: Any, kind: type, name: str) -> Callable[..., Any] | None:
    """Return a function of the class, bound to the tool; None for attributes and what is hidden."""
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, FunctionType | staticmethod | classmethod):
        function: Callable[..., Any] = object.__getattribute__(tool, name)
        return function
    return None


def function_of_module(names: Mapping[str, Any], name: str) -> Callable[..., Any] | None:
    """Return a function of the source; None for classes and values."""
    found: Any = names.get(name)
    return found if callable(found) and not isinstance(found, type) else None


def answer(find: Functions, call: dict[str, Any], writer: Writer, source: str) -> tuple[str, Any, str]:
    """Make one call; return (status, result, message). The result of an exception is its type and text."""
    try:
        function = find(call["name"])
        if function is None:
            return "unknown_function", None, f"The tool has no function {call['name']}."
        wrong = refuse_arguments(function, call["arguments"])
        if wrong:
            return "bad_arguments", None, wrong
        returned = function(**call["arguments"])
    except BaseException as error:
        status, _, message = failure(error, source)
        return status, f"{name_of(type(error))}: {text_of(error)}", message
    try:
        return "ok", writer.result(returned), ""
    except TooLarge as error:
        return "output_limit", None, f"The result is too large. {error}"
    except NotJson as error:
        return "result_not_json", None, f"The result cannot be written as JSON. {error}"
    except MemoryError:
        return "memory", None, "The code exceeded the memory limit."
    except BaseException as error:
        return "result_not_json", None, f"The result cannot be read: {name_of(type(error))}: {text_of(error)}"


def refuse_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """Return why the function does not take these arguments; empty if it does."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Functions written in C need not tell; they refuse by themselves.
        return ""
    try:
        signature.bind(**arguments)
    except TypeError as error:
        return f"{text_of(error)[:1].upper()}{text_of(error)[1:]}."
    return ""


class States:
    """The tool's state after each call, as text of JSON for the host; ``tool`` is None for a module of functions."""

    def __init__(self, tool: Any, limit: int, dumps: Callable[[Any], str]) -> None:
        self.tool, self.limit, self.dumps = tool, limit, dumps
        self.public, self.private = Writer(MODULE), Writer(MODULE, lenient=True)
        self.shown = self.hidden = ""

    def first(self) -> str:
        """Return ``{"state": …}`` or ``{"error": sentence}``."""
        self.shown, self.hidden = self._shown(), self._hidden()
        return self.shown

    def after_call(self) -> str:
        """Return the state, or null if it is the same as before; and whether hidden attributes changed."""
        before, self.shown = self.shown, self._shown()
        hidden_before, self.hidden = self.hidden, self._hidden()
        changed = "true" if self.hidden != hidden_before else "false"
        return f"{'null' if self.shown == before else self.shown}, {changed}"

    def _shown(self) -> str:
        if self.tool is None:
            return '{"state": {}}'
        try:
            text = self.dumps(self.public.state(self.tool))
        except (NotJson, TooLarge) as error:
            return self.dumps({"error": f"The state cannot be written as JSON. {error}"})
        except BaseException as error:
            return self.dumps({"error": f"The state cannot be read: {name_of(type(error))}: {text_of(error)}"})
        if len(text) > self.limit:
            return self.dumps({"error": f"The state has more than {self.limit:,} bytes."})
        return f'{{"state": {text}}}'

    def _hidden(self) -> str:
        if self.tool is None:
            return ""
        try:
            return self.dumps(self.private.hidden(self.tool))
        except BaseException:
            return ""


def _dumps() -> Callable[[Any], str]:
    # Made once, and kept in a variable, because the source may replace the original.
    encode = json.JSONEncoder(allow_nan=False).encode

    def dumps(value: Any) -> str:
        return encode(value)

    return dumps


def _sender() -> Callable[[str], None]:
    write = os.write

    def send(text: str) -> None:
        data = text.encode()
        data = len(data).to_bytes(4, "little") + data
        while data:
            data = data[write(CHANNEL, data) :]

    return send
