"""Whether a protocol can be worked with. Whether a project has the people for it is asked elsewhere."""

from collections import Counter
from collections.abc import Iterable, Iterator

from annotator.core.schema.errors import Problem
from reviews.core.protocols.outcomes import Combination, applies, combinations, deciding_rule, offered_verdicts
from reviews.core.protocols.protocol import ANY, AuthorRule, EntryMode, Outcome, Protocol, Stage, StageKind, Verdict


def validate(protocol: Protocol) -> list[Problem]:
    """Every reason why items could get stuck, lost or changed by nobody; empty for a sound protocol."""
    problems = list(_twice("/stages", "stage", (stage.key for stage in protocol.stages)))
    problems += _twice("/taxonomy", "kind of finding", (kind.key for kind in protocol.taxonomy))
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
            yield Problem(pointer, f"The {what} “{key}” is there {count} times; give each a key of its own.")


def _entry_problems(protocol: Protocol, stage: Stage, index: int, at: str) -> Iterator[Problem]:
    entry = stage.entry
    if entry.send_back is not None and not _is_audited(protocol, stage, index):
        yield Problem(
            f"{at}/entry/send_back",
            "Items go back to their owner on what experts find in a random fraction, after a self-check that makes "
            "owners; here there is no such sample.",
        )
    if entry.mode is EntryMode.ALL:
        if entry.fraction:
            yield Problem(f"{at}/entry", "Every item enters this stage, so a fraction says nothing; leave it out.")
        return
    if index == 0:
        yield Problem(f"{at}/entry", "The first stage takes every item; only a later one can take a sample.")
    if entry.mode in (EntryMode.FRACTION, EntryMode.ROUNDS) and not entry.fraction:
        yield Problem(
            f"{at}/entry/fraction", "A fraction of 0 lets nothing into this stage; raise it or drop the stage."
        )
    if entry.mode is EntryMode.ESCALATED_AND_FRACTION and stage.kind is not StageKind.EXPERT:
        yield Problem(f"{at}/entry/mode", "Only a stage of experts takes what was escalated.")


def _is_audited(protocol: Protocol, stage: Stage, index: int) -> bool:
    sampled = stage.entry.mode in (EntryMode.FRACTION, EntryMode.ESCALATED_AND_FRACTION)
    owners = any(earlier.kind is StageKind.SELF_CHECK for earlier in protocol.stages[:index])
    return sampled and stage.kind is StageKind.EXPERT and owners


def _round_problems(protocol: Protocol, stage: Stage, at: str) -> Iterator[Problem]:
    """Of a stage that goes by rounds: they must be able to end, and to mean something."""
    if not stage.in_rounds:
        return
    if stage.kind is not StageKind.CROSS_CHECK:
        yield Problem(f"{at}/kind", "Rounds are looked at by colleagues: make the stage a cross-check.")
    if stage.reviewers < 2 or not stage.blind:
        yield Problem(
            f"{at}/reviewers",
            "Whether an item was seen without conflict shows only where two or more review it blind; set reviewers "
            "to 2 and the stage to blind.",
        )
    if any(rule.outcome is Outcome.RESTART for rule in stage.outcomes):
        yield Problem(f"{at}/outcomes", "In rounds nothing restarts at once: what is unsettled is escalated.")
    expert = protocol.expert_stage(stage.key)
    if expert is not None and any(rule.outcome in (Outcome.PASS, Outcome.PASS_WITH_FIX) for rule in expert.outcomes):
        yield Problem(
            f"{at}/entry/mode",
            f"What “{expert.title}” settles would leave the rounds without ever being seen without conflict; its "
            "outcomes must be “return”.",
        )


def _consecutive_problems(stage: Stage, at: str) -> Iterator[Problem]:
    """Of a stage that wants several approvals in a row."""
    if stage.consecutive == 1:
        return
    if stage.reviewers > 1:
        yield Problem(
            f"{at}/consecutive", "Approvals in a row are given one after the other; let one person review at a time."
        )
    if stage.kind is not StageKind.CROSS_CHECK:
        yield Problem(
            f"{at}/consecutive", "Approvals in a row are those of different colleagues: make the stage a cross-check."
        )
    if stage.in_rounds:
        yield Problem(f"{at}/consecutive", "A stage either goes by rounds or wants approvals in a row, not both.")
    if any(rule.outcome is Outcome.PASS_WITH_FIX for rule in stage.outcomes):
        yield Problem(
            f"{at}/outcomes", "A change begins the count anew, so a fix cannot pass: its outcome is “restart”."
        )


