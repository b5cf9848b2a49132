"""Undoes a plan: compares each item with its state just after the plan, and restores its state just before.

An item is restored if nothing has happened to it since. What sending back changed, and what prevents its undo, is in
``reviews.services.cycles.withdrawal``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.models import Dialogue, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import roles_in
from annotator.services.dialogues.tags import change_tags, read_tags
from annotator.services.history.event_chain import in_portions
from reviews.models import AssignmentPlan, Claim, PlanAction, PlanChange, Priority, Slot, SlotState
from reviews.services.assignments import changes
from reviews.services.assignments.plan_items import Item, People, Refused, read_items
from reviews.services.assignments.planning import Request, Seen, blind_items, plan_reassigning, what_changed, why_blind
from reviews.services.cycles.withdrawal import (
    find_revealed,
    hold_review,
    read_standings,
    why_not_withdrawn,
    withdraw_cycle,
)
from reviews.services.protocols.versions import parse, require_version

#: How long after its confirmation a plan can be undone.
UNDO_DAYS = 7
#: In each item's history.
REASON = "A change of many items was undone."

State = dict[str, Any]


def read_states(plan: AssignmentPlan, items: Sequence[Item]) -> dict[int, State]:
    """Return key of an item → the part of its state that the plan's action changes."""
    action = plan.action
    if action in (PlanAction.TAG, PlanAction.UNTAG):
        found, tags = read_tags([item.key for item in items]), set(plan.parameters["tags"])
        return {item.key: {"tags": [name for name in found.get(item.key, ()) if name in tags]} for item in items}
    if action == PlanAction.SEND_BACK:
        return read_standings([item.dialogue for item in items])
    if action in (PlanAction.REASSIGN, PlanAction.FREE):
        return _assignments(items)
    waiting: dict[int, list[list[Any]]] = {}
    column = "priority" if action == PlanAction.PRIORITISE else "reserved_for_id"
    for portion in in_portions([item.dialogue.pk for item in items]):
        rows = Slot.objects.filter(dialogue__in=portion, state__in=[SlotState.OPEN, SlotState.HIDDEN], is_gold=False)
        for key, *row in rows.order_by("pk").values_list("dialogue_id", "pk", column):
            waiting.setdefault(key, []).append(row)
    out: dict[int, State] = {}
    for item in items:
        out[item.key] = {"slots": waiting.get(item.dialogue.pk, [])}
        if action == PlanAction.HAND_OVER:
            out[item.key]["owner"] = item.dialogue.owner_id
    return out


def _assignments(items: Sequence[Item]) -> dict[int, State]:
    claims: dict[int, int] = {}
    for portion in in_portions([item.key for item in items]):
        last = Claim.objects.filter(slot__in=portion).order_by().values_list("slot_id").annotate(Max("id"))
        claims.update(last)
    return {
        item.key: {
            "state": item.slot.state,
            "holder": item.slot.holder_id,
            "reserved": item.slot.reserved_for_id,
            # A later claim shows that somebody worked on the item, even if it has been released.
            "claim": claims.get(item.key),
        }
        for item in items
        if item.slot is not None
    }


def why_not_undone(plan: AssignmentPlan) -> str:
    """Return why a plan can't be undone as a whole, as a sentence; blank if it can be."""
    if plan.undoes_id is not None:
        return _("An undo can’t be undone. Make the change again.")
    if plan.confirmed_at is None or (plan.job is not None and not plan.job.ended):
        return _("This change isn’t done yet. Undo it afterwards.")
    if timezone.now() - plan.confirmed_at > timedelta(days=UNDO_DAYS):
        return _("A change can be undone for %(days)s days. Make a new change instead.") % {"days": UNDO_DAYS}
    if plan.undos.filter(confirmed_at__isnull=False).exists():
        return _("This change has already been undone.")
    if not plan.changes.exists():
        return _("There is no record of what this change replaced, so it can’t be undone. Make a new change.")
    return ""


@dataclass(frozen=True)
class Forecast:
    """What an undo of a plan could do, before the plan is carried out. Numbers of items."""

    undoable: int
    #: Can't be undone: reviews of a blind stage become visible.
    revealed: int
    #: Gold items have their answer in it; they are retired and stay so.
    answers: int


def forecast_undo(plan: AssignmentPlan) -> Forecast | None:
    """Return the forecast for a preview of sending back; None for anything else."""
    if plan.action != PlanAction.SEND_BACK or plan.undoes_id is not None or plan.confirmed_at is not None:
        return None
    keys = [line[0] for line in plan.items]
    protocol = parse(require_version(plan.project))
    revealed = len(find_revealed(keys, protocol=protocol, stage=plan.parameters["stage"]))
    answers = 0
    for portion in in_portions(keys):
        answers += Dialogue.objects.filter(pk__in=portion, gold_role=GoldRole.ANSWER).count()
    return Forecast(len(keys) - revealed, revealed, answers)


