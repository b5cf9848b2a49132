"""The content of a constrained document that the cctu layout cannot represent; kept in the record under ``assay``.

The published code ignores unknown fields, so it reads such a record like any other.
"""

from typing import Any

from annotator.core.constraints.code import function_for, outline
from annotator.core.schema import Problem, SchemaProblem, read_document
from annotator.core.validators import read_form
from benchmark.core.formats.interface import Problems, describe, guess_language
from benchmark.core.formats.native_remainder import native

BEYOND = "assay"

_PLAIN: dict[str, Any] = {"anchor": None, "variants": []}


def take_beyond(document: dict[str, Any]) -> dict[str, Any]:
    """Return the field's content; empty if the layout represents everything."""
    beyond: dict[str, Any] = {}
    if document["language"] != (guess_language([document["user_query"]]) or None):
        beyond["language"] = document["language"]
    if document["reference_trajectory"] is not None:
        beyond["reference_trajectory"] = document["reference_trajectory"]
    constraints = [_of_constraint(n, one) for n, one in enumerate(document["constraints"])]
    if any(constraints):
        beyond["constraints"] = constraints
    return beyond


def _of_constraint(number: int, constraint: dict[str, Any]) -> dict[str, Any]:
    held = {key: constraint[key] for key, plain in _PLAIN.items() if constraint[key] != plain}
    if constraint["id"] != f"c{number}":
        held["id"] = constraint["id"]
    validator = constraint["validator"]
    if validator is not None:
        kept = {key: value for key, value in validator.items() if key != "code" and value not in (None, [])}
        if kept.get("function") == _function(constraint, validator["code"] or ""):
            kept.pop("function", None)
        if kept:
            held["validator"] = kept
    return held


def _function(constraint: dict[str, Any], code: str) -> str | None:
    label = native(constraint).get("label")
    second = label[1] if type(label) is list and len(label) == 2 and type(label[1]) is str else None
    return function_for((second, constraint["category"]), outline(code))


def put_beyond(document: dict[str, Any], beyond: Any, problems: Problems) -> None:
    """Put the field's content into a document, in place. Reports what does not fit."""
    if beyond is None:
        return
    if type(beyond) is not dict:
        problems.add(f"/{BEYOND}", f"The field must be an object, not {describe(beyond)}.")
        return
    document |= {key: beyond[key] for key in ("language", "reference_trajectory") if key in beyond}
    constraints = beyond.get("constraints")
    if constraints is not None:
        if type(constraints) is not list or len(constraints) != len(document["constraints"]):
            problems.add(f"/{BEYOND}/constraints", "Must have one object for each constraint.")
            return
        for constraint, held in zip(document["constraints"], constraints, strict=True):
            _put(constraint, held if type(held) is dict else {})
    try:
        read_document(document)
    except SchemaProblem as problem:
        problems.extend(Problem(f"/{BEYOND}{one.pointer}", one.message) for one in problem.problems)
        return
    for n, constraint in enumerate(document["constraints"]):
        validator = constraint["validator"]
        if validator is not None and validator["code"] is None and validator["form"] is not None:
            try:
                read_form(validator["form"], validator["parameters"] or {})
            except SchemaProblem as problem:
                place = f"/{BEYOND}/constraints/{n}/validator"
                problems.extend(Problem(place + one.pointer, one.message) for one in problem.problems)


def _put(constraint: dict[str, Any], held: dict[str, Any]) -> None:
    constraint |= {key: held[key] for key in ("id", *_PLAIN) if key in held}
    validator = held.get("validator")
    if type(validator) is dict and constraint["validator"] is not None:
        # The code of a built-in validator is generated from its parameters.
        code = {"code": None, "function": None} if validator.get("form") is not None else {}
        constraint["validator"] |= validator | code
