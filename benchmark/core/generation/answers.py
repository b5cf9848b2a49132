"""Read what models answer. Whatever they write becomes a value or a Problem with a sentence, in linear time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.checks.languages import foreign_text
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.schema.value_words import closest, cut
from annotator.core.text import Message, message
from benchmark.core.generation.finding_json import MAX_ANSWER, find_json, plain, too_long
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.responses import response_problem

#: Characters of a message, and of one result.
MAX_MESSAGE, MAX_RESULT = 4_000, 40_000
#: Requests and calls of one answer; steps that a call names.
MAX_REQUESTS, MAX_CALLS, MAX_NEEDS = 30, 16, 32
_LANGUAGES = {"en": message("English"), "zh": message("Chinese")}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message that the user could send. ``problem``: why it can't be used as it is."""

    text: str
    relation: str = ""
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that the planner wants. ``uses`` and ``after``: ids of steps that give a value, or only come first."""

    name: str
    arguments: dict[str, Any]
    uses: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Actions:
    """What the planner wants: calls, or to ask for what is ``missing``, or (neither) that the assistant answers."""

    calls: tuple[PlannedCall, ...] = ()
    missing: str = ""
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The checker's. ``reason`` is empty if the plan is correct."""

    reason: str = ""


def read_candidates(
    text: str, *, relations: Sequence[str], language: str, toolset: CompiledToolset
) -> "list[Candidate] | Problem":
    """Return the messages that the user could send, each once. ``relations``: those asked for; empty at the start of a
    dialogue. A Problem if there is no usable one.
    """
    found = find_json(text)
    if isinstance(found, Problem):
        return found
    items = found.get("requests") if isinstance(found, dict) else found
    if not isinstance(items, list) or not items:
        return _wrong(message("Expected a list under “requests”."))
    candidates: dict[str, Candidate] = {}
    for item in items[:MAX_REQUESTS]:
        one = _candidate(item, relations, language, toolset)
        candidates.setdefault(one.text, one)
    if all(one.problem for one in candidates.values()):
        return next(one.problem for one in candidates.values() if one.problem)
    return list(candidates.values())


def read_actions(text: str, *, toolset: CompiledToolset) -> Actions | Problem:
    """Return what the planner wants to do."""
    found = find_json(text)
    if isinstance(found, Problem):
        return found
    if not isinstance(found, dict):
        return _wrong(message("Expected an object with “action”."))
    action = found.get("action")
    if action == "finish":
        return Actions(raw={"action": "finish"})
    if action == "ask":
        missing = found.get("missing")
        if not isinstance(missing, str) or not missing.strip():
            return _wrong(message("Say under “missing” what to ask for."))
        missing = missing.strip()[:MAX_MESSAGE]
        return Actions(missing=missing, raw={"action": "ask", "missing": missing})
    if action != "call":
        return _wrong(message("“action” must be call, ask or finish."))
    calls = found.get("calls")
    if not isinstance(calls, list) or not 0 < len(calls) <= MAX_CALLS:
        return _wrong(message("“calls” must be a list of 1 to %(most)s calls.", most=MAX_CALLS))
    read = []
    for item in calls:
        one = _call(item, toolset)
        if isinstance(one, Problem):
            return one
        read.append(one)
    return Actions(tuple(read), raw={"action": "call", "calls": calls})


def read_verdict(text: str) -> Verdict | Problem:
    """Return the checker's verdict on a plan."""
    found = find_json(text)
    if isinstance(found, Problem):
        return found
    correct = found.get("correct") if isinstance(found, dict) else None
    if not isinstance(correct, bool):
        return _wrong(message("“correct” must be true or false."))
    reason = found.get("reason")
    if correct:
        return Verdict()
    return Verdict(cut(reason, 500) if isinstance(reason, str) and reason.strip() else "The plan is not correct.")


