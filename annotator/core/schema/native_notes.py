"""What the record of a step says beyond its fields. Formats write these notes into ``extra``; they may be anything."""

from typing import Any

#: The key of ``extra`` that is Assay's own. A native field of this name is refused.
NATIVE = "@native"


def native_notes(part: dict[str, Any]) -> dict[str, Any]:
    """Return Assay's own notes in the ``extra`` of a document, task or step; empty if there are none."""
    extra = part.get("extra")
    notes = extra.get(NATIVE) if isinstance(extra, dict) else None
    return notes if isinstance(notes, dict) else {}


def is_refusal(step: dict[str, Any]) -> bool:
    """Return whether an answer is a refusal by its record, or ends with one."""
    refusal, text = native_notes(step).get("refusal"), step.get("text")
    return isinstance(refusal, str) and isinstance(text, str) and bool(refusal) and text.endswith(refusal)


def is_failed(call: dict[str, Any]) -> bool:
    """Return whether the record of a call marks its result as an error."""
    return native_notes(call).get("error") is True
