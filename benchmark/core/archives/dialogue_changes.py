"""What changed in one dialogue between two releases, as JSON values that files, pages and the API share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from annotator.core.comparison import Change, ChangeKind, DescribedChange, describe_change, diff, value_text
from annotator.core.tools.changes import ToolChange, Toolset, tool_changes
from benchmark.core.archives.change_categories import Category, categorise


class FieldChange(TypedDict):
    """One change. ``kind``: added, removed, changed or moved; ``before`` and ``after``: texts, null if absent.

    ``reference``: whether a score or a model uses the field. ``anchor``: the place for programs, ``place`` in words.
    """

    category: str
    reference: bool
    kind: str
    anchor: str
    place: str
    before: str | None
    after: str | None


class ReviewFact(TypedDict):
    """A review that the newer release lists: who, by pseudonym, said what in which stage, and whether they edited.

    ``reason``: why the round was broken off; blank if it was not.
    """

    stage: str
    round: int | None
    outcome: str
    reason: str
    reviewer: str
    verdict: str
    edited: bool


class DialogueChange(TypedDict):
    """A changed dialogue. ``changes`` has the first of its ``total`` changes; ``reviews`` are in order."""

    id: str
    categories: list[str]
    reference: bool
    total: int
    changes: list[FieldChange]
    reviews: list[ReviewFact]


@dataclass(frozen=True, slots=True)
class Content:
    """A dialogue in one release: its document, and its toolset (``tools``, perhaps ``implementation``)."""

    document: dict[str, Any]
    toolset: Toolset


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a dialogue's changes is put into words: changes, and characters of each text."""

    changes: int = 500
    characters: int = 100_000


class Examined(NamedTuple):
    """The categories of a dialogue's changes, in the order of ``Category``, and whether any concerns the reference."""

    categories: list[Category]
    reference: bool


def examine(before: Content, after: Content) -> Examined:
    """Return what kinds of changes a dialogue has, without wording them."""
    return _examined(_found(before, after))


def describe_dialogue(
    name: str, before: Content, after: Content, reviews: list[ReviewFact], limits: Limits | None = None
) -> DialogueChange:
    """Return the changes of the dialogue ``name`` in words. ``reviews``: see ``reviews_behind``."""
    bounds = limits or Limits()
    found = _found(before, after)
    categories, reference = _examined(found)
    return {
        "id": name,
        "categories": [str(category) for category in categories],
        "reference": reference,
        "total": len(found),
        "changes": [_worded(one, before, after, bounds) for one in found[: bounds.changes]],
        "reviews": reviews,
    }


def reviews_behind(trail: Any, before_sha256: str) -> list[ReviewFact]:
    """Return the reviews in an item's line of ``items.jsonl`` that came after the revision with the given hash.

    If no stage began with that revision, these are all reviews of the dialogue's last cycle. Lines of foreign archives
    can have anything; what is not a review is left out.
    """
    stages = [stage for stage in _list(trail, "stages") if isinstance(stage, dict)]
    first = next((index for index, stage in enumerate(stages) if stage.get("entry") == before_sha256), 0)
    return [
        {
            "stage": _text(stage, "stage"),
            "round": round_ if type(round_ := stage.get("round")) is int else None,
            "outcome": _text(stage, "outcome"),
            "reason": _text(stage, "broken_off"),
            "reviewer": _text(review, "reviewer"),
            "verdict": _text(review, "verdict"),
            "edited": review.get("made") not in (None, review.get("saw")),
        }
        for stage in stages[first:]
        for review in _list(stage, "reviews")
        if isinstance(review, dict)
    ]


class _Found(NamedTuple):
    category: Category
    reference: bool
    change: Change | ToolChange


def _found(before: Content, after: Content) -> list[_Found]:
    return list(_all(before, after))


def _all(before: Content, after: Content) -> Iterator[_Found]:
    for change in diff(before.document, after.document):
        yield _Found(*categorise(change), change)
    for tool in tool_changes(before.toolset, after.toolset):
        yield _Found(Category.TOOLS, True, tool)


def _examined(found: list[_Found]) -> Examined:
    categories = {one.category for one in found}
    return Examined([one for one in Category if one in categories], any(one.reference for one in found))


def _worded(found: _Found, before: Content, after: Content, limits: Limits) -> FieldChange:
    one: DescribedChange | ToolChange
    if isinstance(found.change, ToolChange):
        one = found.change
        texts = [
            None if one.kind is missing else value_text(value)
            for missing, value in ((ChangeKind.ADDED, one.before), (ChangeKind.REMOVED, one.after))
        ]
    else:
        one = describe_change(found.change, before.document, after.document)
        texts = [one.before, one.after]
    old, new = (None if text is None else _cut(text, limits.characters) for text in texts)
    return {
        "category": str(found.category),
        "reference": found.reference,
        "kind": str(ChangeKind(one.kind)),
        "anchor": one.anchor,
        "place": _cut(one.place, limits.characters),
        "before": old,
        "after": new,
    }


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def _list(holder: Any, key: str) -> list[Any]:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def _text(holder: dict[str, Any], key: str) -> str:
    value = holder.get(key)
    return value[:500] if isinstance(value, str) else ""
