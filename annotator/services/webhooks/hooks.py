"""Webhooks of a project: added, changed, removed. Only administrators see them, and a secret only when it is made."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import CHOSEN_EVENTS, DeliveryState, Project, User, Webhook, WebhookDelivery
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.outgoing.addresses import may_be_public, split_url
from annotator.services.webhooks.posting import is_allowed
from annotator.services.webhooks.secrets import new_secret

#: Webhooks of one project.
MAX_WEBHOOKS = 20
MAX_URL, MAX_DESCRIPTION = 1000, 200
#: How long the secret before a rotation signs too.
ROTATION = timedelta(hours=24)


def list_webhooks(*, actor: User, project: Project) -> QuerySet[Webhook]:
    """Return the project's webhooks, oldest first. Raises Denied, and Hidden for outsiders."""
    require_administrator(actor=actor, project=project)
    return Webhook.objects.filter(project=project, removed_at=None).order_by("pk")


def load_webhook(*, actor: User, project: Project, public_id: str) -> Webhook:
    """Return a webhook. Raises Denied and Hidden."""
    found = list_webhooks(actor=actor, project=project).filter(public_id=public_id).first()
    if found is None:
        raise Hidden(_("There is no such webhook in the project."))
    found.project = project
    return found


def add_webhook(
    *, actor: User, project: Project, url: str, events: Sequence[str], description: str = ""
) -> tuple[Webhook, str]:
    """Add a webhook. Returns it and its secret, which is shown once.

    Raises Denied, Invalid for a bad address or unknown events, and Conflict if the project has too many.
    """
    require_administrator(actor=actor, project=project)
    given = _checked(url, events, description)
    secret, stored = new_secret()
    with transaction.atomic():
        # The lock makes counting and writing one step.
        Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)
        if Webhook.objects.filter(project=project, removed_at=None).count() >= MAX_WEBHOOKS:
            sentence = _("A project can have %(count)d webhooks. Remove one that is no longer used.")
            raise Conflict(sentence % {"count": MAX_WEBHOOKS})
        webhook = Webhook.objects.create(project=project, secret=stored, requester=actor, **given)
        _record(actor, webhook, "webhook.added", after=_words(webhook))
    return webhook, secret


def change_webhook(
    *,
    actor: User,
    webhook: Webhook,
    url: str | None = None,
    events: Sequence[str] | None = None,
    description: str | None = None,
    active: bool | None = None,
) -> Webhook:
    """Change what is given; None keeps a value. A webhook that is switched on sends what still waits.

    Raises Denied, Invalid, and Conflict if the webhook was removed.
    """
    require_administrator(actor=actor, project=webhook.project)
    with transaction.atomic():
        held = lock_webhook(webhook)
        given = _checked(
            held.url if url is None else url,
            held.events if events is None else events,
            held.description if description is None else description,
        )
        before = _words(held)
        wanted = given | {"active": held.active if active is None else active}
        changed = [name for name, value in wanted.items() if getattr(held, name) != value]
        if not changed:
            return held
        if "active" in changed or "url" in changed:
            wanted |= {"failures": 0, "given_up": 0, "hold_until": None, "off_message": None}
        for name, value in wanted.items():
            setattr(held, name, value)
        held.save(update_fields=list(wanted))
        after = _words(held)
        # An address may contain a secret, so the history has only its host.
        after |= {"url_changed": True} if "url" in changed else {}
        names = [name for name in after if before.get(name) != after[name]]
        _record(
            actor,
            held,
            "webhook.changed",
            before={name: before[name] for name in names if name in before},
            after={"webhook": held.public_id} | {name: after[name] for name in names},
        )
    return held


def rotate_secret(*, actor: User, webhook: Webhook) -> tuple[Webhook, str]:
    """Make another secret, which is returned once. The one before signs too for ``ROTATION``; an older one ends now.

    Raises Denied, and Conflict if the webhook was removed.
    """
    require_administrator(actor=actor, project=webhook.project)
    secret, stored = new_secret()
    with transaction.atomic():
        held = lock_webhook(webhook)
        held.old_secret, held.secret, held.old_secret_until = held.secret, stored, timezone.now() + ROTATION
        held.save(update_fields=["old_secret", "secret", "old_secret_until"])
        _record(actor, held, "webhook.secret_rotated", after={"webhook": held.public_id})
    return held, secret


def remove_webhook(*, actor: User, webhook: Webhook) -> None:
    """Remove a webhook and its secrets; nothing more is sent to it. A removed one stays as it is. Raises Denied."""
    require_administrator(actor=actor, project=webhook.project)
    with transaction.atomic():
        held = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
        if held.removed_at is not None:
            return
        held.active, held.removed_at = False, timezone.now()
        held.secret = held.old_secret = ""
        held.old_secret_until = None
        held.save(update_fields=["active", "removed_at", "secret", "old_secret", "old_secret_until"])
        WebhookDelivery.objects.filter(webhook=held, state=DeliveryState.WAITING).update(
            state=DeliveryState.GIVEN_UP,
            next_try_at=None,
            leased_until=None,
            error_message=message("The webhook was removed."),
        )
        _record(actor, held, "webhook.removed", before=_words(held))


def lock_webhook(webhook: Webhook) -> Webhook:
    """Lock a webhook in the caller's transaction and return it as it is now. Raises Conflict if it was removed."""
    held = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    if held.removed_at is not None:
        raise Conflict(_("The webhook was removed."))
    held.project = webhook.project
    return held


def _checked(url: str, events: Sequence[str], description: str) -> dict[str, Any]:
    known = [value for value, _label in CHOSEN_EVENTS]
    unknown = [event for event in events if event not in known]
    if unknown:
        sentence = _("There is no event “%(event)s”. Use some of: %(known)s.")
        raise Invalid(sentence % {"event": str(unknown[0])[:40], "known": ", ".join(known)}, field="events")
    if not events:
        raise Invalid(_("Choose at least one event."), field="events")
    if len(description) > MAX_DESCRIPTION:
        sentence = _("The description has more than %(most)d characters. Shorten it.")
        raise Invalid(sentence % {"most": MAX_DESCRIPTION}, field="description")
    return {
        "url": _check_url(url.strip()),
        "events": [event for event in known if event in events],
        "description": description.strip(),
    }


def _check_url(url: str) -> str:
    parts = split_url(url)
    if parts is None or len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        sentence = _("Enter an address such as https://hooks.example.com/assay, with at most %(most)d characters.")
        raise Invalid(sentence % {"most": MAX_URL}, field="url")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise Invalid(_("The address must have no user name, password or “#”."), field="url")
    host = parts.hostname or ""
    if not is_allowed(host):
        if parts.scheme == "http":
            raise Invalid(_("Use https, so that only the receiver can read the messages."), field="url")
        if not may_be_public(host):
            sentence = _("This address is not public. The operator of this server can allow it: WEBHOOK_HOSTS.")
            raise Invalid(sentence, field="url")
    return url


def _words(webhook: Webhook) -> dict[str, Any]:
    return {
        "webhook": webhook.public_id,
        "host": webhook.host,
        "description": webhook.description,
        "events": list(webhook.events),
        "active": webhook.active,
    }


def _record(
    actor: User,
    webhook: Webhook,
    kind: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    append_event(actor=actor, project=webhook.project, kind=kind, before=before, after=after)
