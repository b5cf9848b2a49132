"""The step checker of CCTU: the violations of each round, as the published checker finds them, and its feedback."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.constraints.rounds import Call, Past, Round, Verdict
from annotator.core.constraints.taxonomy import read_parameters
from benchmark.core.scoring.arguments import published_cctu
from benchmark.core.scoring.arguments.published_cctu import LABEL
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.transcripts import AttemptedCall

#: Said by our checker alone.
_NO_VIOLATION = "MAX ROUND"
#: Whether a constraint's validator (its position) accepts a response, and its message; None if it gives no verdict.
Judge = Callable[[str, int, str], Verdict | None]


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation in a round (from 1) by a call (from 0), or by the final response (None).

    ``constraint`` is a position, None for the toolset's. ``masked``: the published generator loses the feedback.
    """

    round: int
    call: int | None
    label: str
    category: str
    constraint: int | None
    tool: str = ""
    masked: bool = False
    #: What the model is told about it.
    detail: str = field(default="", compare=False)

    @property
    def feedback(self) -> str:
        return f"INSTRUCTION FOLLOWING ERROR: {self.label} NOT FOLLOWED! {self.detail}"

    def as_json(self) -> dict[str, Any]:
        return {
            "round": self.round, "call": self.call, "label": self.label, "category": self.category,
            "constraint": self.constraint,
        }  # fmt: skip


class StepChecker:
    """Judges the rounds of one conversation, one after the other. ``unjudged``: the constraints that cannot be judged,
    with the reason.
    """

    def __init__(self, case: ReferenceCase, judge: Judge) -> None:
        self.case, self._judge = case, judge
        self.unjudged = {rule.position: rule.why for rule in case.rules if rule.why}
        self._past = Past()
        self._parameters = {rule.position: rule.parameters for rule in case.rules}

    def check(self, given: tuple[AttemptedCall, ...] | str) -> list[Violation]:
        """Return the violations of the next round in the checker's order."""
        case, past = self.case, self._past
        number = past.rounds + 1
        calls = () if isinstance(given, str) else given
        one = Round(tuple(Call(call.name) for call in calls), given if isinstance(given, str) else None)
        if calls and not past.first:
            for rule in case.rules:
                if rule.category and rule.constraint.variants:
                    self._parameters[rule.position] = read_parameters(rule.constraint, one.names)
        refused: set[str | None] = set()
        told: dict[Violation, None] = {}
        for rule in case.rules:
            if rule.category is None:
                continue
            past.verdict = None
            if rule.needs_validator and one.response is not None:
                past.verdict = self._judge(case.id, rule.position, one.response)
                if past.verdict is None:
                    self.unjudged.setdefault(rule.position, "Its validator returned no verdict.")
            for breach in rule.category.judge(self._parameters[rule.position], past, one).breaches:
                label = rule.label if rule.needs_validator and rule.label else breach.label
                if label == _NO_VIOLATION:
                    continue
                if breach.call is None:
                    found = Violation(number, None, label, rule.name, rule.position, detail=breach.feedback)
                    told.setdefault(found)
                    continue
                for position in _sharing(calls, breach.call):
                    found = _of_call(case, number, position, calls, label, rule.name, rule.position, breach.feedback)
                    told.setdefault(found)
                refused.add(calls[breach.call].id)
        for position, call in enumerate(calls):
            refusal = published_cctu.check(case.tools, call.name, call.arguments) if call.id not in refused else None
            for category in refusal.categories if refusal else ():
                for other in _sharing(calls, position):
                    told.setdefault(
                        _of_call(case, number, other, calls, LABEL, category, None, refusal.detail if refusal else "")
                    )
        past.add(one)
        return sorted(told, key=lambda violation: -1 if violation.call is None else violation.call)


def find_violations(
    case: ReferenceCase, rounds: Sequence[tuple[AttemptedCall, ...] | str], judge: Judge
) -> tuple[list[Violation], dict[int, str]]:
    """Return every violation in the checker's order, and the constraints that cannot be judged, with the reason."""
    checker = StepChecker(case, judge)
    return [violation for given in rounds for violation in checker.check(given)], checker.unjudged


def _sharing(calls: Sequence[AttemptedCall], position: int) -> list[int]:
    """Return the calls of a round that get the feedback to one of them: those with the same id."""
    given = calls[position].id
    return [position] if given is None else [n for n, call in enumerate(calls) if call.id == given]


def _of_call(
    case: ReferenceCase, number: int, position: int, calls: Sequence[AttemptedCall], label: str, category: str,
    constraint: int | None, detail: str,
) -> Violation:  # fmt: skip
    call = calls[position]
    return Violation(number, position, label, category, constraint, call.name, _is_masked(case, call), detail)


def _is_masked(case: ReferenceCase, call: AttemptedCall) -> bool:
    """Return whether the published generator loses all feedback to a call."""
    return call.id is None or call.name not in case.codes or not published_cctu.is_json(call.arguments)
