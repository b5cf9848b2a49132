"""The review of toolsets: which item a toolset is, and which contents were verified."""

from typing import Self

from django.db import models
from django.utils import timezone

from annotator.models import Dialogue, Project, Revision, Toolset
from annotator.models.content import DialogueStatus
from reviews.models.rows import Row


class ToolsetItem(Row):
    """The item of a toolset in the project in which it is reviewed. Equal toolsets of several projects share one."""

    toolset = models.OneToOneField(Toolset, on_delete=models.PROTECT, related_name="item")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="reviewed_toolsets")
    created_at = models.DateTimeField(default=timezone.now, editable=False)


class ToolsetVerificationQuerySet(models.QuerySet["ToolsetVerification"]):
    def in_effect(self) -> Self:
        """Return those whose toolset still is verified with this content."""
        return self.filter(
            dialogue__status=DialogueStatus.VERIFIED, dialogue__archived_at=None, dialogue__head=models.F("revision")
        )


class ToolsetVerification(Row):
    """A verified revision of a toolset in review, with the hash that a toolset revision of the same content has."""

    #: The project in which the toolset was reviewed.
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    revision = models.OneToOneField(Revision, on_delete=models.PROTECT, related_name="+")
    content_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ToolsetVerificationQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["project", "content_hash"], name="toolset_verified_by_content")]
