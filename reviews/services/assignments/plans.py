"""Changes of many items at once: previewed, then carried out as previewed, or refused if something changed.

A plan keeps each item as it was in the preview. Confirming compares: if anything differs, nothing is changed and the
sentences say what. A few changes are made in one transaction; many by a job in chunks, which skips and reports items
that change in the meantime. An applied plan can be undone by another plan, which is previewed and confirmed alike.
"""

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.text import gettext_noop
from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Project, User
from annotator.services.access.blindness import blind_to
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.dialogues.tags import change_tags, parse_tags
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, start_job
from reviews.models import AssignmentPlan, PlanAction, PlanChange, Priority
from reviews.services.assignments import changes, undo
from reviews.services.assignments.plan_items import Item, items_in_project, read_items, read_people
from reviews.services.assignments.planning import (
    Request,
    Seen,
    blind_items,
    look,
    plan_items,
    read_facts,
    what_changed,
    why_blind,
)
from reviews.services.cycles.start import no_stage_message, supersede_cycle
from reviews.services.protocols.versions import parse, require_version
from reviews.services.queue.claim_rows import lock_slot
from reviews.services.queue.notifications import notify_losses_last, notify_plan

#: Slots of one plan, or dialogues.
MAX_SLOTS = 5000
#: A plan with more items than this is carried out by a job, in chunks.
AT_ONCE = 100
CHUNK = 25
#: Refused and skipped items that are kept with their reasons; the others are counted.
MAX_LISTED = 200
#: People who get more items than this get one notice for all of them.
MAX_SINGLE_NOTICES = 5
JOB = "assignments"


def make_plan(
    *,
    actor: User,
    project: Project,
    action: str,
    slots: Sequence[int] = (),
    dialogues: Sequence[int] = (),
    to: Sequence[str] = (),
    priority: int | None = None,
    stage: str = "",
    tags: Sequence[str] = (),
    reason: str = "",
    all_the_same: bool = False,
) -> AssignmentPlan:
    """Preview a change. Nothing is changed yet; the plan's id is the token that carries it out.

    ``slots``, ``dialogues``: keys of rows of the project. ``to``: public ids of people; if there are several, each slot
    goes to the eligible person with the fewest. ``stage``: key of the stage to send items back to. ``all_the_same``:
    assign also what does not fit people's languages and skills. Raises Denied, or Invalid if something is missing or
    invalid.
    """
    require_administrator(actor=actor, project=project)
    if action not in PlanAction.values:
        raise Invalid(_("Choose one of these actions: %(actions)s.") % {"actions": ", ".join(PlanAction.values)})
    if len(reason) > 500 or "\x00" in reason:
        raise Invalid(_("The reason may have at most 500 characters and no NUL character."))
    if not slots and not dialogues:
        raise Invalid(_("No items selected. Select items in the list, or all items that match the filters."))
    _refuse_too_many(slots)
    _refuse_too_many(dialogues)
    people = read_people(project, to)
    if action in (PlanAction.REASSIGN, PlanAction.HAND_OVER) and not people:
        raise Invalid(_("Choose who gets the items."))
    if action == PlanAction.HAND_OVER and len(people) != 1:
        raise Invalid(_("A dialogue has one owner. Choose one person."))
    if action == PlanAction.PRIORITISE and priority not in Priority.values:
        raise Invalid(_("Choose a priority."))
    if action == PlanAction.SEND_BACK:
        _check_sending_back(project, stage, reason)
    names = parse_tags(tags)
    if action in (PlanAction.TAG, PlanAction.UNTAG) and not names:
        raise Invalid(_("Enter at least one tag."))
    items, refused = items_in_project(project, action, slots=slots, dialogues=dialogues)
    _refuse_too_many(items)
    asked = Request(actor, project, people, priority, stage, names, all_the_same)
    lines, more = plan_items(PlanAction(action), items, asked)
    return AssignmentPlan.objects.create(
        project=project,
        actor=actor,
        action=action,
        parameters={
            "to": [one.public_id for one, _ in people],
            "priority": priority,
            "stage": stage,
            "tags": names,
            "reason": reason.strip(),
            "all_the_same": all_the_same and action == PlanAction.REASSIGN,
        },
        items=lines,
        refused=[*refused, *more],
    )


