"""The step checker: replay a trajectory round by round against its constraints.

``replay`` judges every round of a trajectory like the published checker (attempts count, even if refused) and adds the
environment's response (paper, 3.1), what is allowed next, and the state of each constraint.

How a violation is repaired is our interpretation of the paper's “initially violated but subsequently refined” (4.1): a
later round to which the rule applies satisfies it. Maximums of calls apply to every later round, including the final
response. Order applies to rounds with a tool that the rule names after another, grouping to rounds with a tool of a
group, and rules about the final response to every final response. A minimum must be reached before the final response.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.constraints.behavior import named_too_often
from annotator.core.constraints.model import Constraint, Parameters
from annotator.core.constraints.rounds import UNTOUCHED, Breach, Consequence, Judgement, Limits, Past, Round, Verdict
from annotator.core.constraints.taxonomy import Category, find_category, read_parameters
from annotator.core.schema.errors import Problem, SchemaProblem
from annotator.core.schema.toolsets import CompiledToolset

#: Judges a final response.
Validator = Callable[[str], Verdict]


class Status(StrEnum):
    SATISFIED = "satisfied"
    #: Violated, then repaired.
    SOFT_SATISFIED = "soft_satisfied"
    UNSATISFIED = "unsatisfied"
    #: Unknown: it has no category, or its validator code has not run.
    UNJUDGED = "unjudged"


class Ending(StrEnum):
    #: A final response without a violation.
    ANSWERED = "answered"
    #: The limit of rounds was reached.
    ENDED = "ended"
    #: The trajectory stops before that.
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ConstraintState:
    """The state of one constraint after a round; ``owed`` is a sentence about what it still requires."""

    status: Status
    owed: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """A violation, and the position of its constraint."""

    constraint: int
    breach: Breach


@dataclass(frozen=True, slots=True)
class Turn:
    """One replayed round.

    ``limits`` is what is allowed after it. ``over``: the task had already ended; such a round is judged like in the
    published checker, and changes nothing.
    """

    round: Round
    broken: tuple[Broken, ...]
    constraint_states: tuple[ConstraintState, ...]
    limits: Limits
    over: bool

    @property
    def executed(self) -> tuple[int, ...]:
        """Positions of the calls that run: those without a violation, in a round that takes place."""
        if self.over or _ends(each.breach for each in self.broken):
            return ()
        refused = {each.breach.call for each in self.broken}
        return tuple(i for i in range(len(self.round.calls)) if i not in refused)

    @property
    def feedback(self) -> tuple[str, ...]:
        """The feedback to the model, each sentence once."""
        return tuple(dict.fromkeys(each.breach.feedback for each in self.broken))


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole trajectory. ``statuses`` has one entry for each constraint; what is owed at the end is not satisfied."""

    turns: tuple[Turn, ...]
    ending: Ending
    statuses: tuple[Status, ...]


class _Rule:
    """One constraint during a replay."""

    def __init__(self, constraint: Constraint, validator: Validator | None, toolset: CompiledToolset | None) -> None:
        self.constraint, self.validator = constraint, validator
        self.category: Category[Any] | None = find_category(constraint.category)
        self.parameters: Parameters | None = read_parameters(constraint) if self.category else None
        needs = self.category.needs if self.category else "category"
        self.blind = {"": False, "validator": validator is None, "toolset": toolset is None}.get(needs, True)
        self.broke = self.holds = False

    def settle(self, first: tuple[str, ...]) -> None:
        """Choose the variant once the first calls are known."""
        if self.category and self.constraint.variants:
            self.parameters = read_parameters(self.constraint, first)

    def judge(self, past: Past, round_: Round) -> Judgement:
        if self.category is None:
            return UNTOUCHED
        past.verdict = self.validator(round_.response) if self.validator and round_.response is not None else None
        judgement = self.category.judge(self.parameters, past, round_)
        past.verdict = None
        return judgement

    def take(self, judgement: Judgement) -> None:
        if judgement.applies:
            self.holds = not judgement.breaches
            self.broke = self.broke or bool(judgement.breaches)

    def look(self, past: Past) -> ConstraintState:
        if self.category is None or self.blind:
            return ConstraintState(Status.UNJUDGED)
        owed = self.category.open(self.parameters, past)
        if not self.broke:
            return ConstraintState(Status.SATISFIED, owed)
        return ConstraintState(Status.SOFT_SATISFIED if self.holds else Status.UNSATISFIED, owed)

    def limits(self, past: Past) -> Limits:
        return self.category.limits(self.parameters, past) if self.category else Limits()


def replay(
    constraints: Sequence[Constraint],
    rounds: Sequence[Round],
    *,
    toolset: CompiledToolset | None = None,
    validators: Mapping[int, Validator] | None = None,
) -> Replay:
    """Judge ``rounds`` by ``constraints``.

    ``toolset`` lets toolset constraints judge arguments; ``validators`` gives the code of format and content
    constraints by position. Raises SchemaProblem if a category's parameters cannot be read; a constraint without a
    known category is not judged.
    """
    too_many = named_too_often(constraints)
    if too_many is not None:
        raise SchemaProblem([Problem(f"/constraints/{too_many[0]}", too_many[1])])
    rules = [_Rule(constraint, (validators or {}).get(i), toolset) for i, constraint in enumerate(constraints)]
    past, ending = Past(toolset=toolset), Ending.OPEN
    constraint_states = tuple(rule.look(past) for rule in rules)
    limits = Limits.strictest(rule.limits(past) for rule in rules)
    turns: list[Turn] = []
    for round_ in rounds:
        if round_.calls and not past.first:
            for rule in rules:
                rule.settle(round_.names)
        over = ending is not Ending.OPEN
        judgements = [rule.judge(past, round_) for rule in rules]
        broken = tuple(Broken(i, breach) for i, each in enumerate(judgements) for breach in each.breaches)
        past.add(round_)
        if not over:
            ending = _ending(round_, broken)
            if ending is Ending.ENDED:
                # The round does not take place: only the reason for the task's end has changed.
                constraint_states = tuple(
                    ConstraintState(Status.UNSATISFIED) if _ends(judgement.breaches) else state
                    for judgement, state in zip(judgements, constraint_states, strict=True)
                )
            else:
                for rule, judgement in zip(rules, judgements, strict=True):
                    rule.take(judgement)
                constraint_states = tuple(rule.look(past) for rule in rules)
                limits = Limits.strictest(rule.limits(past) for rule in rules)
        turns.append(Turn(round_, broken, constraint_states, limits, over))
    return Replay(tuple(turns), ending, tuple(_at_the_end(state) for state in constraint_states))


def _ends(breaches: Iterable[Breach]) -> bool:
    return any(breach.consequence is Consequence.ENDED for breach in breaches)


def _ending(round_: Round, broken: Sequence[Broken]) -> Ending:
    if _ends(each.breach for each in broken):
        return Ending.ENDED
    return Ending.ANSWERED if round_.final is not None and not broken else Ending.OPEN


def _at_the_end(state: ConstraintState) -> Status:
    """Return the final status: a requirement that is still open is not satisfied."""
    return Status.UNSATISFIED if state.owed else state.status
