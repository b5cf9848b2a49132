"""Protocols of published benchmarks, ready to adopt and to edit."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import ValidationError

from annotator.core.roles import Role
from annotator.core.text import gettext_noop as _
from reviews.core.protocols.protocol import (
    ANY,
    Applies,
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
    Stage,
    StageKind,
    Verdict,
    form_error_in_words,
)
from reviews.core.protocols.taxonomy import TAXONOMY, TOOLSET_TAXONOMY

#: The preset of projects in which toolsets are reviewed.
TOOLSET = "toolset"

_A, _F, _R, _E = Verdict.APPROVE, Verdict.FIX, Verdict.REJECT, Verdict.ESCALATE
_EVERYONE = (Role.ANNOTATOR, Role.SENIOR_REVIEWER)


def _alone(**outcomes: Outcome) -> tuple[OutcomeRule, ...]:
    """Return the outcome table of a single reviewer: verdict → outcome."""
    return tuple(OutcomeRule(verdicts=(verdict,), outcome=outcome) for verdict, outcome in outcomes.items())


#: One reviewer decides; nobody rejects an item alone.
ONE_REVIEWER = _alone(
    approve=Outcome.PASS, fix=Outcome.PASS_WITH_FIX, reject=Outcome.ESCALATE, escalate=Outcome.ESCALATE
)
#: One colleague besides the author: anything but an approval is a discrepancy between the two.
ONE_COLLEAGUE = _alone(approve=Outcome.PASS, any=Outcome.ESCALATE)
TWO_COLLEAGUES = (
    OutcomeRule(verdicts=(_A, _A), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_F, _F), content=ContentRule.SAME, outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(_F, _F), content=ContentRule.DIFFERENT, outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_A, _F), outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_R, _R), outcome=Outcome.REJECTED),
    OutcomeRule(verdicts=(_R, ANY), outcome=Outcome.ESCALATE),
    OutcomeRule(verdicts=(_E, ANY), outcome=Outcome.ESCALATE),
)
#: The senior reviewer's verdict is final.
EXPERT = _alone(approve=Outcome.PASS, fix=Outcome.PASS_WITH_FIX, reject=Outcome.REJECTED)

#: One reviewer at a time: after a change, another person reviews the item again.
UNTIL_NOTHING_IS_FOUND = _alone(
    approve=Outcome.PASS, fix=Outcome.RESTART, reject=Outcome.ESCALATE, escalate=Outcome.ESCALATE
)
#: Two reviewers work independently in a round: what they agree on counts, a third person settles everything else.
PAIR = (
    OutcomeRule(verdicts=(_A, _A), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_F, _F), content=ContentRule.SAME, outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(ANY, ANY), outcome=Outcome.ESCALATE),
)
#: Three reviewers, of whom two decide: two who make the same fix also decide, whatever the third says.
MAJORITY_OF_THREE = (
    OutcomeRule(verdicts=(_A, _A, ANY), outcome=Outcome.PASS),
    OutcomeRule(verdicts=(_R, _R, ANY), outcome=Outcome.REJECTED),
    OutcomeRule(verdicts=(_F, _F, ANY), content=ContentRule.MAJORITY, outcome=Outcome.PASS_WITH_FIX),
    OutcomeRule(verdicts=(ANY, ANY, ANY), outcome=Outcome.ESCALATE),
)
#: The senior reviewer settles what reviewers could not; the reviewers then check whether it is correct.
EXPERT_RETURNS = _alone(approve=Outcome.RETURN, fix=Outcome.RETURN, reject=Outcome.REJECTED)

#: A question that is answered once for the dialogue.
_once = partial(ChecklistItem, per_task=False)

#: After C3-Bench, appendix A.1.5, first step.
_SINGLE_ROUND = (
    ChecklistItem(key="relevance", text=_("Every call and the answer serve the user’s request")),
    ChecklistItem(key="facts", text=_("Arguments, observations and answer are correct and consistent")),
    ChecklistItem(key="language", text=_("The message sounds like a real user; wording and language fit")),
    _once(
        key="variety",
        text=_("The tasks differ in what they ask and how they ask it"),
        applies=Applies.SEVERAL_TASKS,
    ),
    ChecklistItem(key="strategy", text=_("The policy label is the best way to handle the request")),
    ChecklistItem(key="hidden", text=_("The message doesn’t contain what the information label says is hidden")),
)
#: The same appendix, second step.
_MULTI_ROUND = (
    _once(key="coherence", text=_("The tasks form one coherent conversation"), applies=Applies.SEVERAL_TASKS),
    ChecklistItem(
        key="long_context",
        text=_("Information from earlier tasks is used, and used correctly"),
        applies=Applies.LATER_TASKS,
    ),
    ChecklistItem(key="completion", text=_("The steps complete the task")),
    _once(key="gold", text=_("The dialogue matches the gold-standard examples")),
)


#: After WildToolBench, appendix C.
_ROUND = (
    ChecklistItem(key="natural", text=_("The message sounds like a real user: short, elliptical, in context")),
    ChecklistItem(key="strategy", text=_("The policy label is the best way to handle the request")),
    ChecklistItem(key="hidden", text=_("The message doesn’t contain what the information label says is hidden")),
    ChecklistItem(key="calls", text=_("Tools, arguments and dependencies are correct, and no call is redundant")),
    ChecklistItem(key="answer", text=_("The answer agrees with the observations")),
    _once(
        key="switches",
        text=_("The policy changes between tasks as often as possible"),
        applies=Applies.SEVERAL_TASKS,
    ),
)
#: After AsyncTool, section 2.2.3, “Trajectory validation”: the three patterns of errors that the paper found.
_EXECUTED = (
    _once(key="conditions", text=_("The first call starts from the task’s true initial conditions")),
    _once(key="prerequisites", text=_("No call that a later call depends on is missing")),
    _once(key="formats", text=_("Every argument is in a format that its tool supports"), applies=Applies.HAS_CALLS),
)
#: The same section, “Correction and disambiguation”.
_UNAMBIGUOUS = (
    _once(key="matches", text=_("The trajectory does what the task asks for")),
    _once(key="order", text=_("The calls can only be made in this order")),
    _once(key="unambiguous", text=_("Place, time and other key arguments are stated, so nobody has to guess them")),
)
#: After CCTU, section 3.2, quality control: the data first, then the code.
_CONSTRAINED = (
    _once(key="conflicts", text=_("No two constraints conflict with each other")),
    _once(key="reasonable", text=_("Every constraint is reasonable and can be met")),
    _once(key="logic", text=_("Query, constraints and answer are consistent")),
)
_VALIDATORS = (
    _once(key="accepts", text=_("Each validator accepts every response that meets its constraint")),
    _once(key="refuses", text=_("Each validator rejects every response that breaks its constraint")),
    _once(key="own", text=_("No validator requires more than its own constraint")),
    _once(key="message", text=_("The validator’s message says what to fix")),
)
#: What makes the calls of a dialogue ambiguous, or impossible to write.
_TOOLS = (
    _once(key="descriptions", text=_("Every function and parameter says what it does, so that one can choose it")),
    _once(key="types", text=_("Types, formats and lists of allowed values are stated in the schema")),
    _once(key="required", text=_("The required parameters are exactly those without which the function can’t run")),
    _once(key="distinct", text=_("No two functions do the same")),
    _once(key="usable", text=_("The functions together allow realistic tasks")),
)


class ImpossibleOption(ValueError):
    """An option that a preset does not accept. ``option``: which one, if known."""

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
    """Return C3-Bench's protocol.

    ``cross_check_reviewers``: one or two colleagues besides the author. ``require_answers``: a review can only be
    submitted with every checklist question answered. An owner's other items are sent back if more than
    ``send_back_above`` of at least ``send_back_audited`` audited items contain an error.
    """
    if cross_check_reviewers not in (1, 2):
        raise ImpossibleOption("the cross-check of C3-Bench has one or two reviewers", "cross_check_reviewers")
    return Protocol(
        name="C3-Bench",
        preset="c3",
        verified_toolsets=True,
        stages=(
            Stage(
                key="self_check_single",
                title=_("Self-check, single round"),
                kind=StageKind.SELF_CHECK,
                eligible=Eligible(roles=(Role.ANNOTATOR,)),
                outcomes=ONE_REVIEWER,
                checklist=Checklist(items=_SINGLE_ROUND, required=require_answers),
            ),
            Stage(
                key="self_check_multi",
                title=_("Self-check, multi round"),
                kind=StageKind.SELF_CHECK,
                eligible=Eligible(roles=(Role.ANNOTATOR,), author=AuthorRule.OWNER),
                outcomes=ONE_REVIEWER,
                checklist=Checklist(items=_MULTI_ROUND, required=require_answers),
            ),
            Stage(
                key="cross_check",
                title=_("Cross-check"),
                kind=StageKind.CROSS_CHECK,
                reviewers=cross_check_reviewers,
                eligible=Eligible(roles=_EVERYONE, author=AuthorRule.NOT_AUTHOR),
                blind=True,
                outcomes=TWO_COLLEAGUES if cross_check_reviewers == 2 else ONE_COLLEAGUE,
                checklist=Checklist(items=(*_SINGLE_ROUND, *_MULTI_ROUND), required=require_answers),
            ),
            Stage(
                key="expert",
                title=_("Expert verification"),
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
    """Return WildToolBench's protocol."""
    return Protocol(
        name="WildToolBench",
        preset="wild",
        verified_toolsets=True,
        stages=(
            Stage(
                key="annotation",
                title=_("Annotation"),
                kind=StageKind.SELF_CHECK,
                eligible=Eligible(roles=_EVERYONE),
                outcomes=ONE_REVIEWER,
                checklist=Checklist(items=_ROUND),
            ),
            Stage(
                key="rounds",
                title=_("Review in pairs"),
                kind=StageKind.CROSS_CHECK,
                reviewers=2,
                eligible=Eligible(roles=_EVERYONE, author=AuthorRule.NOT_AUTHOR),
                blind=True,
                entry=Entry(mode=EntryMode.ROUNDS, fraction=round_fraction),
                outcomes=PAIR,
                checklist=Checklist(items=_ROUND),
            ),
            _settlement(_("Review session")),
        ),
        taxonomy=TAXONOMY,
        # Its first rounds are meant to find errors; C3-Bench's 5 % would warn in all of them.
        discrepancy_alarm=1.0,
    )


