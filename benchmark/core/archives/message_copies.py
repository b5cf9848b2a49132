"""The dialogues of a release as messages of the OpenAI chat API, next to records in another format."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from annotator.core.schema import SchemaProblem
from annotator.core.schema.exact_json import dumps, loads
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.formats.native_remainder import native
from benchmark.core.formats.openai_remainder import places_in_record, with_record_content
from benchmark.core.formats.openai_writing import Written, write_messages

#: The format, and the file in a release.
MESSAGES = "openai"
COPY = "openai.jsonl"


def as_messages(one: ReadDialogue, canary: str | None = None) -> dict[str, Any] | None:
    """Return a dialogue as a record of messages that can be imported again; None if that is impossible."""
    form = FORMATS[MESSAGES]
    if one.document["kind"] not in form.kinds:
        return None
    try:
        record = form.write([one], full=True, canary=canary)
        form.read(loads(dumps(record)))
    except (SchemaProblem, ValueError, KeyError):
        return None
    return record


def message_places(one: ReadDialogue) -> list[tuple[int, int]]:
    """Return, for each task, how many messages come before its request: all, and those that are no calls or results.

    The first number is the request's place among the messages of the dialogue's record.
    """
    written = list(write_messages(one.document))
    messages = plain = [each.message for each in written]
    places: Sequence[int] = range(len(plain))
    residue = native(one.document)
    if residue.get("format") == MESSAGES:
        # Its record has messages that the document does not have.
        messages, places = with_record_content(plain, residue), places_in_record(plain, residue)
    told = [0, *accumulate(int(message["role"] != "tool" and not message.get("tool_calls")) for message in messages)]
    # The key of a request is the task's id alone.
    asked = [place for place, each in zip(places, written, strict=True) if _is_request(each)]
    return [(place, told[place]) for place in asked]


def _is_request(written: Written) -> bool:
    return len(written.key) == 1 and written.message["role"] == "user"
