"""Changes of many assignments at once: previewed, then carried out as previewed, or refused if something changed.

A plan keeps each slot as it was in the preview. Confirming compares: if anything differs, nothing is changed and the
sentences say what. A few changes are made in one transaction; many by a job in chunks, which skips and reports slots
that change in the meantime.
"""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.text import gettext_noop
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
#: A plan with more items than this is carried out by a job, in chunks.
AT_ONCE = 100
CHUNK = 25
#: Refused and skipped slots that are kept with their reasons; the others are counted.
MAX_LISTED = 200
#: People who get more items than this get one notice for all of them.
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

    ``slots``: keys of slots of the project. ``to``: public ids of people; if there are several, each slot goes to the
    eligible person with the fewest. Raises Denied, or Invalid if something is missing or invalid.
    """
    require_administrator(actor=actor, project=project)
    if action not in PlanAction.values:
        raise Invalid(_("Choose one of these actions: %(actions)s.") % {"actions": ", ".join(PlanAction.values)})
    if len(reason) > 500 or "\x00" in reason:
        raise Invalid(_("The reason may have at most 500 characters and no NUL character."))
    if not slots:
        raise Invalid(_("No items selected. Select items in the list, or all items that match the filters."))
    if len(slots) > MAX_SLOTS:
        sentence = _("More than %(limit)s items are selected. Filter the list and make the change in parts.")
        raise Invalid(sentence % {"limit": f"{MAX_SLOTS:,}"})
    people = _people(project, to)
    if action in (PlanAction.REASSIGN, PlanAction.HAND_OVER) and not people:
        raise Invalid(_("Choose who gets the items."))
    if action == PlanAction.HAND_OVER and len(people) != 1:
        raise Invalid(_("A dialogue has one owner. Choose one person."))
    if action == PlanAction.PRIORITISE and priority not in Priority.values:
        raise Invalid(_("Choose a priority."))
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
    """Return a plan of the project. Raises Denied, Hidden."""
    require_administrator(actor=actor, project=project)
    plan = AssignmentPlan.objects.filter(project=project, public_id=public_id).select_related("actor", "job").first()
    if plan is None:
        raise Hidden(_("This change doesn’t exist in the project."))
    return plan


def confirm_plan(*, actor: User, project: Project, public_id: str) -> AssignmentPlan:
    """Carry a plan out as previewed, once; confirming it again changes nothing.

    Raises Denied, Hidden, or Conflict (``changed``: why) if anything has changed or the plan is empty.
    """
    load_plan(actor=actor, project=project, public_id=public_id)
    with transaction.atomic():
        plan = AssignmentPlan.objects.select_for_update(of=("self",)).get(project=project, public_id=public_id)
        if plan.confirmed_at is not None:
            return plan
        if not plan.items:
            raise Conflict(_("None of the selected items can be changed. Select other items."))
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
                        # It changed between the comparison and the change: everything is rolled back.
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


@job_kind(JOB, gettext_noop("Change assignments"))
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
    """Return slot → its line in the plan."""
    return {row[0]: row for row in plan.items}


# --- what is planned --------------------------------------------------------------------------------------------------

_People = list[tuple[User, frozenset[Role]]]
_Plan = tuple[list[Seen], list[list[str]]]


def _reassigning(project: Project, slots: list[Slot], people: _People, priority: int | None) -> _Plan:
    """Assign each slot to the eligible person with the least work."""
    load = _loads(project, [one for one, _ in people])
    held = _held([slot.cycle_id for slot in slots], [one for one, _ in people])
    promised = _promised(slots, [one for one, _ in people])
    absent = absent_people(project)
    items: list[Seen] = []
    refused: list[list[str]] = []
    for slot in slots:
        if slot.state not in _LIVE:
            refused.append([slot.dialogue.external_id, _("It is done or cancelled.")])
            continue
        reserved, slot.reserved_for_id = slot.reserved_for_id, None
        stage, why, chosen = stage_of(slot), "", None
        for person, roles in sorted(people, key=lambda pair: load[pair[0].pk]):
            mine = held.get((slot.cycle_id, person.pk), [])
            no = refusal(person=person, roles=roles, slot=slot, stage=stage, held=mine)
            if person.pk in absent:
                no = _("Can’t assign items to somebody who is %(state)s.") % {"state": absent[person.pk]}
            elif not no and slot.holder_id == person.pk:
                no = _("Already has it in progress.")
            elif not no and reserved == person.pk:
                no = _("Already assigned to this person.")
            elif not no and (slot.stage_run_id, person.pk) in promised:
                no = _("Another review of this item is assigned to this person.")
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
            refused.append([slot.dialogue.external_id, _("It is already open to everyone.")])
    return items, refused


def _prioritising(project: Project, slots: list[Slot], people: _People, priority: int | None) -> _Plan:
    items, refused, there = [], [], set()
    for slot in slots:
        if slot.dialogue_id in there:
            continue
        if slot.state != SlotState.OPEN:
            refused.append([slot.dialogue.external_id, _("It isn’t waiting: somebody is working on it.")])
        elif slot.priority == priority:
            refused.append([slot.dialogue.external_id, _("It already has this priority.")])
        else:
            there.add(slot.dialogue_id)
            items.append([slot.pk, None, look(PlanAction.PRIORITISE, slot)])
    return items, refused


def _handing_over(project: Project, slots: list[Slot], people: _People, priority: int | None) -> _Plan:
    [(person, __)] = people
    items, refused, there = [], [], set()
    for slot in slots:
        if slot.dialogue_id in there:
            continue
        there.add(slot.dialogue_id)
        if slot.dialogue.owner_id == person.pk:
            refused.append([slot.dialogue.external_id, _("%(person)s already owns it.") % {"person": person}])
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
    """Return what an action depends on in a slot, as a text to compare."""
    if action == PlanAction.HAND_OVER:
        return f"owner {slot.dialogue.owner_id}"
    if action == PlanAction.PRIORITISE:
        return f"{slot.state} {slot.priority}"
    return f"{slot.state} {slot.holder_id} {slot.reserved_for_id}"


# --- what is done -----------------------------------------------------------------------------------------------------


def _act(actor: User, plan: AssignmentPlan, slot: Slot, seen: Seen, given: Mapping[int, int]) -> None:
    """Carry out one line of a plan, in the caller's transaction. Raises a DomainError if it has changed."""
    # Compared under the locks of the change: a simultaneous claim comes before or after.
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
    """Return how many items the plan assigns to each person."""
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
        return _("%(person)s is now working on it.") % {"person": slot.holder}
    if slot.state == SlotState.DONE:
        return _("It has been submitted.")
    if slot.state == SlotState.CANCELLED:
        return _("Its stage has restarted.")
    return _("Its assignee, priority or owner has changed.")