def make_undo(*, actor: User, project: Project, public_id: str) -> AssignmentPlan:
    """Preview the undo of a plan, and return the plan that carries it out.

    Raises Denied, Hidden, or Conflict if the plan can't be undone (any more).
    """
    plan = load_plan(actor=actor, project=project, public_id=public_id)
    if why := undo.why_not_undone(plan):
        raise Conflict(why)
    lines, refused = undo.plan_undo(actor=actor, plan=plan)
    return AssignmentPlan.objects.create(
        project=project,
        actor=actor,
        action=plan.action,
        undoes=plan,
        parameters=plan.parameters | {"reason": ""},
        items=lines,
        refused=refused,
    )


def _refuse_too_many(chosen: Sequence[object]) -> None:
    if len(chosen) > MAX_SLOTS:
        sentence = _("More than %(limit)s items are selected. Filter the list and make the change in parts.")
        raise Invalid(sentence % {"limit": f"{MAX_SLOTS:,}"})


def _check_sending_back(project: Project, stage: str, reason: str) -> None:
    protocol = parse(require_version(project))
    if not stage:
        raise Invalid(_("Choose the stage that the items go back to."))
    if stage not in {one.key for one in protocol.entry_stages}:
        raise Invalid(no_stage_message(stage, protocol))
    if not reason.strip():
        raise Invalid(_("Enter a reason: the items’ history shows why they were sent back."))


def load_plan(*, actor: User, project: Project, public_id: str) -> AssignmentPlan:
    """Return a plan of the project. Raises Denied, Hidden.

    A colleague's change of tags is hidden from somebody who now reviews one of its dialogues blind.
    """
    require_administrator(actor=actor, project=project)
    rows = AssignmentPlan.objects.filter(project=project, public_id=public_id)
    plan = rows.select_related("actor", "confirmed_by", "job", "project", "undoes").first()
    if plan is not None and plan.actor_id != actor.pk and plan.action in (PlanAction.TAG, PlanAction.UNTAG):
        keys = [line[0] for line in plan.items]
        portions = (keys[at : at + MAX_LISTED] for at in range(0, len(keys), MAX_LISTED))
        if any(blind_to(actor=actor, dialogues=portion) for portion in portions):
            plan = None
    if plan is None:
        raise Hidden(_("This change doesn’t exist in the project."))
    return plan


def recent_plans(*, project: Project) -> list[AssignmentPlan]:
    """Return the changes that can still be undone, newest first, at most 20. For administrators."""
    since = timezone.now() - timedelta(days=undo.UNDO_DAYS)
    rows = AssignmentPlan.objects.filter(project=project, confirmed_at__gte=since, undoes=None)
    rows = rows.exclude(undos__confirmed_at__isnull=False)
    return list(rows.select_related("confirmed_by").defer("items", "refused", "result").order_by("-confirmed_at")[:20])


def confirm_plan(*, actor: User, project: Project, public_id: str) -> AssignmentPlan:
    """Carry a plan out as previewed, once; confirming it again changes nothing.

    Raises Denied, Hidden, or Conflict (``changed``: why) if anything has changed, the plan is empty, or it is an undo
    of a plan that has been undone.
    """
    load_plan(actor=actor, project=project, public_id=public_id)
    with transaction.atomic():
        plan = AssignmentPlan.objects.select_for_update(of=("self",)).get(project=project, public_id=public_id)
        if plan.confirmed_at is not None:
            return plan
        if not plan.items:
            raise Conflict(_("None of the selected items can be changed. Select other items."))
        if plan.undoes_id is not None:
            # Two undos of one plan: the second waits here, and sees that the first is confirmed.
            plan.undoes = AssignmentPlan.objects.select_for_update(of=("self",)).get(pk=plan.undoes_id)
            if why := undo.why_not_undone(plan.undoes):
                raise Conflict(why)
        changed = _changed(actor, plan)
        if changed:
            raise _moved(changed)
        plan.confirmed_at, plan.confirmed_by = timezone.now(), actor
        if len(plan.items) > AT_ONCE:
            plan.job = start_job(actor=actor, project=project, kind=JOB, parameters={"plan": plan.pk})
        else:
            plan.result = {"done": len(plan.items), "skipped": []}
            seen, given = seen_of(plan), _given(plan)
            with notify_losses_last():
                for item in _in_order(plan):
                    try:
                        _act(actor, plan, item, seen[item.key], given)
                    except DomainError as error:
                        # It changed between the comparison and the change: everything is rolled back.
                        raise _moved([f"{item.dialogue.external_id}: {error.sentence}"]) from None
            notify_plan(plan=plan, given=_many(given))
        plan.save(update_fields=["confirmed_at", "confirmed_by", "job", "result"])
        append_event(
            actor=actor,
            project=project,
            kind="assignments.changed" if plan.undoes is None else "assignments.undone",
            after=_recorded(plan),
        )
    return plan