def plan_undo(*, actor: User, plan: AssignmentPlan) -> tuple[list[Seen], Refused]:
    """Return the lines of an undo of the plan, and the items that are not undone, with why."""
    recorded = {change.item: change for change in plan.changes.all()}
    items = read_items(plan.action, recorded)
    states, blind = read_states(plan, items), blind_items(actor, plan.action, items)
    undone: list[Item] = []
    refused: Refused = []
    for item in items:
        # Blindness first: what has changed would say something about the tags.
        why = why_blind() if item.key in blind else ""
        why = why or why_item_not_undone(plan, item, recorded[item.key], states[item.key])
        if why:
            refused.append([item.dialogue.external_id, why])
        else:
            undone.append(item)
    if plan.action not in (PlanAction.REASSIGN, PlanAction.FREE, PlanAction.HAND_OVER):
        return [[item.key, None, ""] for item in undone], refused
    lines: list[Seen] = []
    by_person: dict[int | None, list[Item]] = {}
    for item in undone:
        by_person.setdefault(_person_before(recorded[item.key]), []).append(item)
    people = _people(plan, by_person)
    for key, theirs in by_person.items():
        if key is None:
            lines += [[item.key, None, ""] for item in theirs]
            continue
        [(person, roles)] = people[key]
        if not roles:
            sentence = _("%(person)s, to whom it would return, is no longer a member of this project.")
            refused += [[item.dialogue.external_id, sentence % {"person": person}] for item in theirs]
        elif plan.action == PlanAction.HAND_OVER:
            lines += [[item.key, key, ""] for item in theirs]
        else:
            slots = [item.slot for item in theirs if item.slot is not None]
            again, no = plan_reassigning(slots, Request(actor, plan.project, people[key]))
            lines += [[line[0], line[1], ""] for line in again]
            refused += no
    return lines, refused


def why_item_not_undone(plan: AssignmentPlan, item: Item, change: PlanChange, now: State) -> str:
    """Return why an item is not undone, as a sentence; blank if nothing has happened to it since the plan."""
    if plan.action == PlanAction.SEND_BACK:
        return why_not_withdrawn(change.before, change.after, now)
    if now == change.after:
        return ""
    if plan.action == PlanAction.PRIORITISE:
        return _("Its priority has changed, or its review has gone on.")
    if plan.action == PlanAction.HAND_OVER and now["owner"] == change.after["owner"]:
        return _("Its review has gone on.")
    slot = item.slot
    if plan.action in (PlanAction.REASSIGN, PlanAction.FREE) and slot is not None and slot.state == SlotState.OPEN:
        if now["claim"] != change.after["claim"]:
            return _("Somebody has worked on it since.")
        return _("Its assignee has changed since.")
    return what_changed(plan.action, item)


def restore(*, actor: User, plan: AssignmentPlan, item: Item, tell: bool = True) -> None:
    """Restore one item to its state before the plan. The caller has locked its dialogue and slot.

    Raises Conflict if something has happened to it since, or another DomainError if it can't be restored.
    """
    change = PlanChange.objects.get(plan=plan, item=item.key)
    if plan.action == PlanAction.SEND_BACK:
        hold_review(item.dialogue, change.before)
    why = why_item_not_undone(plan, item, change, read_states(plan, [item])[item.key])
    if why:
        raise Conflict(why)
    before, after, slot = change.before, change.after, item.slot
    if plan.action == PlanAction.TAG:
        extra = set(after["tags"]) - set(before["tags"])
        change_tags(actor=actor, dialogue=item.dialogue, remove=extra, reason=REASON)
    elif plan.action == PlanAction.UNTAG:
        gone = set(before["tags"]) - set(after["tags"])
        change_tags(actor=actor, dialogue=item.dialogue, add=gone, reason=REASON)
    elif plan.action == PlanAction.SEND_BACK:
        withdraw_cycle(actor=actor, dialogue=item.dialogue, before=before, reason=REASON)
    elif plan.action == PlanAction.PRIORITISE:
        earlier: dict[int, list[int]] = {}
        for key, priority in before["slots"]:
            earlier.setdefault(priority, []).append(key)
        for priority, keys in sorted(earlier.items()):
            changes.prioritise(
                actor=actor, dialogue=item.dialogue, priority=Priority(priority), slots=keys, reason=REASON
            )
    elif plan.action == PlanAction.HAND_OVER:
        owner = User.objects.filter(pk=before["owner"]).first()
        reserved = dict(before["slots"])
        changes.hand_over(actor=actor, dialogue=item.dialogue, to=owner, reason=REASON, tell=tell, reserved=reserved)
    elif slot is not None:
        person = _person_before(change)
        if person is None:
            changes.free_claim(actor=actor, slot=slot, reason=REASON)
        else:
            to = User.objects.get(pk=person)
            changes.reassign(actor=actor, slot=slot, to=to, reason=REASON, tell=tell)


def _person_before(change: PlanChange) -> int | None:
    """Return who had the item before the plan: its owner, or the person for whom it was reserved or who worked on it.

    A claim itself does not return; the slot is reserved for the person, whose draft was kept.
    """
    before = change.before
    person: int | None = before["owner"] if "owner" in before else before["reserved"] or before["holder"]
    return person


def _people(plan: AssignmentPlan, keys: Iterable[int | None]) -> dict[int, People]:
    people = User.objects.in_bulk([key for key in keys if key is not None])
    return {key: [(person, roles_in(plan.project, person))] for key, person in people.items()}
