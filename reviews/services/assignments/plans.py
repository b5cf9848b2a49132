"""Changes of many assignments at once: previewed, then carried out as previewed, or refused because something moved.

A plan holds each slot as it looked when it was made. Confirming it looks again: where anything differs, nothing is done
and the sentences say what moved. Few are done in one transaction; many by a job in chunks, where one that moves in the
meantime is left out and told.
"""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Membership, Project, Role, User
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.event_chain import in_portions
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, start_job
from reviews.models import AssignmentPlan, PlanAction, Priority, Slot, SlotState
from reviews.services.assignments import changes
from reviews.services.queue.absence import absent_people
from reviews.services.queue.claims import lock_slot, stage_of
from reviews.services.queue.eligibility import HeldSlot, refusal
from reviews.services.queue.notifications import notify_losses_last, notify_plan

#: Slots of one plan.
MAX_SLOTS = 5000
#: A plan with more than this is carried out by a job; so many are one chunk of it.
AT_ONCE = 100
CHUNK = 25
#: Refusals and left-out slots that are kept with their reasons; the others are counted.
MAX_LISTED = 200
#: Who gets more than so many is told once of all of them instead of each.
MAX_SINGLE_NOTICES = 5
JOB = "assignments"
_LIVE = (SlotState.OPEN, SlotState.CLAIMED)

Seen = list[Any]


def make_plan(
    *,
    actor: User,
    project: Project,
    action: str,
    slots: Sequence[int],
    to: Sequence[str] = (),
    priority: int | None = None,
    reason: str = "",
) -> AssignmentPlan:
    """Preview a change. Nothing is changed yet; the plan's id is the token that carries it out.

    ``slots``: keys of slots of the project. ``to``: public ids of people; where there are several, each slot goes to
    the one who may take it and has least. Raises Denied, or Invalid where something is missing or makes no sense.
    """
    require_administrator(actor=actor, project=project)
    if action not in PlanAction.values:
        raise Invalid(f"There is no such action; there are: {', '.join(PlanAction.values)}.")
    if len(reason) > 500 or "\x00" in reason:
        raise Invalid("The reason has at most 500 characters, none of them NUL.")
    if not slots:
        raise Invalid("Nothing is selected; tick items, or choose all that the list shows.")
    if len(slots) > MAX_SLOTS:
        raise Invalid(f"More than {MAX_SLOTS:,} items are selected; narrow the list down and do it in parts.")
    people = _people(project, to)
    if action in (PlanAction.REASSIGN, PlanAction.HAND_OVER) and not people:
        raise Invalid("Say who is to have them.")
    if action == PlanAction.HAND_OVER and len(people) != 1:
        raise Invalid("A dialogue has one owner; choose one person.")
    if action == PlanAction.PRIORITISE and priority not in Priority.values:
        raise Invalid("Choose a priority.")
    rows = _load(project, slots)
    items, refused = _PLANNERS[PlanAction(action)](project, rows, people, priority)
    return AssignmentPlan.objects.create(
        project=project,
        actor=actor,
        action=action,
        parameters={"to": [one.public_id for one, _ in people], "priority": priority, "reason": reason.strip()},
        items=items,
        refused=refused,
    )


def load_plan(*, actor: User, project: Project, public_id: str) -> AssignmentPlan:
    """A plan of the project. Raises Denied, Hidden."""
    require_administrator(actor=actor, project=project)
    plan = AssignmentPlan.objects.filter(project=project, public_id=public_id).select_related("actor", "job").first()
    if plan is None:
        raise Hidden("There is no such change in this project.")
    return plan


