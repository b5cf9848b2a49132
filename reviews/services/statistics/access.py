"""Who may see which statistics, and whose they are."""

from annotator.errors import Hidden
from annotator.models import Project, Role, User
from annotator.services.access.permissions import OVERSEERS
from reviews.models import AgreementCount
from reviews.services.protocols.versions import stage_titles


def oversees(roles: frozenset[Role]) -> bool:
    """Whether somebody with these roles sees figures of single people."""
    return bool(roles & OVERSEERS)


def load_person(*, actor: User, roles: frozenset[Role], project: Project, public_id: str) -> User:
    """Whose statistics are asked for: the actor, or for whoever oversees the project any of its people, former ones
    included. Raises Hidden."""
    people = User.objects.filter(memberships__project=project).distinct()
    person = people.filter(public_id=public_id).first()
    if person is None or not (person.pk == actor.pk or oversees(roles)):
        raise Hidden("There is no such person in this project, or you may not see their statistics.")
    return person


def names_of(*, project: Project) -> dict[str, User]:
    """{pseudonym: person} of everybody who is or was a member."""
    people = User.objects.filter(memberships__project=project).distinct()
    return {person.pseudonym: person for person in people.order_by("display_name", "username")}


def read_compared_stages(*, project: Project) -> dict[str, str]:
    """{key: title} of the stages in which independent reviews have been compared, in order."""
    stages = AgreementCount.objects.filter(project=project, pair="").values_list("stage", flat=True)
    compared = set(stages.distinct().order_by())
    return {key: title for key, title in stage_titles(project).items() if key in compared}


def pair_of(*, project: Project, wanted: str, roles: frozenset[Role]) -> tuple[int, int] | None:
    """The two people whose public ids are given as “one:other”; None for everybody.

    Raises Hidden for people of whom there is nothing, and for whoever may not see figures of single people.
    """
    if not wanted:
        return None
    one, _, other = wanted.partition(":")
    if oversees(roles):
        found = User.objects.filter(memberships__project=project, public_id__in=[one, other]).distinct()
        keys = sorted(found.values_list("pk", flat=True))
        if len(keys) == 2:
            return keys[0], keys[1]
    raise Hidden("There are no such two people in this project, or you may not see their figures.")
