"""Comments between people: comments at a place, feedback to an author."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, User
from annotator.models.keys import new_public_id
from reviews.models.cycles import StageRun
from reviews.models.reviews import Review


class CommentQuerySet(models.QuerySet["Comment"]):
    def visible_to(self, user: User) -> Self:
        """Everything but what a colleague comments in a blind stage that has not settled."""
        return self.filter(Q(sealed=False) | Q(author=user), dialogue__in=Dialogue.objects.visible_to(user))


class Comment(models.Model):
    """A comment on any place of a dialogue."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="comments")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    #: The comment it answers: always one that answers none itself.
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="replies")
    stage_run = models.ForeignKey(StageRun, on_delete=models.PROTECT, null=True, related_name="comments")
    anchor = models.CharField(max_length=600, blank=True)
    value_hash = models.CharField(max_length=16, blank=True)
    text = models.TextField(max_length=4000)
    sealed = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
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

    def __str__(self) -> str:
        return self.text[:60]


class FeedbackKind(models.TextChoices):
    #: An error in the random sample.
    AUDIT = "audit", _("Audit")
    #: An expert settled a dispute otherwise than the author had it.
    ADJUDICATION = "adjudication", _("Adjudication")
    #: An expert settled a dispute otherwise than a reviewer had it.
    OVERRULED = "overruled", _("Overruled")
    #: So many errors in the random sample that the rest of the author's items comes back.
    RETURNED = "returned", _("Sent back")


class FeedbackQuerySet(models.QuerySet["Feedback"]):
    def visible_to(self, user: User) -> Self:
        """What was said to the user."""
        return self.filter(person=user, dialogue__in=Dialogue.objects.visible_to(user))


class Feedback(models.Model):
    """What an author or a reviewer is told was wrong later on, and where. That it was read stands in its ``Notice``."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="feedback")
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="feedback", db_index=False)
    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="feedback")
    kind = models.CharField(max_length=14, choices=FeedbackKind)
    text = models.TextField(max_length=4000)
    #: The rulings of the review that concern this person.
    rulings = models.ManyToManyField("reviews.Ruling", related_name="feedback")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = FeedbackQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "person", "kind"], name="feedback_once_per_kind")]
        indexes = [models.Index(fields=["person", "-created_at", "-public_id"], name="feedback_by_person")]

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def opening(self) -> str:
        """Its words without the lines that name reasons and errors."""
        return self.text.split("\n", 1)[0]
