"""Who may do what, in one place. Loading and authorising are one step: what one may not see does not exist."""

from collections.abc import Set
from dataclasses import dataclass

from annotator.errors import Denied, Hidden
from annotator.models import Membership, Project, Role, User
from annotator.models.content import Dialogue
from annotator.services.database.joined import Part, read_joined
from annotator.services.database.statements import rows

#: Who sees known answers and what single people did; nobody with such a role is ever tested.
OVERSEERS = frozenset({Role.ADMINISTRATOR, Role.SENIOR_REVIEWER})

#: Written out, as what follows below: every page and every request of a program asks these two.
_ROLES = "SELECT role FROM annotator_membership WHERE project_id = %s AND user_id = %s AND ended_at IS NULL"


def roles_in(project: Project, user: User) -> frozenset[Role]:
    """The live roles of ``user`` in ``project``; empty for an outsider or a deactivated person."""
    if not user.is_active:
        return frozenset()
    return frozenset(Role(role) for (role,) in rows(_ROLES, [project.pk, user.pk]))


#: ``Project.objects.visible_to``, written out.
_PROJECT = (Part("p", Project),)
_MINE = (
    "FROM annotator_project p WHERE p.slug = %s AND EXISTS (SELECT 1 FROM annotator_membership m "
    "WHERE m.project_id = p.id AND m.user_id = %s AND m.ended_at IS NULL)"
)


def load_project(*, actor: User, slug: str) -> Project:
    """The project behind ``slug``. Raises Hidden for whoever is no member."""
    found = read_joined(_PROJECT, _MINE, [slug, actor.pk]) if actor.is_active else []
    if not found:
        raise Hidden("There is no such project, or you are not a member of it.")
    project: Project = found[0][0]
    return project


@dataclass(frozen=True)
class Standing:
    """What the bar at the top of a page says of a person."""

    #: Theirs that are not archived, with what links to them show.
    projects: list[Project]
    #: Key of each project that is theirs → their roles in it.
    roles: dict[int, frozenset[Role]]


_STANDING = (Part("p", Project, ("id", "slug", "name", "archived_at")), Part("m", Membership, ("id", "role")))
_LIVE = (
    "FROM annotator_membership m JOIN annotator_project p ON p.id = m.project_id "
    "WHERE m.user_id = %s AND m.ended_at IS NULL ORDER BY p.name, p.id"
)


def standing_of(user: User) -> Standing:
    """A person's projects, by name, and their roles."""
    found = read_joined(_STANDING, _LIVE, [user.pk]) if user.is_active else []
    projects: dict[int, Project] = {}
    roles: dict[int, set[Role]] = {}
    for project, membership, _ in found:
        projects.setdefault(project.pk, project)
        roles.setdefault(project.pk, set()).add(Role(membership.role))
    live = [project for project in projects.values() if project.archived_at is None]
    return Standing(live, {key: frozenset(held) for key, held in roles.items()})


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
