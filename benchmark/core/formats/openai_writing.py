"""Write a document as messages of the OpenAI chat API: see ``openai``."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from annotator.core.schema.layout import lay_out
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.formats.messages import batches_of
from benchmark.core.formats.native_remainder import native
from benchmark.core.formats.openai_reading import BEFORE_REFUSAL, dump

Step = dict[str, Any]


class Written(NamedTuple):
    """A message, its place in the document, and the call that it answers, if it is a result."""

    key: tuple[str, ...]
    message: dict[str, Any]
    call: dict[str, Any] | None = None


def plain_fields(item: ReadDialogue) -> dict[str, Any]:
    """Return a record with only the document's own content."""
    messages = [written.message for written in write_messages(item.document)]
    return {"id": item.external_id, "messages": messages, "tools": item.tools}


def write_messages(document: dict[str, Any]) -> Iterator[Written]:
    """Yield the messages of a document in order."""
    if document["env_info"] is not None:
        yield Written(("env_info",), {"role": "system", "content": document["env_info"]})
    for n, message in enumerate(document["context"]):
        yield Written(("context", str(n)), {"role": message["role"], "content": message["content"]})
    for task in document["tasks"]:
        yield Written((task["id"],), {"role": "user", "content": task["user_message"]})
        given = (native(step).get("call_id") for step in task["steps"])
        taken = {call_id for call_id in given if type(call_id) is str}
        for turn in turns_of(task["steps"]):
            yield from _write_turn(task, turn, taken)


def turns_of(steps: list[Step]) -> list[list[Step]]:
    """Return the steps in their original turns, regardless of dependencies; by dependencies if no call had a turn.

    A new call joins the calls before it if it needs none of them. A call leaves its turn if a step that it needs, or
    may need, was inserted before it.
    """
    if all(round_of(step) is None for step in steps):
        return batches_of(steps)
    turns: list[list[Step]] = []
    #: The position of each turn, and of each step.
    rounds: dict[int, int] = {}
    places: dict[str, int] = {}
    for step in steps:
        end, number, needs = len(turns), round_of(step), step["depends_on"]
        #: The turn of the call, and the first turn in which it can have no dependencies.
        at = before = end
        if number is not None:
            at = rounds.get(number, end)
            before = at + 1
        elif step["type"] == "call" and turns and turns[-1][0]["type"] == "call":
            at = before = end - 1
        if before < end and (needs is None or any(places.get(need["id"], -1) >= before for need in needs)):
            at = end
        if at == end:
            turns.append([])
        turns[at].append(step)
        places[step["id"]] = at
        if number is not None:
            rounds[number] = at
    return turns


def round_of(step: Step) -> int | None:
    """Return the number of the call's original turn; None if it had none."""
    number = native(step).get("round") if step["type"] == "call" else None
    return number if type(number) is int else None


def _write_turn(task: dict[str, Any], turn: list[Step], taken: set[str]) -> Iterator[Written]:
    calls = [step for step in turn if step["type"] == "call"]
    if calls:
        texts = (native(call).get("said") for call in calls)
        content = next((text for text in texts if type(text) is str), None)
        written = [_write_call(task, call, taken) for call in calls]
        key = (task["id"], "calls", *(call["id"] for call in calls))
        yield Written(key, {"role": "assistant", "content": content, "tool_calls": written})
        for call, told in zip(calls, written, strict=True):
            if call["observation"] is not None:
                text = _text_of(call["observation"], native(call).get("observation"))
                message = {"role": "tool", "tool_call_id": told["id"], "content": text}
                yield Written((task["id"], "result", call["id"]), message, told)
    for step in turn:
        key = (task["id"], step["type"], step["id"])
        if step["type"] == "clarification":
            yield Written(key, {"role": "assistant", "content": step["question"]})
            yield Written((*key, "reply"), {"role": "user", "content": step["user_reply"] or ""})
        elif step["type"] == "answer":
            yield Written(key, _write_answer(step))


def _write_answer(step: dict[str, Any]) -> dict[str, Any]:
    """Return the text of an answer, and separately its refusal, if any."""
    text, refusal = step["text"], native(step).get("refusal")
    if type(refusal) is str and text is not None:
        if text == refusal:
            return {"role": "assistant", "content": None, "refusal": text}
        if text.endswith(f"{BEFORE_REFUSAL}{refusal}"):
            content = text.removesuffix(f"{BEFORE_REFUSAL}{refusal}")
            return {"role": "assistant", "content": content, "refusal": refusal}
    return {"role": "assistant", "content": text}


def _write_call(task: dict[str, Any], call: Step, taken: set[str]) -> dict[str, Any]:
    arguments = _text_of(call["arguments"], native(call).get("arguments"))
    function = {"name": call["name"], "arguments": arguments}
    return {"id": _call_id(task, call, taken), "type": "function", "function": function}


def _call_id(task: dict[str, Any], call: Step, taken: set[str]) -> str:
    """Return the original id of a call; for a new one, an id that no other call of the task has."""
    call_id = native(call).get("call_id")
    if type(call_id) is str:
        return call_id
    call_id = f"call_{task['id']}_{call['id']}"
    while call_id in taken:
        # A record may have used this id for another call.
        call_id += "_"
    taken.add(call_id)
    return call_id


def _text_of(value: Any, original: Any) -> str:
    """Return a value as text, laid out like its original."""
    if type(value) is str:
        return value
    if type(original) is str:
        try:
            return lay_out(value, original)
        except ValueError:
            # The notes of a document are untrusted.
            pass
    return dump(value)