def confirm_plan(*, actor: User, project: Project, public_id: str) -> AssignmentPlan:
    """Carry a plan out as it was previewed, once; confirmed again, it stays as it is.

    Raises Denied, Hidden, or Conflict (``changed``: why) where anything has moved or it holds nothing.
    """
    load_plan(actor=actor, project=project, public_id=public_id)
    with transaction.atomic():
        plan = AssignmentPlan.objects.select_for_update(of=("self",)).get(project=project, public_id=public_id)
        if plan.confirmed_at is not None:
            return plan
        if not plan.items:
            raise Conflict("None of the selected items can be changed like this; choose others.")
        changed = _changed(plan)
        if changed:
            raise _moved(changed)
        plan.confirmed_at = timezone.now()
        if len(plan.items) > AT_ONCE:
            plan.job = start_job(actor=actor, project=project, kind=JOB, parameters={"plan": plan.pk})
        else:
            plan.result = {"done": len(plan.items), "skipped": []}
            seen, given = seen_of(plan), _given(plan)
            with notify_losses_last():
                for slot in _in_order(plan):
                    try:
                        _act(actor, plan, slot, seen[slot.pk], given)
                    except DomainError as error:
                        # It moved between the look and the act: all of it is taken back.
                        raise _moved([f"{slot.dialogue.external_id}: {error.sentence}"]) from None
            notify_plan(plan=plan, given=_many(given))
        plan.save(update_fields=["confirmed_at", "job", "result"])
        append_event(
            actor=actor,
            project=project,
            kind="assignments.changed",
            after={
                "plan": plan.public_id,
                "action": plan.action,
                "items": len(plan.items),
                "to": plan.parameters["to"],
                "reason": plan.parameters["reason"],
            },
        )
    return plan


@job_kind(JOB, "Changing assignments")
def _run(running: Running) -> dict[str, Any]:
    plan = AssignmentPlan.objects.select_related("project", "actor").get(pk=running.job.parameters["plan"])
    seen = seen_of(plan)
    order = [row[0] for row in plan.items]
    at: int = running.checkpoint.get("at", 0)
    skipped: list[list[str]] = running.checkpoint.get("skipped", [])
    left_out: int = running.checkpoint.get("left_out", 0)
    given, missed = _given(plan), Tally[str](running.checkpoint.get("missed", {}))
    while at < len(order):
        with running.chunk() as chunk, notify_losses_last():
            for slot in _slots(order[at : at + CHUNK]):
                try:
                    with transaction.atomic(), notify_losses_last():
                        _act(plan.actor, plan, slot, seen[slot.pk], given)
                except DomainError as error:
                    left_out += 1
                    # A checkpoint is JSON: its keys are texts.
                    missed[str(seen[slot.pk][1])] += 1
                    if len(skipped) < MAX_LISTED:
                        skipped = [*skipped, [slot.dialogue.external_id, error.sentence]]
            at = min(at + CHUNK, len(order))
            state = {"at": at, "skipped": skipped, "left_out": left_out, "missed": missed}
            chunk.advance(done=at, total=len(order), checkpoint=state)
            result = {"done": at - left_out, "skipped": skipped, "left_out": left_out}
            AssignmentPlan.objects.filter(pk=plan.pk).update(result=result)
            if at == len(order):
                notify_plan(plan=plan, given=_many(given), missed=missed)
    return {"done": at - left_out, "left_out": left_out}


def seen_of(plan: AssignmentPlan) -> dict[int, Seen]:
    """Slot → the plan's line of it."""
    return {row[0]: row for row in plan.items}


# --- what is planned --------------------------------------------------------------------------------------------------

_People = list[tuple[User, frozenset[Role]]]
_Plan = tuple[list[Seen], list[list[str]]]


def _reassigning(project: Project, slots: list[Slot], people: _People, priority: int | None) -> _Plan:
    """Each slot to whoever of ``people`` may take it and has least to do."""
    load = _loads(project, [one for one, _ in people])
    held = _held([slot.cycle_id for slot in slots], [one for one, _ in people])
    promised = _promised(slots, [one for one, _ in people])
    absent = absent_people(project)
    items: list[Seen] = []
    refused: list[list[str]] = []
    for slot in slots:
        if slot.state not in _LIVE:
            refused.append([slot.dialogue.external_id, "It is done or cancelled."])
            continue
        reserved, slot.reserved_for_id = slot.reserved_for_id, None
        stage, why, chosen = stage_of(slot), "", None
        for person, roles in sorted(people, key=lambda pair: load[pair[0].pk]):
            mine = held.get((slot.cycle_id, person.pk), [])
            no = refusal(person=person, roles=roles, slot=slot, stage=stage, held=mine)
            if person.pk in absent:
                no = f"They are {absent[person.pk]}; what is reserved for them is opened to all."
            elif not no and slot.holder_id == person.pk:
                no = "They are at work on it already."
            elif not no and reserved == person.pk:
                no = "It is reserved for them already."
            elif not no and (slot.stage_run_id, person.pk) in promised:
                no = "The other review of this item is reserved for them."
            if not no:
                chosen = person
                break
            why = why or f"{person}: {no}"
        slot.reserved_for_id = reserved
        if chosen is None:
            refused.append([slot.dialogue.external_id, why])
            continue
        load[chosen.pk] += 1
        promised.add((slot.stage_run_id, chosen.pk))
        items.append([slot.pk, chosen.pk, look(PlanAction.REASSIGN, slot)])
    return items, refused


