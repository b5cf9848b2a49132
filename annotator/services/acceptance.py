"""Acceptance of the guideline: who has to accept which version before they get work."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import Guideline, GuidelineAcceptance, Project, User
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.database.compiled import compiled
from annotator.services.history.events import append_event


@dataclass(frozen=True)
class Accepted:
    """The newest version of the guideline that a person has accepted."""

    number: int
    at: datetime
    #: Whether the person can get work with it.
    enough: bool


def require_acceptance(*, actor: User, project: Project, required: bool) -> Project:
    """Set whether people must have accepted the guideline before they get work. Raises Denied."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if bool(project.requires_acceptance) != required:
            project.requires_acceptance = required
            project.save(update_fields=["requires_acceptance"])
            append_event(
                actor=actor,
                project=project,
                kind="guideline.acceptance_set",
                before={"required": not required},
                after={"required": required},
            )
    return project


def version_to_accept(*, actor: User, project: Project) -> Guideline | None:
    """Return the version that the actor must accept before they get work; None if there is none.

    An acceptance is enough until a version is published that asks everybody to accept again.
    """
    if not _requires_acceptance(project.pk):
        return None
    current = Guideline.objects.filter(project=project).order_by("-number").first()
    if current is None:
        return None
    mine = _accepted_by(project).filter(person=actor, guideline__number__gte=_least(project))
    return None if mine.exists() else current


@compiled
def _requires_acceptance(project_id: int) -> QuerySet[Project, int]:
    return Project.objects.filter(pk=project_id, requires_acceptance=True).values_list("pk", flat=True)


def accept_guideline(*, actor: User, project: Project, number: int) -> GuidelineAcceptance:
    """Store that the actor has read version ``number`` of the guideline and accepts it.

    A repeated request changes nothing. Raises Hidden for an outsider or a version that doesn't exist, and Conflict if
    a newer version was published meanwhile.
    """
    if not roles_in(project, actor):
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    with transaction.atomic():
        # Publishing locks the project as well, so a person cannot accept a version while a newer one is published.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        current = Guideline.objects.filter(project=project).order_by("-number").first()
        if current is None or number > current.number or number < 1:
            raise Hidden(_("This version of the guideline doesn’t exist."))
        if number < current.number:
            sentence = _("Version %(now)d of the guideline was published meanwhile. Read it, then accept it.")
            raise Conflict(sentence % {"now": current.number}, number=current.number)
        accepted, created = GuidelineAcceptance.objects.get_or_create(guideline=current, person=actor)
        if created:
            append_event(actor=actor, project=project, kind="guideline.accepted", after={"number": number})
    return accepted


def newest_accepted(*, project: Project, people: Iterable[User]) -> dict[int, Accepted]:
    """Return the key of each person who has accepted a version → the newest one."""
    least = _least(project)
    found = _accepted_by(project).filter(person__in=[one.pk for one in people]).order_by("guideline__number")
    rows = found.values_list("person", "guideline__number", "created_at")
    return {person: Accepted(number, at, number >= least) for person, number, at in rows}


def list_acceptances(*, actor: User, project: Project) -> QuerySet[GuidelineAcceptance]:
    """Return all acceptances of a project. Raises Denied."""
    require_administrator(actor=actor, project=project)
    return _accepted_by(project).select_related("guideline", "person")


def _accepted_by(project: Project) -> QuerySet[GuidelineAcceptance]:
    return GuidelineAcceptance.objects.filter(guideline__project=project)


def _least(project: Project) -> int:
    """Return the number of the oldest version whose acceptance is still enough."""
    asking = Guideline.objects.filter(project=project, asks_again=True)
    return asking.aggregate(number=Max("number"))["number"] or 1
