"""Protocol versions, and how dialogues pass through them: cycles and their stage runs.

References without an index have no constraint either: otherwise, deleting one unpublished revision of a cancelled
import would read every row that might refer to it. Revisions that people have seen are never deleted.
"""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, Project, Revision, User
from annotator.models.foreign_keys import UNENFORCED
from reviews.models.rows import Row


class ProtocolVersion(Row):
    """An immutable version of a project's review protocol. A cycle keeps the version it started with."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="protocol_versions")
    number = models.PositiveIntegerField()
    preset = models.CharField(max_length=20, blank=True)
    #: Canonical text of a ``reviews.core.protocols.Protocol``.
    definition = models.TextField()
    content_hash = models.CharField(max_length=64)
    author = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="protocol_number_once")]
        ordering = ["-number"]


class CycleState(models.TextChoices):
    ACTIVE = "active", _("Active")
    VERIFIED = "verified", _("Verified")
    REJECTED = "rejected", _("Rejected")
    SUPERSEDED = "superseded", _("Superseded")
    #: Sending the dialogue back was undone before anybody worked on it.
    WITHDRAWN = "withdrawn", _("Withdrawn")


class CycleQuerySet(models.QuerySet["Cycle"]):
    def in_effect(self) -> Self:
        """Return the cycles that count. A withdrawn cycle is as if it had never begun, so no "last cycle" is one."""
        return self.exclude(state=CycleState.WITHDRAWN)


class Cycle(Row):
    """One pass of a dialogue through a protocol version.

    After it has ended, the database refuses to change its result (``reviews.0009``), with one exception: a superseded
    cycle is active again if the cycles that followed it were withdrawn. A withdrawn cycle has no claims or reviews.
    """

    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="cycles", db_index=False)
    project = models.ForeignKey(Project, related_name="cycles", **UNENFORCED)
    protocol = models.ForeignKey(ProtocolVersion, on_delete=models.PROTECT, related_name="cycles", db_index=False)
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=CycleState, default=CycleState.ACTIVE)
    #: Content at the start; the baseline of the accuracy curve.
    entry_revision = models.ForeignKey(Revision, related_name="+", **UNENFORCED)
    #: The verified content; null otherwise.
    exit_revision = models.ForeignKey(Revision, null=True, related_name="+", **UNENFORCED)
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True)

    objects = CycleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "number"], name="cycle_number_once"),
            models.UniqueConstraint(fields=["dialogue"], condition=Q(state="active"), name="cycle_one_active"),
            models.CheckConstraint(condition=Q(state__in=CycleState.values), name="cycle_state_known"),
            models.CheckConstraint(
                condition=~Q(state="verified") | Q(exit_revision__isnull=False), name="cycle_verified_has_revision"
            ),
            models.CheckConstraint(
                condition=Q(state="active", ended_at__isnull=True) | Q(~Q(state="active"), ended_at__isnull=False),
                name="cycle_ended_has_time",
            ),
        ]
        # Dialogues that are reviewed again are few; so they are found.
        indexes = [models.Index(fields=["project", "dialogue"], condition=Q(number__gt=1), name="cycle_again")]


class StageRunState(models.TextChoices):
    OPEN = "open", _("Open")
    POOLED = "pooled", _("Waiting for the draw")
    #: In a draw whose result is being written.
    DRAWN = "drawn", _("Drawn")
    SETTLED = "settled", _("Settled")
    CANCELLED = "cancelled", _("Cancelled")


class StageRun(Row):
    """One round of one stage in one cycle: content at the start, outcome, content at the end."""

    cycle = models.ForeignKey(Cycle, on_delete=models.PROTECT, related_name="stage_runs", db_index=False)
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    stage = models.CharField(max_length=40)
    round = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=10, choices=StageRunState, default=StageRunState.OPEN)
    #: How the item entered the stage: "regular", "escalated" or "sampled".
    entered_as = models.CharField(max_length=12, default="regular")
    blind = models.BooleanField(default=False)
    entry_revision = models.ForeignKey(Revision, related_name="+", **UNENFORCED)
    exit_revision = models.ForeignKey(Revision, null=True, related_name="+", **UNENFORCED)
    #: One of ``reviews.core.protocols.Outcome``; after a pool also "not_drawn".
    outcome = models.CharField(max_length=20, blank=True)
    #: Number of places where independent reviews disagreed, plus one if their verdicts differ (approvals with and
    #: without changes count as equal); null until settled, or with one reviewer.
    discrepancy_count = models.PositiveIntegerField(null=True)
    #: In a stage with rounds (where ``round`` is the number of the draw): how often the item was reviewed there before;
    #: null elsewhere.
    looks = models.PositiveSmallIntegerField(null=True)
    #: In such a stage: whether this revision was already reviewed there without conflict.
    seen = models.BooleanField(default=False, db_default=False)
    #: The stage run that escalated the item.
    escalated_from = models.ForeignKey("self", null=True, related_name="+", **UNENFORCED)
    opened_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True)
    #: For a settled single task: the checks that reported its entry revision after it was run (a list of their ids).
    found = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cycle", "stage", "round"], name="stage_run_once"),
            models.CheckConstraint(condition=Q(state__in=StageRunState.values), name="stage_run_state_known"),
            models.CheckConstraint(
                condition=Q(entered_as__in=["regular", "escalated", "sampled"]), name="stage_run_entry_known"
            ),
            models.CheckConstraint(
                condition=~Q(state="settled") | Q(~Q(outcome=""), settled_at__isnull=False),
                name="stage_run_settled_has_outcome",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "stage", "id"], condition=Q(state="pooled"), name="stage_run_pooled"),
            models.Index(fields=["project", "stage"], condition=Q(state="open"), name="stage_run_open"),
            models.Index(fields=["project"], condition=Q(found__isnull=False), name="stage_run_with_found"),
        ]

    @property
    def disputed_run(self) -> "StageRun | None":
        """Return the run whose dispute is settled here; None if nothing is disputed, or if a senior reviewer has
        already settled it and another one checks the result.
        """
        origin = self.escalated_from if self.escalated_from_id is not None else None
        return origin if origin is not None and origin.exit_revision_id == self.entry_revision_id else None

    @property
    def look(self) -> int:
        """Return how often the item has been reviewed in this stage in this cycle, including this run.

        Rounds that ended without a review do not count.
        """
        if self.looks is not None:
            return self.looks + 1
        earlier = StageRun.objects.filter(cycle=self.cycle_id, stage=self.stage, round__lt=self.round)
        return 1 if self.round == 1 else 1 + earlier.filter(reviews__isnull=False).distinct().count()