def _freeing(project: Project, slots: list[Slot], people: _People, priority: int | None) -> _Plan:
    items, refused = [], []
    for slot in slots:
        if slot.state in _LIVE and (slot.holder_id or slot.reserved_for_id):
            items.append([slot.pk, None, look(PlanAction.FREE, slot)])
        else:
            refused.append([slot.dialogue.external_id, "Nobody holds it and it is reserved for nobody."])
    return items, refused


def _prioritising(project: Project, slots: list[Slot], people: _People, priority: int | None) -> _Plan:
    items, refused, there = [], [], set()
    for slot in slots:
        if slot.dialogue_id in there:
            continue
        if slot.state != SlotState.OPEN:
            refused.append([slot.dialogue.external_id, "Somebody is at work on it, so nothing of it waits in a queue."])
        elif slot.priority == priority:
            refused.append([slot.dialogue.external_id, "It has this priority already."])
        else:
            there.add(slot.dialogue_id)
            items.append([slot.pk, None, look(PlanAction.PRIORITISE, slot)])
    return items, refused


def _handing_over(project: Project, slots: list[Slot], people: _People, priority: int | None) -> _Plan:
    [(person, _)] = people
    items, refused, there = [], [], set()
    for slot in slots:
        if slot.dialogue_id in there:
            continue
        there.add(slot.dialogue_id)
        if slot.dialogue.owner_id == person.pk:
            refused.append([slot.dialogue.external_id, f"{person} owns it already."])
        else:
            items.append([slot.pk, person.pk, look(PlanAction.HAND_OVER, slot)])
    return items, refused


_PLANNERS = {
    PlanAction.REASSIGN: _reassigning,
    PlanAction.FREE: _freeing,
    PlanAction.PRIORITISE: _prioritising,
    PlanAction.HAND_OVER: _handing_over,
}


def look(action: str, slot: Slot) -> str:
    """What of a slot an action depends on, as a text that differs when it does."""
    if action == PlanAction.HAND_OVER:
        return f"owner {slot.dialogue.owner_id}"
    if action == PlanAction.PRIORITISE:
        return f"{slot.state} {slot.priority}"
    return f"{slot.state} {slot.holder_id} {slot.reserved_for_id}"


# --- what is done -----------------------------------------------------------------------------------------------------


def _act(actor: User, plan: AssignmentPlan, slot: Slot, seen: Seen, given: Mapping[int, int]) -> None:
    """One line of a plan, in the caller's transaction. Raises a DomainError where it has moved."""
    # Looked at under the locks under which it is changed: a claim that is just being made comes before or after.
    dialogue = lock_dialogue(slot.dialogue_id)
    fresh = lock_slot(slot.pk)
    fresh.dialogue, fresh.project = dialogue, plan.project
    if look(plan.action, fresh) != seen[2]:
        raise Conflict(_what_moved(fresh))
    reason, tell = plan.parameters["reason"], given.get(seen[1], 0) <= MAX_SINGLE_NOTICES
    if plan.action == PlanAction.REASSIGN:
        changes.reassign(actor=actor, slot=fresh, to=User.objects.get(pk=seen[1]), reason=reason, tell=tell)
    elif plan.action == PlanAction.FREE:
        changes.free_claim(actor=actor, slot=fresh, reason=reason)
    elif plan.action == PlanAction.HAND_OVER:
        to = User.objects.get(pk=seen[1])
        changes.hand_over(actor=actor, dialogue=fresh.dialogue, to=to, reason=reason, tell=tell)
    else:
        priority = Priority(plan.parameters["priority"])
        changes.prioritise(actor=actor, dialogue=fresh.dialogue, priority=priority)


def _given(plan: AssignmentPlan) -> dict[int, int]:
    """How many items the plan gives to each person."""
    return dict(Tally(row[1] for row in plan.items if row[1] is not None))


def _many(given: Mapping[int, int]) -> dict[int, int]:
    return {person: count for person, count in given.items() if count > MAX_SINGLE_NOTICES}


