"""What follows from the verdicts of a stage: its outcome table, looked up."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from reviews.protocols.protocol import ANY, ContentRule, Outcome, OutcomeRule, Stage, StageKind, Verdict


@dataclass(frozen=True, slots=True)
class Combination:
    """Verdicts that reviewers of a stage may give together, and whether their content is the same."""

    verdicts: tuple[Verdict, ...]
    contents_equal: bool

    @property
    def fixes(self) -> int:
        return self.verdicts.count(Verdict.FIX)

    def __str__(self) -> str:
        words = " + ".join(self.verdicts)
        if self.fixes > 1:
            words += f" ({'same' if self.contents_equal else 'different'} content)"
        return words


def offered_verdicts(stage: Stage) -> tuple[Verdict, ...]:
    """The verdicts of which a reviewer may choose. An expert has nobody to escalate to."""
    if stage.kind is StageKind.EXPERT:
        return (Verdict.APPROVE, Verdict.FIX, Verdict.REJECT)
    return tuple(Verdict)


def combinations(stage: Stage) -> Iterator[Combination]:
    """Every combination that can occur in the stage.

    Who approves hands in the content under review, who fixes another one: so an approval and a fix always differ, and
    only several fixes without an approval can be either.
    """
    for verdicts in combinations_with_replacement(offered_verdicts(stage), stage.reviewers):
        approvals, fixes = verdicts.count(Verdict.APPROVE), verdicts.count(Verdict.FIX)
        if approvals and fixes:
            yield Combination(verdicts, False)
        else:
            yield Combination(verdicts, True)
            if fixes > 1:
                yield Combination(verdicts, False)


def applies(rule: OutcomeRule, combination: Combination) -> bool:
    """Whether a row of the table speaks of this combination."""
    if len(rule.verdicts) != len(combination.verdicts):
        return False
    if rule.content is not ContentRule.ANY and (rule.content is ContentRule.SAME) != combination.contents_equal:
        return False
    named = Counter(verdict for verdict in rule.verdicts if verdict != ANY)
    return named <= Counter(map(str, combination.verdicts))


def deciding_rule(stage: Stage, combination: Combination) -> OutcomeRule | None:
    """The first row that applies; None where the table is incomplete."""
    return next((rule for rule in stage.outcomes if applies(rule, combination)), None)


def decide(stage: Stage, verdicts: Sequence[str], contents_equal: bool) -> Outcome:
    """What becomes of an item with these verdicts.

    ``contents_equal``: whether all who approve, with or without changes, hand in the same content. Raises ValueError
    where the table says nothing, which ``validate`` does not let through.
    """
    combination = Combination(tuple(Verdict(verdict) for verdict in verdicts), contents_equal)
    rule = deciding_rule(stage, combination)
    if rule is None:
        raise ValueError(f"the outcome table of stage {stage.key} says nothing of {combination}")
    return rule.outcome
