"""Who may do what, in one place. Loading and authorising are one step: what one may not see does not exist."""

from collections.abc import Set
from dataclasses import dataclass

from django.db.models import QuerySet

from annotator.errors import Denied, Hidden
from annotator.models import Membership, Project, Role, User
from annotator.models.content import Dialogue
from annotator.services.database.compiled import compiled

#: Who sees known answers and what single people did; nobody with such a role is ever tested.
OVERSEERS = frozenset({Role.ADMINISTRATOR, Role.SENIOR_REVIEWER})


def roles_in(project: Project, user: User) -> frozenset[Role]:
    """The live roles of ``user`` in ``project``; empty for an outsider or a deactivated person."""
    if not user.is_active:
        return frozenset()
    return frozenset(map(Role, _roles(project.pk, user.pk)))


@compiled
def _roles(project_id: int, user_id: int) -> QuerySet[Membership, str]:
    return Membership.objects.live().filter(project=project_id, user=user_id).values_list("role", flat=True)


def load_project(*, actor: User, slug: str) -> Project:
    """The project behind ``slug``. Raises Hidden for whoever is no member."""
    return load_membership(actor=actor, slug=slug)[0]


def load_membership(*, actor: User, slug: str) -> tuple[Project, frozenset[Role]]:
    """The project behind ``slug``, and the actor's live roles in it. Raises Hidden for whoever is no member."""
    held = _memberships(slug, actor.pk) if actor.is_active else []
    if not held:
        raise Hidden("There is no such project, or you are not a member of it.")
    return held[0].project, frozenset(Role(one.role) for one in held)


@compiled
def _memberships(slug: str, user_id: int) -> QuerySet[Membership]:
    return Membership.objects.live().filter(project__slug=slug, user=user_id).select_related("project")


@dataclass(frozen=True)
class MemberState:
    """What the bar at the top of a page says of a person."""

    #: Theirs that are not archived, with what links to them show.
    projects: list[Project]
    #: Key of each project that is theirs → their roles in it.
    roles: dict[int, frozenset[Role]]


def member_state(user: User) -> MemberState:
    """A person's projects, by name, and their roles."""
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
    """A published dialogue of ``project``. Raises Hidden."""
    dialogue = Dialogue.objects.visible_to(actor).filter(project=project, public_id=public_id).first()
    if dialogue is None:
        raise Hidden("There is no such dialogue in this project.")
    dialogue.project = project
    return dialogue


def require_role(*, actor: User, project: Project, roles: Set[Role]) -> frozenset[Role]:
    """The actor's roles. Raises Denied, naming the role it takes, unless one of ``roles`` is among them."""
    held = roles_in(project, actor)
    if not held:
        raise Hidden("There is no such project, or you are not a member of it.")
    if not held & roles:
        needed = " or ".join(sorted(role.label.lower() for role in roles))
        raise Denied(f"This takes the role of {needed} in {project.name}; ask one of its administrators.")
    return held


def require_administrator(*, actor: User, project: Project) -> None:
    """Raises Denied (or Hidden, for an outsider) unless the actor administers the project."""
    require_role(actor=actor, project=project, roles={Role.ADMINISTRATOR})
