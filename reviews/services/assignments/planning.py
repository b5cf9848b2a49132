"""Decides what a plan will change: which items, for whom, and which items can't be changed and why.

Nothing is changed here. ``look`` says how an item looked, so that confirming can tell whether it has changed.
"""

from collections import Counter as Tally
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _

from annotator.core.tags import MAX_TAGS
from annotator.models import Project, User
from annotator.models.content import DialogueStatus
from annotator.services.access.blindness import blind_to
from annotator.services.dialogues.tags import read_tags
from annotator.services.history.event_chain import in_portions
from reviews.models import ON_DIALOGUES, CycleState, PlanAction, Slot, SlotState, StageRun, StageRunState
from reviews.services.assignments.plan_items import (
    Item,
    People,
    Refused,
    read_loads,
)
from reviews.services.assignments.takers import read_takers

LIVE = (SlotState.OPEN, SlotState.CLAIMED)

#: A line of a plan: key of the item, key of a person or None, how the item looked.
Seen = list[Any]
_Plan = tuple[list[Seen], Refused]


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    actor: User
    project: Project
    people: People = field(default_factory=list)
    priority: int | None = None
    stage: str = ""
    tags: Sequence[str] = ()
    #: Whether people also get what does not fit their languages or skills.
    all_the_same: bool = False


@dataclass(frozen=True)
class Facts:
    """What a look needs to know about dialogues, by key."""

    tags: dict[int, list[str]]
    #: Slots of the active cycle, by state.
    slots: dict[int, Tally[str]]


def read_facts(action: str, items: Sequence[Item]) -> Facts:
    """Return the facts that an action depends on; none for actions on slots, which have them in their rows."""
    keys = [item.dialogue.pk for item in items] if action in ON_DIALOGUES else []
    if action != PlanAction.SEND_BACK:
        return Facts(read_tags(keys), {})
    slots: dict[int, Tally[str]] = {}
    for portion in in_portions(keys):
        rows = Slot.objects.filter(dialogue__in=portion, cycle__state=CycleState.ACTIVE).order_by()
        for key, state, count in rows.values_list("dialogue_id", "state").annotate(Count("id")):
            slots.setdefault(key, Tally())[state] = count
    return Facts({}, slots)


def look(action: str, item: Item, facts: Facts, tags: Sequence[str] = ()) -> str:
    """Return what an action depends on in an item, as a text to compare. ``tags``: those of the plan."""
    dialogue, slot = item.dialogue, item.slot
    if action == PlanAction.HAND_OVER:
        return f"owner {dialogue.owner_id}"
    if slot is None:
        if action == PlanAction.SEND_BACK:
            counts = facts.slots.get(dialogue.pk, Tally())
            return f"{dialogue.status} {dialogue.stage} {counts['claimed']} {counts['done']}"
        return "tags " + " ".join(name for name in facts.tags.get(dialogue.pk, ()) if name in tags)
    if action == PlanAction.PRIORITISE:
        return f"{slot.state} {slot.priority}"
    return f"{slot.state} {slot.holder_id} {slot.reserved_for_id}"


def what_changed(action: str, item: Item) -> str:
    """Return how an item differs from its look, as a sentence."""
    slot = item.slot
    if action == PlanAction.SEND_BACK:
        return _("It was reviewed, claimed or moved to another stage.")
    if action == PlanAction.HAND_OVER:
        return _("Its owner has changed.")
    if slot is None:
        return _("Its tags have changed.")
    if slot.state == SlotState.CLAIMED:
        return _("%(person)s is now working on it.") % {"person": slot.holder}
    if slot.state == SlotState.DONE:
        return _("It has been submitted.")
    if slot.state == SlotState.CANCELLED:
        return _("Its stage has restarted.")
    return _("Its assignee, priority or owner has changed.")


def blind_items(actor: User, action: str, items: Sequence[Item]) -> set[int]:
    """Return the keys of items whose tags an action would change, but which the actor reviews blind."""
    out: set[int] = set()
    if action in (PlanAction.TAG, PlanAction.UNTAG):
        for portion in in_portions([item.key for item in items]):
            out |= blind_to(actor=actor, dialogues=list(portion))
    return out


def why_blind() -> str:
    """Return why the tags of such an item are not changed, as a sentence."""
    return _("You review it in a blind stage, so its tags are hidden from you until the stage ends.")


def plan_items(action: PlanAction, items: Sequence[Item], asked: Request) -> _Plan:
    """Return the lines of the plan, and the items that can't be changed."""
    if action in ON_DIALOGUES:
        return _PLANNERS_OF_DIALOGUES[action](action, items, asked)
    return _PLANNERS[action]([item.slot for item in items if item.slot is not None], asked)


def plan_reassigning(slots: Sequence[Slot], asked: Request) -> _Plan:
    """Assign each slot to the eligible person with the least work.

    If asked for all the same, one whose languages and skills fit comes first, however much work they have.
    """
    people, persons = asked.people, [one for one, _ in asked.people]
    load = read_loads(asked.project, persons)
    takers = read_takers(asked.project, slots, people)
    items: list[Seen] = []
    refused: Refused = []
    for slot in slots:
        if slot.state not in LIVE:
            refused.append([slot.dialogue.external_id, _("It is done or cancelled.")])
            continue
        why, chosen = "", None
        for person, roles in _by_load(people, load, takers.unfit(slot)):
            no = takers.why_not(slot, person, roles, all_the_same=asked.all_the_same)
            if not no:
                chosen = person
                break
            why = why or f"{person}: {no}"
        if chosen is None:
            refused.append([slot.dialogue.external_id, why])
            continue
        load[chosen.pk] += 1
        takers.promised.add((slot.stage_run_id, chosen.pk))
        items.append([slot.pk, chosen.pk, _look(PlanAction.REASSIGN, slot)])
    return items, refused


