"""The violations of a tool's schema by a call, each with a place and a sentence."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import jsonschema_rs

from annotator.core.schema.exact_json import escape, pointer
from annotator.core.schema.toolsets import Tool, count_characters, count_values
from annotator.core.schema.value_words import closest, listed, options, path_name, shown, types

Kind = Literal["unknown_argument", "missing_argument", "wrong_type", "not_in_enum", "nested", "unknown_key", "rule"]

#: Violations reported for one call; a list of ten thousand wrong items is one mistake.
MAX_VIOLATIONS = 20
#: Nested alternatives that are explained one by one.
_DEEPEST = 3
#: Values of one call times values in its tool's schema: comparing each with each is one step, which blocks a web
#: process. The second limit is for all calls of a dialogue.
MAX_HELD, MAX_HELD_OF_ALL = 5_000_000, 20_000_000
#: The same for calls that violate their schema: all violations are computed before one is reported. Beyond this
#: limit only the first one is reported.
MAX_TRIED, MAX_TRIED_OF_ALL = 50_000, 100_000

#: Characters of one call times patterns of its tool: each may be matched against each.
MAX_MATCHED, MAX_MATCHED_OF_ALL = 200_000, 500_000

_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters long",
    "maxLength": "at most {} characters long",
    "minItems": "a list of at least {} items",
    "maxItems": "a list of at most {} items",
    "minProperties": "an object of at least {} keys",
    "maxProperties": "an object of at most {} keys",
    "pattern": "text that matches {}",
    "uniqueItems": "a list without duplicates",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """``anchor`` names the exact place, ``value`` is the value there (None if it is missing)."""

    kind: Kind
    anchor: str
    value: Any
    message: str


@dataclass(slots=True)
class Budget:
    """The budget left for the calls of one dialogue."""

    held: int = MAX_HELD_OF_ALL
    tried: int = MAX_TRIED_OF_ALL
    matched: int = MAX_MATCHED_OF_ALL


def find_violations(
    tool: Tool, arguments: dict[str, Any], anchor: str, budget: Budget | None = None
) -> Iterator[Violation]:
    """Return the violations of the tool's schema in the arguments of one call, up to a limit."""
    budget = budget or Budget()
    tries = tool.rules * count_values(arguments)
    matched = tool.patterns * count_characters(arguments) if tool.patterns else 0
    if tries > min(MAX_HELD, budget.held) or matched > min(MAX_MATCHED, budget.matched):
        yield Violation("rule", anchor, arguments, _not_checked(tool))
        return
    budget.held -= tries
    budget.matched -= matched
    if tool.validator.is_valid(arguments):
        return
    if tries <= min(MAX_TRIED, budget.tried):
        budget.tried -= tries
        errors = list(islice(tool.validator.iter_errors(arguments), MAX_VIOLATIONS))
    elif tool.alternatives:
        # The first would contain the violations of all of them.
        yield Violation("rule", anchor, arguments, _not_checked(tool))
        return
    else:
        errors = [_first_error(tool, arguments)]
    # A value of the wrong type is never in the enum either; this needs no extra finding.
    mistyped = [error.instance_path for error in errors if error.kind.name == "type"]
    for error in errors:
        if error.kind.name == "enum" and error.instance_path in mistyped:
            continue
        value: Any = arguments
        for step in error.instance_path:
            value = value[step]
        yield from islice(_explain(tool, error, value, anchor, 0), MAX_VIOLATIONS)


def _first_error(tool: Tool, arguments: dict[str, Any]) -> jsonschema_rs.ValidationError:
    try:
        tool.validator.validate(arguments)
    except jsonschema_rs.ValidationError as error:
        return error
    raise ValueError("the arguments fit the schema")


def _not_checked(tool: Tool) -> str:
    return (
        "The arguments were not checked because there are too many for the schema "
        f"of {tool.name}. Remove some, or simplify the schema."
    )


