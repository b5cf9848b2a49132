"""Ratings of custom fields: which labels of a document are rated, on what scale, and how far two sets differ.

Units are made from the labels alone, whatever the fields of the project are, so a recount gives the same counts after a
field has changed. Statistics then leave out ratings that are no value of the field.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.comparison import align
from annotator.core.fields import CustomField, FieldType
from annotator.core.schema.labels import MAX_VALUE, labelled_parts
from reviews.core.agreement.patterns import PatternCounts, Value

#: Before the key of a field: the label of its units.
PREFIX = "field:"
#: Between the members of a set. Options do not contain it.
BETWEEN = "|"
#: The most bytes of a rating, and of all ratings of a unit, so that its pattern fits the index of the database.
MAX_RATING, MAX_PATTERN = 310, 1_600


class Level(StrEnum):
    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    SET = "set"


_LEVELS = {FieldType.CHOICE: Level.NOMINAL, FieldType.SCALE: Level.ORDINAL, FieldType.MULTI: Level.SET}


@dataclass(frozen=True, slots=True)
class RatedField:
    """How a custom field is rated. ``values``: of a scale from lowest to highest; of a set, its possible members."""

    title: str
    level: Level
    values: tuple[Value, ...]

    def has(self, rating: Value) -> bool:
        """Return whether a rating is a value of the field."""
        if self.level is Level.SET:
            return isinstance(rating, str) and members(rating) <= set(self.values)
        return any(type(rating) is type(value) and rating == value for value in self.values)


def rated_fields(fields: Sequence[CustomField]) -> dict[str, RatedField]:
    """Return the fields whose agreement is measured, by the label of their units. Texts and spans are not rated."""
    found = {}
    for field in fields:
        level = _LEVELS.get(field.type)
        if level is not None:
            known = [value for value, _ in field.choices]
            values = tuple(map(int, known)) if level is Level.ORDINAL else tuple(known)
            found[f"{PREFIX}{field.key}"] = RatedField(field.title, level, values)
    return found


def on_scale(counts: PatternCounts, field: RatedField) -> PatternCounts:
    """Return the counts with ratings that are no value of the field as missing."""
    known = counts.changed(lambda pattern: tuple(rating if field.has(rating) else None for rating in pattern))
    return known.at_least(1)


def field_ratings(documents: Sequence[dict[str, Any] | None]) -> Iterator[tuple[str, str, list[Value]]]:
    """Yield (label, anchor of the part, ratings) of each label that somebody gave.

    ``documents``: one for each reviewer; None for one who did not approve. Steps are matched as ``align`` does.
    """
    first = next((document for document in documents if document is not None), None)
    most = min(MAX_RATING, MAX_PATTERN // max(len(documents), 1))
    given: dict[tuple[str, str], list[Value]] = {}
    for index, document in enumerate(documents):
        if document is None or first is None:
            continue
        for anchor, _, part in labelled_parts(document if document is first else align(first, document)):
            for key, value in part.get("labels", {}).items():
                rating = _rating(value, most)
                if rating is not None:
                    ratings = given.setdefault((f"{PREFIX}{key}", anchor), [None] * len(documents))
                    ratings[index] = rating
    for (label, anchor), ratings in given.items():
        yield label, anchor, ratings


def _rating(value: Any, most: int) -> Value:
    """Return a label as a rating; None for spans, texts that are too long for an option, and over ``most`` bytes."""
    if type(value) is int:
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = BETWEEN.join(value)
    elif not isinstance(value, str) or len(value) > MAX_VALUE:
        return None
    return value if len(value.encode()) <= most else None


def members(rating: str) -> frozenset[str]:
    """Return the members of a rated set."""
    return frozenset(rating.split(BETWEEN))


def masi_distance(one: Value, other: Value) -> float:
    """Return the MASI distance of two sets (Passonneau 2006): 1 - J · M.

    J is the size of their intersection divided by that of their union. M is 1 for equal sets, 2/3 if one contains the
    other, 1/3 if they overlap otherwise, and 0 if they have nothing in common.
    """
    left, right = members(str(one)), members(str(other))
    shared = len(left & right)
    weight = 3 if left == right else 2 if left <= right or right <= left else 1
    return 1 - shared * weight / (3 * len(left | right))
