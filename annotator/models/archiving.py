"""Projects that are archived, and those whose deletion is planned, in progress or done."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models.keys import new_public_id
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


class ProjectDeletion(models.Model):
    """The deletion of a project: planned, in progress, or done. It stays when nothing else does.

    Once it has started, the guards of append-only tables let the project's rows go (``annotator.0015``).
    """

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    #: The key of the project. Not a foreign key, because the project goes and this row stays.
    project_key = models.BigIntegerField(unique=True)
    #: Public id, address and name of the project.
    project_public_id = models.CharField(max_length=12)
    slug = models.SlugField(max_length=60, db_index=False)
    name = models.CharField(max_length=120)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: Until then it can be cancelled.
    due_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(started_at=None) | Q(started_at__gte=models.F("due_at")),
                name="project_deletion_not_before_it_is_due",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None) | Q(started_at__isnull=False), name="project_deletion_started_before_its_end"
            ),
        ]

    def __str__(self) -> str:
        return f"deletion of {self.slug}"
