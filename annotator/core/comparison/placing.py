"""Write to a place of a document that the caller owns (a copy, never a stored one)."""

from typing import Any

from annotator.core.comparison.anchors import (
    AnchorMissing,
    Document,
    find,
    join,
    label_key,
    named,
    position,
    resolve,
    split,
)


class _Absent:
    """Means “nothing there”, because null is a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def put(document: Document, anchor: str, value: Any) -> None:
    """Write ``value`` at ``anchor``, changing ``document``; ABSENT removes what is there.

    The first label of a part creates its ``labels``, and the last one removes them.
    """
    *above, key = split(anchor)
    if label_key((*above, key)):
        part = resolve(document, join(above[:-1]))
        labels = {name: one for name, one in part.pop("labels", {}).items() if name != key}
        if value is not ABSENT:
            labels[key] = copied(value)
        if labels:
            part["labels"] = labels
        return
    container = resolve(document, join(above))
    value = copied(value)
    if isinstance(container, dict):
        if value is ABSENT:
            container.pop(key, None)
        else:
            container[key] = value
        return
    if not isinstance(container, list):
        raise AnchorMissing(anchor)
    index = find(container, key) if named(tuple(above)) else position(key, len(container))
    if value is ABSENT:
        if index >= 0:
            del container[index]
    elif index >= 0:
        container[index] = value
    elif named(tuple(above)):
        container.append(value)
    else:
        raise AnchorMissing(anchor)


def reorder(items: list[Any], order: list[str]) -> None:
    """Sort items with ids into ``order``, in place; the others keep their order and come last."""
    rank = {key: position for position, key in enumerate(order)}
    items.sort(key=lambda item: rank.get(item["id"], len(rank)))
