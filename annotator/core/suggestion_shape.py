"""A suggestion as it is sent: its shape, checked before its place is looked up."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any

from annotator.core.schema import SchemaProblem, canonical

#: Characters of a place, of a source, and of a value as JSON.
MAX_PLACE = 600
MAX_SOURCE = 120
MAX_VALUE = 20_000
_FIELDS = frozenset({"place", "value", "source", "score"})
#: Ids that a sentence lists.
_LISTED = 10


class PlaceKind(StrEnum):
    """What a suggestion is about; acceptance is counted for each."""

    POLICY = "policy"
    INFORMATION = "information"
    ANSWER_TYPE = "answer_type"
    LANGUAGE = "language"
    CATEGORY = "category"
    TEXT = "text"
    TOOL = "tool"
    ARGUMENT = "argument"
    OBSERVATION = "observation"
    DEPENDENCY = "dependency"
    LABEL = "label"


class SuggestionProblem(ValueError):
    """A suggestion that cannot be stored: the field that is wrong, and a sentence that says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Suggested:
    """A suggestion. ``source``: the name of the model or script; ``score``: its certainty from 0 to 1, or None."""

    place: str
    value: Any
    source: str
    score: float | None = None
    kind: str = ""


def read_suggestion(raw: Any) -> Suggested:
    """Return a suggestion of ``{"place", "value", "source" [, "score"]}``. Its place is not looked up.

    Raises SuggestionProblem.
    """
    if not isinstance(raw, Mapping):
        raise SuggestionProblem("", "A suggestion must be an object with “place”, “value” and “source”.")
    for name in ("place", "value", "source"):
        if raw.get(name) is None:
            raise SuggestionProblem(name, f"The suggestion has no {name}. Add it.")
    unknown = sorted(str(name)[:40] for name in raw if name not in _FIELDS)
    if unknown:
        raise SuggestionProblem("", f"A suggestion has no field “{unknown[0]}”. Its fields: {listed(_FIELDS)}.")
    place, source = raw["place"], raw["source"]
    if not isinstance(place, str) or not place.startswith("/") or len(place) > MAX_PLACE or "\0" in place:
        raise SuggestionProblem(
            "place", f"The place must be text such as /tasks/t1/policy, with at most {MAX_PLACE} characters."
        )
    if not isinstance(source, str) or not source.strip() or len(source) > MAX_SOURCE or not source.isprintable():
        raise SuggestionProblem(
            "source", f"The source must name the model or script, with 1 to {MAX_SOURCE} printable characters."
        )
    try:
        size = len(canonical(raw["value"]))
    except SchemaProblem as problem:
        raise SuggestionProblem("value", f"The value can’t be stored: {problem}") from None
    if size > MAX_VALUE:
        raise SuggestionProblem("value", f"The value has {size:,} characters as JSON. The limit is {MAX_VALUE:,}.")
    return Suggested(place, raw["value"], source.strip(), _read_score(raw.get("score")))


def _read_score(score: Any) -> float | None:
    if score is None:
        return None
    try:
        number = float(score) if isinstance(score, int | float) and not isinstance(score, bool) else float("nan")
    except OverflowError:
        number = float("nan")
    if not isfinite(number) or not 0 <= number <= 1:
        raise SuggestionProblem("score", "The score must be a number from 0 to 1, or null.")
    return number


def listed(names: Collection[str]) -> str:
    """Return names for a sentence, cut after ten."""
    shown = sorted(names) if isinstance(names, set | frozenset) else list(names)
    return ", ".join([*shown[:_LISTED], *(["…"] if len(shown) > _LISTED else [])]) or "none"
