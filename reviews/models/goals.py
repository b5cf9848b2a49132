"""How many reviews a person wants to submit in a day."""

from django.db import models
from django.db.models import Q

from annotator.models import Project, User
from reviews.models.rows import Row

MAX_GOAL = 500


class DailyGoal(Row):
    """A person's goal in a project, set by them or by an administrator. Without a row they have none."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    reviews = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "person"], name="daily_goal_once"),
            models.CheckConstraint(condition=Q(reviews__gte=1, reviews__lte=MAX_GOAL), name="daily_goal_in_range"),
        ]
