"""The items of a plan, which are slots or dialogues, and the people who may get them: read in few queries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count
from django.utils.translation import gettext as _

from annotator.errors import Invalid
from annotator.models import Dialogue, Membership, Project, Role, User
from annotator.models.content import GoldRole
from annotator.services.history.event_chain import in_portions
from reviews.models import ON_DIALOGUES, CoAuthor, PlanAction, Slot, SlotState
from reviews.services.queue.eligibility import HeldSlot

#: Refused and skipped items with their reasons: [[external id, why], …].
Refused = list[list[str]]
#: People with their roles.
People = list[tuple[User, frozenset[Role]]]


@dataclass(frozen=True)
class Item:
    """An item of a plan. ``slot``: None for actions on dialogues."""

    dialogue: Dialogue
    slot: Slot | None = None

    @property
    def key(self) -> int:
        """The key in the plan: that of the slot, or else of the dialogue."""
        return self.dialogue.pk if self.slot is None else self.slot.pk


def read_items(action: str, keys: Iterable[int]) -> list[Item]:
    """Return the items with these keys, in the order of the keys."""
    if action in ON_DIALOGUES:
        return [Item(dialogue) for dialogue in _dialogues(keys)]
    return [Item(slot.dialogue, slot) for slot in read_slots(keys)]


def items_in_project(
    project: Project, action: str, *, slots: Sequence[int], dialogues: Sequence[int]
) -> tuple[list[Item], Refused]:
    """Return the items that these slots and dialogues of the project are for an action, and those refused at once."""
    chosen = [slot for slot in read_slots(dict.fromkeys(slots)) if slot.project_id == project.pk]
    chosen = [slot for slot in chosen if slot.state != SlotState.HIDDEN]
    keys = [*dialogues, *(slot.dialogue_id for slot in chosen if action in ON_DIALOGUES)]
    rows = [row for row in _dialogues(dict.fromkeys(keys)) if row.project_id == project.pk and row.published]
    rows = [row for row in rows if row.archived_at is None]
    refused: Refused = []
    if action not in (PlanAction.TAG, PlanAction.UNTAG):
        refused = [[row.external_id, _("It is a gold item.")] for row in rows if row.gold_role == GoldRole.GOLD]
        rows = [row for row in rows if row.gold_role != GoldRole.GOLD]
    if action in ON_DIALOGUES:
        return [Item(row) for row in rows], refused
    found, without = _slots_of(rows, action)
    return [Item(slot.dialogue, slot) for slot in [*chosen, *found]], [*refused, *without]


def _slots_of(dialogues: Sequence[Dialogue], action: str) -> tuple[list[Slot], Refused]:
    """Return the slots that an action on these dialogues changes, and the dialogues without any."""
    keys: dict[int, list[int]] = {}
    busy: set[int] = set()
    any_state = action == PlanAction.HAND_OVER
    for portion in in_portions([row.pk for row in dialogues]):
        rows = Slot.objects.filter(dialogue__in=portion, is_gold=False).exclude(state=SlotState.HIDDEN)
        if not any_state:
            rows = rows.filter(state__in=[SlotState.OPEN, SlotState.CLAIMED])
        for dialogue, slot, state in rows.order_by("pk").values_list("dialogue_id", "pk", "state"):
            if any_state:
                # The owner belongs to the dialogue: its newest slot is enough.
                keys[dialogue] = [slot]
            elif state == SlotState.OPEN or action == PlanAction.FREE:
                keys.setdefault(dialogue, []).append(slot)
            else:
                busy.add(dialogue)
    refused: Refused = []
    for row in dialogues:
        if row.pk in keys:
            continue
        if row.pk in busy:
            refused.append([row.external_id, _("It isn’t waiting: somebody is working on it.")])
        elif any_state:
            refused.append([row.external_id, _("It isn’t in review yet.")])
        else:
            refused.append([row.external_id, _("It isn’t waiting for a review.")])
    return read_slots(slot for found in keys.values() for slot in found), refused


def read_slots(keys: Iterable[int]) -> list[Slot]:
    """Return the slots with these keys, in their order."""
    out: list[Slot] = []
    for portion in in_portions(list(keys)):
        out += (
            Slot.objects.filter(pk__in=portion)
            .select_related("dialogue__project", "project", "protocol", "stage_run", "holder", "reserved_for")
            .defer("protocol__definition", "dialogue__search_text")
            .order_by("pk")
        )
    return out


def _dialogues(keys: Iterable[int]) -> list[Dialogue]:
    out: list[Dialogue] = []
    for portion in in_portions(list(keys)):
        rows = Dialogue.objects.filter(pk__in=portion).select_related("project").defer("search_text")
        out += rows.order_by("pk")
    return out


# --- people -----------------------------------------------------------------------------------------------------------


def read_people(project: Project, public_ids: Sequence[str]) -> People:
    """Return members with their roles. Raises Invalid if one of them is not a member."""
    held: dict[int, set[Role]] = {}
    people: dict[int, User] = {}
    members = Membership.objects.active().filter(project=project, user__public_id__in=[str(one) for one in public_ids])
    for member in members.select_related("user").order_by("user_id"):
        people[member.user_id] = member.user
        held.setdefault(member.user_id, set()).add(Role(member.role))
    if len(people) != len(set(public_ids)):
        raise Invalid(_("Somebody you chose is no longer a member of this project. Reload the page."))
    return [(person, frozenset(held[key])) for key, person in people.items()]


def read_loads(project: Project, people: Sequence[User]) -> dict[int, int]:
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


def read_held(cycles: Sequence[int], people: Sequence[User]) -> dict[tuple[int, int], list[HeldSlot]]:
    """Return (cycle, person) → what the person has claimed or reviewed in the cycle."""
    out: dict[tuple[int, int], list[HeldSlot]] = {}
    for portion in in_portions(sorted(set(cycles))):
        rows = Slot.objects.filter(cycle_id__in=portion, holder__in=people)
        columns = rows.values_list("cycle_id", "holder_id", "pk", "stage_run_id", "stage", "round")
        for cycle, holder, slot, run, stage, number in columns:
            out.setdefault((cycle, holder or 0), []).append(HeldSlot(slot, run, stage, number))
    return out


def read_parts(slots: Sequence[Slot], people: Sequence[User]) -> dict[int, set[int]]:
    """Return person → the dialogues of these slots of which the person wrote or chose a part."""
    out: dict[int, set[int]] = {}
    for portion in in_portions(sorted({slot.dialogue_id for slot in slots})):
        rows = CoAuthor.objects.filter(dialogue_id__in=portion, person__in=people)
        for person, dialogue in rows.values_list("person_id", "dialogue_id"):
            out.setdefault(person, set()).add(dialogue)
    return out


def read_promised(slots: Sequence[Slot], people: Sequence[User]) -> set[tuple[int, int]]:
    """Return (stage run, person) for each slot that is reserved for a person."""
    out: set[tuple[int, int]] = set()
    for portion in in_portions(sorted({slot.stage_run_id for slot in slots})):
        rows = Slot.objects.filter(stage_run_id__in=portion, state=SlotState.OPEN, reserved_for__in=people)
        out.update((run, person or 0) for run, person in rows.values_list("stage_run_id", "reserved_for_id"))
    return out
