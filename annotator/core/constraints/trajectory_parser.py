"""Parse a pasted trajectory of a model strictly: our rounds, or messages in the OpenAI format.

    read_trajectory('[{"calls": [{"name": "find", "arguments": {}}]}, {"final": "Two rivers."}]')

Rounds: a list (or an object with it under ``reference_trajectory`` or ``rounds``) of objects with ``calls`` or
``final``; ids are optional. Messages: a list (or an object with ``messages``); an assistant's message with
``tool_calls`` is a round of calls, one without is a final response, a tool's message is an observation; the rest is
skipped.
"""

import json
from collections.abc import Mapping
from typing import Any

from annotator.core.schema.canonical import normalise
from annotator.core.schema.errors import Problem, SchemaProblem
from annotator.core.schema.exact_json import JsonError, loads
from annotator.core.wording import counted

#: Limits of a custom trajectory: characters, rounds and calls.
MAX_TEXT = 1_000_000
MAX_ROUNDS = 200
MAX_CALLS = 500
_MAX_PROBLEMS = 20
_HOLDERS = ("reference_trajectory", "rounds", "messages")


def read_trajectory(text: str) -> list[dict[str, Any]]:
    """Return the rounds, each ``{"id", "calls": [{"id", "name", "arguments", "observation"}], "final"}``.

    Arguments that are not a JSON object stay text, because models may write such arguments. Raises SchemaProblem with a
    place and a sentence for each problem.
    """
    if not text.strip():
        raise SchemaProblem([Problem("", "There is no trajectory. Paste rounds or messages as JSON.")])
    if len(text) > MAX_TEXT:
        raise SchemaProblem([Problem("", f"The text has {len(text):,} characters. The limit is {MAX_TEXT:,}.")])
    try:
        value = loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SchemaProblem([Problem("", f"This is not JSON ({where}: {error.msg}).")]) from None
    except JsonError as error:
        raise SchemaProblem([Problem(error.pointer, error.message)]) from None
    return read_value(normalise(value))


def read_value(value: Any) -> list[dict[str, Any]]:
    """Return the same for a JSON value."""
    base = ""
    if isinstance(value, dict):
        base = next((key for key in _HOLDERS if isinstance(value.get(key), list)), "")
        if not base:
            words = "Paste a list, or an object with a list under “rounds” or “messages”."
            raise SchemaProblem([Problem("", words)])
        value, base = value[base], f"/{base}"
    if not isinstance(value, list):
        raise SchemaProblem([Problem("", "The trajectory must be a list of rounds, or of messages.")])
    reading = _Reading()
    if any(isinstance(one, dict) and "role" in one for one in value):
        rounds = reading.messages(value, base)
    else:
        rounds = reading.rounds(value, base)
    if reading.problems:
        raise SchemaProblem(reading.problems[:_MAX_PROBLEMS])
    if not rounds:
        raise SchemaProblem([Problem(base, "The trajectory has no calls and no final response.")])
    check_size(rounds)
    return rounds


def check_size(rounds: list[dict[str, Any]]) -> None:
    """Raise SchemaProblem if there are too many rounds or calls."""
    calls = sum(len(each["calls"]) for each in rounds)
    if len(rounds) > MAX_ROUNDS or calls > MAX_CALLS:
        found = f"{counted(len(rounds), 'round')} with {counted(calls, 'call')}"
        words = f"The trajectory has {found}. The limit is {MAX_ROUNDS} rounds with {MAX_CALLS} calls."
        raise SchemaProblem([Problem("", words)])


