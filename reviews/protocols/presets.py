"""Protocols of published benchmarks, ready to adopt and to edit."""

from collections.abc import Callable
from typing import Any

from reviews.protocols.protocol import (
    ANY,
    AuthorRule,
    Checklist,
    ChecklistItem,
    ContentRule,
    Eligible,
    Entry,
    EntryMode,
    Outcome,
    OutcomeRule,
    Protocol,
    Role,
    Stage,
    StageKind,
    Verdict,
)
from reviews.protocols.taxonomy import TAXONOMY

_A, _F, _R, _E = Verdict.APPROVE, Verdict.FIX, Verdict.REJECT, Verdict.ESCALATE

#: One reviewer whose word is enough; nobody destroys an item alone.
ONE_REVIEWER = (
    OutcomeRule(verdicts=(_A,), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_F,), outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(_R,), outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_E,), outcome=Outcome.ESCALATE),
)
#: One colleague beside the author: whatever is not an approval is a discrepancy between the two.
ONE_COLLEAGUE = (
    OutcomeRule(verdicts=(_A,), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(ANY,), outcome=Outcome.ESCALATE),
)
TWO_COLLEAGUES = (
    OutcomeRule(verdicts=(_A, _A), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_F, _F), content=ContentRule.SAME, outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(_F, _F), content=ContentRule.DIFFERENT, outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_A, _F), outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_R, _R), outcome=Outcome.REJECTED),
    OutcomeRule(verdicts=(_R, ANY), outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_E, ANY), outcome=Outcome.ESCALATE),
)
#: The expert's word is the last one.
EXPERT = (
    OutcomeRule(verdicts=(_A,), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_F,), outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(_R,), outcome=Outcome.REJECTED),
)

#: After C3-Bench, appendix A.1.5, first step.
_SINGLE_ROUND = (
    ChecklistItem(key="relevance", text="Every call and the answer serve what the user asks for"),
    ChecklistItem(key="facts", text="Arguments, observations and answer are right and agree with one another"),
    ChecklistItem(key="language", text="The message reads like a real user; wording and language fit"),
    ChecklistItem(key="variety", text="The tasks differ from one another in what they ask and how", per_task=False),
    ChecklistItem(key="strategy", text="The policy label is how the request is best handled"),
    ChecklistItem(key="hidden", text="What the information label says is hidden really cannot be read in the message"),
)
#: The same appendix, second step.
_MULTI_ROUND = (
    ChecklistItem(key="coherence", text="The tasks follow from one another as one conversation", per_task=False),
    ChecklistItem(key="long_context", text="What earlier tasks established is used, and used rightly"),
    ChecklistItem(key="completion", text="The task is completed by the steps that are there"),
    ChecklistItem(key="gold", text="It is as the gold-standard examples would have it", per_task=False),
)


def c3(*, cross_check_reviewers: int = 2, audit_fraction: float = 0.1) -> Protocol:
    """C3-Bench: two self-checks, a blind cross-check, an expert for all that is disputed and a tenth of the rest.

    ``cross_check_reviewers``: one or two colleagues beside the author.
    """
    if cross_check_reviewers not in (1, 2):
        raise ValueError("the cross-check of c3 has one or two reviewers")
    annotators = (Role.ANNOTATOR, Role.SENIOR_REVIEWER)
    return Protocol(
        name="C3-Bench",
        preset="c3",
        stages=(
            Stage(
                key="self_check_single",
                title="Self-check, single round",
                kind=StageKind.SELF_CHECK,
                eligible=Eligible(roles=(Role.ANNOTATOR,)),
                outcomes=ONE_REVIEWER,
                checklist=Checklist(items=_SINGLE_ROUND),
            ),
            Stage(
                key="self_check_multi",
                title="Self-check, multi round",
                kind=StageKind.SELF_CHECK,
                eligible=Eligible(roles=(Role.ANNOTATOR,), author=AuthorRule.OWNER),
                outcomes=ONE_REVIEWER,
                checklist=Checklist(items=_MULTI_ROUND),
            ),
            Stage(
                key="cross_check",
                title="Cross-check",
                kind=StageKind.CROSS_CHECK,
                reviewers=cross_check_reviewers,
                eligible=Eligible(roles=annotators, author=AuthorRule.NOT_AUTHOR),
                blind=True,
                outcomes=TWO_COLLEAGUES if cross_check_reviewers == 2 else ONE_COLLEAGUE,
                checklist=Checklist(items=(*_SINGLE_ROUND, *_MULTI_ROUND)),
            ),
            Stage(
                key="expert",
                title="Expert verification",
                kind=StageKind.EXPERT,
                eligible=Eligible(
                    roles=(Role.SENIOR_REVIEWER,), author=AuthorRule.NOT_AUTHOR, not_earlier_reviewers=True
                ),
                entry=Entry(mode=EntryMode.ESCALATED_AND_FRACTION, fraction=audit_fraction),
                outcomes=EXPERT,
                lease_minutes=60,
            ),
        ),
        taxonomy=TAXONOMY,
    )


#: Name -> how to make it. The other published protocols join when their stages' rounds do.
PRESETS: dict[str, Callable[..., Protocol]] = {"c3": c3}


def load_preset(name: str, **options: Any) -> Protocol:
    """A preset by name. Raises KeyError for an unknown name, ValueError or TypeError for options it does not have."""
    return PRESETS[name](**options)
