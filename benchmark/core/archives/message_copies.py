"""The dialogues of a release as messages of the OpenAI chat API, next to records in another format."""

from typing import Any

from annotator.core.schema import SchemaProblem
from annotator.core.schema.exact_json import dumps, loads
from benchmark.core.formats import FORMATS, ReadDialogue

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
