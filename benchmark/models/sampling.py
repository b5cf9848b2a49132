"""Queries for which trajectories are sampled; each attempt is a generation."""

from typing import Any, Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, Job, Project, ToolsetRevision, User
from annotator.models.exact import ExactJSONField
from annotator.models.jobs import JOB_ENDED
from annotator.models.keys import new_public_id
from annotator.models.messages import MessageField


class SamplingQuerySet(models.QuerySet["Sampling"]):
    def in_progress(self) -> Self:
        """Return samplings on which a job works, or will."""
        return self.filter(job__isnull=False).exclude(job__state__in=JOB_ENDED)


class Sampling(models.Model):
    """One request to sample trajectories.

    ``attempts``: at most, for each query. ``players``: role → its model (``services.sampling.players``). ``options``:
    how cases are made of the trajectories (``core.constructing.Options``). ``recording``: recorded answers as JSON
    lines; blank if models are asked. The budgets are for all attempts together.
    """

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="samplings")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    #: The latest that works on it.
    job = models.OneToOneField(Job, on_delete=models.PROTECT, null=True, related_name="sampling")
    attempts = models.PositiveSmallIntegerField()
    idempotent = models.BooleanField(default=False)
    token_budget = models.PositiveBigIntegerField(null=True)
    cost_budget = models.DecimalField(max_digits=12, decimal_places=4, null=True)
    players = models.JSONField(default=dict)
    options = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    recording = models.TextField(blank=True)

    objects = SamplingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(attempts__gt=0), name="sampling_has_attempts"),
        ]

    def __str__(self) -> str:
        return self.public_id


class QueryOutcome(models.TextChoices):
    OPEN = "open", _("Open")
    SOLVED = "solved", _("Solved")
    UNSOLVED = "unsolved", _("Not solved")


class SampledQuery(models.Model):
    """A query of a sampling. ``document``: a constrained one; once it is solved, with its trajectory.

    ``reason``: why the last attempt does not solve it.
    """

    sampling = models.ForeignKey(Sampling, on_delete=models.PROTECT, related_name="queries")
    name = models.CharField(max_length=200)
    #: The dialogue from which it was made; None if it came from a file.
    source = models.ForeignKey(Dialogue, on_delete=models.PROTECT, null=True, related_name="sampled_queries")
    toolset_revision = models.ForeignKey(ToolsetRevision, on_delete=models.PROTECT, related_name="+")
    outcome = models.CharField(max_length=8, choices=QueryOutcome.choices, default=QueryOutcome.OPEN)
    reason = MessageField(null=True)
    #: Last, because it may be large.
    document: Any = ExactJSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sampling", "name"], name="sampled_query_once")]

    def __str__(self) -> str:
        return self.name


class ConstructedPart(models.Model):
    """Some cases that a job has made, as JSON lines; deleted once their import has begun."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="constructed_parts")
    content = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.job_id}: {self.pk}"