def cctu(*, consecutive: int = 2) -> Protocol:
    """Return CCTU's protocol."""
    stages = (
        ("data", _("Data verification"), _CONSTRAINED, True),
        ("validators", _("Code verification"), _VALIDATORS, False),
    )
    return Protocol(
        name="CCTU",
        preset="cctu",
        verified_toolsets=True,
        stages=(
            *(
                Stage(
                    key=key,
                    title=title,
                    kind=StageKind.CROSS_CHECK,
                    consecutive=consecutive,
                    validators_are_checked_later=later,
                    eligible=Eligible(roles=_EVERYONE, author=AuthorRule.NOT_AUTHOR),
                    outcomes=UNTIL_NOTHING_IS_FOUND,
                    checklist=Checklist(items=items),
                )
                for key, title, items, later in stages
            ),
            _settlement(_("Settlement")),
        ),
        taxonomy=TAXONOMY,
    )


def async_(*, without_rounds: bool = False) -> Protocol:
    """Return AsyncTool's protocol: all items are reviewed in rounds until a round finds no error in any of them.

    ``without_rounds``: each item is reviewed by one person after another instead, until one finds nothing to fix.
    """
    alone = Stage(
        key="verification",
        title=_("Verification"),
        kind=StageKind.CROSS_CHECK,
        eligible=Eligible(roles=_EVERYONE, author=AuthorRule.NOT_AUTHOR),
        outcomes=UNTIL_NOTHING_IS_FOUND,
        checklist=Checklist(items=(*_EXECUTED, *_UNAMBIGUOUS)),
    )
    validation = Stage(
        key="validation",
        title=_("Trajectory validation"),
        kind=StageKind.SELF_CHECK,
        eligible=Eligible(roles=_EVERYONE),
        outcomes=ONE_REVIEWER,
        checklist=Checklist(items=_EXECUTED),
    )
    rounds = Stage(
        key="rounds",
        title=_("Correction and disambiguation"),
        kind=StageKind.CROSS_CHECK,
        eligible=Eligible(roles=_EVERYONE, author=AuthorRule.NOT_AUTHOR),
        entry=Entry(mode=EntryMode.ROUNDS, fraction=1.0),
        outcomes=ONE_REVIEWER,
        checklist=Checklist(items=(*_EXECUTED, *_UNAMBIGUOUS)),
    )
    return Protocol(
        name="AsyncTool",
        preset="async",
        verified_toolsets=True,
        stages=(*((alone,) if without_rounds else (validation, rounds)), _settlement(_("Settlement"))),
        taxonomy=TAXONOMY,
    )


