"""Decides who may see which statistics."""

from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import Project, Role, User
from annotator.services.access.permissions import OVERSEERS
from reviews.models import AgreementCount
from reviews.services.protocols.versions import stage_titles


def oversees(roles: frozenset[Role]) -> bool:
    """Return whether somebody with these roles sees figures of individual people."""
    return bool(roles & OVERSEERS)


def load_person(*, actor: User, roles: frozenset[Role], project: Project, public_id: str) -> User:
    """Return the person: the actor, or for overseers anyone in the project, including former members. Raises Hidden."""
    people = User.objects.filter(memberships__project=project).distinct()
    person = people.filter(public_id=public_id).first()
    if person is None or not (person.pk == actor.pk or oversees(roles)):
        raise Hidden(_("This person doesn’t exist in the project, or you can’t see their statistics."))
    return person


def names_of(*, project: Project) -> dict[str, User]:
    """Return {pseudonym: person} of everyone who is or was a member."""
    people = User.objects.filter(memberships__project=project).distinct()
    return {person.pseudonym: person for person in people.order_by("display_name", "username")}


def read_compared_stages(*, project: Project) -> dict[str, str]:
    """Return {key: title} of the stages with compared independent reviews, in order."""
    stages = AgreementCount.objects.filter(project=project, pair="").values_list("stage", flat=True)
    compared = set(stages.distinct().order_by())
    return {key: title for key, title in stage_titles(project).items() if key in compared}


def pair_of(*, project: Project, wanted: str, roles: frozenset[Role]) -> tuple[int, int] | None:
    """Return the two people whose public ids are given as “one:other”; None for everyone.

    Raises Hidden for unknown people, and for actors who may not see figures of individual people.
    """
    if not wanted:
        return None
    one, __, other = wanted.partition(":")
    if oversees(roles):
        found = User.objects.filter(memberships__project=project, public_id__in=[one, other]).distinct()
        keys = sorted(found.values_list("pk", flat=True))
        if len(keys) == 2:
            return keys[0], keys[1]
    raise Hidden(_("This pair of people doesn’t exist in the project, or you can’t see their figures."))
