"""Work that a new guideline has outdated: what an administrator says of a version, and the dialogues it touches."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models.content import Dialogue
from annotator.models.keys import new_public_id
from annotator.models.people import Guideline, Project, User


class GuidelineChange(models.Model):
    """An administrator's word that a guideline version outdates earlier work: of which policies and error types."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    guideline = models.ForeignKey(Guideline, on_delete=models.PROTECT, related_name="changes")
    #: Policies whose tasks are touched; empty with no error types: every dialogue.
    policies = models.JSONField(default=list)
    #: Error types (of the taxonomy of the protocol): dialogues in which a reviewer named one are touched.
    error_types = models.JSONField(default=list)
    reason = models.CharField(max_length=500)
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"change of guideline {self.guideline_id}"


class OutdatedDialogue(models.Model):
    """A dialogue whose work was done under a guideline that an administrator has since called outdated for it."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="outdated_flags", db_index=False)
    change = models.ForeignKey(GuidelineChange, on_delete=models.PROTECT, related_name="dialogues")
    # Copied from the dialogue.
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    #: When it began the protocol anew, or somebody said that it may stay as it is.
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dialogue", "change"], name="outdated_once_per_change")]
        indexes = [
            models.Index(fields=["project", "dialogue"], condition=Q(cleared_at=None), name="outdated_open"),
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id} is outdated"
