"""schema.*: calls against the schemas of their tools."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from annotator.core.checks.context import Context
from annotator.core.checks.registry import Found, check
from annotator.core.schema.value_words import closest, cut, listed, path_name
from annotator.core.schema.violations import Kind


@check("schema.not_json", "The arguments of a call are not a JSON object", "error")
def not_json(context: Context) -> Iterator[Found]:
    """The arguments of the candidate are not a JSON object and were kept as text. Write them as an object."""
    for call in context.calls:
        if call.arguments is None:
            text = cut(str(call.step["arguments"]))
            message = f"The arguments are the text “{text}”, not a JSON object. Write them as an object."
            yield f"{call.anchor}/arguments", call.step["arguments"], message


@check("schema.unknown_tool", "A call names a tool that is not in the toolset", "error")
def unknown_tool(context: Context) -> Iterator[Found]:
    """A call names a tool that is not in the toolset of the dialogue."""
    for call in context.calls:
        if call.tool is None:
            name, names = call.step["name"], context.toolset.names
            meant = closest(name, names)
            hint = f"Did you mean “{meant}”?" if meant else f"It has {listed(names)}."
            yield f"{call.anchor}/name", name, f"The toolset has no tool “{cut(name)}”. {hint}"


@check("schema.tool_broken", "The schema of a called tool cannot be used", "error")
def tool_broken(context: Context) -> Iterator[Found]:
    """The schema of the called tool cannot be used (for example, it refers to another file), so the call is not
    checked. Correct the toolset.
    """
    for call in context.calls:
        if call.tool is not None and call.tool.spec.broken:
            yield f"{call.anchor}/name", call.step["name"], f"{call.tool.spec.broken} This call is not checked."


@check(
    "schema.tool_partly_checked",
    "Some rules in the schema of a called tool cannot be checked",
    "info",
    audience="administrators",
)
def tool_partly_checked(context: Context) -> Iterator[Found]:
    """Some rules in the schema of the called tool cannot be read (for example, an unknown type, or a pattern that
    cannot run in linear time). The other rules are checked.
    """
    for call in context.calls:
        if call.tool is not None and call.tool.spec.notes:
            message = f"{call.tool.name} is only partly checked. {' '.join(call.tool.spec.notes[:3])}"
            yield f"{call.anchor}/name", call.step["name"], message


def _violations(context: Context, kind: Kind) -> Iterator[Found]:
    for violation in context.violations:
        if violation.kind == kind:
            yield violation.anchor, violation.value, violation.message


@check("schema.unknown_argument", "A call has an argument that its tool does not take", "error", only_with="violations")
def unknown_argument(context: Context) -> Iterator[Found]:
    """A call has an argument that its tool does not take. Names must match exactly: “Map ID” is not “mapId”."""
    yield from _violations(context, "unknown_argument")


@check("schema.missing_argument", "A call lacks an argument that its tool requires", "error", only_with="violations")
def missing_argument(context: Context) -> Iterator[Found]:
    """A call lacks an argument that its tool requires. The finding is at the place where the argument belongs."""
    yield from _violations(context, "missing_argument")


@check("schema.wrong_type", "A value has the wrong type", "error", only_with="violations")
def wrong_type(context: Context) -> Iterator[Found]:
    """An argument, or a part of one, has the wrong JSON type, such as a number written as text."""
    yield from _violations(context, "wrong_type")


@check("schema.not_in_enum", "A value is not one of those that the schema lists", "error", only_with="violations")
def not_in_enum(context: Context) -> Iterator[Found]:
    """An argument, or a part of one, is not one of the values that the schema lists."""
    yield from _violations(context, "not_in_enum")


@check("schema.nested", "A value inside an argument does not fit its schema", "error", only_with="violations")
def nested(context: Context) -> Iterator[Found]:
    """A required part of an argument is missing, or the argument fits none of the allowed forms."""
    yield from _violations(context, "nested")


@check(
    "schema.unknown_key", "An argument contains a key that its schema does not list", "warning", only_with="violations"
)
def unknown_key(context: Context) -> Iterator[Found]:
    """An argument contains a key that the schema does not list. JSON Schema allows this, but most tools do not."""
    yield from _violations(context, "unknown_key")


@check("schema.rule", "A value violates a limit or pattern of the schema", "error", only_with="violations")
def rule(context: Context) -> Iterator[Found]:
    """A value violates another rule of the schema: a minimum or maximum, a length, a pattern, unique items."""
    yield from _violations(context, "rule")


@check("schema.coordinates", "A latitude or longitude is out of range", "warning")
def coordinates(context: Context) -> Iterator[Found]:
    """A latitude is not from −90 to 90, or a longitude is not from −180 to 180. The two are often swapped."""
    for call in context.calls:
        for path, value in call.leaves:
            most = coordinate_limit(path[-1])
            if most is None:
                continue
            number = _as_number(value)
            if number is not None and abs(number) > most:
                word = "latitude" if most == 90 else "longitude"
                swapped = "; latitude and longitude may be swapped" if most == 90 and abs(number) <= 180 else ""
                message = (
                    f"“{path_name(path)}” is {cut(str(value))}, but a {word} must be between −{most} "
                    f"and {most}{swapped}."
                )
                yield call.anchor_of(path), value, message


@lru_cache(maxsize=4096)
def coordinate_limit(key: str | int) -> int | None:
    """Return 90 for a key that means a latitude, 180 for a longitude, else None."""
    if not isinstance(key, str) or len(key) > 40:
        return None
    word = key.lower()
    if word.endswith(("latitude", "_lat", "纬度")) or word == "lat" or key.endswith("Lat"):
        return 90
    if word.endswith(("longitude", "_lng", "_lon", "经度")) or word in ("lng", "lon") or key.endswith(("Lng", "Lon")):
        return 180
    return None


def _as_number(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return float(value) if len(value) < 40 else None
        except ValueError:
            return None
    try:
        return float(value)
    except OverflowError:
        # An integer of more than 308 digits.
        return math.inf
