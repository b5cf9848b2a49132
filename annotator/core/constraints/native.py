"""Read and write the cctu form of constraints without loss.

Reads two forms: that of the published collection, ``{text, parameters | validator_functions, source_label, dimension,
category, …}``, and the pieces of a released case, ``[dimension, category, text]`` with the content of its
``check_constraint_<i>.json``. Both are written back unchanged.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from annotator.core.constraints.model import Constraint
from annotator.core.constraints.taxonomy import Category, categories, constraint_problems, labelled
from annotator.core.schema.canonical import escape
from annotator.core.schema.errors import Problem, SchemaProblem, in_words

_FIELDS = ("dimension", "category", "text", "parameters", "validator_functions", "variants", "anchor")
#: Keys in ``extra``: which of our fields the record had, and the pair of words of a released case.
_HAD, _LABEL = "_had", "_label"


def read_constraint(record: object) -> tuple[Constraint, list[Problem]]:
    """Return a constraint of the published collection, and its problems (pointers into the record).

    Raises SchemaProblem only if it is not a constraint at all.
    """
    if not isinstance(record, Mapping):
        raise SchemaProblem([Problem("", "A constraint must be a JSON object.")])
    known = {key: record[key] for key in _FIELDS if record.get(key) is not None}
    extra: dict[str, Any] = {key: value for key, value in record.items() if key not in _FIELDS}
    extra[_HAD] = [key for key in _FIELDS if key in record]
    constraint = _made({**known, "extra": extra})
    return constraint, _problems(constraint)


def write_constraint(constraint: Constraint) -> dict[str, Any]:
    """Return the record that ``read_constraint`` read. A new constraint gets the fields for which it has values."""
    extra = dict(constraint.extra)
    had = extra.pop(_HAD, [])
    extra.pop(_LABEL, None)
    held = constraint.model_dump(mode="json", exclude={"extra"})
    known = {key: held[key] for key in _FIELDS if key in had or held[key] not in (None, [])}
    return {**known, **extra}


def read_case_constraint(entry: object, parameters: object = None) -> tuple[Constraint, list[Problem]]:
    """Read one entry of a case's ``constraints_list`` with the content of its parameter file (None if it is code)."""
    if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 3:
        raise SchemaProblem([Problem("", "A constraint must be a list of its dimension, its category and its text.")])
    first, second, text = entry
    category = labelled(first, second)
    known: dict[str, Any] = {"text": text, "extra": {_LABEL: [first, second]}}
    if category:
        known |= {"dimension": category.dimension.value, "category": category.id}
    elif isinstance(first, str):
        known["dimension"] = first.strip().lower()
    if parameters is not None:
        known["parameters"] = parameters
    constraint = _made(known)
    problems = _problems(constraint)
    if category is None and isinstance(second, str):
        problems = [Problem("/1", f"“{second}” under “{first}” is not a known category of constraints.")]
    return constraint, problems


def write_case_constraint(constraint: Constraint) -> tuple[list[str | None], dict[str, Any] | None]:
    """Return the entry of ``constraints_list`` and the content of the parameter file; it keeps the original words if
    they still name its category.
    """
    label = constraint.extra.get(_LABEL)
    category = labelled(*label) if label else None
    if not label or (category.id if category else None) != constraint.category:
        label = [constraint.dimension, constraint.category]
    return [*label, constraint.text], constraint.parameters


def category_by_parameters(parameters: Mapping[str, Any] | None) -> Category[Any] | None:
    """Return the one category whose parameters have these names, for a record that lost its label."""
    if not parameters:
        return None
    fitting = [each for each in categories() if set(each.model.model_fields) & set(parameters)]
    return fitting[0] if len(fitting) == 1 else None


def _made(known: dict[str, Any]) -> Constraint:
    try:
        return Constraint.model_validate(known)
    except ValidationError as error:
        raise SchemaProblem(
            [
                Problem("".join(f"/{escape(str(step))}" for step in item["loc"]), in_words(item))
                for item in error.errors(include_url=False)
            ]
        ) from None


def _problems(constraint: Constraint) -> list[Problem]:
    if constraint.category is None:
        sentence = "The constraint has no label, so its category is missing."
        meant = category_by_parameters(constraint.parameters)
        hint = f" Its parameters are those of “{meant.id}”." if meant else ""
        problems = [Problem("/category", sentence + hint)]
    else:
        problems = constraint_problems(constraint)
    if not constraint.text:
        problems.append(Problem("/text", "The constraint has no text."))
    return problems
