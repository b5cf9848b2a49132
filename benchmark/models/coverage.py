"""How many entries, tasks or dialogues of a kind a project wants."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, Project, User


class TargetDimension(models.TextChoices):
    """What a target is about: ``annotator.core.coverage.DIMENSIONS``, and two that follow from the cells."""

    LEVEL = "level", _("All sequences of a length")
    CELL = "cell", _("Sequence of policies")
    SWITCHES = "switches", _("Switches (PTF)")
    INFORMATION = "information", _("Information")
    TOPOLOGY = "topology", _("Topology")
    CALLS = "calls", _("Calls")
    TASKS = "tasks", _("Tasks")
    LANGUAGE = "language", _("Language")
    CATEGORY = "category", _("Category of the toolset")
    DIFFICULTY = "difficulty", _("Difficulty")


class CoverageTarget(models.Model):
    """The number that a project wants verified or released. That of a cell goes before that of its level."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="coverage_targets", db_index=False)
    dimension = models.CharField(max_length=12, choices=TargetDimension)
    #: Such as “single_tool,chat” or “2”, the number of tasks of a level.
    value = models.CharField(max_length=60)
    wanted = models.PositiveIntegerField()
    changed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "dimension", "value"], name="coverage_target_once"),
            models.CheckConstraint(condition=Q(wanted__gt=0), name="coverage_target_positive"),
            models.CheckConstraint(
                condition=Q(dimension__in=TargetDimension.values), name="coverage_target_dimension_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.dimension} {self.value}: {self.wanted}"


class CoverageFirst(models.Model):
    """Switched on for a project: its waiting dialogues that fill gaps keep a high priority."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="coverage_first")
    changed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField(default=timezone.now)
    #: Hash of the counts by which priorities were set last; blank: they have to be set.
    counts_hash = models.CharField(max_length=64, blank=True, default="")

    def __str__(self) -> str:
        return f"coverage first in {self.project_id}"


class RaisedDialogue(models.Model):
    """A dialogue that has its high priority because it fills a gap, not because somebody has set it."""

    order = models.ForeignKey(CoverageFirst, on_delete=models.CASCADE, related_name="raised", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "dialogue"], name="raised_dialogue_once"),
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id} in {self.order_id}"