def _by_load(people: People, load: Mapping[int, int], last: Collection[int]) -> People:
    """Return people by how much work they have, with those in ``last`` after the others."""
    return sorted(people, key=lambda pair: (pair[0].pk in last, load[pair[0].pk]))


def _look(action: PlanAction, slot: Slot) -> str:
    return look(action, Item(slot.dialogue, slot), Facts({}, {}))


def _freeing(slots: Sequence[Slot], asked: Request) -> _Plan:
    items, refused = [], []
    for slot in slots:
        if slot.state in LIVE and (slot.holder_id or slot.reserved_for_id):
            items.append([slot.pk, None, _look(PlanAction.FREE, slot)])
        else:
            refused.append([slot.dialogue.external_id, _("It is already open to everyone.")])
    return items, refused


def _prioritising(slots: Sequence[Slot], asked: Request) -> _Plan:
    items, refused, there = [], [], set()
    for slot in slots:
        if slot.dialogue_id in there:
            continue
        if slot.state != SlotState.OPEN:
            refused.append([slot.dialogue.external_id, _("It isn’t waiting: somebody is working on it.")])
        elif slot.priority == asked.priority:
            refused.append([slot.dialogue.external_id, _("It already has this priority.")])
        else:
            there.add(slot.dialogue_id)
            items.append([slot.pk, None, _look(PlanAction.PRIORITISE, slot)])
    return items, refused


def _handing_over(slots: Sequence[Slot], asked: Request) -> _Plan:
    [(person, __)] = asked.people
    items, refused, there = [], [], set()
    for slot in slots:
        if slot.dialogue_id in there:
            continue
        there.add(slot.dialogue_id)
        if slot.dialogue.owner_id == person.pk:
            refused.append([slot.dialogue.external_id, _("%(person)s already owns it.") % {"person": person}])
        else:
            items.append([slot.pk, person.pk, _look(PlanAction.HAND_OVER, slot)])
    return items, refused


def _sending_back(action: PlanAction, chosen: Sequence[Item], asked: Request) -> _Plan:
    facts = read_facts(action, chosen)
    drawn: set[int] = set()
    for portion in in_portions([item.dialogue.pk for item in chosen]):
        runs = StageRun.objects.filter(cycle__dialogue__in=portion, state=StageRunState.DRAWN)
        drawn.update(runs.values_list("cycle__dialogue", flat=True))
    items: list[Seen] = []
    refused: Refused = []
    for item in chosen:
        dialogue, counts = item.dialogue, facts.slots.get(item.dialogue.pk, Tally())
        here = (dialogue.status, dialogue.stage) == (DialogueStatus.IN_REVIEW, asked.stage)
        if dialogue.status == DialogueStatus.CANDIDATE:
            why = _("It isn’t in review yet.")
        elif counts[SlotState.CLAIMED]:
            why = _("Somebody has claimed it. Open it to everyone first.")
        elif dialogue.pk in drawn:
            why = _("It is in a draw that is in progress. Try again in a moment.")
        elif here and not counts[SlotState.DONE]:
            why = _("It already waits in this stage, without a review.")
        else:
            items.append([dialogue.pk, None, look(action, item, facts)])
            continue
        refused.append([dialogue.external_id, why])
    return items, refused


def _tagging(action: PlanAction, chosen: Sequence[Item], asked: Request) -> _Plan:
    facts = read_facts(action, chosen)
    blind = blind_items(asked.actor, action, chosen)
    items: list[Seen] = []
    refused: Refused = []
    for item in chosen:
        key = item.dialogue.pk
        has = set(asked.tags) & set(facts.tags.get(key, ()))
        if key in blind:
            # Before anything that would tell which tags it has.
            why = why_blind()
        elif action == PlanAction.TAG and len(has) == len(asked.tags):
            why = _("It already has these tags.")
        elif action == PlanAction.UNTAG and not has:
            why = _("It has none of these tags.")
        elif action == PlanAction.TAG and (count := len({*asked.tags, *facts.tags.get(key, ())})) > MAX_TAGS:
            sentence = _("It would have %(count)s tags. A dialogue may have at most %(most)s.")
            why = sentence % {"count": count, "most": MAX_TAGS}
        else:
            items.append([key, None, look(action, item, facts, asked.tags)])
            continue
        refused.append([item.dialogue.external_id, why])
    return items, refused


_PLANNERS: dict[PlanAction, Callable[[Sequence[Slot], Request], _Plan]] = {
    PlanAction.REASSIGN: plan_reassigning,
    PlanAction.FREE: _freeing,
    PlanAction.PRIORITISE: _prioritising,
    PlanAction.HAND_OVER: _handing_over,
}
_PLANNERS_OF_DIALOGUES: dict[PlanAction, Callable[[PlanAction, Sequence[Item], Request], _Plan]] = {
    PlanAction.SEND_BACK: _sending_back,
    PlanAction.TAG: _tagging,
    PlanAction.UNTAG: _tagging,
}
