"""Compare the functions of an implementation with the schemas of its toolset, without running anything."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.execution.numbers import whole_numbers
from annotator.core.python_source import Unreadable, parse_source
from annotator.core.sandbox.trajectories import Implementation
from annotator.core.schema.canonical import canonical
from annotator.core.schema.errors import SchemaProblem

#: Base classes that are followed.
_MAX_BASES = 32
#: In the schemas of BFCL this text stands for null.
_NULL = "None"


@dataclass(frozen=True, slots=True)
class SignatureProblem:
    """``place``: a function, or a function and its parameter (``move.folder``); empty for the whole source."""

    place: str
    message: str


def compare_signatures(
    implementation: Implementation, schemas: Mapping[str, Mapping[str, Any]]
) -> list[SignatureProblem]:
    """Return what does not fit. ``schemas``: function name → JSON Schema of its arguments, an object."""
    try:
        tree = parse_source(implementation.source)
    except Unreadable as error:
        return [SignatureProblem("", f"The code cannot be read: {error}.")]
    functions = _defined(tree, implementation.class_name)
    if functions is None:
        return [SignatureProblem("", f"The code does not define the class {implementation.class_name}.")]
    problems = _compare_load(implementation, functions)
    for name, schema in schemas.items():
        found = functions.get(name)
        if found is None:
            where = "the code" if implementation.class_name is None else f"the class {implementation.class_name}"
            problems.append(SignatureProblem(name, f"The toolset has the function {name}, but {where} does not."))
        elif name.startswith("_"):
            problems.append(SignatureProblem(name, f"{name} begins with an underscore, so it cannot be called."))
        else:
            problems += _compare(name, found, schema)
    return problems


def function_names(implementation: Implementation) -> frozenset[str]:
    """Return the functions that the code defines and that can be called; none if it cannot be read."""
    try:
        tree = parse_source(implementation.source)
    except Unreadable:
        return frozenset()
    found = _defined(tree, implementation.class_name) or {}
    return frozenset(name for name in found if not name.startswith("_"))


@dataclass(frozen=True, slots=True)
class _Function:
    """Parameters with their defaults (None: required); ``takes_any``: it has ``**``."""

    parameters: Mapping[str, ast.expr | None]
    takes_any: bool
    positional_only: frozenset[str]


def _defined(tree: ast.Module, class_name: str | None) -> dict[str, _Function] | None:
    """Return the functions of the source or of its class; None if there is no such class."""
    if class_name is None:
        return _functions(tree.body, of_class=False)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return _of_class(class_name, classes) if class_name in classes else None


def _of_class(name: str, classes: Mapping[str, ast.ClassDef]) -> dict[str, _Function]:
    """Return the functions of a class and of those of its bases that the source defines."""
    order: list[ast.ClassDef] = []
    waiting = [name]
    while waiting and len(order) < _MAX_BASES:
        node = classes.get(waiting.pop(0))
        if node is not None and node not in order:
            order.append(node)
            waiting += [base.id for base in node.bases if isinstance(base, ast.Name)]
    found: dict[str, _Function] = {}
    for node in reversed(order):
        found |= _functions(node.body, of_class=True)
    return found


def _functions(body: Sequence[ast.stmt], *, of_class: bool) -> dict[str, _Function]:
    return {
        node.name: _read(node, of_class=of_class)
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _read(node: ast.FunctionDef | ast.AsyncFunctionDef, *, of_class: bool) -> _Function:
    given = node.args
    places = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(places) - len(given.defaults)) + list(given.defaults)
    pairs = [(one.arg, default) for one, default in zip(places, defaults, strict=True)]
    decorators = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
    if of_class and "staticmethod" not in decorators:
        pairs = pairs[1:]
    pairs += [(one.arg, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    hidden = frozenset(one.arg for one in given.posonlyargs)
    return _Function(dict(pairs), given.kwarg is not None, hidden)


def _compare_load(implementation: Implementation, functions: Mapping[str, _Function]) -> list[SignatureProblem]:
    name = implementation.load
    if name is None:
        return []
    if implementation.class_name is None:
        return [SignatureProblem(name, "Plain functions have no state, so there is nothing to load. Leave it empty.")]
    found = functions.get(name)
    if found is None:
        words = f"The class {implementation.class_name} does not have the function {name}, which loads the state."
        return [SignatureProblem(name, words)]
    needed = sum(default is None for default in found.parameters.values())
    if needed > 1 or not found.parameters:
        return [SignatureProblem(name, f"{name} must take the initial state as its only argument.")]
    return []


def _compare(name: str, found: _Function, schema: Mapping[str, Any]) -> list[SignatureProblem]:
    properties: Any = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required: Any = schema.get("required")
    required = required if isinstance(required, list) else []
    problems = []
    for parameter, rules in properties.items():
        place = f"{name}.{parameter}"
        if parameter in found.positional_only:
            problems.append(SignatureProblem(place, f"{name} does not take {parameter} by name. Remove the slash."))
        elif parameter not in found.parameters:
            if not found.takes_any:
                problems.append(SignatureProblem(place, f"{name} does not take {parameter}, which its schema names."))
        else:
            problems += _compare_default(place, parameter, found.parameters[parameter], rules, parameter in required)
    for parameter, default in found.parameters.items():
        if default is None and parameter not in properties:
            words = f"{name} needs {parameter}, which its schema does not name."
            problems.append(SignatureProblem(f"{name}.{parameter}", words))
    return problems


def _compare_default(
    place: str, parameter: str, default: ast.expr | None, rules: Any, required: bool
) -> list[SignatureProblem]:
    if default is None:
        if required:
            return []
        return [SignatureProblem(place, f"The code needs {parameter}, but its schema does not require it.")]
    if not isinstance(rules, Mapping) or "default" not in rules:
        return []
    try:
        in_code = canonical([whole_numbers(_as_json(ast.literal_eval(default)))])
        in_schema = canonical([whole_numbers(None if rules["default"] == _NULL else rules["default"])])
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, SchemaProblem):
        # A default that is worked out when the code runs.
        return []
    if in_code == in_schema:
        return []
    words = f"The default of {parameter} is {in_schema[1:-1]} in its schema, but {in_code[1:-1]} in the code."
    return [SignatureProblem(place, words)]


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    return value
