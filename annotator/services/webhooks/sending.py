"""Sends the messages that are due: at least once, and in their order as long as none has to be repeated.

A worker claims a message by compare-and-swap, with a lease, sends it, and records the result. If it is killed between,
another worker sends the message again, with the same id, when the lease has ended. The webhook's row is locked while a
message is claimed, so a webhook has one message on its way at a time.

After a failure, the message is due again after a pause that grows. The webhook's other messages wait for a shorter
pause, so a receiver that is away does not occupy the workers. Messages of archived projects wait until the project is
restored.
"""

import logging
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import httpx2
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotator.core.text import Message, message
from annotator.models import ArchivedProject, DeliveryState, NoticeKind, Role, Webhook, WebhookDelivery
from annotator.services.database.statements import database_time
from annotator.services.history.events import append_event
from annotator.services.notices.notices import members_with, notify
from annotator.services.outgoing.encryption import SecretKeyChanged
from annotator.services.webhooks.posting import GONE, Answer, new_client, post
from annotator.services.webhooks.secrets import signed_headers

#: Seconds before each repetition; a message that fails once more is given up.
BACK_OFF = (5, 60, 300, 1800, 7200, 21_600, 43_200, 86_400)
#: The greatest pause for the webhook's other messages.
_LONGEST_HOLD = 300
#: Longer than an attempt takes, with the resolving of its name, which has no limit of ours.
LEASE = timedelta(minutes=3)
#: Messages given up in a row after which a webhook is switched off.
MAX_GIVEN_UP = 5
#: Seconds after which a round leaves the rest to the next one.
ROUND = 30.0
#: Webhooks tried in turn for a claim, if other workers claim at the same time.
_TRIES = 5

_LOG = logging.getLogger(__name__)


def send_due(*, now: datetime | None = None) -> int:
    """Send the messages that are due, for a limited time; returns the number of attempts."""
    count, end = 0, monotonic() + ROUND
    client: httpx2.Client | None = None
    try:
        while monotonic() < end and (claimed := claim_next(now=now)) is not None:
            client = client or new_client()
            record(claimed, attempt(client, claimed), now=now)
            count += 1
    finally:
        if client is not None:
            client.close()
    return count


def claim_next(*, now: datetime | None = None) -> WebhookDelivery | None:
    """Claim the oldest due message of the webhook whose turn it is; None if nothing is due."""
    now = now or database_time()
    for _ in range(_TRIES):
        with transaction.atomic():
            waiting = Webhook.objects.usable().filter(Q(hold_until=None) | Q(hold_until__lte=now))
            # Not by a join, which would lock the projects too.
            waiting = waiting.exclude(project__in=ArchivedProject.objects.values("project"))
            waiting = waiting.filter(Exists(_due(now, webhook=OuterRef("pk"))), ~Exists(_leased(now, OuterRef("pk"))))
            turns = waiting.order_by(F("tried_at").asc(nulls_first=True), "pk")
            webhook = turns.select_for_update(skip_locked=True, no_key=True).first()
            if webhook is None:
                return None
            # Asked again: another worker may have claimed one before this one had the lock.
            if _leased(now, webhook.pk).exists():
                continue
            found = _due(now, webhook=webhook.pk).order_by("pk").only("pk").first()
            if found is None:
                continue
            Webhook.objects.filter(pk=webhook.pk).update(tried_at=now)
            WebhookDelivery.objects.filter(pk=found.pk).update(
                attempts=F("attempts") + 1, fence=F("fence") + 1, leased_until=now + LEASE, tried_at=now
            )
        return WebhookDelivery.objects.select_related("webhook__project").get(pk=found.pk)
    return None


def _due(now: datetime, *, webhook: Any) -> QuerySet[WebhookDelivery]:
    rows = WebhookDelivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING, next_try_at__lte=now)
    return rows.filter(Q(leased_until=None) | Q(leased_until__lte=now))


def _leased(now: datetime, webhook: Any) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING, leased_until__gt=now)