class _Reading:
    """One trajectory; collects every problem."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def wrong(self, place: str, message: str) -> None:
        self.problems.append(Problem(place, message))

    def rounds(self, value: list[Any], base: str) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for number, one in enumerate(value):
            here = f"{base}/{number}"
            if not isinstance(one, dict):
                self.wrong(here, f"Round {number + 1} must be an object with “calls” or “final”.")
                continue
            calls, final = one.get("calls") or [], one.get("final")
            if not isinstance(calls, list):
                self.wrong(f"{here}/calls", f"The calls of round {number + 1} must be a list.")
                continue
            if final is not None and not isinstance(final, str):
                self.wrong(f"{here}/final", f"The final response of round {number + 1} must be text.")
                continue
            if not calls and final is None:
                self.wrong(here, f"Round {number + 1} has no calls and no final response.")
                continue
            read = [
                self.call(call, f"{here}/calls/{n}", f"Call {n + 1} of round {number + 1}")
                for n, call in enumerate(calls)
            ]
            out.append(_round(one.get("id"), len(out), [call for call in read if call], final))
        return out

    def call(self, call: Any, here: str, title: str) -> dict[str, Any] | None:
        if not isinstance(call, dict):
            self.wrong(here, f"{title} must be an object with “name” and “arguments”.")
            return None
        name, arguments = call.get("name"), call.get("arguments", {})
        if not isinstance(name, str) or not name:
            self.wrong(f"{here}/name", f"{title} has no tool name.")
            return None
        if not isinstance(arguments, dict | str):
            self.wrong(f"{here}/arguments", f"The arguments of {title[:1].lower()}{title[1:]} must be an object.")
            return None
        try:
            arguments = _arguments(arguments)
        except JsonError as error:
            self.wrong(f"{here}/arguments", f"The arguments of {title[:1].lower()}{title[1:]}: {error}")
            return None
        return {
            "id": _id(call.get("id")),
            "name": name,
            "arguments": arguments,
            "observation": call.get("observation"),
        }

    def messages(self, value: list[Any], base: str) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        open_calls: dict[str, dict[str, Any]] = {}
        for number, one in enumerate(value):
            here, title = f"{base}/{number}", f"Message {number + 1}"
            if not isinstance(one, dict) or not isinstance(one.get("role"), str):
                self.wrong(here, f"{title} must be an object with a “role”.")
            elif one["role"] == "assistant":
                read = self.assistant(one, here, title)
                if read is not None:
                    out.append(_round(None, len(out), *read))
                    open_calls |= {call["id"]: call for call in read[0] if call["id"]}
            elif one["role"] == "tool":
                key = _id(one.get("tool_call_id"))
                if key not in open_calls:
                    self.wrong(f"{here}/tool_call_id", f"{title} answers no earlier call.")
                    continue
                open_calls.pop(key)["observation"] = _text(one.get("content"))
        return out

    def assistant(
        self, one: Mapping[str, Any], here: str, title: str
    ) -> tuple[list[dict[str, Any]], str | None] | None:
        calls = one.get("tool_calls") or []
        if not isinstance(calls, list):
            self.wrong(f"{here}/tool_calls", f"The tool_calls of {title.lower()} must be a list.")
            return None
        if not calls:
            final = _text(one.get("content"))
            if final is None:
                self.wrong(here, f"{title} has no tool_calls and no content.")
                return None
            return [], final
        read = []
        for n, call in enumerate(calls):
            inner = call.get("function") if isinstance(call, dict) else None
            if not isinstance(inner, dict):
                self.wrong(f"{here}/tool_calls/{n}", f"Call {n + 1} of {title.lower()} has no “function”.")
                continue
            named = {"id": call.get("id"), "name": inner.get("name"), "arguments": inner.get("arguments", {})}
            found = self.call(named, f"{here}/tool_calls/{n}/function", f"Call {n + 1} of {title.lower()}")
            if found:
                read.append(found)
        return read, None


def _round(key: Any, number: int, calls: list[dict[str, Any]], final: str | None) -> dict[str, Any]:
    return {"id": _id(key) or f"r{number + 1}", "calls": calls, "final": final}


def _id(key: Any) -> str:
    return key[:100] if isinstance(key, str) else ""


def _arguments(arguments: dict[str, Any] | str) -> dict[str, Any] | str:
    """Return the object of arguments in JSON text. Raises JsonError if it cannot be stored."""
    if isinstance(arguments, str):
        try:
            value = normalise(loads(arguments))
        except JsonError:
            raise
        except ValueError:
            return arguments
        return value if isinstance(value, dict) else arguments
    return arguments


def _text(content: Any) -> str | None:
    """Return the text of a message: one text, or parts of it."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return "".join(str(part) for part in parts) if parts else None
    return content if isinstance(content, str) else None
