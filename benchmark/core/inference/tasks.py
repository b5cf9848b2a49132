"""Conversations over tasks (wild, c3, mmtb): the model gets the reference's observations and replies.

As in the published loops, each task is a conversation of its own, with the reference of the earlier tasks before it. It
ends with the first reply that no path of the reference has, by the published walk or by the paper's, or with the
answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

from annotator.core.constraints.solving import text_of as text_of_value
from annotator.core.schema.canonical import canonical, without_kinds
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.exact_json import loads
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.formats.openai_writing import Written, write_messages
from benchmark.core.inference.asking import UNREADABLE, Ask, Conversation, Unit, as_tools, tool_message
from benchmark.core.scoring.challenges import CALLS
from benchmark.core.scoring.legal import follow
from benchmark.core.scoring.predictions import PredictedCall, Round, rounds_json
from benchmark.core.scoring.references import ReferenceDialogue, ReferenceTask, UnusableReference, entry_name
from benchmark.core.scoring.transcripts import calls_of, text_of
from benchmark.core.scoring.walk import walk

_DATE = {"zh": "当前日期：{}"}
#: What the user says to a question for which the reference has no reply.
_NO_REPLY = {"zh": "我没有更多信息。"}


def units(dialogues: Iterable[tuple[ReadDialogue, ReferenceDialogue]], *, history: str) -> Iterator[Unit]:
    """Yield a unit for each task. ``history``: whether the model sees the calls of earlier tasks, or only answers."""
    for dialogue, reference in dialogues:
        for index in range(len(reference.tasks)):
            yield Unit(entry_name(reference.id, index), partial(converse, dialogue, reference, index, history))


def converse(dialogue: ReadDialogue, reference: ReferenceDialogue, index: int, history: str) -> Conversation:
    """Have the conversation of one task (from 0)."""
    task, tools = reference.tasks[index], as_tools(dialogue.tools)
    messages = opening(dialogue.document, index, history)
    served = _Served(dialogue.document["tasks"][index]["steps"], reference.language)
    rounds: list[Round] = []
    while True:
        reply = yield Ask(tuple(messages), tools)
        rounds.append(_round(reply.message))
        if reply.message is None or not _goes_on(task, rounds):
            return {"dialogue": reference.id, "task": index, "rounds": rounds_json(rounds)}
        messages += [reply.message, *served.after(reply.message)]


class Openings:
    """The messages before the first reply to each task of a dialogue. ``of`` returns those of one task."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    @cached_property
    def _parts(self) -> list[list[Written]]:
        """The messages of the context, then of each task: the request is the only one whose key is the task's id."""
        parts: list[list[Written]] = [[]]
        for written in write_messages({**self._document, "env_info": None}):
            if len(written.key) == 1:
                parts.append([])
            parts[-1].append(written)
        return parts

    @cached_property
    def _whole(self) -> list[list[Mapping[str, Any]]]:
        return [list(_with_results([_message(one) for one in part])) for part in self._parts]

    @cached_property
    def _told(self) -> list[list[Mapping[str, Any]]]:
        return [[_message(one) for one in part if not _is_call(one)] for part in self._parts]

    def of(self, index: int, history: str) -> list[Mapping[str, Any]]:
        """Return the messages of a task (from 0). ``history``: see ``Options``."""
        task, language = self._document["tasks"][index], self._document["language"] or "en"
        date = task["env_info"] or self._document["env_info"]
        messages: list[Mapping[str, Any]] = []
        if date is not None:
            content = _DATE.get(language, "Current date: {}").format(date)
            messages.append({"role": "system", "content": content})
        messages += chain.from_iterable((self._whole if history == CALLS else self._told)[: index + 1])
        return [*messages, {"role": "user", "content": task["user_message"]}]


def opening(document: Mapping[str, Any], index: int, history: str) -> list[Mapping[str, Any]]:
    """Return the messages before the first reply to a task (from 0). ``history``: see ``Options``."""
    return Openings({**document, "tasks": document["tasks"][: index + 1]}).of(index, history)


def _is_call(written: Written) -> bool:
    return len(written.key) > 1 and written.key[1] in ("calls", "result")


def _message(written: Written) -> Mapping[str, Any]:
    message = written.message
    return message if message.get("tool_calls") else {**message, "content": message["content"] or ""}


def _with_results(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the messages; a call whose result is not known gets an empty one, because services ask for it."""
    answered = {message.get("tool_call_id") for message in messages if message["role"] == "tool"}
    for message in messages:
        yield message
        for call in message.get("tool_calls") or ():
            if call["id"] not in answered:
                yield tool_message(call["id"], "")


def _round(message: Mapping[str, Any] | None) -> Round:
    if message is None:
        return Round(error="request_failed")
    calls = tuple(PredictedCall(call.name, call.arguments) for call in calls_of(message))
    if any(call.name == UNREADABLE for call in calls):
        return Round(content="\n".join(filter(None, (text_of(message), *(call.arguments for call in calls)))),
                     error="malformed_calls")  # fmt: skip
    return Round(calls, text_of(message) or None)


def _goes_on(task: ReferenceTask, rounds: Sequence[Round]) -> bool:
    """Return whether something follows after these rounds, on a published path or, by tool names, on a legal one.

    Nothing follows on a reference that can't be followed; the scorer says why.
    """
    try:
        legal = follow(task, rounds, lambda call, due: True)
        return max(walk(task, rounds).rounds, legal.rounds) > len(rounds)
    except UnusableReference:
        return False


class _Served:
    """What the model is told: observations of the reference's calls, and replies to questions, each of them once."""

    def __init__(self, steps: Sequence[Mapping[str, Any]], language: str) -> None:
        self._left = [step for step in steps if step["type"] == "call"]
        self._replies = [step["user_reply"] for step in steps if step["type"] == "clarification"]
        self._last: dict[str, Mapping[str, Any]] = {}
        self._no_reply = _NO_REPLY.get(language, "I have no more information.")

    def after(self, message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        calls = calls_of(message)
        if not calls:
            reply = self._replies.pop(0) if self._replies else None
            return [{"role": "user", "content": reply or self._no_reply}]
        return [tool_message(str(call.id), self._observe(call.name, call.arguments)) for call in calls]

    def _observe(self, name: str, arguments: str) -> str:
        """Return the observation of the next call of the tool; of several, that of one with equal arguments."""
        steps = [step for step in self._left if step["name"] == name]
        if steps:
            said = _canonical(arguments)
            step = next((one for one in steps if _canonical(one["arguments"]) == said), steps[0])
            self._left.remove(step)
            self._last[name] = step
        last = self._last.get(name)
        return "" if last is None or last["observation"] is None else text_of_value(last["observation"])


def _canonical(value: Any) -> str | None:
    try:
        return canonical(without_kinds([loads(value) if isinstance(value, str) else value]))
    except (ValueError, RecursionError, SchemaProblem):
        return None
