"""validator.*: validator code as far as it can be told without running it."""

from collections.abc import Iterator

from annotator.checks.case_context import CaseContext
from annotator.checks.constraint import CaseCheck
from annotator.checks.findings import Finding
from annotator.checks.registry import register
from annotator.checks.wording import cut, listed
from annotator.constraints.code import outline
from annotator.constraints.taxonomy import find_category


@register
class ValidatorMissing(CaseCheck):
    """A constraint on format or content is judged by a validator: Python code or a ready form. It has none yet."""

    id = "validator.missing"
    title = "A constraint on format or content has no validator."
    severity = "warning"
    to_do = True

    def look(self, context: CaseContext) -> Iterator[Finding]:
        for constraint in context.document["constraints"]:
            category = find_category(constraint["category"])
            if category and category.needs == "validator" and constraint["validator"] is None:
                message = f"Nothing judges this constraint on {category.id}; give it a validator."
                yield self.found(context, f"/constraints/{constraint['id']}/validator", None, message)


@register
class ValidatorSyntax(CaseCheck):
    """The code cannot be read as Python."""

    id = "validator.syntax"
    title = "Validator code cannot be read."
    severity = "error"

    def look(self, context: CaseContext) -> Iterator[Finding]:
        for anchor, code, _ in _codes(context):
            fault = outline(code).fault
            if fault:
                yield self.found(context, f"{anchor}/code", code, f"The validator cannot be read as Python: {fault}.")


@register
class ValidatorFunction(CaseCheck):
    """The code has to define the function that judges the constraint, and that takes the response alone."""

    id = "validator.function"
    title = "Validator code lacks its function."
    severity = "error"

    def look(self, context: CaseContext) -> Iterator[Finding]:
        for anchor, code, function in _codes(context):
            found = outline(code)
            if found.fault:
                continue
            if function is None:
                names = found.validators or list(found.functions)
                which = f"; it defines {listed(names)}." if names else ", and it defines none."
                message = f"Say which function of the code judges this constraint{which}"
                yield self.found(context, f"{anchor}/function", None, message)
            elif function not in found.functions:
                message = f"The code defines no function “{cut(function)}”."
                yield self.found(context, f"{anchor}/function", function, message)
            elif not found.functions[function]:
                message = f"{function} must take one argument, the response."
                yield self.found(context, f"{anchor}/function", function, message)


@register
class ToolCodeSyntax(CaseCheck):
    """The source of a tool cannot be read as Python."""

    id = "validator.tool_code"
    title = "A tool’s code cannot be read."
    severity = "warning"

    def look(self, context: CaseContext) -> Iterator[Finding]:
        for name, code in context.document["tool_codes"].items():
            fault = outline(code).fault
            if fault:
                place = name.replace("~", "~0").replace("/", "~1")
                message = f"The code of {cut(name)} cannot be read as Python: {fault}."
                yield self.found(context, f"/tool_codes/{place}", code, message)


def _codes(context: CaseContext) -> Iterator[tuple[str, str, str | None]]:
    """Anchor, code and function of every validator that is code."""
    for constraint in context.document["constraints"]:
        validator = constraint["validator"]
        if validator and validator["code"] is not None:
            yield f"/constraints/{constraint['id']}/validator", validator["code"], validator["function"]
