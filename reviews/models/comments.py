"""Comments and feedback."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, MessageField, User
from annotator.models.keys import new_public_id
from annotator.translation import translated
from reviews.models.cycles import StageRun
from reviews.models.reviews import Review
from reviews.models.rows import Row

#: How long the author of a comment can change its text.
EDITABLE_FOR = timedelta(minutes=5)


class CommentQuerySet(models.QuerySet["Comment"]):
    def visible_to(self, user: User) -> Self:
        """Return all comments except other people's in a blind stage that has not ended."""
        # Own comments also on a training item, which is in no list.
        own = Q(author=user, dialogue__in=Dialogue.objects.workable_by(user))
        return self.filter(own | Q(sealed=False, dialogue__in=Dialogue.objects.visible_to(user)))


class Comment(Row):
    """A comment on a place in a dialogue."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="comments")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    #: The comment it replies to, which is never a reply itself.
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="replies")
    stage_run = models.ForeignKey(StageRun, on_delete=models.PROTECT, null=True, related_name="comments")
    anchor = models.CharField(max_length=600, blank=True)
    value_hash = models.CharField(max_length=16, blank=True)
    text = models.TextField(max_length=4000)
    sealed = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    edited_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")

    objects = CommentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="comment_not_empty"),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True) | Q(resolved_by__isnull=False),
                name="comment_resolved_by_somebody",
            ),
        ]

    @property
    def is_fresh(self) -> bool:
        """Return whether its author can still change it."""
        return timezone.now() < self.created_at + EDITABLE_FOR


class FeedbackKind(models.TextChoices):
    #: An error in the random sample.
    AUDIT = "audit", _("Audit")
    #: A senior reviewer settled a dispute differently from the author.
    ADJUDICATION = "adjudication", _("Dispute")
    #: A senior reviewer settled a dispute differently from a reviewer.
    OVERRULED = "overruled", _("Overruled")
    #: The random sample has so many errors that the author's other items come back.
    RETURNED = "returned", _("Sent back")


class FeedbackQuerySet(models.QuerySet["Feedback"]):
    def visible_to(self, user: User) -> Self:
        """Return the feedback to the user."""
        return self.filter(person=user, dialogue__in=Dialogue.objects.visible_to(user))


class Feedback(Row):
    """Notifies an author or a reviewer of an error found later. Its ``Notice`` records whether it was read."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="feedback")
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="feedback", db_index=False)
    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="feedback")
    kind = models.CharField(max_length=14, choices=FeedbackKind)
    message = MessageField()
    #: The rulings of the review that concern this person.
    rulings = models.ManyToManyField("reviews.Ruling", related_name="feedback")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = FeedbackQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "person", "kind"], name="feedback_once_per_kind")]
        indexes = [models.Index(fields=["person", "-created_at", "-public_id"], name="feedback_by_person")]

    @property
    def text(self) -> str:
        """Return the opening sentence and the lines with reasons and errors, in the active language."""
        return translated(self.message)

    @property
    def opening(self) -> str:
        """Return the text without the lines with reasons and errors."""
        return self.text.split("\n", 1)[0]
