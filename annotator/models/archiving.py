"""Projects that are archived."""

from django.db import models
from django.utils import timezone

from annotator.models.people import Project, User


class ArchivedProject(models.Model):
    """A project that is archived, for as long as it is. Triggers of the database look here: nothing new begins in it.

    A table of its own, because SQLite cannot rebuild a table that the triggers of others name.
    """

    project = models.OneToOneField(Project, on_delete=models.PROTECT, primary_key=True, related_name="archived")
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"archived project {self.project_id}"
