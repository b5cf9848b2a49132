"""The arguments of a call as C3-Bench's and MMTB's published code judges them (``analysis_result.py``:66-214).

A call's score is the mean over the arguments that the model gave, and it is right from ``RIGHT`` on: one wrong value
among four passes, an optional argument left out costs nothing. Where the published code ends in an exception, the call
is ``Unreadable``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.core.scoring.arguments.similarity import TextsTooLong, rouge_by_words

RIGHT = 0.7
_COORDINATES = re.compile(r"\d+\.\d+,\d+\.\d+$")

MISSING, UNKNOWN_NAME, WRONG_TYPE, INVENTED, WRONG_VALUE = (
    "miss required params", "param hallucination", "type error", "param value hallucination", "param value error",
)  # fmt: skip


class Unreadable(ValueError):
    """Arguments that the published comparison cannot read."""


@dataclass(frozen=True, slots=True)
class CallScore:
    """The score of a call from 0 to 1, those of its arguments by name, and what was found wrong, in this order."""

    score: float
    arguments: Mapping[str, float] = field(default_factory=dict)
    errors: Sequence[str] = ()

    @property
    def right(self) -> bool:
        return self.score >= RIGHT


def read_arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a JSON text. Raises Unreadable."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable from None
    if not isinstance(value, dict):
        raise Unreadable
    return value


def compare(
    function: Mapping[str, Any] | None, predicted: Mapping[str, Any], reference: Mapping[str, Any]
) -> CallScore:
    """Compare the arguments of a call with those of a reference call. Raises Unreadable."""
    parameters = (function or {}).get("parameters")
    if not isinstance(parameters, Mapping):
        raise Unreadable
    for name in parameters.get("required") or ():
        if name not in predicted:
            return CallScore(0, {name: 0}, (MISSING,))
    if not predicted:
        if reference:
            raise Unreadable
        return CallScore(1)
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        raise Unreadable
    scores: dict[str, float] = {}
    errors: list[str] = []
    for name, value in predicted.items():
        if name not in properties:
            scores[name], found = 0, [UNKNOWN_NAME]
        elif name in reference:
            try:
                scores[name], found = _value(value, reference[name], properties[name])
            except TextsTooLong:
                scores[name], found = 0, [WRONG_VALUE]
            except RecursionError:
                raise Unreadable from None
        else:
            scores[name], found = _without_reference(value, properties[name])
        errors += found
    return CallScore(sum(scores.values()) / len(scores), scores, tuple(errors))


def _value(value: Any, due: Any, schema: Any) -> tuple[float, list[str]]:
    value, due = (float(one) if type(one) is int else one for one in (value, due))
    if type(value) is not type(due):
        return 0, [WRONG_TYPE]
    if value == due or (isinstance(value, str) and _same_letters(value, due)):
        return 1, []
    if not isinstance(schema, Mapping):
        raise Unreadable
    if isinstance(value, dict):
        return _object(value, due, schema)
    match schema.get("type"):
        case "integer" | "boolean" | "float" | "number":
            return 0, [WRONG_VALUE]
        case "string" if isinstance(value, str):
            if _COORDINATES.match(value) and _COORDINATES.match(due):
                return 1, []
            score = rouge_by_words(value, due)
            return score, [] if score > RIGHT else [WRONG_VALUE]
        case "array" if isinstance(value, list):
            return _list(value, due, schema)
    raise Unreadable


def _list(value: list[Any], due: list[Any], schema: Mapping[str, Any]) -> tuple[float, list[str]]:
    if len(value) != len(due):
        return 0, [WRONG_VALUE]
    items = schema.get("items", {"type": "string"})
    if isinstance(items, Mapping) and "properties" in items:
        items = items["properties"]
    pairs = zip(sorted(value, key=_sorted_text), sorted(due, key=_sorted_text), strict=True)
    found = [_value(one, other, items) for one, other in pairs]
    return sum(score for score, _ in found) / len(found), [error for _, errors in found for error in errors]


def _object(value: dict[str, Any], due: dict[str, Any], schema: Mapping[str, Any]) -> tuple[float, list[str]]:
    known = schema.get("items", schema.get("properties", schema))
    if isinstance(known, Mapping) and "properties" in known:
        known = known["properties"]
    if not isinstance(known, Mapping):
        raise Unreadable
    scores: list[float] = []
    errors: list[str] = []
    for name, item in value.items():
        if name not in known:
            return 0, [UNKNOWN_NAME]
        score, found = _value(item, due[name], known[name]) if name in due else _without_reference(item, known[name])
        scores.append(score)
        errors += found
    # An empty object that differs from the reference.
    return (sum(scores) / len(scores), errors) if scores else (0, [WRONG_VALUE])


def _without_reference(value: Any, schema: Any) -> tuple[float, list[str]]:
    """Judge a value that the reference lacks: it is right if the description contains its text or says null."""
    if not isinstance(schema, Mapping):
        raise Unreadable
    description = str(schema.get("description", "")).lower()
    text = str(value).lower()
    told = text in description or (text == "none" and "null" in description)
    return (1, []) if told else (0, [INVENTED])


def _same_letters(text: str, other: str) -> bool:
    return text.lower() == other.lower() or "".join(text.split()).lower() == "".join(other.split()).lower()


def _sorted_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
