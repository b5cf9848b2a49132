"""validator.*: problems in validator code that are visible without running it, and the results of its trials."""

from collections.abc import Iterator

from annotator.core.checks.case_context import CaseContext
from annotator.core.checks.constraint import CaseCheck
from annotator.core.checks.registry import register
from annotator.core.constraints.code import outline
from annotator.core.constraints.taxonomy import find_category
from annotator.core.findings import Finding
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.value_words import cut, listed
from annotator.core.validators.library import read_form
from annotator.core.validators.trial import Outcome, Subject, subjects_of


@register
class ValidatorMissing(CaseCheck):
    """A constraint on format or content needs a validator: Python code or a built-in one."""

    id = "validator.missing"
    title = "A constraint on format or content has no validator"
    severity = "warning"
    to_do = True

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for constraint in context.document["constraints"]:
            category = find_category(constraint["category"])
            if category and category.needs == "validator" and constraint["validator"] is None:
                message = f"This constraint on {category.id} has no validator. Add one."
                yield self.finding(context, f"/constraints/{constraint['id']}/validator", None, message)


@register
class ValidatorSyntax(CaseCheck):
    """The validator code is not valid Python."""

    id = "validator.syntax"
    title = "Validator code cannot be read"
    severity = "error"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for anchor, code, _ in _validators_with_code(context):
            problem = outline(code).problem
            if problem:
                yield self.finding(
                    context, f"{anchor}/code", code, f"The validator cannot be read as Python: {problem}."
                )


@register
class ValidatorFunction(CaseCheck):
    """The code must define the function that judges the constraint. It takes one argument, the response."""

    id = "validator.function"
    title = "Validator code lacks its function"
    severity = "error"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for anchor, code, function in _validators_with_code(context):
            found = outline(code)
            if found.problem:
                continue
            if function is None:
                names = found.validators or list(found.functions)
                which = f". It defines {listed(names)}." if names else ". It defines none."
                message = f"Choose the function that judges this constraint{which}"
                yield self.finding(context, f"{anchor}/function", None, message)
            elif function not in found.functions:
                message = f"The code does not define the function “{cut(function)}”."
                yield self.finding(context, f"{anchor}/function", function, message)
            elif not found.functions[function]:
                message = f"{function} must take one argument, the response."
                yield self.finding(context, f"{anchor}/function", function, message)


@register
class ValidatorForm(CaseCheck):
    """The built-in validator does not exist, or its parameters do not fit."""

    id = "validator.form"
    title = "A built-in validator cannot be used"
    severity = "error"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for constraint in context.document["constraints"]:
            validator = constraint["validator"]
            if not validator or validator["code"] is not None:
                continue
            try:
                read_form(validator["form"] or "", validator["parameters"] or {})
            except SchemaProblem as problem:
                message = f"The built-in validator cannot be used: {problem}"
                yield self.finding(context, f"/constraints/{constraint['id']}/validator", validator, message)


@register
class ValidatorUntried(CaseCheck):
    """The validator has not been tried in its current version on the reference answer, its examples, and responses that
    are broken on purpose. A change to any of these, or to the constraint, requires a new trial.
    """

    id = "validator.untried"
    title = "The current version of a validator has not been tried"
    severity = "error"
    to_do = True

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for subject, outcome in _trials_of_validators(context):
            if outcome is None:
                message = "This version of the validator has not been tried. Try it first."
                yield self.finding(context, _validator_anchor(subject), subject.key, message)


@register
class ValidatorMatrix(CaseCheck):
    """In a trial, the validator rejected what it must accept, accepted what it must reject, or could not judge."""

    id = "validator.matrix"
    title = "A validator accepts wrong responses or rejects right ones"
    severity = "error"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for subject, outcome in _trials_of_validators(context):
            for sentence in outcome.errors if outcome else ():
                yield self.finding(context, _validator_anchor(subject), [subject.key, sentence], f"Trial: {sentence}")


@register
class ValidatorDoubt(CaseCheck):
    """In a trial, the validator accepted a response that violates the constraint, or rejected one that does not."""

    id = "validator.doubt"
    title = "A validator is too lenient or too strict"
    severity = "warning"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for subject, outcome in _trials_of_validators(context):
            for sentence in outcome.warnings if outcome else ():
                yield self.finding(context, _validator_anchor(subject), [subject.key, sentence], f"Trial: {sentence}")


@register
class ToolCodeSyntax(CaseCheck):
    """The source of a tool is not valid Python."""

    id = "validator.tool_code"
    title = "A tool’s code cannot be read"
    severity = "warning"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for name, code in context.document["tool_codes"].items():
            problem = outline(code).problem
            if problem:
                key = name.replace("~", "~0").replace("/", "~1")
                message = f"The code of {cut(name)} cannot be read as Python: {problem}."
                yield self.finding(context, f"/tool_codes/{key}", code, message)


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


def _validator_anchor(subject: Subject) -> str:
    return f"/constraints/{subject.constraint}/validator"
