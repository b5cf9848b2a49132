"""Random samples: draws and the members of their populations."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models import Dialogue, Project, User
from annotator.models.keys import new_public_id
from reviews.models.cycles import StageRun
from reviews.models.rows import Row

#: Most items with known errors of one test.
MAX_KNOWN = 100_000


class Draw(Row):
    """A random sample. Its seed was drawn after its population was closed; both are recorded."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="draws")
    stage = models.CharField(max_length=40)
    number = models.PositiveIntegerField()
    fraction = models.FloatField()
    #: Version of the algorithm in ``reviews.core.protocols.random_draws``.
    algorithm = models.PositiveSmallIntegerField(default=1)
    seed = models.CharField(max_length=64)
    #: SHA-256 of the canonical population: [[external id, owner's pseudonym] …] in order.
    population_hash = models.CharField(max_length=64)
    population_size = models.PositiveIntegerField()
    sample_size = models.PositiveIntegerField()
    #: {pseudonym: [population, sample]}; for a round (algorithm 2) {"unseen" | "seen": [population, sample]}
    strata = models.JSONField(default=dict)
    #: For a round: [[pseudonym, pseudonym, number of items assigned to the two] …]
    pairs = models.JSONField(default=list)
    #: Whether it ends a stage's rounds: nothing is drawn, and its population moves on.
    closing = models.BooleanField(default=False)
    #: For a round: when everything drawn was settled.
    round_ended_at = models.DateTimeField(null=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When every member has moved on; a job carries out large draws in chunks.
    carried_out_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "stage", "number"], name="draw_number_once"),
            models.CheckConstraint(condition=Q(sample_size__lte=models.F("population_size")), name="draw_sample_fits"),
        ]


class DrawItem(Row):
    """One member of a draw's population."""

    draw = models.ForeignKey(Draw, on_delete=models.PROTECT, related_name="items", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    stage_run = models.OneToOneField(StageRun, on_delete=models.PROTECT, related_name="draw_item")
    #: The owner's pseudonym; blank without an owner.
    stratum = models.CharField(max_length=12, blank=True)
    #: For a round: whether it had been reviewed without conflict.
    seen = models.BooleanField(default=False, db_default=False)
    selected = models.BooleanField()
    #: For a round: the index in the draw's ``pairs`` of the pair that reviews it; null if anyone can claim it.
    pair = models.PositiveSmallIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draw", "dialogue"], name="draw_item_once")]


class SentBackStratum(Row):
    """An owner’s other items of a draw, sent back because the audit found too many errors."""

    draw = models.ForeignKey(Draw, on_delete=models.PROTECT, related_name="sent_back", db_index=False)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: The evidence: how many of the owner's items were audited, and how many had errors.
    audited = models.PositiveIntegerField()
    errors = models.PositiveIntegerField()
    #: How many items were to be sent back, and how many were.
    items = models.PositiveIntegerField()
    returned = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draw", "owner"], name="sent_back_once_per_draw")]


class SensitivityTest(Row):
    """How many items with errors, as a second review found them, the reviewers of an audit noticed."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    known = models.PositiveIntegerField()
    found = models.PositiveIntegerField()
    note = models.CharField(max_length=500, blank=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When an administrator took it back; it no longer counts.
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(known__gte=1, known__lte=MAX_KNOWN, found__lte=models.F("known")),
                name="sensitivity_test_possible",
            )
        ]
        indexes = [models.Index(fields=["project", "stage"], name="sensitivity_test_by_stage")]


class DiscrepancyAlarm(Row):
    """A period in which the reviewers of a stage disagreed more often than the protocol allows."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When the rate fell again; null while it is too high.
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "stage"], condition=Q(cleared_at=None), name="discrepancy_alarm_once"
            )
        ]
