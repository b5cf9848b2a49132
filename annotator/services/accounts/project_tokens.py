"""API tokens that reach a project, for its administrators."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import ApiToken, Membership, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.accounts.tokens import revoke_locked


def list_project_tokens(*, actor: User, project: Project) -> QuerySet[ApiToken]:
    """Return the tokens of members that work and reach the project, each with ``elsewhere``: others are reached too.

    Raises Denied.
    """
    require_administrator(actor=actor, project=project)
    others = ApiToken.projects.through.objects.filter(apitoken=OuterRef("pk")).exclude(project=project)
    members = Membership.objects.in_time().filter(project=project).values("user")
    live = ApiToken.objects.live(timezone.now()).filter(user__is_active=True, user__in=members)
    found = live.filter(Q(all_projects=True) | Q(projects=project)).select_related("user")
    return found.annotate(elsewhere=Exists(others) | Q(all_projects=True))


def revoke_project_token(*, actor: User, project: Project, public_id: str) -> ApiToken:
    """Revoke a token that reaches only this project. Raises Denied, Hidden, or Conflict if it reaches others."""
    token: Any = list_project_tokens(actor=actor, project=project).filter(public_id=public_id).first()
    if token is None:
        raise Hidden(_("This token doesn’t exist."))
    if token.elsewhere:
        raise Conflict(
            _("This token reaches other projects too. Remove the person’s roles here, or ask an operator to revoke it.")
        )
    return revoke_locked(actor=actor, public_id=public_id)
