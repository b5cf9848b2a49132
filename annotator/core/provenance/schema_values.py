"""Values in a tool's schema: defaults, and the values that an argument may have."""

from typing import Any, NamedTuple

from annotator.core.provenance.described_values import described
from annotator.core.provenance.scope import SourceKind
from annotator.core.provenance.value_forms import Forms, fold, squash
from annotator.core.schema.canonical import escape
from annotator.core.schema.toolsets import Tool


class Given(NamedTuple):
    """``anchor`` is a pointer into the tool, such as /searchHotels/parameters/properties/board/enum."""

    kind: SourceKind
    anchor: str


def given_by_schema(tool: Tool | None, path: tuple[Any, ...], forms: Forms) -> Given | None:
    """Return where a tool's schema contains the value at ``path``; None if it only describes it.

    Defaults and choices that are only in the description (“Default value: economy”) count like others.
    """
    schema = _schema_at(tool, path)
    found = _given(schema, "", forms) if schema is not None else None
    if tool is None or found is None:
        return None
    below = "".join("/items" if isinstance(step, int) else f"/properties/{escape(step)}" for step in path)
    return Given(found.kind, f"/{escape(tool.name)}/parameters{below}{found.anchor}")


def described_in(tool: Tool | None, path: tuple[Any, ...]) -> str:
    """Return the description of the argument at a path; empty if there is none."""
    text = (_schema_at(tool, path) or {}).get("description")
    return text if isinstance(text, str) else ""


def _schema_at(tool: Tool | None, path: tuple[Any, ...]) -> dict[str, Any] | None:
    schema: Any = tool.parameters if tool is not None else None
    for step in path:
        if not isinstance(schema, dict):
            return None
        if isinstance(step, int):
            # The description of a list describes its items, too.
            items = schema.get("items")
            schema = {"description": schema.get("description"), **items} if isinstance(items, dict) else None
        else:
            properties = schema.get("properties")
            schema = properties.get(step) if isinstance(properties, dict) else None
    return schema if isinstance(schema, dict) else None


def _given(schema: dict[str, Any], anchor: str, forms: Forms) -> Given | None:
    """Return where one schema contains a value; ``anchor`` is the place below the schema to search."""
    if "default" in schema and _same(schema["default"], forms):
        return Given(SourceKind.DEFAULT, f"{anchor}/default")
    enum = schema.get("enum")
    if isinstance(enum, list) and (forms.value in enum or any(_same(value, forms) for value in enum[:500])):
        return Given(SourceKind.ENUM, f"{anchor}/enum")
    if "const" in schema and _same(schema["const"], forms):
        return Given(SourceKind.ENUM, f"{anchor}/const")
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        for i, option in enumerate(options[:20] if isinstance(options, list) else ()):
            found = _given(option, f"{anchor}/{key}/{i}", forms) if isinstance(option, dict) else None
            if found:
                return found
    description = schema.get("description")
    if isinstance(description, str) and description:
        defaults, choices = described(description)
        words = {forms.folded or str(forms.value), str(forms.number)}
        if words & defaults:
            return Given(SourceKind.DEFAULT, f"{anchor}/description")
        if words & choices:
            return Given(SourceKind.ENUM, f"{anchor}/description")
    return None


def _same(value: Any, forms: Forms) -> bool:
    if value == forms.value:
        return True
    if isinstance(value, str):
        return bool(forms.folded) and squash(fold(value)) == squash(forms.folded)
    return forms.number is not None and not isinstance(value, bool) and value == forms.number
