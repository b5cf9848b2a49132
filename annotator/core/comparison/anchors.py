"""Anchors: places in a document, named by ids instead of list positions.

``/tasks/t2/steps/s3/arguments/city`` does not change when a step is inserted before ``s3``. Tasks, steps, candidate
messages and the parts of a constrained case (``/constraints/c2``, ``/reference_trajectory/r1/calls/s1``) are named by
id. ``depends_on`` is one value, a set; each of the ``labels`` is one value, too. In arguments, observations and extra
fields, objects are walked by key and lists by index. A tool of a toolset is named by id, too (``/tools/f3``); inside
it, objects are walked by key, and each list is one value. ``/tasks/t1/steps#order`` is the order of a list of items
with ids. The parts of an anchor are escaped as in RFC 6901. The empty anchor is the whole document.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annotator.core.schema.canonical import escape, unescape

Document = dict[str, Any]
Parts = tuple[str, ...]

ORDER = "#order"

#: Lists of items with ids, and the fields of these items that are such lists, too.
NAMED_LISTS: dict[str, tuple[str, ...]] = {
    "tasks": ("steps", "candidate_messages"),
    "constraints": (),
    "reference_trajectory": ("calls",),
    "tools": (),
}
#: The field with the smallest items in such a list.
_SMALLEST = {"tasks": "steps", "reference_trajectory": "calls"}


class AnchorMissing(KeyError):
    """The document has nothing at this anchor."""

    def __init__(self, anchor: str) -> None:
        super().__init__(anchor)
        self.anchor = anchor

    def __str__(self) -> str:
        return f"The document has nothing at {self.anchor or '/'}."


def split(anchor: str) -> Parts:
    """Return the parts of an anchor, unescaped. Raises AnchorMissing if it is not an anchor."""
    if not anchor:
        return ()
    if anchor[0] != "/":
        raise AnchorMissing(anchor)
    return tuple(unescape(part) for part in anchor[1:].split("/"))


def join(parts: Sequence[str]) -> str:
    """Return the anchor with these parts."""
    return "".join(f"/{escape(part)}" for part in parts)


def below(anchor: str, key: str | int) -> str:
    """Return the anchor of a member of the value at ``anchor``."""
    return f"{anchor}/{escape(key) if isinstance(key, str) else key}"


def covers(anchor: str, other: str) -> bool:
    """Return whether ``other`` is ``anchor`` or is below it."""
    return other == anchor or not anchor or other.startswith(anchor + "/")


def lineage(anchor: str) -> Iterator[str]:
    """Yield the anchor and every anchor above it, up to the whole document."""
    while anchor:
        yield anchor
        anchor = anchor.rpartition("/")[0]
    yield anchor


class AnchorIndex:
    """A set of anchors, with a fast search for one that overlaps a place."""

    def __init__(self, anchors: Iterable[str]) -> None:
        self._all: set[str] = set()
        #: Place → the first anchor at or below it.
        self._within: dict[str, str] = {}
        for anchor in anchors:
            self._all.add(anchor)
            for above in lineage(anchor):
                self._within.setdefault(above, anchor)

    def touching(self, anchor: str) -> str | None:
        """Return an anchor of the set that equals ``anchor`` or is below or above it; None if there is none."""
        return self._within.get(anchor) or next((above for above in lineage(anchor) if above in self._all), None)


def named(parts: Parts) -> bool:
    """Return whether the list at ``parts`` consists of items with ids."""
    if len(parts) == 1:
        return parts[0] in NAMED_LISTS
    return len(parts) == 3 and parts[2] in NAMED_LISTS.get(parts[0], ())


def ordered_list(anchor: str) -> str | None:
    """Return the anchor of the list whose order ``anchor`` names; None for any other anchor."""
    listed = anchor.removesuffix(ORDER)
    return listed if listed != anchor and named(split(listed)) else None


def owner(anchor: str) -> str:
    """Return the anchor of the step, or else the task, that ``anchor`` belongs to; empty for the dialogue's own fields.

    In a constrained case: the anchor of the constraint, of the call, or else of the round; in a toolset: of the tool.
    """
    parts = anchor.split("/")
    if len(parts) < 3 or parts[1] not in NAMED_LISTS:
        return ""
    return "/".join(parts[:5] if len(parts) >= 5 and parts[3] == _SMALLEST.get(parts[1]) else parts[:3])


def find(items: list[Any], key: str) -> int:
    """Return the position of the item with this id; -1 if there is none."""
    for index, item in enumerate(items):
        if item["id"] == key:
            return index
    return -1


def position(key: str, length: int) -> int:
    """Return ``key`` as a list index; -1 if it is out of range or not an index."""
    if not (key.isascii() and key.isdigit()) or len(key) > 9 or (len(key) > 1 and key[0] == "0"):
        return -1
    return int(key) if int(key) < length else -1


def resolve(document: Document, anchor: str) -> Any:
    """Return the value at ``anchor``, not a copy; for an order, the list of ids. Raises AnchorMissing."""
    listed = ordered_list(anchor)
    if listed is not None:
        return [item["id"] for item in resolve(document, listed) or ()]
    node: Any = document
    parts = split(anchor)
    for depth, part in enumerate(parts):
        if isinstance(node, dict) and part in node:
            node = node[part]
            continue
        index = -1
        if isinstance(node, list) and not _whole(parts[:depth]):
            index = find(node, part) if named(parts[:depth]) else position(part, len(node))
        if index < 0:
            raise AnchorMissing(anchor)
        node = node[index]
    return node


def lookup(document: Document, anchor: str, default: Any = None) -> Any:
    """Return the value at ``anchor``, or ``default`` if there is none."""
    try:
        return resolve(document, anchor)
    except AnchorMissing:
        return default


def from_pointer(document: Document, pointer: str) -> str:
    """Return the anchor of a JSON pointer; if the document lacks it, the anchor of the nearest existing parent."""
    node: Any = document
    parts: Parts = ()
    for part in split(pointer):
        if isinstance(node, dict) and part in node:
            node, parts = node[part], (*parts, part)
            continue
        index = position(part, len(node)) if isinstance(node, list) and not _whole(parts) else -1
        if index < 0:
            break
        node = node[index]
        name = node.get("id") if named(parts) and isinstance(node, dict) else part
        if not isinstance(name, str):
            break
        parts = (*parts, name)
    return join(parts)


def leaves(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield every anchor with a single value, in the document's order. Empty objects and lists are values, too."""
    yield from _leaves((), "", document)


