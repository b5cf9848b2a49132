"""schema.*: calls against the schemas of their tools."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

from annotator.core.checks.context import Context
from annotator.core.checks.registry import Check, register
from annotator.core.findings import Finding, Severity
from annotator.core.schema.value_words import closest, cut, listed, path_name
from annotator.core.schema.violations import Kind


@register
class NotJson(Check):
    """The arguments of the candidate are not a JSON object and were kept as text. Write them as an object."""

    id = "schema.not_json"
    title = "The arguments of a call are not a JSON object"
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            if call.arguments is None:
                text = cut(str(call.step["arguments"]))
                message = f"The arguments are the text “{text}”, not a JSON object. Write them as an object."
                yield self.finding(context, f"{call.anchor}/arguments", call.step["arguments"], message)


@register
class UnknownTool(Check):
    """A call names a tool that is not in the toolset of the dialogue."""

    id = "schema.unknown_tool"
    title = "A call names a tool that is not in the toolset"
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            if call.tool is None:
                name, names = call.step["name"], context.toolset.names
                meant = closest(name, names)
                hint = f"Did you mean “{meant}”?" if meant else f"It has {listed(names)}."
                yield self.finding(
                    context, f"{call.anchor}/name", name, f"The toolset has no tool “{cut(name)}”. {hint}"
                )


@register
class ToolBroken(Check):
    """The schema of the called tool cannot be used (for example, it refers to another file), so the call is not
    checked. Correct the toolset.
    """

    id = "schema.tool_broken"
    title = "The schema of a called tool cannot be used"
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            if call.tool is not None and call.tool.spec.broken:
                message = f"{call.tool.spec.broken} This call is not checked."
                yield self.finding(context, f"{call.anchor}/name", call.step["name"], message)


@register
class ToolPartlyChecked(Check):
    """Some rules in the schema of the called tool cannot be read (for example, an unknown type, or a pattern that
    cannot run in linear time). The other rules are checked.
    """

    id = "schema.tool_partly_checked"
    title = "Some rules in the schema of a called tool cannot be checked"
    severity = "info"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            if call.tool is not None and call.tool.spec.notes:
                message = f"{call.tool.name} is only partly checked. {' '.join(call.tool.spec.notes[:3])}"
                yield self.finding(context, f"{call.anchor}/name", call.step["name"], message)


class _Violations(Check):
    """The violations of one kind."""

    kind: ClassVar[Kind]
    only_with = "violations"
    severity: ClassVar[Severity] = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for violation in context.violations:
            if violation.kind == self.kind:
                yield self.finding(context, violation.anchor, violation.value, violation.message)


@register
class UnknownArgument(_Violations):
    """A call has an argument that its tool does not take. Names must match exactly: “Map ID” is not “mapId”."""

    id = "schema.unknown_argument"
    title = "A call has an argument that its tool does not take"
    kind = "unknown_argument"


@register
class MissingArgument(_Violations):
    """A call lacks an argument that its tool requires. The finding is at the place where the argument belongs."""

    id = "schema.missing_argument"
    title = "A call lacks an argument that its tool requires"
    kind = "missing_argument"


@register
class WrongType(_Violations):
    """An argument, or a part of one, has the wrong JSON type, such as a number written as text."""

    id = "schema.wrong_type"
    title = "A value has the wrong type"
    kind = "wrong_type"


@register
class NotInEnum(_Violations):
    """An argument, or a part of one, is not one of the values that the schema lists."""

    id = "schema.not_in_enum"
    title = "A value is not one of those that the schema lists"
    kind = "not_in_enum"


@register
class Nested(_Violations):
    """A required part of an argument is missing, or the argument fits none of the allowed forms."""

    id = "schema.nested"
    title = "A value inside an argument does not fit its schema"
    kind = "nested"


@register
class UnknownKey(_Violations):
    """An argument contains a key that the schema does not list. JSON Schema allows this, but most tools do not."""

    id = "schema.unknown_key"
    title = "An argument contains a key that its schema does not list"
    kind = "unknown_key"
    severity = "warning"


@register
class Rule(_Violations):
    """A value violates another rule of the schema: a minimum or maximum, a length, a pattern, unique items."""

    id = "schema.rule"
    title = "A value violates a limit or pattern of the schema"
    kind = "rule"


@register
class Coordinates(Check):
    """A latitude is not from −90 to 90, or a longitude is not from −180 to 180. The two are often swapped."""

    id = "schema.coordinates"
    title = "A latitude or longitude is out of range"
    severity = "warning"

    def run(self, context: Context) -> Iterator[Finding]:
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
                    yield self.finding(context, call.anchor_of(path), value, message)


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
