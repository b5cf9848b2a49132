"""Checks whether a protocol works. Whether a project has enough people for it is checked elsewhere."""

from collections import Counter
from collections.abc import Iterable, Iterator

from annotator.core.schema.errors import Problem
from reviews.core.protocols.outcomes import Combination, applies, combinations, deciding_rule, offered_verdicts
from reviews.core.protocols.protocol import ANY, AuthorRule, EntryMode, Outcome, Protocol, Stage, StageKind, Verdict


def validate(protocol: Protocol) -> list[Problem]:
    """Return every reason why items could get stuck, lost or changed by nobody; empty for a valid protocol."""
    problems = list(_twice("/stages", "stage", (stage.key for stage in protocol.stages)))
    problems += _twice("/taxonomy", "error type", (kind.key for kind in protocol.taxonomy))
    if problems:
        return problems
    for index, stage in enumerate(protocol.stages):
        at = f"/stages/{index}"
        problems += _twice(f"{at}/checklist/items", "checklist item", (item.key for item in stage.checklist.items))
        problems += _entry_problems(protocol, stage, index, at)
        problems += _people_problems(protocol, stage, index, at)
        problems += _round_problems(protocol, stage, at)
        problems += _consecutive_problems(stage, at)
        problems += _table_problems(protocol, stage, at)
        problems += _leaving_problems(protocol, stage, index, at)
    return problems


def _twice(pointer: str, what: str, keys: Iterable[str]) -> Iterator[Problem]:
    for key, count in Counter(keys).items():
        if count > 1:
            yield Problem(pointer, f"The {what} “{key}” appears {count} times. Give each one its own key.")


def _entry_problems(protocol: Protocol, stage: Stage, index: int, at: str) -> Iterator[Problem]:
    entry = stage.entry
    if entry.send_back is not None and not _is_audited(protocol, stage, index):
        yield Problem(
            f"{at}/entry/send_back",
            "Sending items back to their owner requires an expert stage with a random sample after a self-check. This "
            "stage has no such sample.",
        )
    if entry.mode is EntryMode.ALL:
        if entry.fraction:
            yield Problem(f"{at}/entry", "Every item enters this stage. Remove the random sample.")
        return
    if index == 0:
        yield Problem(f"{at}/entry", "The first stage must take every item. Only later stages can take a sample.")
    if entry.mode in (EntryMode.FRACTION, EntryMode.ROUNDS) and not entry.fraction:
        yield Problem(
            f"{at}/entry/fraction",
            "With a sample of 0 %, no item enters this stage. Raise the sample or remove the stage.",
        )
    if entry.mode is EntryMode.ESCALATED_AND_FRACTION and stage.kind is not StageKind.EXPERT:
        yield Problem(f"{at}/entry/mode", "Only an expert stage can take escalated items.")


def _is_audited(protocol: Protocol, stage: Stage, index: int) -> bool:
    sampled = stage.entry.mode in (EntryMode.FRACTION, EntryMode.ESCALATED_AND_FRACTION)
    owners = any(earlier.kind is StageKind.SELF_CHECK for earlier in protocol.stages[:index])
    return sampled and stage.kind is StageKind.EXPERT and owners


def _round_problems(protocol: Protocol, stage: Stage, at: str) -> Iterator[Problem]:
    """Yield problems of a stage with rounds: they must be able to end, and to be meaningful."""
    if not stage.in_rounds:
        return
    if stage.kind is not StageKind.CROSS_CHECK:
        yield Problem(f"{at}/kind", "Only a cross-check can have rounds. Make the stage a cross-check.")
    if stage.reviewers < 2 and stage.entry.fraction < 1:
        # A sample that one person judges says little about the other items.
        yield Problem(
            f"{at}/reviewers",
            "Rounds need two or more reviewers who work blind, or one who reviews every item. Set reviewers to 2 and "
            "make the stage blind, or set the random sample to 100 %.",
        )
    elif stage.reviewers > 1 and not stage.blind:
        yield Problem(
            f"{at}/reviewers",
            "Rounds need two or more reviewers who work blind. Set reviewers to 2 and make the stage blind.",
        )
    if any(rule.outcome is Outcome.RESTART for rule in stage.outcomes):
        yield Problem(f"{at}/outcomes", "A stage with rounds cannot be repeated. Use “escalate to the expert stage”.")
    expert = protocol.expert_stage(stage.key)
    if expert is not None and any(rule.outcome in (Outcome.PASS, Outcome.PASS_WITH_FIX) for rule in expert.outcomes):
        yield Problem(
            f"{at}/entry/mode",
            f"Items settled in “{expert.title}” would leave the rounds without two matching reviews. Set its outcomes "
            "to “return to the stage that escalated it”.",
        )


def _consecutive_problems(stage: Stage, at: str) -> Iterator[Problem]:
    """Yield problems of a stage that needs several approvals in a row."""
    if stage.consecutive == 1:
        return
    if stage.reviewers > 1:
        yield Problem(f"{at}/consecutive", "Approvals in a row need one reviewer at a time. Set reviewers to 1.")
    if stage.kind is not StageKind.CROSS_CHECK:
        yield Problem(
            f"{at}/consecutive", "Only a cross-check can require approvals in a row. Make the stage a cross-check."
        )
    if stage.in_rounds:
        yield Problem(f"{at}/consecutive", "A stage can use rounds or approvals in a row, but not both.")
    if any(rule.outcome is Outcome.PASS_WITH_FIX for rule in stage.outcomes):
        yield Problem(
            f"{at}/outcomes",
            "A change restarts the count, so a fix cannot pass. Set its outcome to “repeat the stage”.",
        )