def _changed(plan: AssignmentPlan) -> list[str]:
    seen = seen_of(plan)
    return [
        f"{slot.dialogue.external_id}: {_what_moved(slot)}"
        for slot in _slots(list(seen))
        if look(plan.action, slot) != seen[slot.pk][2]
    ]


def _what_moved(slot: Slot) -> str:
    if slot.state == SlotState.CLAIMED:
        return f"{slot.holder} is at work on it now."
    if slot.state == SlotState.DONE:
        return "it has been handed in."
    if slot.state == SlotState.CANCELLED:
        return "it has begun anew."
    return "its holder, priority or owner is another one now."


def _moved(changed: list[str]) -> Conflict:
    many = "One item has" if len(changed) == 1 else f"{len(changed)} items have"
    return Conflict(
        f"{many} changed since the preview, so nothing was done: {changed[0]} Preview it again.",
        changed=changed[:MAX_LISTED],
    )


def _in_order(plan: AssignmentPlan) -> list[Slot]:
    """The plan's slots in the order in which dialogues are locked everywhere."""
    return sorted(_slots([row[0] for row in plan.items]), key=lambda slot: (slot.dialogue_id, slot.pk))


# --- reading ----------------------------------------------------------------------------------------------------------


def _slots(keys: Iterable[int]) -> list[Slot]:
    out: list[Slot] = []
    for portion in in_portions(list(keys)):
        out += (
            Slot.objects.filter(pk__in=portion)
            .select_related("dialogue__project", "project", "protocol", "stage_run", "holder", "reserved_for")
            .defer("protocol__definition", "dialogue__search_text")
            .order_by("pk")
        )
    return out


def _load(project: Project, keys: Sequence[int]) -> list[Slot]:
    """The project's own among them; what is another's, or hidden, is not there."""
    return [
        slot for slot in _slots(dict.fromkeys(keys)) if slot.project_id == project.pk and slot.state != SlotState.HIDDEN
    ]


def _people(project: Project, public_ids: Sequence[str]) -> _People:
    held: dict[int, set[Role]] = {}
    people: dict[int, User] = {}
    members = Membership.objects.active().filter(project=project, user__public_id__in=[str(one) for one in public_ids])
    for member in members.select_related("user").order_by("user_id"):
        people[member.user_id] = member.user
        held.setdefault(member.user_id, set()).add(Role(member.role))
    if len(people) != len(set(public_ids)):
        raise Invalid("Somebody among those you chose is no member of this project any more.")
    return [(person, frozenset(held[key])) for key, person in people.items()]


def _loads(project: Project, people: Sequence[User]) -> dict[int, int]:
    """How much each person holds or has reserved for them."""
    load = {person.pk: 0 for person in people}
    if len(people) > 1:
        reserved = Slot.objects.filter(project=project, state=SlotState.OPEN, reserved_for__in=people).order_by()
        for key, count in reserved.values_list("reserved_for_id").annotate(Count("id")):
            load[key] += count
        claimed = Slot.objects.filter(project=project, state=SlotState.CLAIMED, holder__in=people).order_by()
        for key, count in claimed.values_list("holder_id").annotate(Count("id")):
            load[key] += count
    return load


def _held(cycles: Sequence[int], people: Sequence[User]) -> dict[tuple[int, int], list[HeldSlot]]:
    out: dict[tuple[int, int], list[HeldSlot]] = {}
    for portion in in_portions(sorted(set(cycles))):
        rows = Slot.objects.filter(cycle_id__in=portion, holder__in=people)
        columns = rows.values_list("cycle_id", "holder_id", "pk", "stage_run_id", "stage", "round")
        for cycle, holder, slot, run, stage, number in columns:
            out.setdefault((cycle, holder or 0), []).append(HeldSlot(slot, run, stage, number))
    return out


def _promised(slots: Sequence[Slot], people: Sequence[User]) -> set[tuple[int, int]]:
    """(stage run, person) of which a slot is reserved for the person."""
    out: set[tuple[int, int]] = set()
    for portion in in_portions(sorted({slot.stage_run_id for slot in slots})):
        rows = Slot.objects.filter(stage_run_id__in=portion, state=SlotState.OPEN, reserved_for__in=people)
        out.update((run, person or 0) for run, person in rows.values_list("stage_run_id", "reserved_for_id"))
    return out
