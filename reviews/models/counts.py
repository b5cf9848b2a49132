"""How many items stand where: counters, and the outbox they are folded from."""

from django.db import models

from annotator.models import Project


class Counter(models.Model):
    """How many items stand where. Read together with the outbox, so it is exact even while no worker runs."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="counters", db_index=False)
    key = models.CharField(max_length=80)
    value = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="counter_once")]

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


class CounterDelta(models.Model):
    """The outbox: changes of counters written with the transition, folded into the counters by a task."""

    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    key = models.CharField(max_length=80)
    delta = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "key"], name="counter_delta_by_key")]

    def __str__(self) -> str:
        return f"{self.key}{self.delta:+d}"
