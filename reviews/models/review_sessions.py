"""Review sessions: several people discuss disputed items, and one of them decides."""

from django.db import models
from django.utils import timezone

from annotator.models import Project, User
from reviews.models.reviews import Review
from reviews.models.rows import Row


class ReviewSession(Row):
    """A review session on the disputes in one round of a stage, and who is present."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    round = models.PositiveIntegerField()
    participants = models.ManyToManyField(User, related_name="+")
    opened_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "stage", "round"], name="review_session_once_per_round")
        ]


class SessionDecision(Row):
    """Records that a review was decided in a session: who was present, and their notes. The reviewer decided."""

    session = models.ForeignKey(ReviewSession, on_delete=models.PROTECT, related_name="decisions")
    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="session_decision")
    participants = models.ManyToManyField(User, related_name="+")
    note = models.TextField(max_length=4000, blank=True)
