"""Training: items with known answers that new members review before they get other work."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Project, User
from annotator.models.foreign_keys import UNENFORCED
from reviews.models.gold import GoldItem
from reviews.models.reviews import Review
from reviews.models.rows import Row


class Training(Row):
    """The training of a project. Its items are gold items with a ``training_place``."""

    project = models.OneToOneField(Project, on_delete=models.PROTECT, related_name="+")
    #: The stage whose form and rules people practise.
    stage = models.CharField(max_length=40)
    #: Number of items in one attempt.
    length = models.PositiveSmallIntegerField()
    #: How many of them must be right.
    pass_mark = models.PositiveSmallIntegerField()
    #: How often a person may try before an administrator has to decide.
    attempts = models.PositiveSmallIntegerField(default=2)
    enabled = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(pass_mark__gte=1, pass_mark__lte=F("length"), attempts__gte=1),
                name="training_can_be_passed",
            ),
        ]


class TraineeState(models.TextChoices):
    TRAINING = "training", _("Needs training")
    PASSED = "passed", _("Passed")
    FAILED = "failed", _("Failed")
    EXEMPT = "exempt", _("Exempt")


class Trainee(Row):
    """Where a person is in the training of a project. Members without a row need training."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    state = models.CharField(max_length=10, choices=TraineeState, default=TraineeState.TRAINING)
    #: Counts from 1; each attempt has slots and results of its own.
    attempt = models.PositiveSmallIntegerField(default=1)
    #: Attempts before this one do not count towards the allowed number: an administrator started the training again.
    first_attempt = models.PositiveSmallIntegerField(default=1)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "person"], name="trainee_once"),
            models.CheckConstraint(condition=Q(state__in=TraineeState.values), name="trainee_state_known"),
            models.CheckConstraint(
                condition=Q(first_attempt__gte=1, attempt__gte=F("first_attempt")), name="trainee_attempts_in_order"
            ),
        ]


class TrainingResult(Row):
    """How one review of a training item compares with the known answer. Written with the review, never changed."""

    item = models.ForeignKey(GoldItem, on_delete=models.PROTECT, related_name="training_results")
    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="+")
    # Copied from the review and the item.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    person = models.ForeignKey(User, related_name="+", **UNENFORCED)
    attempt = models.PositiveSmallIntegerField()
    #: Whether the verdict was right, nothing was changed without need and, if there were errors, one was found.
    right = models.BooleanField()
    # The fields of ``reviews.core.gold.Score``.
    verdict_right = models.BooleanField()
    errors = models.PositiveIntegerField()
    found = models.PositiveIntegerField()
    false_changes = models.PositiveIntegerField()
    #: [{anchor, label, result}] in the document's order.
    places = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "person", "attempt"], name="training_result_once_per_attempt"),
            models.CheckConstraint(condition=Q(found__lte=F("errors")), name="training_result_finds_what_is_there"),
        ]
        indexes = [models.Index(fields=["project", "person", "attempt"], name="training_result_by_person")]
