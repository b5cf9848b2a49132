"""Who administers a project next: handed over by an administrator, or appointed by an operator."""

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Membership, Project, Role, User
from annotator.services.access.operators import require_operator
from annotator.services.access.permissions import archived_refusal, require_administrator
from annotator.services.members import end_role, give_administration, load_person


def possible_successors(*, actor: User, project: Project) -> list[User]:
    """Return the active members besides the actor, by name."""
    people = Membership.objects.in_time().active().filter(project=project).people().exclude(pk=actor.pk)
    return sorted(people, key=lambda one: (str(one).casefold(), one.pk))


def hand_over(*, actor: User, project: Project, public_id: str) -> User:
    """Make a member an administrator, and end that role of the actor, whose other roles stay; return the member.

    Raises Hidden, Denied, or Conflict for a person who can't administer it.
    """
    require_administrator(actor=actor, project=project)
    successor = load_person(project=project, public_id=public_id)
    with transaction.atomic():
        # Lock all rows that change below, and all administrators', at once and in the order in which roles end:
        # locked in two steps, they could deadlock with the removal of the successor.
        held = Membership.objects.live().filter(
            Q(role=Role.ADMINISTRATOR) | Q(user__in=[actor, successor]), project=project
        )
        list(held.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        if successor.pk == actor.pk:
            raise Conflict(_("Choose somebody else: you administer this project already."))
        if not Membership.objects.in_time().active().filter(project=project, user=successor).exists():
            raise Conflict(_("%(person)s is no longer an active member of this project.") % {"person": successor})
        give_administration(actor=actor, project=project, user=successor)
        end_role(actor=actor, project=project, user=actor, role=Role.ADMINISTRATOR)
    return successor


def appoint_administrator(*, actor: User, slug: str, username: str) -> tuple[Project, User]:
    """Make a person the administrator of a project that has none who can sign in, as an operator.

    Raises Hidden; Invalid for an unknown, closed or ambiguous account; Conflict if there is an administrator.
    """
    require_operator(actor)
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).filter(slug=slug).first()
        if project is None:
            raise Hidden(_("This project doesn’t exist."))
        if project.archived_at is not None:
            raise archived_refusal()
        if Membership.objects.active().filter(project=project, role=Role.ADMINISTRATOR).exists():
            raise Conflict(_("%(project)s has an administrator, who can name others.") % {"project": project.name})
        person = _account_of(username.strip())
        give_administration(actor=actor, project=project, user=person)
    return project, person


def _account_of(username: str) -> User:
    people = User.objects.filter(is_active=True)
    found = people.filter(username=username)[:1] or people.filter(username__iexact=username)[:2]
    if len(found) == 1:
        return found[0]
    sentence = (
        _("More than one active account has the username “%(name)s”, written with other capitals.")
        if found
        else _("There is no active account with the username “%(name)s”.")
    )
    raise Invalid(sentence % {"name": username[:80]})
