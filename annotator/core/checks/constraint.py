"""constraint.*: whether a case can be solved within its constraints, and whether its reference trajectory does so."""

from collections.abc import Iterator
from itertools import islice

from annotator.core.checks.case_context import CaseContext
from annotator.core.checks.registry import Found, check
from annotator.core.constraints.feasibility import MAX_UNKNOWN
from annotator.core.constraints.replay import Status
from annotator.core.constraints.taxonomy import find_category
from annotator.core.schema.value_words import closest, cut


# What prevents solving a case within its constraints is found all at once; each of these checks reports its part.
@check(
    "constraint.unreadable", "A constraint has no category, or its parameters cannot be read", "error", only_with="case"
)
def unreadable(context: CaseContext) -> Iterator[Found]:
    """A constraint has no category, its category is unknown, or its parameters cannot be read. Such a constraint is
    kept as imported but not judged.
    """
    yield from context.feasibility["constraint.unreadable"]


@check("constraint.contradiction", "Constraints contradict each other", "error", only_with="case")
def contradiction(context: CaseContext) -> Iterator[Found]:
    """No trajectory can satisfy all constraints of the case, or one constraint contradicts itself."""
    yield from context.feasibility["constraint.contradiction"]


@check("constraint.scenario", "A constraint does not fit the scenario", "error", only_with="case")
def against_scenario(context: CaseContext) -> Iterator[Found]:
    """A constraint does not fit the scenario: an order of calls in a single-hop case, parallel calls in a case without
    any, or a limit on rounds that is too low or too high.
    """
    yield from context.feasibility["constraint.scenario"]


@check("constraint.solution", "A constraint forbids what the solution needs", "error", only_with="case")
def against_solution(context: CaseContext) -> Iterator[Found]:
    """The unsolved set needs more calls than a constraint allows."""
    yield from context.feasibility["constraint.solution"]


@check("constraint.unknown_tool", "A constraint names a tool that is not in the toolset", "error", only_with="case")
def unknown_constrained_tool(context: CaseContext) -> Iterator[Found]:
    """Parameters name a tool that the case does not have."""
    yield from context.feasibility["constraint.unknown_tool"]


@check("constraint.wording", "A constraint’s sentence and parameters differ", "warning", only_with="case")
def wording(context: CaseContext) -> Iterator[Found]:
    """A constraint's sentence and its parameters have different numbers, units or tools. Only English sentences are
    checked, by pattern matching.
    """
    yield from context.feasibility["constraint.wording"]


@check("constraint.unstated", "The system prompt does not state a constraint", "error", only_with="case")
def not_stated(context: CaseContext) -> Iterator[Found]:
    """No clause of the system prompt is about what a constraint limits, and its text is not in the prompt. The limit of
    20 rounds that every evaluation has need not be stated.
    """
    yield from context.feasibility["constraint.unstated"]


@check("constraint.anchor", "The system prompt states a constraint twice or differently", "warning", only_with="case")
def stated_differently(context: CaseContext) -> Iterator[Found]:
    """The system prompt states a constraint twice or with other numbers, or the marked span is no longer in it."""
    yield from context.feasibility["constraint.anchor"]


@check(
    "constraint.unsolved_tool", "The unsolved set names a tool that is not in the toolset", "error", only_with="case"
)
def unsolved_tool(context: CaseContext) -> Iterator[Found]:
    """The unsolved set expects results of a tool that the case does not have."""
    names = context.toolset.names
    unknown = (name for name in context.document["unsolved_set"] or () if name not in context.toolset.tools)
    for name in islice(unknown, MAX_UNKNOWN):
        meant = closest(name, names)
        hint = f" Did you mean {meant}?" if meant else ""
        message = f"The unsolved set names “{cut(name)}”, but the case has no such tool.{hint}"
        yield "/unsolved_set", context.document["unsolved_set"], message


@check("constraint.reference", "The reference trajectory violates a constraint", "error", only_with="case")
def reference(context: CaseContext) -> Iterator[Found]:
    """The reference trajectory violates a constraint. A violation that is fixed later is allowed, and so is trial and
    error. Constraints with validator code are judged when the code runs, not here.
    """
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
            yield anchor, context.document["reference_trajectory"], message


_REQUIRED_PARTS = {
    "system_prompt": "Write the system prompt that states the constraints.",
    "scenario": "Choose the scenario.",
    "answer": "Write the reference answer.",
    "unsolved_set": "Add the results that the tools must return to solve the query.",
}


@check("constraint.incomplete", "A part of a constrained case is missing", "error", to_do=True, only_with="case")
def incomplete(context: CaseContext) -> Iterator[Found]:
    """A case needs a system prompt, a scenario, at least one constraint, an unsolved set and an answer. A constraint
    that counts something needs parameters.
    """
    for field, message in _REQUIRED_PARTS.items():
        value = context.document[field]
        if value is None or (isinstance(value, str) and not value.strip()):
            yield f"/{field}", value, message
    if not context.document["constraints"]:
        yield "/constraints", [], "The case has no constraint. Add one."
    for constraint in context.document["constraints"]:
        category = find_category(constraint["category"])
        if category and not category.needs and constraint["parameters"] is None:
            message = f"Enter the parameters of this constraint on {category.id}."
            yield f"/constraints/{constraint['id']}/parameters", None, message
