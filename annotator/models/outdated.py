"""Work outdated by a new guideline: the changes that administrators declare, and the affected dialogues."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models.content import Dialogue
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.keys import new_public_id
from annotator.models.people import Guideline, Project, User


class GuidelineChange(models.Model):
    """An administrator's statement that a guideline version outdates earlier work, by policies and error types."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    guideline = models.ForeignKey(Guideline, on_delete=models.PROTECT, related_name="changes")
    #: Affected policies; if empty and without error types, every dialogue is affected.
    policies = models.JSONField(default=list)
    #: Error types of the protocol: dialogues in which a reviewer tagged one are affected.
    error_types = models.JSONField(default=list)
    reason = models.CharField(max_length=500)
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"change of guideline {self.guideline_id}"


class OutdatedDialogue(models.Model):
    """A dialogue whose work is outdated by a guideline change."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="outdated_flags", db_index=False)
    change = models.ForeignKey(GuidelineChange, on_delete=models.PROTECT, related_name="dialogues")
    # Copied from the dialogue.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    #: When it restarted the protocol, or somebody confirmed it as it is.
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dialogue", "change"], name="outdated_once_per_change")]
        indexes = [
            models.Index(fields=["project", "dialogue"], condition=Q(cleared_at=None), name="outdated_open"),
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id} is outdated"