def toolset() -> Protocol:
    """Return the protocol by which toolsets are reviewed: two independent reviews, then an expert."""
    return Protocol(
        name=_("Review of toolsets"),
        preset=TOOLSET,
        stages=(
            Stage(
                key="review",
                title=_("Independent reviews"),
                kind=StageKind.CROSS_CHECK,
                reviewers=2,
                eligible=Eligible(roles=_EVERYONE, author=AuthorRule.NOT_AUTHOR),
                blind=True,
                outcomes=TWO_COLLEAGUES,
                checklist=Checklist(items=_TOOLS),
            ),
            Stage(
                key="expert",
                title=_("Expert verification"),
                kind=StageKind.EXPERT,
                eligible=Eligible(
                    roles=(Role.SENIOR_REVIEWER,), author=AuthorRule.NOT_AUTHOR, not_earlier_reviewers=True
                ),
                outcomes=EXPERT,
                lease_minutes=60,
            ),
        ),
        taxonomy=TOOLSET_TAXONOMY,
    )


def _settlement(title: str) -> Stage:
    """Return an expert stage that settles escalated items and returns them to the stage that escalated them."""
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
PRESETS: dict[str, Callable[..., Protocol]] = {
    "c3": c3, "wild": wild, "cctu": cctu, "async": async_, TOOLSET: toolset,
}  # fmt: skip
#: Name -> one sentence about it.
ABOUT_PRESETS: Mapping[str, str] = {
    "c3": _(
        "Two self-checks, then a blind cross-check. A senior reviewer reviews every dispute and a tenth of the other "
        "items."
    ),
    "wild": _("Pairs review random samples in rounds until a round finds no errors."),
    "cctu": _("Reviewers check one after another until two in a row approve: first the data, then the validators."),
    "async": _(
        "Every trajectory is run. One person validates it; then all items are reviewed in rounds until a round finds "
        "no errors."
    ),
    TOOLSET: _(
        "For toolsets, not dialogues: two people review each independently, then a senior reviewer verifies it."
    ),
}
#: The labels of their options.
OPTION_LABELS: Mapping[str, str] = {
    "cross_check_reviewers": _("Cross-check reviewers"),
    "audit_fraction": _("Audited share (0 to 1)"),
    "send_back_above": _("Send-back limit (0 to 1)"),
    "send_back_audited": _("Minimum audited items"),
    "require_answers": _("Require all answers"),
    "round_fraction": _("Share per round (0 to 1)"),
    "consecutive": _("Approvals in a row"),
    "without_rounds": _("One item at a time, without rounds"),
}


def load_preset(name: str, **options: Any) -> Protocol:
    """Return a preset by name. Raises KeyError for an unknown name, TypeError or ImpossibleOption for a bad option."""
    try:
        return PRESETS[name](**options)
    except ValidationError as error:
        named_error = error.errors(include_url=False)[0]
        option = next((one for one, given in options.items() if given is named_error["input"]), "")
        which = f"“{OPTION_LABELS[option]}” is {options[option]}. " if option else ""
        raise ImpossibleOption(f"{which}{form_error_in_words(named_error).rstrip('.')}", option) from None
