"""Protocols of published benchmarks, ready to adopt and to edit."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from reviews.core.protocols.protocol import (
    ANY,
    AuthorRule,
    Checklist,
    ChecklistItem,
    ContentRule,
    Eligible,
    Entry,
    EntryMode,
    Evidence,
    Outcome,
    OutcomeRule,
    Protocol,
    Role,
    Stage,
    StageKind,
    Verdict,
    form_error_in_words,
)
from reviews.core.protocols.taxonomy import TAXONOMY

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

#: One reviewer at a time: whoever changes something leaves it to another person to look again.
UNTIL_NOTHING_IS_FOUND = (
    OutcomeRule(verdicts=(_A,), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_F,), outcome=Outcome.RESTART),
    OutcomeRule(verdicts=(_R,), outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_E,), outcome=Outcome.ESCALATE),
)
#: Two who look independently in a round: what they agree on stands, everything else is settled by a third.
PAIR = (
    OutcomeRule(verdicts=(_A, _A), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_F, _F), content=ContentRule.SAME, outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(ANY, ANY), outcome=Outcome.ESCALATE),
)
#: Three reviewers, of whom two decide: also two who mend in the same way, whatever the third makes of it.
MAJORITY_OF_THREE = (
    OutcomeRule(verdicts=(_A, _A, ANY), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_R, _R, ANY), outcome=Outcome.REJECTED),
    OutcomeRule(verdicts=(_F, _F, ANY), content=ContentRule.MAJORITY, outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(ANY, ANY, ANY), outcome=Outcome.ESCALATE),
)
#: The expert settles what reviewers could not; whether it is right now is for the reviewers to say.
EXPERT_RETURNS = (
    OutcomeRule(verdicts=(_A,), outcome=Outcome.RETURN),
    OutcomeRule(verdicts=(_F,), outcome=Outcome.RETURN),
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


#: After WildToolBench, appendix C.
_ROUND = (
    ChecklistItem(key="natural", text="The message reads like a real user: short, elliptic, in context"),
    ChecklistItem(key="strategy", text="The policy label is how the request is best handled"),
    ChecklistItem(key="hidden", text="What the information label says is hidden really cannot be read in the message"),
    ChecklistItem(key="calls", text="Tools, arguments and dependencies of every call are right, and none is redundant"),
    ChecklistItem(key="answer", text="The answer says what the observations say"),
    ChecklistItem(key="switches", text="The policies of the tasks switch as richly as they could", per_task=False),
)
#: After AsyncTool, section 2.2.3.
_TRAJECTORY = (
    ChecklistItem(
        key="conditions", text="The first call starts from the task's true initial conditions", per_task=False
    ),
    ChecklistItem(key="prerequisites", text="No call that a later one depends on is left out", per_task=False),
    ChecklistItem(key="formats", text="Every argument is in the format its tool supports", per_task=False),
    ChecklistItem(key="matches", text="Task and trajectory ask for and do the same", per_task=False),
    ChecklistItem(key="order", text="The calls can only stand in this order", per_task=False),
    ChecklistItem(
        key="unambiguous", text="Place, time and other key arguments are said, not left to guess", per_task=False
    ),
)
#: After CCTU, section 3.2, quality control: the data first, then the code.
_CONSTRAINED = (
    ChecklistItem(key="conflicts", text="No two constraints conflict with each other", per_task=False),
    ChecklistItem(key="reasonable", text="Every constraint is reasonable and can be met", per_task=False),
    ChecklistItem(key="logic", text="Query, constraints and answer are consistent", per_task=False),
)
_VALIDATORS = (
    ChecklistItem(
        key="accepts", text="Each validator accepts every response that meets its constraint", per_task=False
    ),
    ChecklistItem(key="refuses", text="Each validator refuses what breaks its constraint", per_task=False),
    ChecklistItem(key="own", text="No validator asks for more than its own constraint says", per_task=False),
    ChecklistItem(key="message", text="Its message says what to mend", per_task=False),
)


class ImpossibleOption(ValueError):
    """What a preset cannot be set up with. ``option``: which one, where that is known."""

    def __init__(self, sentence: str, option: str = "") -> None:
        super().__init__(sentence)
        self.option = option


def c3(
    *,
    cross_check_reviewers: int = 2,
    audit_fraction: float = 0.1,
    send_back_above: float = 0.2,
    send_back_audited: int = 5,
    require_answers: bool = False,
) -> Protocol:
    """C3-Bench: two self-checks, a blind cross-check, an expert for all that is disputed and a tenth of the rest.

    ``cross_check_reviewers``: one or two colleagues beside the author. ``require_answers``: a review can only be handed
    in with its whole checklist answered. An owner's other items go back where more than
    ``send_back_above`` of at least ``send_back_audited`` audited ones held an error.
    """
    if cross_check_reviewers not in (1, 2):
        raise ImpossibleOption("the cross-check of c3 has one or two reviewers", "cross_check_reviewers")
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
                checklist=Checklist(items=_SINGLE_ROUND, required=require_answers),
            ),
            Stage(
                key="self_check_multi",
                title="Self-check, multi round",
                kind=StageKind.SELF_CHECK,
                eligible=Eligible(roles=(Role.ANNOTATOR,), author=AuthorRule.OWNER),
                outcomes=ONE_REVIEWER,
                checklist=Checklist(items=_MULTI_ROUND, required=require_answers),
            ),
            Stage(
                key="cross_check",
                title="Cross-check",
                kind=StageKind.CROSS_CHECK,
                reviewers=cross_check_reviewers,
                eligible=Eligible(roles=annotators, author=AuthorRule.NOT_AUTHOR),
                blind=True,
                outcomes=TWO_COLLEAGUES if cross_check_reviewers == 2 else ONE_COLLEAGUE,
                checklist=Checklist(items=(*_SINGLE_ROUND, *_MULTI_ROUND), required=require_answers),
            ),
            Stage(
                key="expert",
                title="Expert verification",
                kind=StageKind.EXPERT,
                eligible=Eligible(
                    roles=(Role.SENIOR_REVIEWER,), author=AuthorRule.NOT_AUTHOR, not_earlier_reviewers=True
                ),
                entry=Entry(
                    mode=EntryMode.ESCALATED_AND_FRACTION,
                    fraction=audit_fraction,
                    send_back=Evidence(above=send_back_above, audited=send_back_audited),
                ),
                outcomes=EXPERT,
                lease_minutes=60,
            ),
        ),
        taxonomy=TAXONOMY,
    )


def wild(*, round_fraction: float = 0.2) -> Protocol:
    """WildToolBench: rounds of random fractions, each item looked at by two, until a round finds nothing."""
    people = (Role.ANNOTATOR, Role.SENIOR_REVIEWER)
    return Protocol(
        name="WildToolBench",
        preset="wild",
        stages=(
            Stage(
                key="annotation",
                title="Annotation",
                kind=StageKind.SELF_CHECK,
                eligible=Eligible(roles=people),
                outcomes=ONE_REVIEWER,
                checklist=Checklist(items=_ROUND),
            ),
            Stage(
                key="rounds",
                title="Rounds of pairs",
                kind=StageKind.CROSS_CHECK,
                reviewers=2,
                eligible=Eligible(roles=people, author=AuthorRule.NOT_AUTHOR),
                blind=True,
                entry=Entry(mode=EntryMode.ROUNDS, fraction=round_fraction),
                outcomes=PAIR,
                checklist=Checklist(items=_ROUND),
            ),
            _settlement("Review session"),
        ),
        taxonomy=TAXONOMY,
        # Its first rounds are there to find what is wrong; C3-Bench's 5 % would warn of them all.
        discrepancy_alarm=1.0,
    )


def cctu(*, consecutive: int = 2) -> Protocol:
    """CCTU: people look one after the other until two in a row agree; first the data, then the validators."""
    people = (Role.ANNOTATOR, Role.SENIOR_REVIEWER)
    stages = (
        ("data", "Data verification", _CONSTRAINED, True),
        ("validators", "Code verification", _VALIDATORS, False),
    )
    return Protocol(
        name="CCTU",
        preset="cctu",
        stages=(
            *(
                Stage(
                    key=key,
                    title=title,
                    kind=StageKind.CROSS_CHECK,
                    consecutive=consecutive,
                    validators_are_checked_later=later,
                    eligible=Eligible(roles=people, author=AuthorRule.NOT_AUTHOR),
                    outcomes=UNTIL_NOTHING_IS_FOUND,
                    checklist=Checklist(items=items),
                )
                for key, title, items, later in stages
            ),
            _settlement("Settlement"),
        ),
        taxonomy=TAXONOMY,
    )


def async_() -> Protocol:
    """AsyncTool: one person after another verifies the trajectory, until one of them finds nothing to correct."""
    people = (Role.ANNOTATOR, Role.SENIOR_REVIEWER)
    return Protocol(
        name="AsyncTool",
        preset="async",
        stages=(
            Stage(
                key="verification",
                title="Verification",
                kind=StageKind.CROSS_CHECK,
                eligible=Eligible(roles=people, author=AuthorRule.NOT_AUTHOR),
                outcomes=UNTIL_NOTHING_IS_FOUND,
                checklist=Checklist(items=_TRAJECTORY),
            ),
            _settlement("Settlement"),
        ),
        taxonomy=TAXONOMY,
    )


def _settlement(title: str) -> Stage:
    """Experts who settle what is escalated and send it back to where it came from."""
    return Stage(
        key="settlement",
        title=title,
        kind=StageKind.EXPERT,
        eligible=Eligible(roles=(Role.SENIOR_REVIEWER,), author=AuthorRule.NOT_AUTHOR),
        entry=Entry(mode=EntryMode.ESCALATED_AND_FRACTION),
        outcomes=EXPERT_RETURNS,
        lease_minutes=60,
    )


#: Name -> how to make it.
PRESETS: dict[str, Callable[..., Protocol]] = {"c3": c3, "wild": wild, "cctu": cctu, "async": async_}


def load_preset(name: str, **options: Any) -> Protocol:
    """A preset by name. Raises KeyError for an unknown name, TypeError or ImpossibleOption for what cannot be."""
    try:
        return PRESETS[name](**options)
    except ValidationError as error:
        named_error = error.errors(include_url=False)[0]
        option = next((one for one, given in options.items() if given is named_error["input"]), "")
        which = f"“{option.replace('_', ' ')}” is {options[option]}. " if option else ""
        raise ImpossibleOption(f"{which}{form_error_in_words(named_error).rstrip('.')}", option) from None
