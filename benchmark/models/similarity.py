"""Dialogues with nearly the same text: what the search compares, and what it found."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, Project, User
from annotator.models.foreign_keys import UNENFORCED


class SimilarityBand(models.Model):
    """One band of a dialogue's signature: dialogues that share one are compared for near-duplication."""

    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    band = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "band"], name="similarity_band_lookup")]

    def __str__(self) -> str:
        return f"{self.band} of {self.dialogue_id}"


class Likeness(models.TextChoices):
    """How two texts are alike: ``Kind`` of ``annotator.core.checks.similarity``."""

    SAME = "same", _("The same")
    VALUES = "values", _("The same but for values")
    OVERLAP = "overlap", _("Overlap")


class SimilarPair(models.Model):
    """A dialogue and one that was there before it, whose texts are alike; the finding depends on the threshold.

    Gold items have none.
    """

    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    other = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    percent = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=8, choices=Likeness)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "other"], name="similar_pair_once"),
            models.CheckConstraint(condition=~Q(dialogue=F("other")), name="similar_pair_of_two"),
        ]
        indexes = [models.Index(fields=["project"], name="similar_pair_by_project")]

    def __str__(self) -> str:
        return f"{self.dialogue_id} like {self.other_id}: {self.percent} %"


class SimilarDialogue(models.Model):
    """A dialogue's group: all that are similar to one another, directly or through others."""

    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    dialogue = models.OneToOneField(Dialogue, on_delete=models.PROTECT, related_name="similar")
    #: The first dialogue of the group.
    group = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    #: The number of dialogues in the group.
    size = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["project", "-size"], condition=Q(dialogue=F("group")), name="similar_group_by_size")
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id} in the group of {self.group_id}"


class SimilaritySettings(models.Model):
    """From which overlap a project calls two dialogues near-duplicates. The search locks this row."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="similarity_settings")
    #: Percent; null: the default.
    threshold = models.PositiveSmallIntegerField(null=True)
    #: What each threshold would report, since the last search: lists of threshold, groups and dialogues.
    extents = models.JSONField(default=list, blank=True)
    changed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(threshold__range=(50, 100)), name="similarity_threshold_in_range")
        ]

    def __str__(self) -> str:
        return f"similarity settings of {self.project_id}"
