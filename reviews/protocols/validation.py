"""Whether a protocol can be worked with. Whether a project has the people for it is asked elsewhere."""

from collections import Counter
from collections.abc import Iterable, Iterator

from annotator.schema.errors import Problem
from reviews.protocols.outcomes import Combination, applies, combinations, deciding_rule, offered_verdicts
from reviews.protocols.protocol import ANY, AuthorRule, EntryMode, Outcome, Protocol, Stage, StageKind, Verdict


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
        problems += _table_problems(protocol, stage, at)
    return problems


def _twice(pointer: str, what: str, keys: Iterable[str]) -> Iterator[Problem]:
    for key, count in Counter(keys).items():
        if count > 1:
            yield Problem(pointer, f"The {what} “{key}” is there {count} times; give each a key of its own.")


def _entry_problems(protocol: Protocol, stage: Stage, index: int, at: str) -> Iterator[Problem]:
    entry = stage.entry
    if entry.mode is EntryMode.ALL:
        if entry.fraction:
            yield Problem(f"{at}/entry", "Every item enters this stage, so a fraction says nothing; leave it out.")
        return
    if index == 0:
        yield Problem(f"{at}/entry", "The first stage takes every item; only a later one can take a sample.")
    if entry.mode is EntryMode.FRACTION and not entry.fraction:
        yield Problem(
            f"{at}/entry/fraction", "A fraction of 0 lets nothing into this stage; raise it or drop the stage."
        )
    if entry.mode is EntryMode.ESCALATED_AND_FRACTION and stage.kind is not StageKind.EXPERT:
        yield Problem(f"{at}/entry/mode", "Only a stage of experts takes what was escalated.")


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
        elif len(rule.verdicts) != stage.reviewers:
            yield Problem(
                f"{pointer}/verdicts",
                f"The row names {len(rule.verdicts)} verdicts, but {stage.reviewers} people review here.",
            )
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
    if outcome is Outcome.BACK_TO_AUTHOR and protocol.author_stage(stage.key) is None:
        yield Problem(pointer, "There is no self-check to which the item could go back.")
    for combination in decided:
        if outcome is Outcome.PASS and Verdict.APPROVE not in combination.verdicts:
            yield Problem(pointer, f"After {combination} nobody has approved the version that would pass.")
        if outcome is Outcome.PASS_WITH_FIX:
            if not combination.fixes:
                yield Problem(pointer, f"After {combination} there is no fix that could pass.")
            elif combination.fixes > 1 and not combination.contents_equal:
                yield Problem(pointer, f"After {combination} it is open which of the fixes passes.")