def attempt(client: httpx2.Client, delivery: WebhookDelivery) -> Answer:
    """Send a claimed message once."""
    webhook = delivery.webhook
    try:
        headers = signed_headers(webhook, delivery.message_id, delivery.body, now=delivery.tried_at or database_time())
    except SecretKeyChanged:
        return Answer(
            None,
            0,
            error=message(
                "The secret can’t be decrypted, because this server’s secret key has changed. Rotate the secret."
            ),
        )
    return post(client, webhook.url, delivery.body, headers)


def record(delivery: WebhookDelivery, answer: Answer, *, now: datetime | None = None) -> bool:
    """Record the result of an attempt; False if the message is no longer this worker's.

    If the webhook's address was changed during the attempt, the result says nothing about the one it has now: a failure
    is not counted, and the message is due at once.
    """
    now = now or database_time()
    changes: dict[str, Any] = {
        "leased_until": None, "status": answer.status, "milliseconds": answer.milliseconds, "reply": answer.reply,
        "error_message": answer.error,
    }  # fmt: skip
    with transaction.atomic():
        webhook = Webhook.objects.select_for_update(no_key=True).select_related("project").get(pk=delivery.webhook_id)
        # The claim has the webhook as it was when the attempt began.
        moved = webhook.url != delivery.webhook.url
        given_up = not moved and (answer.status == GONE or delivery.attempts > len(BACK_OFF))
        if answer.error is None or given_up:
            ended = DeliveryState.GIVEN_UP if answer.error else DeliveryState.DELIVERED
            changes |= {"state": ended, "next_try_at": None}
        elif moved:
            changes["next_try_at"] = now
        else:
            changes["next_try_at"] = now + timedelta(seconds=max(_pause(delivery), answer.wait))
        mine = WebhookDelivery.objects.filter(pk=delivery.pk, fence=delivery.fence, state=DeliveryState.WAITING)
        if not mine.update(**changes):
            return False
        if moved:
            return True
        if answer.error is None:
            Webhook.objects.filter(pk=webhook.pk).update(failures=0, given_up=0, hold_until=None)
            return True
        pause = BACK_OFF[min(webhook.failures, len(BACK_OFF) - 1)]
        hold = max(min(pause, _LONGEST_HOLD), answer.wait)
        webhook.failures, webhook.given_up = webhook.failures + 1, webhook.given_up + given_up
        webhook.hold_until = now + timedelta(seconds=hold)
        webhook.save(update_fields=["failures", "given_up", "hold_until"])
        if webhook.project.archived_at is not None:
            # Archived during the attempt. A webhook is switched off with an event, so not before it is restored.
            return True
        if answer.status == GONE:
            _switch_off(webhook, answer.error)
        elif webhook.given_up >= MAX_GIVEN_UP:
            why = message(
                "%(count)s messages in a row could not be delivered. %(last)s", count=MAX_GIVEN_UP, last=answer.error
            )
            _switch_off(webhook, why)
    return True


def _pause(delivery: WebhookDelivery) -> float:
    """Return the seconds before the next attempt, spread by the row's key, so that messages do not come all at once."""
    share = delivery.pk * 2_654_435_761 % 2**32 / 2**32
    return BACK_OFF[max(0, delivery.attempts - 1)] * (1 + share / 5)


def _switch_off(webhook: Webhook, why: Message) -> None:
    """Switch a webhook off and tell its administrators. The caller has locked it."""
    if not Webhook.objects.filter(pk=webhook.pk, active=True).update(active=False, off_message=why):
        return
    project = webhook.project
    append_event(actor=None, project=project, kind="webhook.switched_off", after={"webhook": webhook.public_id})
    notify(
        actor=None,
        project=project,
        people=members_with(project, Role.ADMINISTRATOR),
        kind=NoticeKind.ALARM,
        text=message("The webhook %(name)s was switched off: %(why)s", name=str(webhook), why=why),
        target=webhook.get_absolute_url(),
        key=f"webhook.off:{webhook.public_id}",
    )
    _LOG.info("switched off webhook %s", webhook.public_id)
