"""Webhooks: addresses that Assay tells about events of a project, and each message to them."""

from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models.keys import new_public_id
from annotator.models.messages import MessageField
from annotator.models.people import Project, User
from annotator.translation import translated


class WebhookEvent(models.TextChoices):
    """The types of messages (docs/webhooks.md)."""

    IMPORT_FINISHED = "import.finished", _("An import is finished")
    IMPORT_FAILED = "import.failed", _("An import failed")
    VERIFIED = "dialogue.verified", _("A dialogue is verified")
    ESCALATED = "dialogue.escalated", _("A dialogue is escalated to a senior reviewer")
    ALARM = "alarm.raised", _("There is an alarm for administrators")
    RELEASE_FROZEN = "release.frozen", _("A release is frozen")
    RELEASE_FAILED = "release.failed", _("A release failed")
    ERRATUM = "erratum.confirmed", _("An erratum of a release is confirmed")
    PING = "ping", _("Test")


#: The types that a webhook can be for; a test is sent to any webhook.
CHOSEN_EVENTS = [(value, label) for value, label in WebhookEvent.choices if value != WebhookEvent.PING]


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def usable(self) -> "WebhookQuerySet":
        """Return the webhooks that get messages."""
        return self.filter(active=True, removed_at=None)


class Webhook(models.Model):
    """An address that gets messages. Its secrets are encrypted (``annotator.services.webhooks.secrets``)."""

    #: Its page: see ABSOLUTE_URL_OVERRIDES in the settings.
    get_absolute_url: Callable[[], str]

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="webhooks", db_index=False)
    url = models.CharField(max_length=1000)
    description = models.CharField(max_length=200, blank=True)
    #: The values of ``WebhookEvent`` that it gets.
    events = models.JSONField(default=list)
    active = models.BooleanField(default=True)
    secret = models.TextField(blank=True)
    #: The secret before the last rotation, which signs too until then.
    old_secret = models.TextField(blank=True)
    old_secret_until = models.DateTimeField(null=True)
    #: Failed attempts in a row; no message is sent before ``hold_until``.
    failures = models.PositiveIntegerField(default=0)
    hold_until = models.DateTimeField(null=True)
    #: Messages in a row that were given up.
    given_up = models.PositiveIntegerField(default=0)
    #: When its turn last was: webhooks take turns.
    tried_at = models.DateTimeField(null=True)
    #: Why Assay switched it off.
    off_message = MessageField(null=True)
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When it was removed; it has no secret then.
    removed_at = models.DateTimeField(null=True)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(removed_at=None) | Q(active=False, secret="", old_secret=""),
                name="removed_webhook_has_no_secret",
            ),
            models.CheckConstraint(
                condition=Q(old_secret="", old_secret_until=None)
                | (~Q(old_secret="") & Q(old_secret_until__isnull=False)),
                name="old_webhook_secret_has_an_end",
            ),
        ]
        indexes = [models.Index(fields=["project"], condition=Q(removed_at=None), name="webhook_by_project")]

    def __str__(self) -> str:
        # Not the whole address, which may contain a secret.
        return self.description or self.host

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def why_off(self) -> str:
        """Return why Assay switched it off, in the active language, or a blank."""
        return "" if self.off_message is None else translated(self.off_message)

    def old_secret_signs(self, now: datetime) -> bool:
        """Return whether the secret before the last rotation is still used."""
        return self.old_secret_until is not None and now < self.old_secret_until


class DeliveryState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DELIVERED = "delivered", _("Delivered")
    GIVEN_UP = "given_up", _("Given up")


class WebhookDelivery(models.Model):
    """One message to one webhook: written with the event, then sent until it is delivered or given up."""

    #: Also the message's id, which is the same in each attempt.
    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=24, choices=WebhookEvent)
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    #: Since it was written or sent again by hand.
    attempts = models.PositiveIntegerField(default=0)
    #: Raised by each attempt, never reset; fences the result of an attempt that is no longer the last one.
    fence = models.PositiveIntegerField(default=0)
    #: When it is due; null once it has ended.
    next_try_at = models.DateTimeField(null=True)
    #: Until then, a worker is sending it.
    leased_until = models.DateTimeField(null=True)
    #: When the last attempt began: its timestamp.
    tried_at = models.DateTimeField(null=True)
    #: The status, duration and first 2 kB of the last response; null if there was none.
    status = models.PositiveIntegerField(null=True)
    milliseconds = models.PositiveIntegerField(null=True)
    reply = models.TextField(blank=True)
    #: Why the last attempt failed.
    error_message = MessageField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: The body, byte for byte as it is sent and signed.
    body = models.TextField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=DeliveryState.values), name="webhook_delivery_state_known"),
            models.CheckConstraint(
                condition=Q(state="waiting") ^ Q(next_try_at=None), name="waiting_webhook_delivery_is_due"
            ),
        ]
        indexes = [
            models.Index(fields=["webhook", "-id"], name="webhook_delivery_log"),
            models.Index(
                fields=["webhook", "next_try_at"], condition=Q(state="waiting"), name="webhook_delivery_waiting"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.message_id}"

    @property
    def message_id(self) -> str:
        return f"msg_{self.public_id}"

    @property
    def error(self) -> str:
        """Return why the last attempt failed, in the active language, or a blank."""
        return "" if self.error_message is None else translated(self.error_message)
