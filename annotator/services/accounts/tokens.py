"""API tokens: named, hashed, expiring, revocable."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.errors import Hidden, Invalid
from annotator.models import ApiToken, Project, User
from annotator.models.keys import hash_secret
from annotator.services.database.compiled import compiled
from annotator.services.history.events import append_event

PREFIX = "assay_"
#: Tokens in somebody's list: those that work, and the newest of those that do not any more.
LISTED = 100
#: How often a token's last use is written down; not at every request.
USE_RESOLUTION = timedelta(minutes=5)


#: Of one person, that open something: each stands in the list in which its owner closes it.
MAX_LIVE = 50


def create_token(*, actor: User, name: str, expires_at: datetime | None) -> tuple[ApiToken, str]:
    """A new token and its secret, which is shown this once. Raises Invalid for an empty name, a past expiry, and for
    whoever has as many as there may be.
    """
    name = name.strip()
    if not name:
        raise Invalid("Give the token a name, so that you can tell later what it is for.")
    if len(name) > 80:
        raise Invalid("The token's name is longer than 80 characters; shorten it.")
    if expires_at is not None and expires_at <= timezone.now():
        raise Invalid("The token would have expired already; choose a later day.")
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        # Counted and written by one at a time.
        person = User.objects.select_for_update(no_key=True).get(pk=actor.pk)
        if person.api_tokens.live(timezone.now()).count() >= MAX_LIVE:
            raise Invalid(f"You have {MAX_LIVE} tokens that work, and no more can be; revoke those that nobody uses.")
        # Not before: a password that was changed where the clock was ahead would void it as it is made.
        made = timezone.now() if person.tokens_since is None else max(timezone.now(), person.tokens_since)
        token = ApiToken.objects.create(
            user=actor,
            created_at=made,
            name=name,
            secret_hash=hash_secret(secret),
            hint=secret[: len(PREFIX) + 4],
            expires_at=expires_at,
        )
        _record(actor, "token.created", after=_words(token))
    return token, secret


def list_tokens(person: User) -> list[ApiToken]:
    """Somebody's tokens: those that work first, then the newest others."""
    live = list(person.api_tokens.live(timezone.now()).order_by("-pk"))
    others = person.api_tokens.exclude(pk__in=[one.pk for one in live]).order_by("-pk")
    return [*live, *others[: max(0, LISTED - len(live))]]


def revoke_token(*, actor: User, public_id: str) -> ApiToken:
    """Close one of the actor's own tokens for good; one that is closed stays as it is. Raises Hidden."""
    with transaction.atomic():
        token = ApiToken.objects.select_for_update().filter(user=actor, public_id=public_id).first()
        if token is None:
            raise Hidden("You have no such token.")
        if token.revoked_at is not None:
            return token
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        _record(actor, "token.revoked", before=_words(token))
    return token


def _record(
    actor: User, kind: str, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
) -> None:
    """An event in every project that the token opens (or opened): there is no other place where people look."""
    for project in Project.objects.visible_to(actor).order_by("pk"):
        append_event(actor=actor, project=project, kind=kind, before=before, after=after)


def _words(token: ApiToken) -> dict[str, Any]:
    expires = token.expires_at.isoformat() if token.expires_at else None
    return {"token": token.public_id, "user": token.user.public_id, "begins_with": token.hint, "expires": expires}


@compiled
def _by_hash(secret_hash: str) -> QuerySet[ApiToken]:
    return ApiToken.objects.select_related("user").filter(secret_hash=secret_hash)


def find_live_token(secret: str) -> ApiToken | None:
    """The token behind a secret, if it still opens the door, with its user; notes its use."""
    now = timezone.now()
    token = next(iter(_by_hash(hash_secret(secret))), None)
    if token is None or token.state(now) != "live" or not token.user.is_active:
        return None
    if token.last_used_at is None or token.last_used_at < now - USE_RESOLUTION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token
