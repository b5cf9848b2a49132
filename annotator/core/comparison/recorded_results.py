"""Whether the observation of a call still belongs to the call."""

from annotator.core.comparison.anchors import Document, lookup
from annotator.core.schema.canonical import value_hash


def answers_another_call(before: Document, after: Document, anchor: str) -> bool:
    """Return whether a call's tool or arguments were changed, but its observation is the one recorded before.

    ``anchor``: of the call. False if it has no observation, or is new.
    """
    old, new = lookup(before, anchor), lookup(after, anchor)
    if not isinstance(old, dict) or not isinstance(new, dict) or new.get("observation") is None:
        return False
    return _hash(old, "observation") == _hash(new, "observation") and _hash(old, "name", "arguments") != _hash(
        new, "name", "arguments"
    )


def _hash(call: Document, *names: str) -> str:
    return value_hash([call.get(name) for name in names])
