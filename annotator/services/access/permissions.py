"""Permissions. Loading and authorising are one step, so data that a person may not see does not exist for them."""

from collections.abc import Set
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Denied, Hidden
from annotator.models import Membership, Project, Role, User
from annotator.models.content import Dialogue
from annotator.models.people import OVERSEERS as OVERSEERS
from annotator.presentation.components.labels import words_of
from annotator.services.database.compiled import compiled


def roles_in(project: Project, user: User) -> frozenset[Role]:
    """Return the live roles of ``user`` in ``project``; empty for an outsider or a deactivated person."""
    if not user.is_active or not user.reaches(project.pk):
        return frozenset()
    return frozenset(map(Role, _roles(project.pk, user.pk)))


@compiled
def _roles(project_id: int, user_id: int) -> QuerySet[Membership, str]:
    return Membership.objects.reading().filter(project=project_id, user=user_id).values_list("role", flat=True)


def load_project(*, actor: User, slug: str) -> Project:
    """Return the project behind ``slug``. Raises Hidden unless the actor is a member."""
    return load_membership(actor=actor, slug=slug)[0]


def load_membership(*, actor: User, slug: str) -> tuple[Project, frozenset[Role]]:
    """Return the project behind ``slug`` and the actor's live roles. Raises Hidden unless the actor is a member.

    An archived project is read by its overseers only (Denied), and refuses requests that change something (Conflict).
    """
    held = _memberships(slug, actor.pk) if actor.is_active else []
    if not held or not actor.reaches(held[0].project_id):
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    project, roles = held[0].project, frozenset(Role(one.role) for one in held)
    if project.archived_at is not None:
        if not roles & OVERSEERS:
            sentence = _("%(project)s is archived. Only its administrators and senior reviewers can read it.")
            raise Denied(sentence % {"project": project.name})
        if actor.is_changing:
            raise archived_refusal()
    return project, roles


def archived_refusal() -> Conflict:
    """Return the refusal of a change in an archived project."""
    return Conflict(_("This project is archived, so nothing in it can be changed. An administrator can restore it."))


@compiled
def _memberships(slug: str, user_id: int) -> QuerySet[Membership]:
    return Membership.objects.in_time().filter(project__slug=slug, user=user_id).select_related("project")


@dataclass(frozen=True)
class MemberState:
    """A person's projects and roles, for the bar at the top of a page."""

    #: Their projects that are not archived.
    projects: list[Project]
    #: Key of each of their projects → their roles in it.
    roles: dict[int, frozenset[Role]]


def member_state(user: User) -> MemberState:
    """Return a person's projects, by name, and their roles."""
    projects: dict[int, Project] = {}
    roles: dict[int, set[Role]] = {}
    for membership in _active_memberships(user.pk):
        projects.setdefault(membership.project_id, membership.project)
        roles.setdefault(membership.project_id, set()).add(Role(membership.role))
    live = [project for project in projects.values() if project.archived_at is None]
    return MemberState(live, {key: frozenset(held) for key, held in roles.items()})


@compiled
def _active_memberships(user_id: int) -> QuerySet[Membership]:
    held = Membership.objects.active().filter(user=user_id).select_related("project")
    return held.order_by("project__name", "project")


def load_dialogue(*, actor: User, project: Project, public_id: str) -> Dialogue:
    """Return a published dialogue of ``project``. Raises Hidden."""
    dialogue = Dialogue.objects.visible_to(actor).filter(project=project, public_id=public_id).first()
    if dialogue is None:
        raise Hidden(_("This dialogue doesn’t exist in the project."))
    dialogue.project = project
    return dialogue


def require_role(*, actor: User, project: Project, roles: Set[Role]) -> frozenset[Role]:
    """Return the actor's roles. Raises Denied with the required role unless they have one of ``roles``."""
    held = roles_in(project, actor)
    if not held:
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    if not held & roles:
        needed = _(" or ").join(sorted(words_of("role", role).lower() for role in roles))
        sentence = _("You need the role %(role)s in %(project)s to do this. Ask one of its administrators.")
        raise Denied(sentence % {"role": needed, "project": project.name})
    return held


def require_administrator(*, actor: User, project: Project) -> None:
    """Raise Denied (or Hidden, for an outsider) unless the actor administers the project."""
    require_role(actor=actor, project=project, roles={Role.ADMINISTRATOR})
