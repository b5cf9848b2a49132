"""Decides where an item goes when it moves to another version of its protocol."""

from dataclasses import dataclass
from enum import StrEnum

from reviews.core.protocols.protocol import EntryMode, Protocol, Stage, StageKind


class Action(StrEnum):
    #: It stays in its stage, with its reviews and claims.
    STAY = "stay"
    #: Its stage restarts: the reviews of that stage are kept on record but no longer count.
    RESTART = "restart"
    #: Its stage is gone: it goes to the stage that follows those it has passed.
    MOVE = "move"
    #: No stage of the new version is left for it: it is verified.
    VERIFY = "verify"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an item goes. ``stage``: the key of the stage; blank if the item is verified."""

    action: Action
    stage: str
    why: str


def destination(old: Protocol, new: Protocol, key: str, *, waiting: bool, escalated: bool) -> Destination:
    """Return where an item in stage ``key`` of ``old`` goes under ``new``.

    ``waiting``: it is in the stage's pool; ``escalated``: it came there because somebody escalated it. Stages it has
    passed stay passed, whatever the new version adds before them. Raises KeyError if ``old`` has no such stage.
    """
    was = old.stage(key)
    stage = next((one for one in new.stages if one.key == key), None)
    if stage is not None:
        return _within(was, stage, new, waiting=waiting, escalated=escalated)
    gone = f"The new version has no stage “{was.title}”."
    if escalated:
        expert = _taker_of_escalations(new)
        if expert is not None:
            return Destination(Action.MOVE, expert.key, f"{gone} Escalated items go to “{expert.title}”.")
        first = new.stages[0]
        return Destination(Action.MOVE, first.key, f"{gone} No stage takes escalated items, so the item starts over.")
    passed = last_shared(old, new, key)
    if passed is None:
        first = new.stages[0]
        return Destination(
            Action.MOVE, first.key, f"{gone} None of the stages the item has passed exist either, so it starts over."
        )
    following = new.next_taking(passed.key)
    if following is None:
        return Destination(Action.VERIFY, "", f"{gone} The item has passed the last stage, “{passed.title}”.")
    return Destination(Action.MOVE, following.key, f"{gone} “{passed.title}” is followed by “{following.title}”.")


def last_shared(old: Protocol, new: Protocol, key: str) -> Stage | None:
    """Return the last stage before ``key`` in ``old`` that ``new`` also has, as it is in ``new``; else None."""
    before = [stage.key for stage in old.stages]
    passed = set(before[: before.index(key)])
    shared = [stage for stage in new.stages if stage.key in passed]
    return shared[-1] if shared else None


def _within(was: Stage, stage: Stage, new: Protocol, *, waiting: bool, escalated: bool) -> Destination:
    """Return where an item goes whose stage exists in both versions."""
    if waiting:
        if stage.entry.mode is was.entry.mode and stage.entry.fraction:
            return Destination(
                Action.STAY,
                stage.key,
                "The item stays in the pool. The next draw takes the share of the newest version.",
            )
        if stage.entry.mode is EntryMode.ALL:
            return Destination(Action.RESTART, stage.key, "Every item now enters the stage, without a draw.")
        if stage.entry.fraction:
            return Destination(
                Action.RESTART, stage.key, "The stage now draws differently. The item enters the new pool."
            )
        following = new.next_taking(stage.key)
        if following is None:
            return Destination(Action.VERIFY, "", "The stage no longer draws a sample, and no stage follows it.")
        return Destination(
            Action.MOVE, following.key, f"The stage no longer draws a sample. The next stage is “{following.title}”."
        )
    changes = list(_changes(was, stage))
    if not changes:
        return Destination(Action.STAY, stage.key, "Reviews continue under the new rules.")
    if escalated and stage.entry.mode in (EntryMode.FRACTION, EntryMode.ROUNDS):
        expert = _taker_of_escalations(new)
        if expert is not None:
            return Destination(Action.MOVE, expert.key, f"Escalated items now go to “{expert.title}”.")
    return Destination(
        Action.RESTART, stage.key, f"{'; '.join(changes)}. Earlier reviews cannot be combined with new ones."
    )


def _changes(was: Stage, stage: Stage) -> list[str]:
    """Return why a stage in progress cannot continue in its new form."""
    out = []
    if was.kind is not stage.kind:
        out.append(f"The stage changes from {_words(was.kind)} to {_words(stage.kind)}")
    if was.reviewers != stage.reviewers:
        out.append(f"The number of reviewers changes from {was.reviewers} to {stage.reviewers}")
    if was.blind is not stage.blind:
        out.append("The stage is no longer blind" if was.blind else "The stage becomes blind")
    if was.in_rounds is not stage.in_rounds:
        out.append("The stage no longer draws in rounds" if was.in_rounds else "The stage now draws in rounds")
    return out


def _words(kind: StageKind) -> str:
    return {
        StageKind.SELF_CHECK: "self-check",
        StageKind.CROSS_CHECK: "cross-check",
        StageKind.EXPERT: "expert stage",
    }[kind]


def _taker_of_escalations(protocol: Protocol) -> Stage | None:
    takers = (EntryMode.ALL, EntryMode.ESCALATED_AND_FRACTION)
    return next((one for one in protocol.stages if one.kind is StageKind.EXPERT and one.entry.mode in takers), None)
