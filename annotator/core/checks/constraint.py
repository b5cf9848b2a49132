"""constraint.*: whether a case can be solved within its constraints, and whether its reference trajectory does so."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import ClassVar

from annotator.core.checks.case_context import CaseContext
from annotator.core.checks.context import Context
from annotator.core.checks.registry import Check, register
from annotator.core.constraints.feasibility import MAX_UNKNOWN
from annotator.core.constraints.replay import Status
from annotator.core.constraints.taxonomy import find_category
from annotator.core.findings import Finding, Severity
from annotator.core.schema.value_words import closest, cut


class CaseCheck(Check):
    """A check of constrained cases only."""

    only_with = "case"

    def run(self, context: Context) -> Iterator[Finding]:
        if isinstance(context, CaseContext):
            yield from self.run_on_case(context)

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        """Yield the findings in one case, in any order."""
        raise NotImplementedError


class _FeasibilityCheck(CaseCheck):
    """One of the problems that the feasibility check finds (``annotator.core.constraints.feasibility``)."""

    severity: ClassVar[Severity] = "error"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for finding in context.feasibility.get(self.id, ()):
            yield replace(finding, severity=context.severities[self.id])


@register
class Unreadable(_FeasibilityCheck):
    """A constraint has no category, its category is unknown, or its parameters cannot be read. Such a constraint is
    kept as imported but not judged.
    """

    id = "constraint.unreadable"
    title = "A constraint has no category, or its parameters cannot be read"


@register
class Contradiction(_FeasibilityCheck):
    """No trajectory can satisfy all constraints of the case, or one constraint contradicts itself."""

    id = "constraint.contradiction"
    title = "Constraints contradict each other"


@register
class AgainstScenario(_FeasibilityCheck):
    """A constraint does not fit the scenario: an order of calls in a single-hop case, parallel calls in a case without
    any, or a limit on rounds that is too low or too high.
    """

    id = "constraint.scenario"
    title = "A constraint does not fit the scenario"


@register
class AgainstSolution(_FeasibilityCheck):
    """The unsolved set needs more calls than a constraint allows."""

    id = "constraint.solution"
    title = "A constraint forbids what the solution needs"


@register
class UnknownConstrainedTool(_FeasibilityCheck):
    """Parameters name a tool that the case does not have."""

    id = "constraint.unknown_tool"
    title = "A constraint names a tool that is not in the toolset"


@register
class Wording(_FeasibilityCheck):
    """A constraint's sentence and its parameters have different numbers, units or tools. Only English sentences are
    checked, by pattern matching.
    """

    id = "constraint.wording"
    title = "A constraint’s sentence and parameters differ"
    severity = "warning"


@register
class Anchor(_FeasibilityCheck):
    """Exactly one span of the system prompt must state each constraint: its text, or the span that is marked."""

    id = "constraint.anchor"
    title = "The system prompt does not state a constraint exactly once"


@register
class UnsolvedTool(CaseCheck):
    """The unsolved set expects results of a tool that the case does not have."""

    id = "constraint.unsolved_tool"
    title = "The unsolved set names a tool that is not in the toolset"
    severity = "error"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        names = context.toolset.names
        unknown = (name for name in context.document["unsolved_set"] or () if name not in context.toolset.tools)
        for name in islice(unknown, MAX_UNKNOWN):
            meant = closest(name, names)
            hint = f" Did you mean {meant}?" if meant else ""
            message = f"The unsolved set names “{cut(name)}”, but the case has no such tool.{hint}"
            yield self.finding(context, "/unsolved_set", context.document["unsolved_set"], message)


@register
class Reference(CaseCheck):
    """The reference trajectory violates a constraint. A violation that is fixed later is allowed, and so is trial and
    error. Constraints with validator code are judged when the code runs, not here.
    """

    id = "constraint.reference"
    title = "The reference trajectory violates a constraint"
    severity = "error"

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        replayed = context.replayed
        if replayed is None:
            return
        owed = replayed.turns[-1].constraint_states
        for position, status in enumerate(replayed.statuses):
            if status is Status.UNSATISFIED:
                told = next(
                    (
                        each.breach.feedback
                        for turn in replayed.turns
                        for each in turn.broken
                        if each.constraint == position
                    ),
                    owed[position].owed,
                )
                message = f"The reference trajectory violates this constraint. {told}".strip()
                anchor = context.constraint_anchor(position)
                yield self.finding(context, anchor, context.document["reference_trajectory"], message)


_REQUIRED_PARTS = {
    "system_prompt": "Write the system prompt that states the constraints.",
    "scenario": "Choose the scenario.",
    "answer": "Write the reference answer.",
    "unsolved_set": "Add the results that the tools must return to solve the query.",
}


@register
class Incomplete(CaseCheck):
    """A case needs a system prompt, a scenario, at least one constraint, an unsolved set and an answer. A constraint
    that counts something needs parameters.
    """

    id = "constraint.incomplete"
    title = "A part of a constrained case is missing"
    severity = "error"
    to_do = True

    def run_on_case(self, context: CaseContext) -> Iterator[Finding]:
        for field, message in _REQUIRED_PARTS.items():
            value = context.document[field]
            if value is None or (isinstance(value, str) and not value.strip()):
                yield self.finding(context, f"/{field}", value, message)
        if not context.document["constraints"]:
            yield self.finding(context, "/constraints", [], "The case has no constraint. Add one.")
        for constraint in context.document["constraints"]:
            category = find_category(constraint["category"])
            if category and not category.needs and constraint["parameters"] is None:
                message = f"Enter the parameters of this constraint on {category.id}."
                yield self.finding(context, f"/constraints/{constraint['id']}/parameters", None, message)
