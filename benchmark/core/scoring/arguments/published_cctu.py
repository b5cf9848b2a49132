"""The arguments of a call as CCTU's published checker judges them (``args_checker.py``, ``schema_validate.py``).

Of JSON Schema it knows ``type``, ``enum``, ``properties``, ``required`` and ``items``. Only the first stage that fails
speaks: the tool exists, the arguments are JSON, an object, complete, without others; then types and enums together.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

AVAILABLE, REQUIRED, TYPES = "available tools and parameters", "required parameters", "parameter types"
LABEL = "TOOL ARGUMENTS"
#: Mistakes named in one feedback.
MAX_NAMED = 50

#: Python's names of JSON values, which the feedback uses.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "object": (dict,),
    "array": (list,), "null": (type(None),),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is refused. ``reaches_model``: the published generator passes the feedback on.

    It looks up the code of the tool and reads the arguments before the feedback, so both kinds of failure hide it.
    """

    detail: str
    categories: tuple[str, ...]
    reaches_model: bool = True

    @property
    def feedback(self) -> str:
        return f"INSTRUCTION FOLLOWING ERROR: {LABEL} NOT FOLLOWED! {self.detail}"


def check(tools: Mapping[str, Mapping[str, Any]], name: str, arguments: Any) -> Refusal | None:
    """Return why a call is refused, or None. ``tools``: name → parameters; ``arguments``: the text of the call."""
    failed = f"Failed to call tool '{name}'"
    if name not in tools:
        return Refusal(f"{failed} as it does not exist", (AVAILABLE,), reaches_model=False)
    try:
        value = json.loads(arguments if isinstance(arguments, str) else "")
    except (ValueError, RecursionError) as error:
        return Refusal(f"{failed} due to invalid JSON arguments: {error}", (TYPES,), reaches_model=False)
    if not isinstance(value, dict):
        kind = type(value).__name__
        return Refusal(f"{failed} due to invalid argument format: expected JSON object, got {kind}", (TYPES,))
    parameters = tools[name]
    known = parameters.get("properties")
    known = known if isinstance(known, Mapping) else {}
    missing = [key for key in parameters.get("required") or () if key not in value]
    if missing:
        return Refusal(f"{failed} due to missing required argument(s): {', '.join(missing)}", (REQUIRED,))
    extra = sorted(value.keys() - known.keys())
    if extra:
        return Refusal(f"{failed} due to extra argument(s): {', '.join(extra)}", (AVAILABLE,))
    mistakes = [one for key, item in value.items() for one in _mistakes(item, known[key], key)]
    if not mistakes:
        return None
    told = "; ".join(text for text, _ in mistakes[:MAX_NAMED])
    categories = tuple(dict.fromkeys(category for _, category in mistakes))
    return Refusal(f"{failed} due to invalid argument(s): {told}", categories)


def is_json(arguments: Any) -> bool:
    """Return whether the arguments of a call can be read as JSON."""
    try:
        json.loads(arguments if isinstance(arguments, str) else "")
    except (ValueError, RecursionError):
        return False
    return True


def _mistakes(value: Any, schema: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping):
        return
    named = schema.get("type")
    types = [named] if isinstance(named, str) else list(named) if isinstance(named, list) else []
    if types and not any(_is_of(value, kind) for kind in types):
        yield f"{path}: type mismatch, expected {named}, got {type(value).__name__}", TYPES
        return
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        yield f"{path}: value {value!r} not in enum {schema['enum']!r}", AVAILABLE
    if isinstance(value, dict) and (not types or "object" in types):
        properties = schema.get("properties") or {}
        missing = [key for key in schema.get("required") or () if key not in value]
        if missing:
            yield f"{path}: missing required fields: {', '.join(missing)}", REQUIRED
        extra = sorted(value.keys() - properties.keys())
        if extra:
            yield f"{path}: extra fields not in schema: {', '.join(extra)}", AVAILABLE
        for key, one in properties.items():
            if key in value:
                yield from _mistakes(value[key], one, f"{path}.{key}")
    if isinstance(value, list) and (not types or "array" in types):
        for index, item in enumerate(value):
            yield from _mistakes(item, schema.get("items"), f"{path}[{index}]")


def _is_of(value: Any, kind: Any) -> bool:
    """Return whether a value has a JSON type; an unknown type has every value."""
    expected = _KINDS.get(kind) if isinstance(kind, str) else None
    if expected is None:
        return True
    return isinstance(value, expected) and (bool in expected or not isinstance(value, bool))
