"""Gold items: known answers mixed into people's work, their rates, and people's scores."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models import Dialogue, Project, Revision, User
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.keys import new_public_id
from reviews.models.cycles import StageRun
from reviews.models.reviews import Review
from reviews.models.rows import Row


class GoldRate(Row):
    """How often people get a gold item in a stage, and the secret that decides which claims are gold items."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    #: Share of a person's claims; 0: only when no other item is left.
    rate = models.FloatField()
    #: People who do not know it can't predict which claims are gold items: see ``reviews.core.gold.is_due``.
    secret = models.CharField(max_length=64)
    #: Whether people see their own results on retired items.
    reveal = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "stage"], name="gold_rate_once_per_stage"),
            models.CheckConstraint(condition=Q(rate__gte=0, rate__lte=0.5), name="gold_rate_is_a_share"),
        ]


class _Hidden(models.Manager["GoldItem"]):
    """The items that are mixed into people's work."""

    def get_queryset(self) -> models.QuerySet["GoldItem"]:
        return super().get_queryset().filter(training_place=None)


class _Training(models.Manager["GoldItem"]):
    """The items of trainings."""

    def get_queryset(self) -> models.QuerySet["GoldItem"]:
        return super().get_queryset().filter(training_place__isnull=False)


class GoldItem(Row):
    """A dialogue with a known answer, shown in one stage like any other, to any number of people.

    An item with a ``training_place`` is for training: people know it as such and see the answer after their review. Its
    dialogue is not published, so it is in no list, search or figure.
    """

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.CharField(max_length=40)
    #: What people see; its ``gold_role`` is ``GoldRole.GOLD``.
    dialogue = models.OneToOneField(Dialogue, on_delete=models.PROTECT, related_name="+")
    #: The verified dialogue it was made from, and its verified revision.
    source = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+", db_index=False)
    answer = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: The run of all its slots; it never settles.
    stage_run = models.OneToOneField(StageRun, on_delete=models.PROTECT, related_name="+")
    #: Whether the error was planted; otherwise the item is as it originally entered the stage.
    planted = models.BooleanField(default=False)
    #: Number of places that differ from the answer; 0: there is nothing to fix.
    errors = models.PositiveIntegerField()
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    retired_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    retired_at = models.DateTimeField(null=True)
    retired_why = models.CharField(max_length=500, blank=True)
    #: Its place in the project's training; null: it is mixed into people's work.
    training_place = models.PositiveSmallIntegerField(null=True)

    #: Both kinds.
    every = models.Manager()
    objects = _Hidden()
    training = _Training()

    class Meta:
        constraints = [
            # So no dialogue is the answer of both a hidden item and a training item.
            models.UniqueConstraint(
                fields=["source"], condition=Q(retired_at__isnull=True), name="gold_item_one_in_use_per_source"
            ),
        ]
        indexes = [models.Index(fields=["project", "stage", "-id"], name="gold_item_by_stage")]

    @property
    def live(self) -> bool:
        """Return whether people still get it."""
        return self.retired_at is None


class GoldScore(Row):
    """How one review of a gold item compares with the known answer. Written with the review, never changed."""

    item = models.ForeignKey(GoldItem, on_delete=models.PROTECT, related_name="scores")
    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="+")
    # Copied from the review and the item.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    person = models.ForeignKey(User, related_name="+", **UNENFORCED)
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
