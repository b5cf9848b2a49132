"""A document in messages of the OpenAI chat API, as it says them itself: see ``openai``."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from annotator.schema.layout import lay_out
from benchmark.formats.interface import DialogueLike
from benchmark.formats.messages import batches_of
from benchmark.formats.openai_reading import BEFORE_REFUSAL, dump
from benchmark.formats.residue import native


class Written(NamedTuple):
    """A message, what names its place in the document, and the call that it answers, if it is a result."""

    key: tuple[str, ...]
    message: dict[str, Any]
    call: dict[str, Any] | None = None


def plain_fields(item: DialogueLike) -> dict[str, Any]:
    """A record without anything that stands beside what the document says."""
    messages = [written.message for written in write_messages(item.document)]
    return {"id": item.external_id, "messages": messages, "tools": item.tools}


def write_messages(document: dict[str, Any]) -> Iterator[Written]:
    """The messages of a document, in their order."""
    if document["env_info"] is not None:
        yield Written(("env_info",), {"role": "system", "content": document["env_info"]})
    for n, message in enumerate(document["context"]):
        yield Written(("context", str(n)), {"role": message["role"], "content": message["content"]})
    for task in document["tasks"]:
        yield Written((task["id"],), {"role": "user", "content": task["user_message"]})
        for batch in _rounds(task):
            yield from _write_batch(task, batch)


def _rounds(task: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The steps in the rounds they came in; by their dependencies once these are annotated, or a step is new."""
    steps = task["steps"]
    numbers = [native(step).get("round") for step in steps]
    rounds: list[list[dict[str, Any]]] = []
    last: Any = None
    for step, number in zip(steps, numbers, strict=True):
        if step["type"] == "call" and (type(number) is not int or step["depends_on"] is not None):
            return batches_of(steps)
        if rounds and step["type"] == "call" and number == last:
            rounds[-1].append(step)
        else:
            rounds.append([step])
        last = number if step["type"] == "call" else None
    return rounds


def _write_batch(task: dict[str, Any], batch: list[dict[str, Any]]) -> Iterator[Written]:
    calls = [step for step in batch if step["type"] == "call"]
    if calls:
        said = native(calls[0]).get("said")
        content = said if type(said) is str else None
        written = [_write_call(task, call) for call in calls]
        key = (task["id"], "calls", *(call["id"] for call in calls))
        yield Written(key, {"role": "assistant", "content": content, "tool_calls": written})
        for call, told in zip(calls, written, strict=True):
            if call["observation"] is not None:
                text = _text_of(call["observation"], native(call).get("observation"))
                message = {"role": "tool", "tool_call_id": told["id"], "content": text}
                yield Written((task["id"], "result", call["id"]), message, told)
    for step in batch:
        key = (task["id"], step["type"], step["id"])
        if step["type"] == "clarification":
            yield Written(key, {"role": "assistant", "content": step["question"]})
            yield Written((*key, "reply"), {"role": "user", "content": step["user_reply"] or ""})
        elif step["type"] == "answer":
            yield Written(key, _write_answer(step))


def _write_answer(step: dict[str, Any]) -> dict[str, Any]:
    """The text of an answer; the refusal it was or ended in apart, as long as it does."""
    text, refusal = step["text"], native(step).get("refusal")
    if type(refusal) is str and text is not None:
        if text == refusal:
            return {"role": "assistant", "content": None, "refusal": text}
        if text.endswith(f"{BEFORE_REFUSAL}{refusal}"):
            content = text.removesuffix(f"{BEFORE_REFUSAL}{refusal}")
            return {"role": "assistant", "content": content, "refusal": refusal}
    return {"role": "assistant", "content": text}


def _write_call(task: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    arguments = _text_of(call["arguments"], native(call).get("arguments"))
    function = {"name": call["name"], "arguments": arguments}
    return {"id": _call_id(task, call), "type": "function", "function": function}


def _call_id(task: dict[str, Any], call: dict[str, Any]) -> str:
    call_id = native(call).get("call_id")
    return call_id if type(call_id) is str else f"call_{task['id']}_{call['id']}"


def _text_of(value: Any, original: Any) -> str:
    """A value as text, laid out as the one it came from."""
    if type(value) is str:
        return value
    if type(original) is str:
        try:
            return lay_out(value, original)
        except ValueError:
            # The notes of a document may come from anywhere.
            pass
    return dump(value)
