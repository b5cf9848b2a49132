"""The code of a validator: written, or made from a built-in form."""

from collections.abc import Mapping
from typing import Any

from annotator.core.schema.errors import SchemaProblem
from annotator.core.validators.library import read_form


class NoSource(ValueError):
    """The validator has no code; the text is a sentence."""


def source_of(validator: Mapping[str, Any]) -> tuple[str, str]:
    """Return the code of a validator and the function to call. Raises NoSource."""
    function = validator["function"] or "validate"
    if validator["code"] is not None:
        return validator["code"], function
    if validator["form"] is None:
        raise NoSource("It has no code and is not a built-in validator.")
    try:
        form, parameters = read_form(validator["form"], validator["parameters"] or {})
    except SchemaProblem as problem:
        raise NoSource(problem.problems[0].message) from None
    return form.source(parameters, function), function
