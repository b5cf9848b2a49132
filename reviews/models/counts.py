"""Counters of items by status and stage, and the outbox they are counted from."""

from django.db import models

from annotator.models import Project
from annotator.models.foreign_keys import UNENFORCED
from reviews.models.rows import Row


class Counter(Row):
    """A number of items. Added to the outbox it is exact even if no worker runs."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="counters", db_index=False)
    key = models.CharField(max_length=80)
    value = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="counter_once")]


class CounterDelta(Row):
    """Outbox: a change of a counter, written with the transition and added to the counter by a task."""

    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    key = models.CharField(max_length=80)
    delta = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "key"], name="counter_delta_by_key")]
