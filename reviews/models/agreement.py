"""How often reviewers said what together: pattern counts, and the settled runs that wait to be counted."""

from django.db import models

from annotator.models import Project
from reviews.models.cycles import StageRun


class AgreementCount(models.Model):
    """How many units of a stage show one rating pattern, in one week; for all reviewers or for one pair of them.

    Folded from ``AgreementPending``; what a page computes its statistics from.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    #: Of ``reviews.core.agreement.RATED`` or ``OVERLAPPING``.
    label = models.CharField(max_length=20)
    #: "<lower>:<higher>" ids of two people, whose ratings stand in that order; blank for all reviewers, in no order.
    pair = models.CharField(max_length=41, blank=True)
    #: The Monday of the week, of the project's zone, in which the run was settled.
    week = models.DateField()
    #: ``reviews.core.agreement.pattern_key``.
    pattern = models.CharField(max_length=400)
    count = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "stage", "label", "pair", "week", "pattern"], name="agreement_count_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label} {self.pattern}: {self.count}"


class AgreementPending(models.Model):
    """The outbox: a run whose reviews count for agreement, written as it settles, removed as it is counted."""

    stage_run = models.OneToOneField(StageRun, on_delete=models.PROTECT, related_name="+", primary_key=True)
    # Copied from the stage run.
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    #: Why it cannot be counted: set aside, so that the others go on. Blank while it waits. The database's default is
    #: for the statement with which a transition writes.
    problem = models.CharField(max_length=500, blank=True, default="", db_default="")

    def __str__(self) -> str:
        return f"run {self.stage_run_id}"
