"""Threads about feedback: replies, and the dispute of the person who got it."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import User
from annotator.models.keys import new_public_id
from reviews.models.comments import Feedback
from reviews.models.rows import Row

MAX_TEXT = 2000


class DisputeState(models.TextChoices):
    OPEN = "open", _("Disputed")
    #: The decision was wrong.
    ACCEPTED = "accepted", _("Dispute accepted")
    #: The decision stays.
    KEPT = "kept", _("Decision kept")


class FeedbackDispute(Row):
    """A person's dispute of feedback to them, and its answer. It is answered once."""

    feedback = models.OneToOneField(Feedback, on_delete=models.PROTECT, related_name="dispute")
    reason = models.TextField(max_length=MAX_TEXT)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    state = models.CharField(max_length=8, choices=DisputeState, default=DisputeState.OPEN)
    answer = models.TextField(max_length=MAX_TEXT, blank=True)
    #: Who decided, or an administrator in their place.
    answered_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="feedback_dispute_has_reason"),
            models.CheckConstraint(
                condition=Q(state=DisputeState.OPEN, answer="", answered_by__isnull=True, answered_at__isnull=True)
                | (
                    Q(state__in=["accepted", "kept"], answered_by__isnull=False, answered_at__isnull=False)
                    & ~Q(answer="")
                ),
                name="feedback_dispute_answered_or_open",
            ),
        ]


class FeedbackReply(Row):
    """A reply in the thread of a feedback. Immutable."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    feedback = models.ForeignKey(Feedback, on_delete=models.PROTECT, related_name="replies")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    text = models.TextField(max_length=MAX_TEXT)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(text=""), name="feedback_reply_not_empty")]