def read_observations(text: str, *, calls: Sequence[str], tools: Sequence[Mapping[str, Any]]) -> "list[Any] | Problem":
    """Return a result for each call, checked against the “response” of its function where there is one.

    ``calls``: the functions' names. ``tools``: the toolset's, as stored.
    """
    found = find_json(text)
    if isinstance(found, Problem):
        return found
    results = found.get("results") if isinstance(found, dict) else found
    if not isinstance(results, list):
        return _wrong(message("Expected a list under “results”."))
    if len(results) != len(calls):
        return _wrong(
            message("There are %(calls)s calls but %(results)s results.", calls=len(calls), results=len(results))
        )
    for number, (name, result) in enumerate(zip(calls, results, strict=True), 1):
        if result is None or len(dumps(result)) > MAX_RESULT:
            text_ = message(
                "Result %(number)s must not be null or have more than %(most)s characters.",
                number=number, most=f"{MAX_RESULT:,}",
            )  # fmt: skip
            return Problem("observation", text_)
        why = response_problem(name, result, tools)
        if why:
            where = message("Result %(number)s (%(name)s): %(why)s", number=number, name=cut(name), why=why)
            return Problem("response_schema", where)
    return results


def read_text(text: str, *, language: str, names: CompiledToolset | None = None) -> str | Problem:
    """Return a text for the other side of the conversation. ``names``: the tools that it may not name."""
    found = plain(text)
    if isinstance(found, Problem):
        return found
    problem = text_problem(found, language=language, names=names, most=MAX_ANSWER)
    return found if problem is None else problem


def text_problem(
    text: str, *, language: str, names: CompiledToolset | None = None, most: int = MAX_MESSAGE
) -> Problem | None:
    """Return what is wrong with a text in a dialogue: empty, too long, in another language, or a tool's name."""
    if not text.strip():
        return Problem("empty", message("The text is empty."))
    if len(text) > most:
        return too_long(most)
    foreign = foreign_text(text, language)
    if foreign is not None:
        sentence = message("Write in %(language)s: “%(text)s”.", language=_LANGUAGES[language], text=cut(foreign))
        return Problem("language", sentence)
    named = None if names is None else _named_tool(text, names)
    if named is not None:
        return Problem("tool_named", message("The text names the function %(name)s.", name=cut(named)))
    return None


def _named_tool(text: str, toolset: CompiledToolset) -> str | None:
    lower = text.lower()
    for name, lowered in toolset.distinctive_names:
        at = lower.find(lowered)
        while at >= 0:
            around = (lower[at - 1 : at] if at else "") + lower[at + len(lowered) : at + len(lowered) + 1]
            if not any(one == "_" or (one.isascii() and one.isalnum()) for one in around):
                return name
            at = lower.find(lowered, at + len(lowered))
    return None


def _candidate(item: Any, relations: Sequence[str], language: str, toolset: CompiledToolset) -> Candidate:
    relation = item.get("relation") if isinstance(item, dict) else None
    text = item.get("text") if isinstance(item, dict) else item
    if not isinstance(text, str):
        return Candidate("", problem=_wrong(message("A request must be a text.")))
    text = text.strip()
    kept = text[: MAX_MESSAGE + 1]
    problem = text_problem(kept, language=language, names=toolset)
    if not relations:
        return Candidate(kept, problem=problem)
    if relation not in relations:
        relation = relations[0] if len(relations) == 1 else ""
        if not relation:
            asked = message("“relation” must be one of: %(names)s.", names=", ".join(relations))
            problem = problem or _wrong(asked)
    return Candidate(kept, str(relation), problem)


def _call(item: Any, toolset: CompiledToolset) -> PlannedCall | Problem:
    name = item.get("name") if isinstance(item, dict) else None
    if not isinstance(name, str):
        return _wrong(message("A call needs a “name”."))
    if name not in toolset.tools:
        near = closest(name[:200], toolset.names)
        sentence = message("There is no function “%(name)s”.", name=cut(name))
        if near is not None:
            sentence = message("There is no function “%(name)s”. Is it %(near)s?", name=cut(name), near=near)
        return Problem("unknown_tool", sentence)
    arguments = item.get("arguments", {})
    if isinstance(arguments, str):
        arguments = find_json(arguments or "{}")
        if isinstance(arguments, Problem):
            return arguments
    if not isinstance(arguments, dict):
        return _wrong(message("The arguments of %(name)s must be an object.", name=name))
    needs = [_needs(item.get(key)) for key in ("uses", "after")]
    if None in needs:
        return _wrong(message("“uses” and “after” must be lists of ids of steps."))
    return PlannedCall(name, arguments, *(tuple(one or ()) for one in needs))


def _needs(value: Any) -> list[str] | None:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_NEEDS or not all(isinstance(one, str) for one in value):
        return None
    return list(dict.fromkeys(value))


def _wrong(text: Message) -> Problem:
    return Problem("wrong_form", text)
