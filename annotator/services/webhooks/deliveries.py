"""The log of a webhook's messages, tests, and messages sent again."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import DeliveryState, User, Webhook, WebhookDelivery, WebhookEvent
from annotator.services.access.permissions import require_administrator
from annotator.services.broker import wake_task
from annotator.services.database.statements import database_time
from annotator.services.history.events import append_event
from annotator.services.history.outbox import TASK, message_body, write_deliveries
from annotator.services.jobs.retention import remove_rows, retention
from annotator.services.webhooks.hooks import lock_webhook

_ENDED = (DeliveryState.DELIVERED, DeliveryState.GIVEN_UP)


def list_deliveries(*, actor: User, webhook: Webhook, state: str = "") -> QuerySet[WebhookDelivery]:
    """Return a webhook's messages, in one state if it is given. Raises Denied, and Hidden for outsiders."""
    require_administrator(actor=actor, project=webhook.project)
    rows = WebhookDelivery.objects.filter(webhook=webhook)
    return rows.filter(state=state) if state else rows


def changed_since(rows: QuerySet[WebhookDelivery], moment: datetime) -> QuerySet[WebhookDelivery]:
    """Return the messages that were written or last sent since."""
    return rows.filter(Q(created_at__gte=moment) | Q(tried_at__gte=moment))


def load_delivery(*, actor: User, webhook: Webhook, public_id: str) -> WebhookDelivery:
    """Return one message of a webhook. Raises Denied and Hidden."""
    found = list_deliveries(actor=actor, webhook=webhook).filter(public_id=public_id).first()
    if found is None:
        raise Hidden(_("There is no such message. Messages are removed some time after they were delivered."))
    found.webhook = webhook
    return found


def send_test(*, actor: User, webhook: Webhook) -> WebhookDelivery:
    """Write a message of the type ``ping``. Raises Denied, and Conflict if the webhook is off or another test waits."""
    require_administrator(actor=actor, project=webhook.project)
    with transaction.atomic():
        held, now = _lock_active(webhook), database_time()
        if held.deliveries.filter(event=WebhookEvent.PING, state=DeliveryState.WAITING).exists():
            raise Conflict(_("A test is already waiting. See below whether it is delivered."))
        # Sent now, whatever failed before.
        Webhook.objects.filter(pk=held.pk).update(hold_until=None)
        body = message_body(webhook.project, WebhookEvent.PING, {"webhook": held.public_id}, now=now)
        [public_id] = write_deliveries([(held.pk, WebhookEvent.PING.value, body)], now=now)
        append_event(actor=actor, project=webhook.project, kind="webhook.tested", after={"webhook": held.public_id})
    return WebhookDelivery.objects.get(public_id=public_id)


def send_again(*, actor: User, delivery: WebhookDelivery) -> WebhookDelivery:
    """Send a message again, now, with the same id and body. Its attempts are counted from zero.

    Raises Denied, and Conflict if the webhook is off or a worker is sending the message.
    """
    webhook = delivery.webhook
    require_administrator(actor=actor, project=webhook.project)
    with transaction.atomic():
        held, now = _lock_active(webhook), database_time()
        row = WebhookDelivery.objects.filter(pk=delivery.pk).first()
        if row is None:
            raise Hidden(_("There is no such message. Messages are removed some time after they were delivered."))
        if row.leased_until is not None and row.leased_until > now:
            raise Conflict(_("The message is being sent right now. Reload the page to see the result."))
        WebhookDelivery.objects.filter(pk=row.pk).update(
            state=DeliveryState.WAITING, attempts=0, next_try_at=now, leased_until=None
        )
        Webhook.objects.filter(pk=held.pk).update(hold_until=None)
        append_event(
            actor=actor,
            project=webhook.project,
            kind="webhook.sent_again",
            after={"webhook": held.public_id, "message": row.message_id},
        )
        transaction.on_commit(lambda: wake_task(TASK), robust=True)
    row.refresh_from_db()
    return row


def _lock_active(webhook: Webhook) -> Webhook:
    held = lock_webhook(webhook)
    if not held.active:
        raise Conflict(_("The webhook is off. Switch it on first."))
    return held


@retention("messages to webhooks", days="webhooks")
def _delivered(before: datetime) -> int:
    # Also those that wait for a webhook that is off.
    rows = WebhookDelivery.objects.filter(created_at__lt=before)
    return remove_rows(rows.filter(state__in=_ENDED)) + remove_rows(rows.filter(webhook__active=False))
