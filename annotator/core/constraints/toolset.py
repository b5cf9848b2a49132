"""Toolset constraints: what the tools' JSON Schemas require (paper, 3.1). They have no parameters of their own.

The schemas come from ``Past.toolset``. Without it no call is judged.
"""

from typing import ClassVar

from annotator.core.constraints.model import Constraint, Dimension, NoParameters
from annotator.core.constraints.rounds import UNTOUCHED, Breach, Call, Consequence, Judgement, Past, Round
from annotator.core.constraints.taxonomy import Category, register
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.schema.violations import Violation, find_violations


class _SchemaRule(Category[NoParameters]):
    """Judges the violations in a round's calls that belong to one category."""

    dimension = Dimension.TOOLSET
    needs = "toolset"
    model = NoParameters
    label: ClassVar[str]

    def concerns(self, violation: Violation) -> bool:
        """Return whether the category is about this kind of violation."""
        raise NotImplementedError

    def judge(self, parameters: NoParameters, past: Past, round_: Round) -> Judgement:
        if past.toolset is None or not round_.calls:
            return UNTOUCHED
        breaches = []
        for i, call in enumerate(round_.calls):
            messages = [each.message for each in _violations(past.toolset, call) if self.concerns(each)]
            if messages:
                told = f"The call to {call.name} failed. {' '.join(messages)}"
                breaches.append(Breach(self.label, i, told, Consequence.FAILED))
        return Judgement(breaches=tuple(breaches))


@register
class AvailableToolsAndParameters(_SchemaRule):
    """Only existing tools, only their arguments, only values that their schemas allow."""

    id = "available tools and parameters"
    label = "UNAVAILABLE TOOL OR PARAMETER"

    def sentence(self, parameters: NoParameters) -> str:
        return "Call only the given tools, with the arguments and values that their descriptions allow."

    def concerns(self, violation: Violation) -> bool:
        return violation.kind in ("unknown_argument", "unknown_key", "not_in_enum", "rule")


@register
class RequiredParameters(_SchemaRule):
    """Every required argument is given, at any depth."""

    id = "required parameters"
    label = "MISSING PARAMETER"

    def sentence(self, parameters: NoParameters) -> str:
        return "Give every argument that a tool requires."

    def concerns(self, violation: Violation) -> bool:
        return violation.kind == "missing_argument" or (violation.kind == "nested" and violation.value is None)


@register
class ParameterTypes(_SchemaRule):
    """Every argument has the type of its schema, at any depth."""

    id = "parameter types"
    label = "PARAMETER TYPE"

    def sentence(self, parameters: NoParameters) -> str:
        return "Give every argument the type that its tool's description requires."

    def concerns(self, violation: Violation) -> bool:
        return violation.kind == "wrong_type" or (violation.kind == "nested" and violation.value is not None)


def toolset_constraints() -> list[Constraint]:
    """Return the three constraints that every case sets by describing its tools."""
    rules: tuple[_SchemaRule, ...] = (AvailableToolsAndParameters(), RequiredParameters(), ParameterTypes())
    return [
        Constraint(dimension=rule.dimension, category=rule.id, text=rule.sentence(NoParameters())) for rule in rules
    ]


def _violations(toolset: CompiledToolset, call: Call) -> list[Violation]:
    tool = toolset.tools.get(call.name)
    if tool is None:
        return [Violation("unknown_argument", "", call.name, f"There is no tool {call.name}.")]
    if call.arguments is None:
        return []
    if isinstance(call.arguments, str):
        return [Violation("wrong_type", "", call.arguments, "The arguments are not a JSON object.")]
    return list(find_violations(tool, call.arguments, ""))
