"""Where an item stands under another version of its protocol. Pure: decided from the two versions alone."""

from dataclasses import dataclass
from enum import StrEnum

from reviews.core.protocols.protocol import EntryMode, Protocol, Stage, StageKind


class Action(StrEnum):
    #: It stays where it is, with whatever has been handed in or is being worked on.
    STAY = "stay"
    #: Its stage begins anew: what was handed in there is kept on record and counts no more.
    RESTART = "restart"
    #: Its stage is not there any more: it goes where it would have gone from the stages it has passed.
    MOVE = "move"
    #: Nothing of the new version is left for it: it is verified.
    VERIFY = "verify"


@dataclass(frozen=True, slots=True)
class Destination:
    """What becomes of an item. ``stage``: the key of where it then stands; blank where it is verified."""

    action: Action
    stage: str
    why: str


def destination(old: Protocol, new: Protocol, key: str, *, waiting: bool, escalated: bool) -> Destination:
    """What becomes of an item in stage ``key`` of ``old`` under ``new``.

    ``waiting``: it is in the stage's pool; ``escalated``: it came there because somebody escalated it. Stages it has
    passed count as passed, whatever the new version puts before them. Raises KeyError where ``old`` has no such stage.
    """
    was = old.stage(key)
    stage = next((one for one in new.stages if one.key == key), None)
    if stage is not None:
        return _within(was, stage, new, waiting=waiting, escalated=escalated)
    gone = f"The new version has no stage “{was.title}”"
    if escalated:
        expert = _taker_of_escalations(new)
        if expert is not None:
            return Destination(Action.MOVE, expert.key, f"{gone}; what was escalated goes to “{expert.title}”.")
        first = new.stages[0]
        return Destination(Action.MOVE, first.key, f"{gone} and nobody who takes escalations; the item begins anew.")
    passed = last_shared(old, new, key)
    if passed is None:
        first = new.stages[0]
        return Destination(Action.MOVE, first.key, f"{gone}, nor any that the item has passed; it begins anew.")
    following = new.next_taking(passed.key)
    if following is None:
        return Destination(Action.VERIFY, "", f"{gone}, and nothing after “{passed.title}”, which the item has passed.")
    return Destination(Action.MOVE, following.key, f"{gone}; after “{passed.title}” comes “{following.title}”.")


def last_shared(old: Protocol, new: Protocol, key: str) -> Stage | None:
    """The last stage before ``key`` in ``old`` that ``new`` has as well, as it is there; None where there is none."""
    before = [stage.key for stage in old.stages]
    passed = set(before[: before.index(key)])
    shared = [stage for stage in new.stages if stage.key in passed]
    return shared[-1] if shared else None


def _within(was: Stage, stage: Stage, new: Protocol, *, waiting: bool, escalated: bool) -> Destination:
    """The stage is there in both versions."""
    if waiting:
        if stage.entry.mode is was.entry.mode and stage.entry.fraction:
            return Destination(Action.STAY, stage.key, "It waits for the same draw.")
        if stage.entry.mode is EntryMode.ALL:
            return Destination(Action.RESTART, stage.key, "Every item enters the stage now; nothing is drawn for it.")
        if stage.entry.fraction:
            return Destination(
                Action.RESTART, stage.key, "It is drawn for in another way; the item enters the new pool."
            )
        following = new.next_taking(stage.key)
        if following is None:
            return Destination(
                Action.VERIFY, "", "Nothing is drawn for the stage any more, and nothing comes after it."
            )
        return Destination(Action.MOVE, following.key, f"Nothing is drawn for it; next comes “{following.title}”.")
    changes = list(_changes(was, stage))
    if not changes:
        return Destination(Action.STAY, stage.key, "What is under way goes on, by the new version’s rules.")
    if escalated and stage.entry.mode in (EntryMode.FRACTION, EntryMode.ROUNDS):
        expert = _taker_of_escalations(new)
        if expert is not None:
            return Destination(Action.MOVE, expert.key, f"What was escalated goes to “{expert.title}” now.")
    return Destination(Action.RESTART, stage.key, f"{'; '.join(changes)}: reviews of both kinds do not add up.")


def _changes(was: Stage, stage: Stage) -> list[str]:
    """Why what has begun in a stage cannot be ended in its new form."""
    out = []
    if was.kind is not stage.kind:
        out.append(f"The stage was a {_words(was.kind)} and is a {_words(stage.kind)}")
    if was.reviewers != stage.reviewers:
        out.append(f"It had {was.reviewers} reviewer{'s'[: was.reviewers - 1]} and has {stage.reviewers}")
    if was.blind is not stage.blind:
        out.append("It was blind and is open" if was.blind else "It was open and is blind")
    if was.in_rounds is not stage.in_rounds:
        out.append("It went by rounds and does no more" if was.in_rounds else "It goes by rounds now")
    return out


def _words(kind: StageKind) -> str:
    return {
        StageKind.SELF_CHECK: "self-check",
        StageKind.CROSS_CHECK: "cross-check",
        StageKind.EXPERT: "stage of experts",
    }[kind]


def _taker_of_escalations(protocol: Protocol) -> Stage | None:
    takers = (EntryMode.ALL, EntryMode.ESCALATED_AND_FRACTION)
    return next((one for one in protocol.stages if one.kind is StageKind.EXPERT and one.entry.mode in takers), None)
