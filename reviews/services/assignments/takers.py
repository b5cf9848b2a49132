"""Who can be assigned which slots, and why not, for many slots and people in a fixed number of queries."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotator.core.roles import Role
from annotator.models import Project, User
from annotator.services.abilities import read_abilities
from reviews.models import Slot
from reviews.services.assignments.plan_items import People, read_held, read_parts, read_promised
from reviews.services.queue.abilities import unfit_for
from reviews.services.queue.absence import absent_people
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.eligibility import HeldSlot, refusal
from reviews.services.queue.trainees import in_training


@dataclass(frozen=True)
class Takers:
    """What decides whether people can be assigned some slots; see ``read_takers``."""

    #: (cycle, person) → what they have claimed or reviewed in it.
    held: Mapping[tuple[int, int], list[HeldSlot]]
    #: Person → dialogues of which they wrote or chose a part.
    parts: Mapping[int, Set[int]]
    #: (stage run, person) of reviews that are assigned to people. A caller that assigns more adds to it.
    promised: set[tuple[int, int]]
    #: Person → "paused" or "away".
    absent: Mapping[int, str]
    #: Person → dialogue → why it doesn't fit their languages and skills.
    not_for: Mapping[int, Mapping[int, str]]
    #: People who get only training items now.
    trainees: Set[int]

    def unfit(self, slot: Slot) -> set[int]:
        """Return the keys of people in training, or whose languages and skills the slot's dialogue doesn't fit."""
        return set(self.trainees) | {
            person for person, dialogues in self.not_for.items() if slot.dialogue_id in dialogues
        }

    def why_not(self, slot: Slot, person: User, roles: frozenset[Role], *, all_the_same: bool = False) -> str:
        """Return why the slot can't be assigned to a person, as a sentence; blank if it can.

        ``all_the_same``: even if it doesn't fit their languages and skills, or they are in training.
        """
        mine = self.held.get((slot.cycle_id, person.pk), [])
        # Whom it is reserved for now does not matter: that changes.
        reserved, slot.reserved_for_id = slot.reserved_for_id, None
        parts = self.parts.get(person.pk, frozenset[int]())
        no = refusal(person=person, roles=roles, slot=slot, stage=stage_of(slot), held=mine, parts=parts)
        slot.reserved_for_id = reserved
        if person.pk in self.absent:
            return _("Can’t assign items to somebody who is %(state)s.") % {"state": self.absent[person.pk]}
        if no:
            return no
        if slot.holder_id == person.pk:
            return _("Already has it in progress.")
        if reserved == person.pk:
            return _("Already assigned to this person.")
        if (slot.stage_run_id, person.pk) in self.promised:
            return _("Another review of this item is assigned to this person.")
        if self.trainees & {person.pk} and not all_the_same:
            return _("Gets only training items until the training is passed.")
        return "" if all_the_same else self.not_for.get(person.pk, {}).get(slot.dialogue_id, "")


def read_takers(project: Project, slots: Sequence[Slot], people: People) -> Takers:
    """Return who can be assigned these slots; the slots with ``protocol``."""
    persons = [one for one, _roles in people]
    abilities = read_abilities(project, [one.pk for one in persons])
    return Takers(
        held=read_held([slot.cycle_id for slot in slots], persons),
        parts=read_parts(slots, persons),
        promised=read_promised(slots, persons),
        absent=absent_people(project),
        not_for=unfit_for(abilities, [slot.dialogue_id for slot in slots]),
        trainees=in_training(project, persons),
    )
