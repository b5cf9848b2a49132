"""Undoes sending a dialogue back, if nobody has worked on it since.

The cycle that sending back started is withdrawn: it is kept, but it no longer counts (``Cycle.objects.in_effect``). If
the earlier cycle had ended, it is the last one again and does not change. If it was active, it goes on where it was:
the same runs and open slots.

A *standing* is what sending back changes in a dialogue and what shows whether anything has happened since. It is read
just before and just after, and again for the undo.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, Max, OuterRef
from django.utils.translation import gettext as _

from annotator.models import Dialogue, Event, OutdatedDialogue, User
from annotator.models.content import DialogueStatus
from annotator.models.events import TAGS_CHANGED
from annotator.services.history.event_chain import in_portions
from reviews.core.protocols import Protocol
from reviews.models import (
    Claim,
    Cycle,
    CycleState,
    Draw,
    DrawItem,
    ProtocolVersion,
    SentBackStratum,
    Slot,
    SlotState,
    StageRun,
    StageRunState,
)
from reviews.services.cycles.start import set_aside_runs
from reviews.services.protocols.versions import parse
from reviews.services.queue.notifications import notify_withdrawal
from reviews.services.queue.order import new_position
from reviews.services.sampling.rounds import last_round
from reviews.services.transitions.moves import CycleContext, end_cycle
from reviews.services.transitions.sealing import find_sealed, unseal_set_aside
from reviews.services.transitions.transition_log import Journal

Standing = dict[str, Any]

#: Events that are not work on a dialogue. Every other event since it was sent back prevents the undo.
_NO_WORK = (TAGS_CHANGED, "dialogue.prioritised", "slot.reassigned", "slot.freed", "slot.opened")
_UNFINISHED = (StageRunState.OPEN, StageRunState.POOLED, StageRunState.DRAWN)


def read_standings(dialogues: Sequence[Dialogue]) -> dict[int, Standing]:
    """Return key of a dialogue → its standing, as JSON values."""
    out: dict[int, Standing] = {}
    rounds: dict[tuple[int, str], list[Any]] = {}
    for portion in in_portions(dialogues):
        keys = [dialogue.pk for dialogue in portion]
        sealed = find_sealed(keys)
        acts = Event.objects.filter(dialogue__in=keys).exclude(kind__in=_NO_WORK).order_by()
        last_acts = dict(acts.values_list("dialogue").annotate(Max("number")))
        sent = SentBackStratum.objects.filter(draw=OuterRef("draw"), owner__pseudonym=OuterRef("stratum"))
        left_out = DrawItem.objects.filter(Exists(sent), dialogue__in=keys, selected=False)
        audited = set(left_out.values_list("dialogue", flat=True))
        for dialogue in portion:
            out[dialogue.pk] = {
                "status": dialogue.status, "stage": dialogue.stage, "head": dialogue.head_id,
                "owner": dialogue.owner_id, "sealed": dialogue.pk in sealed, "event": last_acts.get(dialogue.pk, 0),
                "audited": dialogue.pk in audited, "cycle": None, "runs": [], "slots": [], "rounds": [], "flags": [],
                "claimed": False,
            }  # fmt: skip
        flags = OutdatedDialogue.objects.filter(dialogue__in=keys, cleared_at=None).order_by("pk")
        for key, flag in flags.values_list("dialogue", "pk"):
            out[key]["flags"].append(flag)
        cycles = Cycle.objects.in_effect().filter(dialogue__in=keys).order_by("number")
        columns = ("pk", "number", "state", "protocol_id", "reason")
        for key, cycle, number, state, protocol, reason in cycles.values_list("dialogue_id", *columns):
            out[key] |= {"cycle": cycle, "number": number, "state": state, "protocol": protocol, "reason": reason}
        by_cycle = {out[key]["cycle"]: out[key] for key in keys}
        runs = StageRun.objects.filter(cycle__in=list(by_cycle), state__in=_UNFINISHED).order_by("pk")
        origin = ("escalated_from__stage", "escalated_from__looks")
        for cycle, run, state, project, stage, looks, before, before_looks in runs.values_list(
            "cycle_id", "pk", "state", "project_id", "stage", "looks", *origin
        ):
            by_cycle[cycle]["runs"].append([run, state])
            in_round = stage if looks is not None else before if before_looks is not None else ""
            if in_round and state == StageRunState.OPEN:
                place = project, in_round
                rounds[place] = rounds.get(place) or _round_now(*place)
                by_cycle[cycle]["rounds"].append(rounds[place])
        slots = Slot.objects.filter(cycle__in=list(by_cycle), state=SlotState.OPEN).order_by("pk")
        for cycle, slot in slots.values_list("cycle_id", "pk"):
            by_cycle[cycle]["slots"].append(slot)
        claims = Claim.objects.filter(slot__cycle__in=list(by_cycle)).order_by()
        for cycle in claims.values_list("slot__cycle", flat=True).distinct():
            by_cycle[cycle]["claimed"] = True
    return out


def why_not_withdrawn(before: Standing, after: Standing, now: Standing) -> str:
    """Return why sending a dialogue back can't be undone, as a sentence; blank if it can be.

    ``before``, ``after``: its standings just before and just after.
    """
    if "cycle" not in after:
        return _("There is no record of what sending it back replaced. Send it back again instead.")
    if before["sealed"] and not after["sealed"]:
        return _("Sending it back made reviews of a blind stage visible, so this stage can’t go on.")
    if now["cycle"] != after["cycle"] or now["state"] != CycleState.ACTIVE:
        return _("Its review has started again or has ended since.")
    if now["claimed"]:
        return _("Somebody has worked on it since.")
    if now["head"] != after["head"]:
        return _("Its content has changed since.")
    if now["owner"] != after["owner"]:
        return _("Its owner has changed.")
    if now["audited"] and not before["audited"]:
        return _("An audit has since sent back the other items of its owner.")
    if any(one != _round_now(*one[:2]) for one in before["rounds"]):
        return _("The round that it was in has ended.")
    if any(now[name] != after[name] for name in ("runs", "protocol", "event")):
        return _("Something has happened to it since. Its history shows it.")
    return ""


def hold_review(dialogue: Dialogue, before: Standing) -> None:
    """Lock the slots of the dialogue's active cycle and the rounds that it was in ``before``.

    A simultaneous claim, or the end of a round, comes before or after.
    """
    draws = [draw for _project, _stage, draw, _ended in before.get("rounds", ())]
    list(Draw.objects.select_for_update(no_key=True).filter(pk__in=draws).order_by("pk").values_list("pk"))
    slots = Slot.objects.select_for_update(of=("self",)).filter(dialogue=dialogue, cycle__state=CycleState.ACTIVE)
    list(slots.order_by("pk").values_list("pk"))


def withdraw_cycle(*, actor: User, dialogue: Dialogue, before: Standing, reason: str) -> Cycle:
    """Withdraw the dialogue's active cycle and restore its standing ``before``; return the cycle that counts again.

    The caller has locked the dialogue, called ``hold_review``, and asked ``why_not_withdrawn``. Reopened slots go to
    the end of their queues. Gold items that were retired stay so: their answer could be read in the meantime.
    """
    withdrawn = Cycle.objects.select_for_update().get(dialogue=dialogue, state=CycleState.ACTIVE)
    earlier = Cycle.objects.select_for_update().get(pk=before["cycle"])
    reserved = Slot.objects.filter(cycle=withdrawn, state=SlotState.OPEN).exclude(reserved_for=dialogue.owner_id)
    lost = list(reserved.values_list("reserved_for", flat=True))
    journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
    context = CycleContext(journal, withdrawn, _protocol_of(withdrawn))
    blind = set_aside_runs(journal, withdrawn)
    end_cycle(context, CycleState.WITHDRAWN, None, reason)
    reopened = before["state"] == CycleState.ACTIVE
    if reopened:
        _reopen(journal, earlier, before)
    context.set_status(DialogueStatus(before["status"]), before["stage"])
    unseal_set_aside(dialogue, blind)
    _flag_again(dialogue, before["flags"], withdrawn)
    dialogue.save(update_fields=["status", "stage", "updated_at"])
    journal.event(
        "cycle.withdrawn",
        after={"cycle": withdrawn.number, "back_to": earlier.number, "reopened": reopened, "reason": reason[:500]},
    )
    journal.write()
    notify_withdrawal(actor=actor, dialogue=dialogue, people=lost)
    return earlier


def find_revealed(dialogues: Sequence[int], *, protocol: Protocol, stage: str) -> set[int]:
    """Return the dialogues (by key) whose sealed reviews would become visible if they were sent back to ``stage``.

    They stay sealed if their blind stage starts again.
    """
    out: set[int] = set()
    again = next((one.key for one in protocol.entry_stages if one.key == stage and one.blind), "")
    for portion in in_portions(dialogues):
        runs = StageRun.objects.filter(cycle__dialogue__in=portion, state=StageRunState.OPEN, blind=True)
        ends = runs.exclude(stage=again).values_list("cycle__dialogue", flat=True)
        out |= find_sealed(list(ends))
    return out


def _protocol_of(cycle: Cycle) -> Protocol:
    return parse(ProtocolVersion.objects.get(pk=cycle.protocol_id))


def _round_now(project: int, stage: str) -> list[Any]:
    """Return [key of the project, stage, key of the stage's last round, whether this round has ended]."""
    draw = last_round(project, stage)
    return [project, stage, draw and draw.pk, draw is not None and draw.round_ended_at is not None]


def _reopen(journal: Journal, cycle: Cycle, before: Standing) -> None:
    cycle.state, cycle.ended_at, cycle.reason = CycleState.ACTIVE, None, before["reason"]
    cycle.save(update_fields=["state", "ended_at", "reason"])
    for key, state in before["runs"]:
        run = StageRun.objects.get(pk=key)
        run.state = state
        run.save(update_fields=["state"])
        if state == StageRunState.POOLED:
            journal.count(f"pooled:{run.stage}")
    for index, slot in enumerate(Slot.objects.filter(pk__in=before["slots"]).order_by("pk")):
        # A new position: the old one may be behind everyone's cursor.
        slot.state, slot.position = SlotState.OPEN, new_position(index)
        slot.save(update_fields=["state", "position"])
        journal.count(f"left:{slot.stage}")


def _flag_again(dialogue: Dialogue, flags: Sequence[int], withdrawn: Cycle) -> None:
    """Restore flags of outdated work, except those of changes that were taken back in the meantime."""
    gone = Event.objects.filter(
        project=dialogue.project_id, kind="guideline.flag_withdrawn", created_at__gte=withdrawn.created_at
    )
    again = OutdatedDialogue.objects.filter(pk__in=flags, dialogue=dialogue)
    again.exclude(change__public_id__in=list(gone.values_list("before__change", flat=True))).update(cleared_at=None)
