"""A played dialogue as JSON values: what a page shows of it, and what a job stores."""

import json
from collections.abc import Mapping
from typing import Any

from annotator.core.comparison.state_changes import state_changes
from annotator.core.composites.dialogue import Dialogue, MadeCall
from annotator.core.constraints.execution import clipped
from annotator.core.execution.call_text import write_call
from annotator.core.schema.exact_json import loads
from annotator.core.schema.indenting import indented
from annotator.core.schema.value_words import cut
from benchmark.core.scoring.delayed import DialogueScore

#: Most messages, and characters of all messages, of a pasted dialogue.
MAX_MESSAGES = 500
MAX_CHARACTERS = 200_000
#: Characters of a message or response that are kept, and changes of a state that are listed.
MAX_SHOWN = 4_000
MAX_CHANGES = 20
MAX_VALUE = 200


class UnreadableMessages(ValueError):
    """A pasted dialogue cannot be read; the text is a sentence."""


def read_messages(text: str) -> list[str]:
    """Return the model's messages in a pasted text, in order.

    The text is one message on each line, a JSON list of messages, or a JSON object or list with ``turns`` of
    ``{"assistant": …}`` as ``play_composite`` writes them. Raises UnreadableMessages.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableMessages(
            f"The dialogue has {len(text):,} characters. The limit is {MAX_CHARACTERS:,}: paste one dialogue only."
        )
    messages = _of_json(text) or [line for line in text.splitlines() if line.strip()]
    if not messages:
        raise UnreadableMessages("Paste the model’s messages, one on each line.")
    if len(messages) > MAX_MESSAGES:
        raise UnreadableMessages(f"The dialogue has {len(messages):,} messages. The limit is {MAX_MESSAGES:,}.")
    return messages


def _of_json(text: str) -> list[str]:
    """Return the messages of a JSON list or of an object with turns; empty if the text is neither."""
    try:
        data = loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(data, dict):
        data = data.get("turns")
    if not isinstance(data, list):
        return []
    messages = []
    for number, one in enumerate(data, 1):
        message = one.get("assistant") if isinstance(one, dict) else one
        if not isinstance(message, str):
            raise UnreadableMessages(f"Turn {number} has no text under “assistant”.")
        messages.append(message)
    return messages


def describe_play(dialogue: Dialogue, score: DialogueScore, initial: Mapping[str, Any]) -> dict[str, Any]:
    """Return a played dialogue with its scores. ``initial``: task → its state before the first call."""
    states = dict(initial)
    calls = [_call(call, states) for call in dialogue.calls]
    return {
        "tasks": list(dialogue.tasks),
        "ended": dialogue.ended,
        "max_rounds": dialogue.max_rounds,
        "rounds": [
            {
                "number": one.number,
                "text": one.text[:MAX_SHOWN],
                "kind": one.message.kind.value,
                "call": one.call,
                "reply": [_reply(message) for message in one.reply],
                "pending": list(one.pending),
            }
            for one in dialogue.rounds
        ],
        "calls": calls,
        "initial_states": {task: _state(state) for task, state in initial.items()},
        "score": score.as_json(),
    }


def _call(call: MadeCall, states: dict[str, Any]) -> dict[str, Any]:
    changes, state = [], ""
    if call.outcome.state_changed and call.outcome.state_sha256 is not None:
        changes = list(state_changes(states.get(call.task), call.outcome.state))
        states[call.task] = call.outcome.state
        state = _state(call.outcome.state)
    return {
        "number": call.number,
        "round": call.round,
        "due": call.due,
        "shown": call.shown,
        "task": call.task,
        "call": write_call(call.name, call.arguments)[:MAX_SHOWN],
        "status": call.outcome.status,
        "response": call.outcome.response[:MAX_SHOWN],
        "changed": call.outcome.state_changed,
        "changes": [
            {
                "place": one.pointer or "/",
                "before": "" if one.kind == "added" else _shown(one.before),
                "after": "" if one.kind == "removed" else _shown(one.after),
            }
            for one in changes[:MAX_CHANGES]
        ],
        "more_changes": max(0, len(changes) - MAX_CHANGES),
        "state": state,
    }


def _state(state: Any) -> str:
    return clipped(indented(state), MAX_SHOWN)


def _shown(value: Any) -> str:
    """Return a value on one line, cut; an empty text is visible."""
    return cut(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False), MAX_VALUE)


def _reply(message: Mapping[str, Any]) -> dict[str, str]:
    """Return a message of the environment: what it says, or the result of a call."""
    if "content" in message:
        return {"text": str(message["content"])[:MAX_SHOWN]}
    return {
        "task": str(message["id"]),
        "call": str(message["function name"])[:MAX_SHOWN],
        "text": str(message["response"])[:MAX_SHOWN],
    }
