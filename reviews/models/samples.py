"""Random samples: draws and the members of their populations."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models import Dialogue, Project, User
from annotator.models.keys import new_public_id
from reviews.models.cycles import StageRun


class Draw(models.Model):
    """A random sample: its seed was drawn after its population was closed, and both are recorded."""

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
    #: {pseudonym: [population, sample]}; of a round (algorithm 2) {"unseen" | "seen": [population, sample]}
    strata = models.JSONField(default=dict)
    #: Of a round: [[pseudonym, pseudonym, items given to the two] …]
    pairs = models.JSONField(default=list)
    #: Whether it ends a stage's rounds: nothing is drawn any more, and its population goes on.
    closing = models.BooleanField(default=False)
    #: Of a round: when everything drawn was settled.
    round_ended_at = models.DateTimeField(null=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When every member has gone its way; a large draw is carried out by a job, in chunks.
    carried_out_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "stage", "number"], name="draw_number_once"),
            models.CheckConstraint(condition=Q(sample_size__lte=models.F("population_size")), name="draw_sample_fits"),
        ]

    def __str__(self) -> str:
        return f"draw {self.number} of {self.stage}"


class DrawItem(models.Model):
    """One member of a draw's population."""

    draw = models.ForeignKey(Draw, on_delete=models.PROTECT, related_name="items", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    stage_run = models.OneToOneField(StageRun, on_delete=models.PROTECT, related_name="draw_item")
    #: The owner's pseudonym; blank without an owner.
    stratum = models.CharField(max_length=12, blank=True)
    #: Of a round: whether it had been seen without conflict.
    seen = models.BooleanField(default=False, db_default=False)
    selected = models.BooleanField()
    #: Of a round: which of the draw's ``pairs`` looks at it; null where it is for whoever takes it.
    pair = models.PositiveSmallIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draw", "dialogue"], name="draw_item_once")]

    def __str__(self) -> str:
        return f"{self.dialogue_id} in draw {self.draw_id}"


class SentBack(models.Model):
    """That an owner's other items went back because of what a draw's audit found. Once for each draw and owner."""

    draw = models.ForeignKey(Draw, on_delete=models.PROTECT, related_name="sent_back", db_index=False)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: The evidence: how many of the owner's items had been audited, and in how many there was an error.
    audited = models.PositiveIntegerField()
    errors = models.PositiveIntegerField()
    #: How many items were to go back, and how many did.
    items = models.PositiveIntegerField()
    returned = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draw", "owner"], name="sent_back_once_per_draw")]

    def __str__(self) -> str:
        return f"items of {self.owner_id} after draw {self.draw_id}"


class DiscrepancyAlarm(models.Model):
    """That reviewers of a stage disagreed more often than the protocol finds good, from when to when."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When the rate had fallen again; null while it is above.
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "stage"], condition=Q(cleared_at=None), name="discrepancy_alarm_once"
            )
        ]

    def __str__(self) -> str:
        return f"alarm of {self.stage}"
