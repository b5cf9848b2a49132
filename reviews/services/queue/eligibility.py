"""Who may take a slot, with the reason why not. The queues ask the same of the database for many slots at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from annotator.errors import Hidden
from annotator.models import Membership, Project, Role, User
from annotator.services.access.permissions import OVERSEERS
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import Clock
from reviews.core.protocols import AuthorRule, Stage, StageKind
from reviews.models import AssignmentRules, Pause, Slot


def lock_membership(*, actor: User, project: Project) -> tuple[frozenset[Role], datetime]:
    """The actor's roles, and what the database's clock says. Raises Hidden for an outsider.

    The rows stay locked until the caller's transaction ends: a person's claims in a project queue up behind one
    another, so that two windows cannot take two slots at once, and nobody is deactivated in the middle.
    """
    member = lock_eligibility(actor=actor, project=project)
    return member.roles, member.now


class Eligibility(NamedTuple):
    """A member as a claim finds them: their roles, the database's time, and whether anything may restrain claims."""

    roles: frozenset[Role]
    now: datetime
    limited: bool


def lock_eligibility(*, actor: User, project: Project) -> Eligibility:
    """The same, and whether the project pauses anything or limits what one may hold: rarely, so it is only a hint."""
    if not actor.is_active:
        raise Hidden("There is no such project, or you are not a member of it.")
    held = _lock_memberships(project.pk, actor.pk)
    if not held:
        raise Hidden("There is no such project, or you are not a member of it.")
    _, now, limited = held[0]
    return Eligibility(frozenset(Role(role) for role, *_ in held), now, limited)


@compiled
def _lock_memberships(project_id: int, person_id: int) -> QuerySet[Membership, Any]:
    pauses = Pause.objects.filter(project=OuterRef("project"), ended_at=None)
    limits = AssignmentRules.objects.filter(project=OuterRef("project"), most_held__isnull=False)
    held = Membership.objects.live().filter(project=project_id, user=person_id).order_by("pk")
    held = held.select_for_update(no_key=True).annotate(limited=Exists(pauses) | Exists(limits))
    return held.values_list("role", Clock(), "limited")


class HeldSlot(NamedTuple):
    """A slot somebody holds, or has reviewed, in a cycle."""

    slot_id: int
    stage_run_id: int
    stage: str
    round: int


def held_in_cycle(person: User, slot: Slot) -> list[HeldSlot]:
    """What the person holds, or has reviewed, in the slot's cycle."""
    found = Slot.objects.filter(cycle_id=slot.cycle_id, holder=person)
    return [HeldSlot(*row) for row in found.values_list("pk", "stage_run_id", "stage", "round")]


def refusal(
    *, person: User, roles: frozenset[Role], slot: Slot, stage: Stage, held: Sequence[HeldSlot] | None = None
) -> str:
    """Why the person may not take the slot, as a sentence; blank when they may.

    ``held``: what they hold in the slot's cycle, where it is known already.
    """
    if not roles & {Role(role) for role in stage.eligible.roles}:
        words = " or ".join(sorted(Role(role).label.lower() for role in stage.eligible.roles))
        return f"“{stage.title}” takes the role of {words}; an administrator can give it."
    if slot.reserved_for_id is not None and slot.reserved_for_id != person.pk:
        return "This item is reserved for somebody else; an administrator can reassign it."
    if slot.is_gold and roles & OVERSEERS:
        # They may know why; a window that was open before they had the role need not say it.
        return "Senior reviewers and administrators are not given this item; a colleague takes it."
    if slot.is_gold and not slot.claims.filter(person=person).exists():
        # A gold item's: made for one person, and to everybody else an ordinary item that is somebody's.
        return "This item is reserved for somebody else; an administrator can reassign it."
    if stage.kind is not StageKind.SELF_CHECK:
        if slot.revision_author_id == person.pk:
            return "Nobody reviews a version they wrote; a colleague takes this item."
        if slot.owner_id == person.pk and stage.eligible.author is AuthorRule.NOT_AUTHOR:
            return "Nobody reviews a dialogue they own; a colleague takes this item."
    others = [one for one in (held_in_cycle(person, slot) if held is None else held) if one.slot_id != slot.pk]
    if any(one.stage_run_id == slot.stage_run_id for one in others):
        return "Its reviewers look at an item independently, and one of them is this person already."
    before = range(slot.round - slot.confirms, slot.round)
    if any(one.stage == slot.stage and one.round in before for one in others):
        return "Approvals in a row are those of different people, and this person has just given one."
    if stage.eligible.not_earlier_reviewers and others:
        return f"“{stage.title}” is for somebody who has not reviewed this item before."
    return ""
