"""Who may claim a slot, and the reason if not. The queues apply the same rules in SQL to many slots at once."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import ArchivedProject, MemberAbilities, Membership, Project, Role, User
from annotator.presentation.components.labels import words_of
from annotator.services.access.permissions import OVERSEERS, archived_refusal
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import Clock
from reviews.core.protocols import AuthorRule, Stage, StageKind
from reviews.models import AssignmentRules, Pause, Slot, Training
from reviews.services.queue.co_authors import co_written


class Eligibility(NamedTuple):
    """A member's roles, the database's time, whether pauses, limits, languages or skills may apply, and whether a first
    day may.
    """

    roles: frozenset[Role]
    now: datetime
    limited: bool
    #: Whether people of this project may have to accept the guideline or pass a training before they get work.
    prepares: bool


def lock_eligibility(*, actor: User, project: Project) -> Eligibility:
    """Return the actor's roles, the database's time, and what else has to be read. Raises Hidden, and Conflict if the
    project is archived.

    The rows stay locked until the caller's transaction ends, so that two windows of a person cannot claim two slots at
    once, and nobody is deactivated in between.
    """
    if not actor.is_active:
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    held = _lock_memberships(project.pk, actor.pk)
    if not held:
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    _role, now, limited, archived, prepares = held[0]
    if archived:
        raise archived_refusal()
    return Eligibility(frozenset(Role(role) for role, *_ in held), now, limited, prepares)


@compiled
def _lock_memberships(project_id: int, person_id: int) -> QuerySet[Membership, Any]:
    pauses = Pause.objects.filter(project=OuterRef("project"), ended_at=None)
    limits = AssignmentRules.objects.filter(project=OuterRef("project"), most_held__isnull=False)
    abilities = MemberAbilities.objects.filter(project=OuterRef("project"), user=OuterRef("user"))
    held = Membership.objects.live().filter(project=project_id, user=person_id).order_by("pk")
    archived = ArchivedProject.objects.filter(project=OuterRef("project"))
    trainings = Training.objects.filter(project=OuterRef("project"), enabled=True)
    accepting = Project.objects.filter(pk=OuterRef("project"), requires_acceptance=True)
    held = held.select_for_update(no_key=True)
    held = held.annotate(
        limited=Exists(pauses) | Exists(limits) | Exists(abilities),
        archived=Exists(archived),
        prepares=Exists(trainings) | Exists(accepting),
    )
    return held.values_list("role", Clock(), "limited", "archived", "prepares")


class HeldSlot(NamedTuple):
    """A slot that somebody has claimed or reviewed in a cycle."""

    slot_id: int
    stage_run_id: int
    stage: str
    round: int


def held_in_cycle(person: User, slot: Slot) -> list[HeldSlot]:
    """Return what the person has claimed or reviewed in the slot's cycle."""
    found = Slot.objects.filter(cycle_id=slot.cycle_id, holder=person)
    return [HeldSlot(*row) for row in found.values_list("pk", "stage_run_id", "stage", "round")]


def refusal(
    *,
    person: User,
    roles: frozenset[Role],
    slot: Slot,
    stage: Stage,
    held: Sequence[HeldSlot] | None = None,
    parts: Collection[int] | None = None,
) -> str:
    """Return why the person may not claim the slot, as a sentence; blank if they may.

    ``held``: what they have claimed in the slot's cycle, if already loaded. ``parts``: the dialogues of which they
    wrote or chose a part, if already loaded.
    """
    if not roles & set(stage.eligible.roles):
        words = _(" or ").join(sorted(words_of("role", role).lower() for role in stage.eligible.roles))
        return _("“%(stage)s” needs the role %(roles)s. Ask an administrator for it.") % {
            "stage": stage.title,
            "roles": words,
        }
    if slot.reserved_for_id is not None and slot.reserved_for_id != person.pk:
        return _("This item is assigned to somebody else. An administrator can reassign it.")
    if slot.is_gold and roles & OVERSEERS:
        # They may know about gold items; a window from before they had the role need not say more.
        return _("Senior reviewers and administrators can’t review this item. Leave it to a colleague.")
    if slot.is_gold and not slot.claims.filter(person=person).exists():
        # A gold slot is made for one person; to everybody else it looks reserved.
        return _("This item is assigned to somebody else. An administrator can reassign it.")
    if stage.kind is not StageKind.SELF_CHECK:
        if slot.revision_author_id == person.pk:
            return _("A revision can’t be reviewed by its author. Leave it to a colleague.")
        if slot.owner_id == person.pk and stage.eligible.author is AuthorRule.NOT_AUTHOR:
            return _("A dialogue can’t be reviewed by its owner. Leave it to a colleague.")
        if slot.dialogue_id in (co_written(person, [slot.dialogue_id]) if parts is None else parts):
            return _(
                "A dialogue can’t be reviewed by a person who wrote or chose a part of it. Leave it to a colleague."
            )
    if slot.is_gold:
        # In a training, a person may get the same item again.
        return ""
    others = [one for one in (held_in_cycle(person, slot) if held is None else held) if one.slot_id != slot.pk]
    if any(one.stage_run_id == slot.stage_run_id for one in others):
        return _("Independent reviews need different people, and this person is already one of the reviewers.")
    before = range(slot.round - slot.confirms, slot.round)
    if any(one.stage == slot.stage and one.round in before for one in others):
        return _("Consecutive approvals need different people, and this person gave the previous one.")
    if stage.eligible.not_earlier_reviewers and others:
        return _("“%(stage)s” needs somebody who hasn’t reviewed this item before.") % {"stage": stage.title}
    return ""
