"""validator.*: problems in validator code that are visible without running it, and the results of its trials."""

from collections.abc import Iterator

from annotator.core.checks.case_context import CaseContext
from annotator.core.checks.registry import Found, check
from annotator.core.constraints.code import outline
from annotator.core.constraints.taxonomy import find_category
from annotator.core.schema.canonical import escape
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.value_words import cut, listed
from annotator.core.validators.library import read_form
from annotator.core.validators.trial import Outcome, Subject, subjects_of


@check(
    "validator.missing", "A constraint on format or content has no validator", "warning", to_do=True, only_with="case"
)
def validator_missing(context: CaseContext) -> Iterator[Found]:
    """A constraint on format or content needs a validator: Python code or a built-in one."""
    for constraint in context.document["constraints"]:
        category = find_category(constraint["category"])
        if category and category.needs == "validator" and constraint["validator"] is None:
            message = f"This constraint on {category.id} has no validator. Add one."
            yield f"/constraints/{constraint['id']}/validator", None, message


@check("validator.syntax", "Validator code cannot be read", "error", only_with="case")
def validator_syntax(context: CaseContext) -> Iterator[Found]:
    """The validator code is not valid Python."""
    for anchor, code, _ in _validators_with_code(context):
        problem = outline(code).problem
        if problem:
            yield f"{anchor}/code", code, f"The validator cannot be read as Python: {problem}."


@check("validator.function", "Validator code lacks its function", "error", only_with="case")
def validator_function(context: CaseContext) -> Iterator[Found]:
    """The code must define the function that judges the constraint. It takes one argument, the response."""
    for anchor, code, function in _validators_with_code(context):
        found = outline(code)
        if found.problem:
            continue
        if function is None:
            names = found.validators or list(found.functions)
            which = f". It defines {listed(names)}." if names else ". It defines none."
            yield f"{anchor}/function", None, f"Choose the function that judges this constraint{which}"
        elif function not in found.functions:
            yield f"{anchor}/function", function, f"The code does not define the function “{cut(function)}”."
        elif not found.functions[function]:
            yield f"{anchor}/function", function, f"{function} must take one argument, the response."


@check("validator.form", "A built-in validator cannot be used", "error", only_with="case")
def validator_form(context: CaseContext) -> Iterator[Found]:
    """The built-in validator does not exist, or its parameters do not fit."""
    for constraint in context.document["constraints"]:
        validator = constraint["validator"]
        if not validator or validator["code"] is not None:
            continue
        try:
            read_form(validator["form"] or "", validator["parameters"] or {})
        except SchemaProblem as problem:
            message = f"The built-in validator cannot be used: {problem}"
            yield f"/constraints/{constraint['id']}/validator", validator, message


@check(
    "validator.untried", "The current version of a validator has not been tried", "error", to_do=True, only_with="case"
)
def validator_untried(context: CaseContext) -> Iterator[Found]:
    """The validator has not been tried in its current version on the reference answer, its examples, and responses that
    are broken on purpose. A change to any of these, or to the constraint, requires a new trial.
    """
    for subject, outcome in _trials_of_validators(context):
        if outcome is None:
            message = "This version of the validator has not been tried. Try it first."
            yield validator_anchor(subject), subject.key, message


@check("validator.matrix", "A validator accepts wrong responses or rejects right ones", "error", only_with="case")
def validator_matrix(context: CaseContext) -> Iterator[Found]:
    """In a trial, the validator rejected what it must accept, accepted what it must reject, or could not judge."""
    for subject, outcome in _trials_of_validators(context):
        for sentence in outcome.errors if outcome else ():
            yield validator_anchor(subject), [subject.key, sentence], f"Trial: {sentence}"


@check("validator.doubt", "A validator is too lenient or too strict", "warning", only_with="case")
def validator_doubt(context: CaseContext) -> Iterator[Found]:
    """In a trial, the validator accepted a response that violates the constraint, or rejected one that does not."""
    for subject, outcome in _trials_of_validators(context):
        for sentence in outcome.warnings if outcome else ():
            yield validator_anchor(subject), [subject.key, sentence], f"Trial: {sentence}"


@check("validator.tool_code", "A tool’s code cannot be read", "warning", only_with="case")
def tool_code_syntax(context: CaseContext) -> Iterator[Found]:
    """The source of a tool is not valid Python."""
    for name, code in context.document["tool_codes"].items():
        problem = outline(code).problem
        if problem:
            yield f"/tool_codes/{escape(name)}", code, f"The code of {cut(name)} cannot be read as Python: {problem}."


def _validators_with_code(context: CaseContext) -> Iterator[tuple[str, str, str | None]]:
    """Yield the anchor, code and function of every validator that is code."""
    for constraint in context.document["constraints"]:
        validator = constraint["validator"]
        if validator and validator["code"] is not None:
            yield f"/constraints/{constraint['id']}/validator", validator["code"], validator["function"]


def _trials_of_validators(context: CaseContext) -> Iterator[tuple[Subject, Outcome | None]]:
    """Yield every validator that can be tried, with the result of its trial; nothing if trial results are not known."""
    if context.trials is not None:
        for subject in subjects_of(context.document):
            yield subject, context.trials.get(subject.key)


def validator_anchor(subject: Subject) -> str:
    """Return the place of the findings about the trial of a validator."""
    return f"/constraints/{subject.constraint}/validator"