def _explain(
    tool: Tool, error: jsonschema_rs.ValidationError, value: Any, anchor: str, depth: int
) -> Iterator[Violation]:
    path = error.instance_path
    here = anchor + pointer(path)
    details = error.kind.as_dict()
    name = path_name(path)
    match error.kind.name:
        case "additionalProperties" | "unevaluatedProperties":
            for key in details["unexpected"]:
                place = f"{here}/{escape(key)}"
                if path:
                    yield Violation("unknown_key", place, value[key], _unknown_key(name, key))
                else:
                    yield Violation("unknown_argument", place, value[key], _unknown_argument(tool, key, value))
        case "required":
            key = details["property"]
            place = f"{here}/{escape(key)}"
            if path:
                yield Violation("nested", place, None, f"“{name}” lacks “{key}”, which the schema requires.")
            else:
                sentence = f"{tool.name} requires the argument “{key}”{_expected(tool, key)}."
                yield Violation("missing_argument", place, None, sentence)
        case "type":
            yield Violation(
                "wrong_type", here, value, f"“{name}” must be {types(details['types'])}, not {shown(value)}."
            )
        case "enum":
            sentence = f"“{name}” must be {options(details['options'])}, not {shown(value)}."
            yield Violation("not_in_enum", here, value, sentence)
        case "const":
            sentence = f"“{name}” must be {options([details['expected_value']])}, not {shown(value)}."
            yield Violation("not_in_enum", here, value, sentence)
        case "anyOf" | "oneOf":
            yield from _alternatives(tool, error, value, anchor, depth)
        case keyword:
            rule = _LIMITS.get(keyword, f"valid for the keyword “{keyword}” of its schema")
            limit = next(iter(details.values()), "")
            yield Violation(
                "rule", here, value, f"“{name or 'arguments'}” must be {rule.format(limit)}, not {shown(value)}."
            )


def _unknown_argument(tool: Tool, key: str, arguments: dict[str, Any]) -> str:
    known = [name for name in tool.argument_names if name not in arguments]
    meant = closest(key, known)
    if meant:
        return f"{tool.name} has no argument “{key}”. Did you mean “{meant}”?"
    if not tool.argument_names:
        return f"{tool.name} takes no arguments. Remove “{key}”."
    return f"{tool.name} has no argument “{key}”. It takes {listed(tool.argument_names)}."


def _unknown_key(name: str, key: str) -> str:
    return f"“{name}” contains “{key}”, which its schema does not list."


def _expected(tool: Tool, key: str) -> str:
    schema = tool.parameters.get("properties", {}).get(key)
    names = schema.get("type") if isinstance(schema, dict) else None
    if not names:
        return ""
    return f" ({types([names] if isinstance(names, str) else names)})"


def _alternatives(
    tool: Tool, error: jsonschema_rs.ValidationError, value: Any, anchor: str, depth: int
) -> Iterator[Violation]:
    """Explain a value that fits no alternative: if all require another type, the types; if one has this type, its
    violations.
    """
    here, name = anchor + pointer(error.instance_path), path_name(error.instance_path) or "arguments"
    wanted: list[str] = []
    fitting: list[list[jsonschema_rs.ValidationError]] = []
    for errors in error.kind.as_dict()["context"]:
        other = [each for each in errors if each.kind.name == "type" and each.instance_path == error.instance_path]
        if other:
            wanted += [kind for kind in other[0].kind.as_dict()["types"] if kind not in wanted]
        else:
            fitting.append(errors)
    if not fitting:
        yield Violation("wrong_type", here, value, f"“{name}” must be {types(wanted)}, not {shown(value)}.")
    elif len(fitting) == 1 and fitting[0] and depth < _DEEPEST:
        for inner in islice(fitting[0], MAX_VIOLATIONS):
            yield from _explain(tool, inner, inner.instance, anchor, depth + 1)
    elif all(fitting):
        yield Violation(
            "nested", here, value, f"“{name}” is {shown(value)}, which fits none of the forms that its schema allows."
        )
    else:
        yield Violation(
            "nested",
            here,
            value,
            f"“{name}” must fit exactly one of the forms that its schema allows, but it fits several.",
        )