def _recorded(plan: AssignmentPlan) -> dict[str, Any]:
    asked = plan.parameters
    after = {"plan": plan.public_id, "action": plan.action, "items": len(plan.items), "to": asked["to"],
             "reason": asked["reason"]}  # fmt: skip
    # Tags are left out: the history of the project is read by people who review some of the dialogues blind.
    if plan.action == PlanAction.SEND_BACK:
        after["stage"] = asked["stage"]
    if plan.undoes is None and asked.get("all_the_same"):
        after["all_the_same"] = True
    if plan.undoes is not None:
        after["undoes"] = plan.undoes.public_id
    return after


@job_kind(JOB, gettext_noop("Change assignments"))
def _run(running: Running) -> dict[str, Any]:
    plans = AssignmentPlan.objects.select_related("project", "actor", "confirmed_by", "undoes")
    plan = plans.get(pk=running.job.parameters["plan"])
    # Not the person who previewed it: the history says who made the change.
    actor = plan.confirmed_by or plan.actor
    seen = seen_of(plan)
    order = [row[0] for row in plan.items]
    at: int = running.checkpoint.get("at", 0)
    skipped: list[list[str]] = running.checkpoint.get("skipped", [])
    left_out: int = running.checkpoint.get("left_out", 0)
    given, missed = _given(plan), Tally[str](running.checkpoint.get("missed", {}))
    while at < len(order):
        with running.chunk() as chunk, notify_losses_last():
            for item in read_items(plan.action, order[at : at + CHUNK]):
                try:
                    with transaction.atomic(), notify_losses_last():
                        _act(actor, plan, item, seen[item.key], given)
                except DomainError as error:
                    left_out += 1
                    # A checkpoint is JSON: its keys are texts.
                    missed[str(seen[item.key][1])] += 1
                    if len(skipped) < MAX_LISTED:
                        skipped = [*skipped, [item.dialogue.external_id, error.sentence]]
            at = min(at + CHUNK, len(order))
            state = {"at": at, "skipped": skipped, "left_out": left_out, "missed": missed}
            chunk.advance(done=at, total=len(order), checkpoint=state)
            result = {"done": at - left_out, "skipped": skipped, "left_out": left_out}
            AssignmentPlan.objects.filter(pk=plan.pk).update(result=result)
            if at == len(order):
                notify_plan(plan=plan, given=_many(given), missed=missed)
    return {"done": at - left_out, "left_out": left_out}


def seen_of(plan: AssignmentPlan) -> dict[int, Seen]:
    """Return key of an item → its line in the plan."""
    return {row[0]: row for row in plan.items}


# --- in detail --------------------------------------------------------------------------------------------------------


def _act(actor: User, plan: AssignmentPlan, item: Item, seen: Seen, given: Mapping[int, int]) -> None:
    """Carry out one line of a plan, in the caller's transaction. Raises a DomainError if it has changed."""
    # Compared under the locks of the change: a simultaneous claim comes before or after.
    item = _locked(plan, item)
    if blind_items(actor, plan.action, [item]):
        # Before anything that would tell which tags it has.
        raise Conflict(why_blind())
    tell = given.get(seen[1], 0) <= MAX_SINGLE_NOTICES
    if plan.undoes is not None:
        undo.restore(actor=actor, plan=plan.undoes, item=item, tell=tell)
        return
    if look(plan.action, item, read_facts(plan.action, [item]), plan.parameters.get("tags", ())) != seen[2]:
        raise Conflict(what_changed(plan.action, item))
    before = undo.read_states(plan, [item])[item.key]
    _change(actor, plan, item, seen, tell)
    after = undo.read_states(plan, [_locked(plan, item)])[item.key]
    PlanChange.objects.create(plan=plan, item=item.key, before=before, after=after)


