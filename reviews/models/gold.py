"""Gold items: known answers mixed into people's work, how often, and how people did."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models import Dialogue, Project, Revision, User
from annotator.models.keys import new_public_id
from reviews.models.cycles import StageRun
from reviews.models.reviews import Review


class GoldRate(models.Model):
    """How often somebody gets a gold item in a stage, and the key by which it falls to them."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    #: Share of a person's claims; 0: none before all else is done.
    rate = models.FloatField()
    #: Whoever does not know it cannot tell which claim is one: see ``reviews.core.gold.is_due``.
    secret = models.CharField(max_length=64)
    #: Whether people see their own results, of items that are retired.
    reveal = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "stage"], name="gold_rate_once_per_stage"),
            models.CheckConstraint(condition=Q(rate__gte=0, rate__lte=0.5), name="gold_rate_is_a_share"),
        ]

    def __str__(self) -> str:
        return f"{self.rate} of {self.stage}"


class GoldItem(models.Model):
    """A dialogue whose answer is known: shown in one stage like any other, to any number of people."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    #: What people see; it bears the mark ``GoldRole.GOLD``.
    dialogue = models.OneToOneField(Dialogue, on_delete=models.PROTECT, related_name="+")
    #: The verified dialogue it was made from, and the version that was verified.
    source = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+", db_index=False)
    answer = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: Every slot of it hangs on this one run, which never settles.
    stage_run = models.OneToOneField(StageRun, on_delete=models.PROTECT, related_name="+")
    #: Whether the error was planted; else the item is shown as it once came into the stage.
    planted = models.BooleanField(default=False)
    #: On how many places what is shown differs from the answer; 0: there is nothing to mend.
    errors = models.PositiveIntegerField()
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    retired_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    retired_at = models.DateTimeField(null=True)
    retired_why = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source"], condition=Q(retired_at__isnull=True), name="gold_item_one_in_use_per_source"
            ),
        ]
        indexes = [models.Index(fields=["project", "stage", "-id"], name="gold_item_by_stage")]

    def __str__(self) -> str:
        return f"gold item {self.public_id}"

    @property
    def live(self) -> bool:
        """Whether people still get it."""
        return self.retired_at is None


class GoldScore(models.Model):
    """How one review of a gold item compares with the known answer: written as it is handed in, never changed."""

    item = models.ForeignKey(GoldItem, on_delete=models.PROTECT, related_name="scores")
    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="+")
    # Copied from the review and the item.
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    #: The fields of ``reviews.core.gold.Score``.
    verdict_right = models.BooleanField()
    errors = models.PositiveIntegerField()
    found = models.PositiveIntegerField()
    false_changes = models.PositiveIntegerField()
    #: [{anchor, label, result}] in the document's order.
    places = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "person"], name="gold_score_once_per_person"),
            models.CheckConstraint(condition=Q(found__lte=models.F("errors")), name="gold_score_finds_what_is_there"),
        ]
        indexes = [models.Index(fields=["project", "person"], name="gold_score_by_person")]

    def __str__(self) -> str:
        return f"{self.person_id} on {self.item_id}"
