"""Counts of rating patterns, and the settled runs that wait to be counted."""

from django.db import models

from annotator.models import Project
from annotator.models.foreign_keys import UNENFORCED
from reviews.models.cycles import StageRun
from reviews.models.rows import Row


class AgreementCount(Row):
    """How many units of a stage have a pattern of ratings, by week, for all reviewers or for one pair.

    Also how many pairs of units of one dialogue have each two patterns.

    Counted from ``AgreementPending``; pages compute statistics from it.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    #: One of ``reviews.core.agreement.RATED`` or ``OVERLAPPING``, or "field:" with the key of a custom field.
    label = models.CharField(max_length=60)
    #: "<lower>:<higher>" ids of two people, with the ratings in that order; blank for all reviewers, in no order.
    pair = models.CharField(max_length=41, blank=True)
    #: The Monday of the week in which the run settled, in the project's time zone.
    week = models.DateField()
    #: A key of ``reviews.core.agreement.dialogue_keys``.
    pattern = models.CharField(max_length=2000)
    count = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "stage", "label", "pair", "week", "pattern"], name="agreement_count_once"
            ),
        ]


class AgreementPending(Row):
    """Outbox: a run whose reviews count for agreement. Written when it settles, deleted when it is counted."""

    stage_run = models.OneToOneField(StageRun, on_delete=models.PROTECT, related_name="+", primary_key=True)
    # Copied from the stage run.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    #: Why it cannot be counted, so that it does not block others; blank while it waits. The default in the database
    #: serves the statement that writes the row.
    problem = models.CharField(max_length=500, blank=True, default="", db_default="")