def _locked(plan: AssignmentPlan, item: Item) -> Item:
    """Return the item as it is now, locked until the caller's transaction ends."""
    dialogue = lock_dialogue(item.dialogue.pk)
    if item.slot is None:
        return Item(dialogue)
    slot = lock_slot(item.slot.pk)
    slot.dialogue, slot.project = dialogue, plan.project
    return Item(dialogue, slot)


def _change(actor: User, plan: AssignmentPlan, item: Item, seen: Seen, tell: bool) -> None:
    asked, dialogue, slot = plan.parameters, item.dialogue, item.slot
    reason = asked["reason"]
    if plan.action == PlanAction.HAND_OVER:
        to = User.objects.get(pk=seen[1])
        changes.hand_over(actor=actor, dialogue=dialogue, to=to, reason=reason, tell=tell)
    elif plan.action == PlanAction.PRIORITISE:
        changes.prioritise(actor=actor, dialogue=dialogue, priority=Priority(asked["priority"]))
    elif plan.action == PlanAction.SEND_BACK:
        supersede_cycle(
            actor=actor, dialogue=dialogue, reason=reason, if_idle=True, for_owner=True, stage=asked["stage"]
        )
    elif plan.action == PlanAction.TAG:
        change_tags(actor=actor, dialogue=dialogue, add=asked["tags"], reason=reason)
    elif plan.action == PlanAction.UNTAG:
        change_tags(actor=actor, dialogue=dialogue, remove=asked["tags"], reason=reason)
    elif slot is not None and plan.action == PlanAction.REASSIGN:
        changes.reassign(actor=actor, slot=slot, to=User.objects.get(pk=seen[1]), reason=reason, tell=tell)
    elif slot is not None:
        changes.free_claim(actor=actor, slot=slot, reason=reason)


def _given(plan: AssignmentPlan) -> dict[int, int]:
    """Return how many items the plan assigns to each person."""
    return dict(Tally(row[1] for row in plan.items if row[1] is not None))


def _many(given: Mapping[int, int]) -> dict[int, int]:
    return {person: count for person, count in given.items() if count > MAX_SINGLE_NOTICES}


def _changed(actor: User, plan: AssignmentPlan) -> list[str]:
    seen = seen_of(plan)
    items = read_items(plan.action, seen)
    if plan.undoes is not None:
        states = undo.read_states(plan.undoes, items)
        recorded = {change.item: change for change in plan.undoes.changes.all()}
        why = {
            item: undo.why_item_not_undone(plan.undoes, item, recorded[item.key], states[item.key]) for item in items
        }
    else:
        facts, tags = read_facts(plan.action, items), plan.parameters.get("tags", ())
        why = {
            item: "" if look(plan.action, item, facts, tags) == seen[item.key][2] else what_changed(plan.action, item)
            for item in items
        }
    blind = blind_items(actor, plan.action, items)
    why |= {item: why_blind() for item in items if item.key in blind}
    return [f"{item.dialogue.external_id}: {sentence}" for item, sentence in why.items() if sentence]


def _moved(changed: list[str]) -> Conflict:
    sentence = ngettext(
        "%(count)s item has changed since the preview, so nothing was changed: %(first)s Update the preview.",
        "%(count)s items have changed since the preview, so nothing was changed: %(first)s Update the preview.",
        len(changed),
    )
    return Conflict(sentence % {"count": len(changed), "first": changed[0]}, changed=changed[:MAX_LISTED])


def _in_order(plan: AssignmentPlan) -> list[Item]:
    """Return the plan's items in the order in which dialogues are locked everywhere."""
    items = read_items(plan.action, [row[0] for row in plan.items])
    return sorted(items, key=lambda item: (item.dialogue.pk, item.key))