def _leaves(parts: Parts, anchor: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves((*parts, key), below(anchor, key), item)
    elif isinstance(value, list) and value and not _whole(parts):
        for index, item in enumerate(value):
            key = item["id"] if named(parts) else str(index)
            yield from _leaves((*parts, key), below(anchor, key), item)
    else:
        yield anchor, value


def _whole(parts: Parts) -> bool:
    """Return whether the list at ``parts`` counts as one value, as the set of dependencies does."""
    if parts[:1] == ("tools",) and len(parts) > 2:
        return True
    dependencies = len(parts) == 5 and parts[4] == "depends_on" and parts[2] == "steps" and parts[0] == "tasks"
    return dependencies or bool(label_key(parts))


#: The places of the parts that can have labels: of the dialogue, a task, a step, and a call of a constrained case.
_LABELLED = {0: (), 2: ("tasks",), 4: ("tasks", "steps")}


def can_have_labels(parts: Parts) -> bool:
    """Return whether the part at ``parts`` can have labels, the values of custom fields."""
    return parts[::2] == _LABELLED.get(len(parts)) or (
        len(parts) == 4 and parts[::2] == ("reference_trajectory", "calls")
    )


def label_key(parts: Parts) -> str:
    """Return the key of the custom field whose value is at ``parts``; empty if it is another place."""
    return parts[-1] if len(parts) > 1 and parts[-2] == "labels" and can_have_labels(parts[:-2]) else ""
