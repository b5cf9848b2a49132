"""Functions of Python source as tools: their signatures, type hints and docstrings. The code is never run."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import docstring_parser

from annotator.core.python_source import Unreadable, parse_source
from annotator.core.schema.toolsets import MAX_TOOLS
from annotator.core.text import gettext_noop as _
from annotator.core.text import message
from annotator.core.tools.sources.model import Note, ReadTools, SourceProblem, function

#: Characters of a docstring that are read.
_MAX_DOCSTRING = 20_000
_MAX_DEPTH = 20
_TYPES = {
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "Dict": "object",
    "Mapping": "object", "list": "array", "List": "array", "Sequence": "array", "tuple": "array", "Tuple": "array",
    "set": "array", "Set": "array", "Iterable": "array", "None": "null",
}  # fmt: skip
_FORMATS = {"datetime": "date-time", "date": "date", "time": "time", "UUID": "uuid"}


def read_python(source: str) -> ReadTools:
    """Read public functions, or the public methods of the only public class. Raises SourceProblem."""
    try:
        tree = parse_source(source)
    except Unreadable as error:
        raise SourceProblem(message(_("The code cannot be read: %(reason)s."), reason=str(error))) from None
    body: Sequence[ast.stmt] = tree.body
    name, of_class = "", False
    classes = [one for one in body if isinstance(one, ast.ClassDef) and not one.name.startswith("_")]
    found = list(_functions(body))
    if not found and len(classes) == 1:
        name, of_class = classes[0].name, True
        found = list(_functions(classes[0].body))
    if not found:
        raise SourceProblem(message(_("The code has no function whose name has no underscore before it.")))
    if len(found) > MAX_TOOLS:
        words = message(
            _("The code has %(count)s functions. A toolset takes at most %(limit)s."), count=len(found), limit=MAX_TOOLS
        )
        raise SourceProblem(words)
    notes: list[Note] = []
    return ReadTools([_read(one, notes, of_class=of_class) for one in found], notes, name)


def _functions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("_") and "property" not in _decorators(node):
            yield node


def _read(node: ast.FunctionDef | ast.AsyncFunctionDef, notes: list[Note], *, of_class: bool) -> dict[str, Any]:
    given = node.args
    places = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(places) - len(given.defaults)) + list(given.defaults)
    pairs = list(zip(places, defaults, strict=True))
    if of_class and "staticmethod" not in _decorators(node):
        pairs = pairs[1:]
    pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
    description, described, returned = _docstring(node)
    properties: dict[str, Any] = {}
    required = []
    for one, default in pairs:
        schema = type_schema(one.annotation)
        if described.get(one.arg):
            schema["description"] = described[one.arg]
        if default is None:
            required.append(one.arg)
        else:
            try:
                schema["default"] = _as_json(ast.literal_eval(default))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                words = message(
                    _("The default of %(name)s is worked out by the code, so it is left out."), name=one.arg
                )
                notes.append(Note(node.name, words))
        properties[one.arg] = schema
    if given.vararg or given.kwarg:
        notes.append(Note(node.name, message(_("Further arguments (* or **) are left out."))))
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    return function(node.name, description, parameters, _response(node.returns, returned))


def _response(hint: ast.expr | None, description: str) -> dict[str, Any]:
    """Return the schema of what a function returns; {} if its signature does not say, or says None."""
    schema = type_schema(hint)
    if hint is None or schema == {"type": "null"}:
        return {}
    return schema | ({"description": description} if description else {})


def _docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, Mapping[str, str], str]:
    """Return the description, those of the parameters by name, and that of what is returned."""
    text = (ast.get_docstring(node) or "")[:_MAX_DOCSTRING]
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text, {}, ""
    words = "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    returned = parsed.returns.description if parsed.returns else None
    return words or text, {one.arg_name: one.description or "" for one in parsed.params}, returned or ""


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {one.id for one in node.decorator_list if isinstance(one, ast.Name)}


def type_schema(hint: ast.expr | None, depth: int = 0) -> dict[str, Any]:
    """Return the JSON Schema of a type hint; {} for a type that JSON does not have."""
    if depth > _MAX_DEPTH:
        return {}
    if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
        try:
            hint = ast.parse(hint.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {}
    if isinstance(hint, ast.Constant) and hint.value is None:
        return {"type": "null"}
    if isinstance(hint, ast.BinOp) and isinstance(hint.op, ast.BitOr):
        return _union([hint.left, hint.right], depth)
    if isinstance(hint, ast.Subscript):
        return _generic(_last_name(hint.value), hint.slice, depth)
    name = _last_name(hint)
    if name in _FORMATS:
        return {"type": "string", "format": _FORMATS[name]}
    return {"type": _TYPES[name]} if name in _TYPES else {}


def _generic(name: str, inside: ast.expr, depth: int) -> dict[str, Any]:
    parts = list(inside.elts) if isinstance(inside, ast.Tuple) else [inside]
    if name == "Optional":
        return _union([*parts, ast.Constant(None)], depth)
    if name == "Union":
        return _union(parts, depth)
    if name == "Annotated":
        schema = type_schema(parts[0], depth + 1) if parts else {}
        texts = [one.value for one in parts[1:] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return schema | ({"description": texts[0]} if texts else {})
    if name == "Literal":
        try:
            values = [_as_json(ast.literal_eval(one)) for one in parts]
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            # A name, such as a member of an enumeration: only the code knows its value.
            return {}
        kinds = {"boolean" if isinstance(one, bool) else _TYPES.get(type(one).__name__, "") for one in values}
        return ({"type": kinds.pop()} if len(kinds) == 1 and kinds != {""} else {}) | {"enum": values}
    kind = _TYPES.get(name)
    if kind == "array":
        schema = {"type": "array"}
        items = type_schema(parts[0], depth + 1) if parts else {}
        return schema | ({"items": items} if items else {})
    if kind == "object" and len(parts) == 2:
        values_of = type_schema(parts[1], depth + 1)
        return {"type": "object"} | ({"additionalProperties": values_of} if values_of else {})
    return {"type": kind} if kind else {}


def _union(parts: Sequence[ast.expr], depth: int) -> dict[str, Any]:
    schemas = [type_schema(part, depth + 1) for part in parts]
    if {} in schemas:
        return {}
    if all(set(schema) == {"type"} for schema in schemas):
        types = list(
            dict.fromkeys(
                kind
                for schema in schemas
                for kind in (schema["type"] if isinstance(schema["type"], list) else [schema["type"]])
            )
        )
        return {"type": types[0] if len(types) == 1 else types}
    return {"anyOf": schemas}


def _last_name(node: ast.expr | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_as_json(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _as_json(one) for key, one in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ValueError(value)
