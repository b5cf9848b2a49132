"""Calls as Python text: ``mv(source='a', destination='b')``.

Read as a syntax tree, and never run: only literals are allowed. Positional arguments get their names from the
function's schema, in its order.
"""

import ast
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import Any

from annotator.core.execution.numbers import whole_numbers
from annotator.core.python_source import Unreadable, parse_source
from annotator.core.sandbox.trajectories import ToolCall
from annotator.core.schema.exact_json import MAX_DEPTH

#: Characters of one call.
MAX_LENGTH = 100_000
#: In the schemas of BFCL this text stands for null.
_NULL = "None"
_SHOWN = 60


class NotACall(Exception):
    """The text is not a call with literal arguments; the text of the exception is a sentence."""


def read_call(text: str, names: Mapping[str, Sequence[str]]) -> ToolCall:
    """Return the call of a text. ``names``: function → names of its arguments in order.

    Raises NotACall. A function that is not in ``names`` is no error here, if its arguments have names.
    """
    if len(text) > MAX_LENGTH:
        raise NotACall(f"The call has {len(text):,} characters. The limit is {MAX_LENGTH:,}.")
    try:
        body = parse_source(text.strip()).body
    except Unreadable as error:
        raise NotACall(f"{_shown(text)} cannot be read as Python: {error}.") from None
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        raise NotACall(f"{_shown(text)} is not one call such as move(name='a').")
    call = body[0].value
    if not isinstance(call.func, ast.Name):
        raise NotACall(f"The function of {_shown(text)} must be a plain name.")
    name = call.func.id
    arguments: dict[str, Any] = {}
    known = names.get(name, ())
    for position, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            raise NotACall(f"{_at(node)}: a starred argument is not a literal.")
        if position >= len(known):
            if name not in names:
                raise NotACall(f"The toolset has no function {name}, so its arguments need names.")
            raise NotACall(f"{_at(node)}: {name} takes {len(known)} arguments at most.")
        arguments[known[position]] = _literal(node, 0)
    for keyword in call.keywords:
        value = _literal(keyword.value, 0)
        if keyword.arg is None and not isinstance(value, dict):
            raise NotACall(f"{_at(keyword.value)}: two stars need an object with the arguments.")
        for key, item in ({keyword.arg: value} if keyword.arg is not None else value).items():
            if key in arguments:
                raise NotACall(f"{_at(keyword.value)}: the argument {key} is given twice.")
            arguments[key] = item
    return ToolCall(name, arguments)


def write_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as Python text; ``read_call`` reads it back.

    Arguments that are not names in Python, which few schemas have, are written as ``**{'from': 'a'}``.
    """
    parts = [f"{key}={value!r}" for key, value in arguments.items() if _is_name(key)]
    others = {key: value for key, value in arguments.items() if not _is_name(key)}
    return f"{name}({', '.join([*parts, f'**{others!r}'] if others else parts)})"


def _is_name(key: str) -> bool:
    # Python reads names in NFKC, so others would come back changed.
    return key.isidentifier() and key.isascii() and not iskeyword(key)


def argument_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments in the order of its schema."""
    properties = schema.get("properties")
    return tuple(properties) if isinstance(properties, Mapping) else ()


def full_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments with defaults filled in, whole floats as integers; None if they do not fit the function.

    They fit if none is unknown and none that the schema requires is missing.
    """
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    if set(arguments) - set(properties) or set(required if isinstance(required, list) else ()) - set(arguments):
        return None
    found = {}
    for name, rules in properties.items():
        if name in arguments:
            found[name] = whole_numbers(arguments[name])
        elif isinstance(rules, Mapping) and "default" in rules:
            found[name] = None if rules["default"] == _NULL else whole_numbers(rules["default"])
    return found


def _literal(node: ast.expr, depth: int) -> Any:
    """Return the JSON value of a literal. Raises NotACall with its place."""
    if depth > MAX_DEPTH:
        raise NotACall(f"{_at(node)}: the value is nested more than {MAX_DEPTH} levels deep.")
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str | int | float | None):
            return node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _literal(node.operand, depth + 1)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value if isinstance(node.op, ast.USub) else value
    elif isinstance(node, ast.List | ast.Tuple):
        return [_literal(item, depth + 1) for item in node.elts]
    elif isinstance(node, ast.Dict):
        found: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                raise NotACall(f"{_at(key or value)}: the keys of an object must be texts.")
            if key.value in found:
                raise NotACall(f"{_at(key)}: the key {_shown(key.value)} is given twice.")
            found[key.value] = _literal(value, depth + 1)
        return found
    raise NotACall(f"{_at(node)}: {_shown(ast.unparse(node) if depth < MAX_DEPTH else '…')} is not a literal.")


def _at(node: ast.AST) -> str:
    return f"Character {getattr(node, 'col_offset', 0) + 1}"


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return f"“{text}”" if len(text) <= _SHOWN else f"“{text[: _SHOWN - 1]}…”"