def _leaving_problems(protocol: Protocol, stage: Stage, index: int, at: str) -> Iterator[Problem]:
    """Of a stage that leaves the validators to a later one."""
    if stage.validators_are_checked_later and not any(
        later.entry.mode is EntryMode.ALL and not later.validators_are_checked_later
        for later in protocol.stages[index + 1 :]
    ):
        yield Problem(
            f"{at}/validators_are_checked_later",
            "No later stage takes every item and looks at its validators; let this one do so, or add one.",
        )


def _people_problems(protocol: Protocol, stage: Stage, index: int, at: str) -> Iterator[Problem]:
    author = stage.eligible.author
    pointer = f"{at}/eligible/author"
    if stage.kind is not StageKind.SELF_CHECK and author is not AuthorRule.NOT_AUTHOR:
        yield Problem(pointer, "Only a self-check may be done by the author; here it must be “not_author”.")
    if stage.kind is StageKind.SELF_CHECK and author is AuthorRule.NOT_AUTHOR:
        yield Problem(
            pointer, "A self-check is the author’s own look; make the stage a cross-check or admit the author."
        )
    if author is AuthorRule.OWNER:
        if stage.reviewers > 1:
            yield Problem(f"{at}/reviewers", "A dialogue has one owner, so only one person can review here.")
        if not any(earlier.kind is StageKind.SELF_CHECK for earlier in protocol.stages[:index]):
            yield Problem(pointer, "A dialogue gets its owner in its first self-check; put one before this stage.")


def _table_problems(protocol: Protocol, stage: Stage, at: str) -> Iterator[Problem]:
    misfits = [number for number, rule in enumerate(stage.outcomes, 1) if len(rule.verdicts) != stage.reviewers]
    if misfits:
        # Whatever else could be said of the table follows from this.
        people = "1 person reviews" if stage.reviewers == 1 else f"{stage.reviewers} people review"
        rows = f"Row {misfits[0]} names" if len(misfits) == 1 else f"Rows {', '.join(map(str, misfits))} name"
        yield Problem(
            f"{at}/outcomes",
            f"{rows} another number of verdicts, but {people} here: write the table of “{stage.title}” again.",
        )
        return
    offered = offered_verdicts(stage)
    possible = list(combinations(stage))
    decided: dict[int, list[Combination]] = {}
    for combination in possible:
        rule = deciding_rule(stage, combination)
        if rule is None:
            yield Problem(f"{at}/outcomes", f"The table does not say what follows from {combination}; add a row.")
        else:
            decided.setdefault(stage.outcomes.index(rule), []).append(combination)
    for number, rule in enumerate(stage.outcomes):
        pointer = f"{at}/outcomes/{number}"
        foreign = [verdict for verdict in rule.verdicts if verdict not in (*offered, ANY)]
        if foreign:
            words = ", ".join([*offered, ANY])
            yield Problem(f"{pointer}/verdicts", f"“{foreign[0]}” is no verdict of this stage; it is one of: {words}.")
        elif number not in decided:
            reached = any(applies(rule, combination) for combination in possible)
            why = "earlier rows decide all it speaks of" if reached else "what it speaks of cannot happen"
            yield Problem(pointer, f"The row never decides anything: {why}; remove it or move it up.")
        else:
            yield from _outcome_problems(protocol, stage, rule.outcome, decided[number], pointer)


def _outcome_problems(
    protocol: Protocol, stage: Stage, outcome: Outcome, decided: list[Combination], pointer: str
) -> Iterator[Problem]:
    pointer += "/outcome"
    if outcome is Outcome.ESCALATE and protocol.expert_stage(stage.key) is None:
        yield Problem(pointer, "Nobody takes what is escalated here: no later stage of experts does. Add one.")
    if outcome is Outcome.CONFIRM:
        yield Problem(pointer, "“confirm” is what a stage with approvals in a row makes of “pass”; write “pass”.")
    if outcome is Outcome.RETURN and (
        stage.kind is not StageKind.EXPERT or stage.entry.mode is not EntryMode.ESCALATED_AND_FRACTION
    ):
        yield Problem(pointer, "Only experts who take what was escalated can return it to where it came from.")
    if outcome is Outcome.BACK_TO_AUTHOR and protocol.author_stage(stage.key) is None:
        yield Problem(pointer, "There is no self-check to which the item could go back.")
    for combination in decided:
        if outcome is Outcome.PASS and Verdict.APPROVE not in combination.verdicts:
            yield Problem(pointer, f"After {combination} nobody has approved the version that would pass.")
        if outcome is Outcome.PASS_WITH_FIX:
            if not combination.fixes:
                yield Problem(pointer, f"After {combination} there is no fix that could pass.")
            elif combination.fixes > 1 and not combination.contents_equal and not combination.majority:
                yield Problem(pointer, f"After {combination} it is open which of the fixes passes.")
