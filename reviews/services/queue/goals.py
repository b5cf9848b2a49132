"""Daily goals: how many reviews a person wants to submit, or should, in a day."""

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.roles import Role
from annotator.errors import Invalid
from annotator.models import Membership, Project, User
from annotator.services.access.permissions import require_administrator, require_role
from annotator.services.history.events import append_event
from reviews.models import DailyGoal
from reviews.models.goals import MAX_GOAL


def set_goal(*, actor: User, project: Project, person: User, reviews: int | None) -> None:
    """Set a person's daily goal; None removes it. The same goal again changes nothing.

    People set their own, administrators everybody's. Raises Denied, Hidden, or Invalid for a number out of range and
    for somebody who is not a member.
    """
    if person.pk == actor.pk:
        require_role(actor=actor, project=project, roles=set(Role))
    else:
        require_administrator(actor=actor, project=project)
    if reviews is not None and not 1 <= reviews <= MAX_GOAL:
        raise Invalid(
            _("Enter a whole number from 1 to %(most)s, or leave the field empty for no goal.") % {"most": MAX_GOAL},
            field="goal",
        )
    with transaction.atomic():
        # The lock makes two changes at once one after the other, even of a goal that does not exist yet.
        held = Membership.objects.live().filter(project=project, user=person)
        if not list(held.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True)):
            raise Invalid(_("%(person)s isn’t a member of this project.") % {"person": person})
        row = DailyGoal.objects.filter(project=project, person=person).first()
        before = row.reviews if row is not None else None
        if before == reviews:
            return
        if reviews is None:
            DailyGoal.objects.filter(project=project, person=person).delete()
        else:
            DailyGoal.objects.update_or_create(project=project, person=person, defaults={"reviews": reviews})
        append_event(
            actor=actor,
            project=project,
            kind="daily_goal.changed",
            before={"person": person.public_id, "goal": before},
            after={"person": person.public_id, "goal": reviews},
        )


@transaction.atomic
def set_goals(*, actor: User, project: Project, goals: Mapping[User, int | None]) -> None:
    """Set the daily goals of several people, or none of them. Raises Denied, Hidden, or Invalid: see ``set_goal``.

    The refusal's ``wrong`` is {public id: why} of everybody whose goal is invalid.
    """
    require_administrator(actor=actor, project=project)
    wrong: dict[str, str] = {}
    for person in sorted(goals, key=lambda one: one.pk):
        try:
            set_goal(actor=actor, project=project, person=person, reviews=goals[person])
        except Invalid as error:
            wrong[person.public_id] = error.sentence
    if wrong:
        raise Invalid(_("No goal was saved. Correct the marked ones and save again."), wrong=wrong)


def read_goals(*, project: Project, people: Iterable[int]) -> dict[int, int]:
    """Return {key of the person: their goal}; people without a goal are missing."""
    goals = DailyGoal.objects.filter(project=project, person__in=list(people))
    return dict(goals.values_list("person", "reviews"))


def read_own_goals(*, person: User, projects: Iterable[Project]) -> dict[int, int]:
    """Return {key of the project: the person's goal there}; projects without a goal are missing."""
    goals = DailyGoal.objects.filter(person=person, project__in=[project.pk for project in projects])
    return dict(goals.values_list("project", "reviews"))


def read_number(text: str) -> int | None:
    """Return the goal that was typed; None for an empty field. Raises Invalid."""
    text = text.strip()
    if not text:
        return None
    # Too large a number is refused like any other.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else MAX_GOAL + 1
