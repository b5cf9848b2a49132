"""API tokens: named, hashed, expiring, revocable."""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.scopes import Scope, as_text
from annotator.errors import Hidden, Invalid
from annotator.models import ApiToken, Project, User
from annotator.models.keys import hash_secret
from annotator.services.access.operators import require_operator
from annotator.services.database.compiled import compiled
from annotator.services.history.events import append_event
from annotator.services.security_log import log_security

PREFIX = "assay_"
#: Tokens in a person's list: those that work and the newest others.
LISTED = 100
#: How often a token's last use is written.
USE_RESOLUTION = timedelta(minutes=5)
#: Working tokens of one person.
MAX_LIVE = 50


def create_token(
    *,
    actor: User,
    name: str,
    expires_at: datetime | None,
    scopes: Collection[str] = (Scope.ADMINISTER,),
    projects: Collection[str] | None = None,
) -> tuple[ApiToken, str]:
    """Create a token. Returns it and its secret, which is shown once.

    ``scopes``: see ``annotator.core.scopes``. ``projects``: public ids of the only projects in which it may be used;
    None: all projects of its owner, also later ones.

    Raises Invalid for an empty name, an unknown scope, no or unknown projects, an expiry in the past, or too many
    tokens.
    """
    name = name.strip()
    if not name:
        raise Invalid(_("Enter a name, so that you can tell later what the token is for."))
    if len(name) > 80:
        raise Invalid(_("The name is longer than 80 characters. Shorten it."))
    if expires_at is not None and expires_at <= timezone.now():
        raise Invalid(_("The expiry date is in the past. Choose a later day."))
    if unknown := sorted(set(scopes) - set(Scope)):
        sentence = _("There is no scope “%(scope)s”. Choose from: %(known)s.")
        raise Invalid(sentence % {"scope": unknown[0][:40], "known": ", ".join(Scope)})
    if settings.TOKEN_MAX_DAYS:
        latest = timezone.now() + timedelta(days=settings.TOKEN_MAX_DAYS)
        # A day more: people choose days, which end later than now.
        if expires_at is None or expires_at > latest + timedelta(days=1):
            sentence = _("Tokens end after %(days)d days here at the latest. Choose a day up to %(day)s.")
            raise Invalid(sentence % {"days": settings.TOKEN_MAX_DAYS, "day": latest.date().isoformat()})
    limited_to = _chosen(actor, projects)
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        # The lock makes counting and writing one step.
        person = User.objects.select_for_update(no_key=True).get(pk=actor.pk)
        if person.api_tokens.live(timezone.now()).count() >= MAX_LIVE:
            sentence = ngettext(
                "You can have %(count)d token. Revoke it first.",
                "You can have %(count)d tokens. Revoke some that are no longer used.",
                MAX_LIVE,
            )
            raise Invalid(sentence % {"count": MAX_LIVE})
        # Not before ``tokens_since``: if the clock was ahead then, the token would be void from the start.
        made = timezone.now() if person.tokens_since is None else max(timezone.now(), person.tokens_since)
        token = ApiToken.objects.create(
            user=actor,
            created_at=made,
            name=name,
            secret_hash=hash_secret(secret),
            hint=secret[: len(PREFIX) + 4],
            expires_at=expires_at,
            scopes=as_text(scopes),
            all_projects=limited_to is None,
        )
        token.projects.set(limited_to or [])
        _record(token, "token.created", after=_words(token))
        log_security("token_created", person=actor, actor=actor, token=token.hint, scopes=token.scopes)
    return token, secret


def _chosen(actor: User, projects: Collection[str] | None) -> list[Project] | None:
    """Return the actor's projects with these public ids; None for None. Raises Invalid."""
    if projects is None:
        return None
    found = list(Project.objects.visible_to(actor).filter(public_id__in=projects))
    if not found or len(found) < len(set(projects)):
        raise Invalid(_("Choose projects of which you are a member."))
    return found


def list_tokens(person: User) -> list[ApiToken]:
    """Return a person's tokens: those that work, then the newest others."""
    tokens = person.api_tokens.prefetch_related("projects")
    live = list(tokens.live(timezone.now()).order_by("-pk"))
    others = tokens.exclude(pk__in=[one.pk for one in live]).order_by("-pk")
    return [*live, *others[: max(0, LISTED - len(live))]]


def revoke_token(*, actor: User, public_id: str) -> ApiToken:
    """Revoke one of the actor's tokens; a revoked one stays as it is. Raises Hidden."""
    with transaction.atomic():
        token = ApiToken.objects.select_for_update().filter(user=actor, public_id=public_id).first()
        if token is None:
            raise Hidden(_("This token doesn’t exist."))
        if token.revoked_at is not None:
            return token
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        _record(token, "token.revoked", before=_words(token))
        log_security("token_revoked", person=token.user, actor=actor, token=token.hint)
    return token


def list_all_tokens(*, actor: User) -> QuerySet[ApiToken]:
    """Return the tokens of all people that work, for operators. Raises Hidden."""
    require_operator(actor)
    return ApiToken.objects.live(timezone.now()).filter(user__is_active=True).select_related("user")


def revoke_any_token(*, actor: User, public_id: str) -> ApiToken:
    """Revoke anybody's token, as an operator; a revoked one stays as it is. Raises Hidden."""
    require_operator(actor)
    return revoke_locked(actor=actor, public_id=public_id)


def revoke_locked(*, actor: User, public_id: str) -> ApiToken:
    """Revoke a token, once its row is locked, for a caller that has checked the permission. Raises Hidden."""
    with transaction.atomic():
        found = ApiToken.objects.select_for_update(of=("self",)).select_related("user").filter(public_id=public_id)
        token = found.first()
        if token is None:
            raise Hidden(_("This token doesn’t exist."))
        if token.revoked_at is None:
            token.revoked_at = timezone.now()
            token.save(update_fields=["revoked_at"])
            log_security("token_revoked", person=token.user, actor=actor, token=token.hint)
    return token


def _record(
    token: ApiToken, kind: str, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
) -> None:
    """Write an event in every project of the token's owner in which the token may be used."""
    projects = Project.objects.visible_to(token.user).order_by("pk")
    for project in projects if token.all_projects else projects.filter(pk__in=token.projects.values("pk")):
        append_event(actor=token.user, project=project, kind=kind, before=before, after=after)


def _words(token: ApiToken) -> dict[str, Any]:
    expires = token.expires_at.isoformat() if token.expires_at else None
    return {
        "token": token.public_id,
        "user": token.user.public_id,
        "begins_with": token.hint,
        "expires": expires,
        "scopes": token.scopes,
    }


@compiled
def _by_hash(secret_hash: str) -> QuerySet[ApiToken]:
    return ApiToken.objects.select_related("user").filter(secret_hash=secret_hash)


def find_live_token(secret: str, *, address: str = "") -> ApiToken | None:
    """Return the token behind a secret, with its user, if it still works; note its use.

    A use from another ``address`` than the last one is written to the security log.
    """
    now = timezone.now()
    token = next(iter(_by_hash(hash_secret(secret))), None)
    if token is None or token.state(now) != "live" or not token.user.is_active:
        return None
    if token.last_used_at is None or token.last_used_at < now - USE_RESOLUTION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now, last_address=address)
        if token.last_address != address:
            log_security("token_used", person=token.user, token=token.hint, address=address)
    return token


def token_projects(token: ApiToken) -> frozenset[int] | None:
    """Return the keys of the projects to which a token is limited; None if it is not."""
    return None if token.all_projects else frozenset(token.projects.values_list("pk", flat=True))
