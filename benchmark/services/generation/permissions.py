"""Who may generate. Its rule is that of running models: it costs money, and goes to services outside."""

from annotator.models import Project, Role, User
from annotator.services.access.permissions import require_administrator, require_role

#: Who works on generations that wait for people: chooses, edits, rejects, and writes answers.
CONTRIBUTORS = frozenset((Role.ADMINISTRATOR, Role.SENIOR_REVIEWER, Role.ANNOTATOR))


def require_generator(*, actor: User | None, project: Project) -> None:
    """Raise Denied (or Hidden) unless the actor administers the project. Actor None: the command line."""
    if actor is not None:
        require_administrator(actor=actor, project=project)


def require_contributor(*, actor: User, project: Project) -> None:
    """Raise Denied (or Hidden) unless the actor may see generations and act where they wait for people."""
    require_role(actor=actor, project=project, roles=CONTRIBUTORS)
