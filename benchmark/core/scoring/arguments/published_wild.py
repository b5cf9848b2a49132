"""The arguments of a call as WildToolBench's published code judges them (``checker_utils.py``).

First the schema of the function, then the reference. The classes are the published ones. Below the top level, and for
wrong types and enum values also at it, they say “nested”. Texts may differ a little; everything else may not, not even
5 from 5.0.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.core.scoring.arguments.similarity import TextsTooLong, edit_ratio, rouge_by_sentences

CORRECT = "correct"
NOT_JSON = "error: args invalid json format"
#: Not in the published code, which ends in an exception or does not end.
UNKNOWN_TOOL = "error: unknown tool"
TOO_LONG = "error_match: text too long to compare"
SIMILARITY = 0.7
#: Reference texts shorter than this must also have this edit ratio.
SHORT, SHORT_RATIO = 10, 0.8

_MISSING, _UNDEFINED, _TYPE, _ENUM = (
    "required {}args missing", "{}args not defined", "{}args type inconsistent", "{}args value not in enum",
)  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "float": (float,), "number": (int, float), "boolean": (bool,),
    "array": (list,), "object": (dict,), "null": (type(None),),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the comparer says. ``measure`` is ``edit`` or ``rouge`` where ``score`` is below its limit."""

    kind: str = CORRECT
    place: str = ""
    measure: str = ""
    score: float | None = None

    @property
    def correct(self) -> bool:
        return self.kind == CORRECT

    @property
    def name(self) -> str:
        """The class, with the measure that was too low."""
        return f"{self.kind} ({self.measure})" if self.measure else self.kind

    def __str__(self) -> str:
        place = f" at '{self.place}'" if self.place else ""
        return f"{self.kind}{place}" + (f" ({self.measure} score: {self.score:.2f})" if self.measure else "")


class Comparer:
    """Compares the calls of one prediction, and remembers: the walks ask for the same pairs again."""

    def __init__(self, functions: Mapping[str, Mapping[str, Any]]) -> None:
        self._functions = functions
        self._read: dict[tuple[str, str], tuple[Any, Outcome | None]] = {}
        self._found: dict[tuple[str, str, int], Outcome] = {}

    def compare(self, name: str, text: str, reference: Any) -> Outcome:
        """Compare a call's arguments, a JSON text, with those of the reference call, a JSON value that must live on."""
        key = (name, text, id(reference))
        if key not in self._found:
            self._found[key] = self._compare(name, text, reference)
        return self._found[key]

    def _compare(self, name: str, text: str, reference: Any) -> Outcome:
        if (name, text) not in self._read:
            self._read[name, text] = _read(self._functions.get(name), text)
        value, error = self._read[name, text]
        if error is not None:
            return error
        try:
            return _against_reference(value, reference, "") or Outcome()
        except TextsTooLong:
            return Outcome(TOO_LONG)


def compare(function: Mapping[str, Any] | None, predicted: str, reference: Any) -> Outcome:
    """Compare the arguments of one call of a function with those of the reference call."""
    return Comparer({} if function is None else {"": function}).compare("", predicted, reference)


def _read(function: Mapping[str, Any] | None, text: str) -> tuple[Any, Outcome | None]:
    """Return the value of a JSON text, and what is wrong with it by the function's schema."""
    if function is None:
        return None, Outcome(UNKNOWN_TOOL)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, Outcome(NOT_JSON)
    parameters = function.get("parameters")
    parameters = parameters if isinstance(parameters, Mapping) else {}
    schema = {
        "type": "object",
        "required": parameters.get("required") or [],
        "properties": parameters.get("properties") or {},
    }
    return value, _against_schema(value, schema, "")


def _against_schema(value: Any, schema: Any, path: str) -> Outcome | None:
    if not isinstance(schema, Mapping):
        return None
    if "anyOf" in schema:
        found = [_against_schema(value, one, path) for one in schema["anyOf"]]
        return None if None in found else found[0] if found else None
    allowed = _allowed(schema)
    if allowed and not isinstance(value, allowed):
        return _schema_error(_TYPE, path)
    if "enum" in schema and value not in schema["enum"]:
        return _schema_error(_ENUM, path)
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        if not set(schema.get("required") or ()) <= value.keys():
            return _schema_error(_MISSING, path)
        for key, item in value.items():
            if key not in properties:
                if schema.get("additionalProperties") is True:
                    continue
                return _schema_error(_UNDEFINED, path)
            if error := _against_schema(item, properties[key], f"{path}.{key}" if path else key):
                return error
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            if error := _against_schema(item, schema["items"], f"{path}[{index}]"):
                return error
    return None


def _allowed(schema: Mapping[str, Any]) -> tuple[type, ...]:
    """Return the Python types of a schema; texts if it names no type, all (an empty tuple) if it names an unknown."""
    named = schema.get("type", "string")
    names = named if isinstance(named, list) else [named]
    return tuple(kind for name in names if isinstance(name, str) for kind in _TYPES.get(name, ()))


def _schema_error(words: str, path: str) -> Outcome:
    return Outcome(f"error_schema: {words.format('nested ' if path else '')}")


def _against_reference(value: Any, due: Any, path: str) -> Outcome | None:
    if type(value) is not type(due):
        return Outcome("error_match: value type inconsistent", path)
    if isinstance(due, dict):
        if value.keys() != due.keys():
            return Outcome("error_match: args keys mismatch", path)
        pairs = [(f"{path}.{key}" if path else key, value[key], due[key]) for key in due]
    elif isinstance(due, list):
        if len(value) != len(due):
            return Outcome("error_match: array length mismatch", path)
        pairs = [(f"{path}[{index}]", *pair) for index, pair in enumerate(zip(value, due, strict=True))]
    elif isinstance(due, str):
        return _text_error(value, due, path)
    else:
        return None if value == due else Outcome("error_match: value mismatch", path)
    return next((error for name, one, other in pairs if (error := _against_reference(one, other, name))), None)


def _text_error(text: str, due: str, path: str) -> Outcome | None:
    if text == due or _squeezed(text) == _squeezed(due):
        return None
    if len(due) < SHORT and (ratio := edit_ratio(text, due)) < SHORT_RATIO:
        return Outcome("error_match: string similarity too low", path, "edit", ratio)
    score = rouge_by_sentences(text, due)
    if score is None:
        return Outcome("error_match: rouge calculation failed", path)
    return Outcome("error_match: string similarity too low", path, "rouge", score) if score < SIMILARITY else None


def _squeezed(text: str) -> str:
    return "".join(text.split()).lower()