def _leaving_problems(protocol: Protocol, stage: Stage, index: int, at: str) -> Iterator[Problem]:
    """Yield problems of a stage that leaves the validators to a later one."""
    if stage.validators_are_checked_later and not any(
        later.entry.mode is EntryMode.ALL and not later.validators_are_checked_later
        for later in protocol.stages[index + 1 :]
    ):
        yield Problem(
            f"{at}/validators_are_checked_later",
            "No later stage takes every item and checks its validators. Check them in this stage or add one.",
        )


def _people_problems(protocol: Protocol, stage: Stage, index: int, at: str) -> Iterator[Problem]:
    author = stage.eligible.author
    pointer = f"{at}/eligible/author"
    if stage.kind is not StageKind.SELF_CHECK and author is not AuthorRule.NOT_AUTHOR:
        yield Problem(pointer, "Only a self-check can be done by the author. Choose “not the author or owner”.")
    if stage.kind is StageKind.SELF_CHECK and author is AuthorRule.NOT_AUTHOR:
        yield Problem(
            pointer, "The author must be able to do a self-check. Allow the author or make the stage a cross-check."
        )
    if author is AuthorRule.OWNER:
        if stage.reviewers > 1:
            yield Problem(f"{at}/reviewers", "A dialogue has one owner, so only one person can review here.")
        if not any(earlier.kind is StageKind.SELF_CHECK for earlier in protocol.stages[:index]):
            yield Problem(pointer, "A dialogue gets its owner in its first self-check. Add one before this stage.")


def _table_problems(protocol: Protocol, stage: Stage, at: str) -> Iterator[Problem]:
    misfits = [number for number, rule in enumerate(stage.outcomes, 1) if len(rule.verdicts) != stage.reviewers]
    if misfits:
        # All other problems of the table follow from this one.
        people = "1 reviewer" if stage.reviewers == 1 else f"{stage.reviewers} reviewers"
        rows = f"Row {misfits[0]} has" if len(misfits) == 1 else f"Rows {', '.join(map(str, misfits))} have"
        yield Problem(
            f"{at}/outcomes",
            f"“{stage.title}” has {people}. {rows} a different number of verdicts. Reset the rows.",
        )
        return
    offered = offered_verdicts(stage)
    possible = list(combinations(stage))
    decided: dict[int, list[Combination]] = {}
    for combination in possible:
        rule = deciding_rule(stage, combination)
        if rule is None:
            yield Problem(f"{at}/outcomes", f"No row covers {combination}. Add a row.")
        else:
            decided.setdefault(stage.outcomes.index(rule), []).append(combination)
    for number, rule in enumerate(stage.outcomes):
        pointer = f"{at}/outcomes/{number}"
        foreign = [verdict for verdict in rule.verdicts if verdict not in (*offered, ANY)]
        if foreign:
            words = ", ".join([*offered, ANY])
            yield Problem(f"{pointer}/verdicts", f"“{foreign[0]}” is not a verdict of this stage. Use one of: {words}.")
        elif number not in decided:
            reached = any(applies(rule, combination) for combination in possible)
            why = (
                "Earlier rows cover all its cases. Remove the row or move it up."
                if reached
                else "Its combination of verdicts cannot happen. Remove the row."
            )
            yield Problem(pointer, why)
        else:
            yield from _outcome_problems(protocol, stage, rule.outcome, decided[number], pointer)


def _outcome_problems(
    protocol: Protocol, stage: Stage, outcome: Outcome, decided: list[Combination], pointer: str
) -> Iterator[Problem]:
    pointer += "/outcome"
    if outcome is Outcome.ESCALATE and protocol.expert_stage(stage.key) is None:
        yield Problem(pointer, "No later expert stage takes escalated items. Add one.")
    if outcome is Outcome.CONFIRM:
        yield Problem(pointer, "A stage with approvals in a row asks for confirmation automatically. Use “pass”.")
    if outcome is Outcome.RETURN and (
        stage.kind is not StageKind.EXPERT or stage.entry.mode is not EntryMode.ESCALATED_AND_FRACTION
    ):
        yield Problem(pointer, "Only an expert stage that takes escalated items can return them.")
    if outcome is Outcome.BACK_TO_AUTHOR and protocol.author_stage(stage.key) is None:
        yield Problem(pointer, "No self-check comes before this stage, so items cannot be sent back to their author.")
    for combination in decided:
        if outcome is Outcome.PASS and Verdict.APPROVE not in combination.verdicts:
            yield Problem(pointer, f"After {combination}, nobody has approved the revision that would pass.")
        if outcome is Outcome.PASS_WITH_FIX:
            if not combination.fixes:
                yield Problem(pointer, f"After {combination}, there is no fix that could pass.")
            elif combination.fixes > 1 and not combination.contents_equal and not combination.majority:
                yield Problem(pointer, f"After {combination}, it is not clear which fix passes.")
