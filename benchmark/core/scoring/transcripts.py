"""Transcripts of CCTU: the messages of a conversation between a model and the checker, as services write them.

Neutral: ``{"run", "attempt", "case", "messages"}``; published: ``{"id": "<case>_<attempt>", "messages"}``. Ids of calls
may be missing or given twice, contents may be null or lists of parts; everything that can be scored is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotator.core.constraints.rounds import without_thinking
from benchmark.core.scoring.predictions import NAME, is_name

#: Bounds of one transcript.
MAX_MESSAGES = 1_000
MAX_CALLS = 10_000


class NotATranscript(ValueError):
    """A record that is no transcript, with a sentence."""


@dataclass(frozen=True, slots=True)
class AttemptedCall:
    """A call as the model wrote it. ``arguments`` is usually JSON text; ``id`` is None if the service gave none."""

    id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Transcript:
    run: str
    attempt: int
    case: str
    messages: Sequence[Mapping[str, Any]]

    @property
    def rounds(self) -> "list[tuple[AttemptedCall, ...] | str]":
        """The model's outputs in order: calls, or the text of a final response."""
        return [
            calls if (calls := calls_of(message)) else text_of(message)
            for message in self.messages
            if message.get("role") == "assistant"
        ]

    def without_thinking(self) -> "Transcript":
        """Return the transcript without what the model wrote between ``<think>`` and ``</think>``."""
        return replace(
            self,
            messages=[
                {**message, "content": without_thinking(text)}
                if message.get("role") == "assistant" and isinstance(text := message.get("content"), str)
                else message
                for message in self.messages
            ],
        )


def read_transcript(record: Any, run: str = "") -> Transcript:
    """Return the transcript of a record; ``run`` is its run if it names none. Raises NotATranscript."""
    if not isinstance(record, Mapping):
        raise NotATranscript("A transcript must be an object with messages.")
    messages = record.get("messages")
    if not isinstance(messages, list) or not all(isinstance(one, Mapping) for one in messages):
        raise NotATranscript("/messages must be a list of messages.")
    if len(messages) > MAX_MESSAGES:
        raise NotATranscript(f"/messages has {len(messages):,} messages. The limit is {MAX_MESSAGES:,}.")
    if "case" in record:
        case, attempt = record["case"], record.get("attempt", 0)
    else:
        case, _, last = str(record.get("id", "")).partition("_")
        attempt = int(last) if last.isdecimal() and len(last) < 10 else None
    if not isinstance(case, str | int) or case == "" or isinstance(case, bool):
        raise NotATranscript("/case must be the id of a case; in a published file, /id is “case_attempt”.")
    if type(attempt) is not int or attempt < 0:
        raise NotATranscript("/attempt must be a whole number, counted from 0.")
    named = record.get("run", run)
    if named != "" and not is_name(named):
        raise NotATranscript(f"/run must be {NAME}.")
    transcript = Transcript(named, attempt, str(case), messages)
    if sum(len(calls_of(message)) for message in messages) > MAX_CALLS:
        raise NotATranscript(f"/messages has more than {MAX_CALLS:,} calls.")
    return transcript


def calls_of(message: Mapping[str, Any]) -> tuple[AttemptedCall, ...]:
    """Return the calls of a message; one without a name has an empty one."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return ()
    return tuple(_call(call) for call in calls if isinstance(call, Mapping))


def _call(call: Mapping[str, Any]) -> AttemptedCall:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    given, name = call.get("id"), function.get("name")
    return AttemptedCall(
        str(given) if given not in (None, "") else None,
        str(name) if name else "",
        function.get("arguments"),
    )


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, the texts of its parts, or nothing."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