def _moved(changed: list[str]) -> Conflict:
    sentence = ngettext(
        "%(count)s item has changed since the preview, so nothing was changed: %(first)s Update the preview.",
        "%(count)s items have changed since the preview, so nothing was changed: %(first)s Update the preview.",
        len(changed),
    )
    return Conflict(sentence % {"count": len(changed), "first": changed[0]}, changed=changed[:MAX_LISTED])


def _in_order(plan: AssignmentPlan) -> list[Slot]:
    """Return the plan's slots in the order in which dialogues are locked everywhere."""
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
    """Return the slots that belong to the project and are not hidden."""
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
        raise Invalid(_("Somebody you chose is no longer a member of this project. Reload the page."))
    return [(person, frozenset(held[key])) for key, person in people.items()]


def _loads(project: Project, people: Sequence[User]) -> dict[int, int]:
    """Return how many items each person has claimed or reserved."""
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
    """Return (stage run, person) for each slot that is reserved for a person."""
    out: set[tuple[int, int]] = set()
    for portion in in_portions(sorted({slot.stage_run_id for slot in slots})):
        rows = Slot.objects.filter(stage_run_id__in=portion, state=SlotState.OPEN, reserved_for__in=people)
        out.update((run, person or 0) for run, person in rows.values_list("stage_run_id", "reserved_for_id"))
    return out
