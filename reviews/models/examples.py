"""Examples: verified dialogues that show how to do it, shown beside an item."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models import Dialogue, Project, Revision, User
from annotator.models.keys import new_public_id
from reviews.models.rows import Row


class ExampleQuerySet(models.QuerySet["Example"]):
    def visible_to(self, user: User) -> Self:
        """Return the examples of the user's projects."""
        return self.filter(project__in=Project.objects.visible_to(user))


class Example(Row):
    """A verified revision of a dialogue, or one of its tasks, with a note on what it shows. Never changed."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="examples", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="examples")
    #: The revision that was verified when it was marked; later corrections do not change the example.
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: Id of the task; blank for the whole dialogue.
    task = models.CharField(max_length=100, blank=True)
    comment = models.TextField(max_length=4000)
    #: Keys of the stages and policies for which it is shown; empty: all.
    stages = models.JSONField(default=list)
    policies = models.JSONField(default=list)
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)

    objects = ExampleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dialogue", "task"], condition=Q(withdrawn_at__isnull=True), name="example_once_per_place"
            ),
            models.CheckConstraint(condition=~Q(comment=""), name="example_says_what_it_shows"),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True, withdrawn_by__isnull=True)
                | Q(withdrawn_at__isnull=False, withdrawn_by__isnull=False),
                name="example_withdrawn_by_somebody",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], condition=Q(withdrawn_at__isnull=True), name="example_in_use")
        ]
