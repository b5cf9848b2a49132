"""Looks up the outcome of a stage's verdicts in its outcome table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from reviews.core.protocols.protocol import ANY, ContentRule, Outcome, OutcomeRule, Stage, StageKind, Verdict


@dataclass(frozen=True, slots=True)
class Combination:
    """Verdicts that the reviewers of a stage can give together, and whether their content is the same."""

    verdicts: tuple[Verdict, ...]
    #: Whether all who approve, with or without changes, submit the same content.
    contents_equal: bool
    #: Whether more than half of the reviewers make the same fix.
    majority: bool = False

    @property
    def fixes(self) -> int:
        return self.verdicts.count(Verdict.FIX)

    def __str__(self) -> str:
        words = " + ".join(self.verdicts)
        if self.fixes > 1:
            same = "same fix by a majority" if self.majority else "different content"
            words += f" ({'same content' if self.contents_equal else same})"
        return words


def offered_verdicts(stage: Stage) -> tuple[Verdict, ...]:
    """Return the verdicts a reviewer can choose from. A senior reviewer cannot escalate."""
    if stage.kind is StageKind.EXPERT:
        return (Verdict.APPROVE, Verdict.FIX, Verdict.REJECT)
    return tuple(Verdict)


def combinations(stage: Stage) -> Iterator[Combination]:
    """Yield every combination that can occur in the stage.

    An approval submits the content under review and a fix submits changed content, so the two always differ; several
    fixes without an approval can be the same or different. Fixes that are not all the same, or that come with an
    approval, can still be the same for a majority.
    """
    for verdicts in combinations_with_replacement(offered_verdicts(stage), stage.reviewers):
        approvals, fixes = verdicts.count(Verdict.APPROVE), verdicts.count(Verdict.FIX)
        if not approvals or not fixes:
            yield Combination(verdicts, True, is_majority(fixes, stage.reviewers))
        if fixes > 1 or (approvals and fixes):
            # Without an approval at least one fix differs from the others.
            if fixes > 1 and is_majority(fixes if approvals else fixes - 1, stage.reviewers):
                yield Combination(verdicts, False, True)
            yield Combination(verdicts, False)


def is_majority(fixes: int, reviewers: int) -> bool:
    """Return whether that many fixes are more than half of the reviewers."""
    return 2 * fixes > reviewers


def applies(rule: OutcomeRule, combination: Combination) -> bool:
    """Return whether a row of the table matches this combination."""
    if len(rule.verdicts) != len(combination.verdicts):
        return False
    fits = {
        ContentRule.ANY: True,
        ContentRule.SAME: combination.contents_equal,
        ContentRule.DIFFERENT: not combination.contents_equal,
        ContentRule.MAJORITY: combination.majority,
    }
    if not fits[rule.content]:
        return False
    named = Counter(verdict for verdict in rule.verdicts if verdict != ANY)
    return named <= Counter(map(str, combination.verdicts))


def deciding_rule(stage: Stage, combination: Combination) -> OutcomeRule | None:
    """Return the first row that matches; None if the table is incomplete."""
    return next((rule for rule in stage.outcomes if applies(rule, combination)), None)


def decide(stage: Stage, verdicts: Sequence[str], contents_equal: bool, same_fixes: int = 0) -> Outcome:
    """Return the outcome of an item with these verdicts.

    ``contents_equal``: whether all who approve, with or without changes, submit the same content. ``same_fixes``: how
    many make the same fix if not all content is the same. Raises ValueError if no row matches, which ``validate`` rules
    out.
    """
    said = tuple(Verdict(verdict) for verdict in verdicts)
    same = said.count(Verdict.FIX) if contents_equal else same_fixes
    combination = Combination(said, contents_equal, is_majority(same, len(said)))
    rule = deciding_rule(stage, combination)
    if rule is None:
        raise ValueError(f"the outcome table of stage {stage.key} has no row for {combination}")
    return rule.outcome
