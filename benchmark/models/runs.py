"""What models answered to a release, and what the answers earned. All of it is written once and never changed."""

import secrets
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotator.models import Dialogue, Job, Project, User
from annotator.models.exact import ExactJSONField
from annotator.models.keys import new_public_id
from benchmark.models.modes import HasMode
from benchmark.models.releases import Release, ReleaseItem
from reviews.models import Cycle


class PredictionFile(HasMode):
    """One uploaded file of predictions for a release. Its job scores them, and has the state and the progress."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="prediction_files")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="prediction_file")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    filename = models.CharField(max_length=255)
    #: Path below MEDIA_ROOT; blank when it was removed.
    file = models.CharField(max_length=255, blank=True)
    bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    family = models.CharField(max_length=8)
    #: The run of records that name none; blank for the file's name.
    model = models.CharField(max_length=120, blank=True)
    provider = models.CharField(max_length=120, blank=True)
    #: Whether thoughts are left out of the answers.
    strip_thinking = models.BooleanField(default=False)
    entries = models.PositiveIntegerField(default=0)
    missing = models.PositiveIntegerField(default=0)
    foreign = models.PositiveIntegerField(default=0)
    doubled = models.PositiveIntegerField(default=0)
    problems = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: Sentences about what was not scored, limited.
    notes = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["release", "-id"], name="prediction_file_by_release")]

    def __str__(self) -> str:
        return self.filename


class RunQuerySet(models.QuerySet["Run"]):
    def visible_to(self, user: User) -> Self:
        """Return complete runs of projects that the user oversees: models' answers reveal what reviewers must find."""
        return self.filter(complete=True, release__project__in=Project.objects.overseen_by(user))


class Run(HasMode):
    """One run of a model over a release: ``release_sha256`` pins its bytes."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="runs")
    release_sha256 = models.CharField(max_length=64)
    file = models.ForeignKey(PredictionFile, on_delete=models.PROTECT, null=True, related_name="runs")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    model = models.CharField(max_length=120)
    provider = models.CharField(max_length=120, blank=True)
    family = models.CharField(max_length=8)
    #: Counts the runs of the same model in the same way, from 1.
    attempt = models.PositiveIntegerField(default=1)
    settings = models.JSONField(default=dict)
    #: What the run used, if Assay asked the model; cost in the currency of the prices that were given.
    input_tokens = models.PositiveBigIntegerField(null=True)
    output_tokens = models.PositiveBigIntegerField(null=True)
    cost = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    #: Whether everything of it is stored: before that, no page shows it.
    complete = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["release", "model", "language", "history", "tool_mode", "thinking", "attempt"],
                name="run_attempt_once",
            ),
        ]
        indexes = [models.Index(fields=["release", "complete", "id"], name="run_by_release")]

    def __str__(self) -> str:
        return self.model

    @property
    def tokens(self) -> int | None:
        """The tokens that the run used, if Assay asked the model."""
        return None if self.input_tokens is None else self.input_tokens + (self.output_tokens or 0)


class Prediction(models.Model):
    """What the model said to one entry. ``entry`` names it within the release: dialogue and task, case and attempt."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="predictions")
    entry = models.CharField(max_length=260)
    item = models.ForeignKey(ReleaseItem, on_delete=models.PROTECT, null=True, related_name="+")
    #: Last, because it may be large.
    content = ExactJSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "entry"], name="prediction_once")]

    def __str__(self) -> str:
        return self.entry


class ScoreSet(models.Model):
    """The scores of a run by one version of the scorers. Scored again, a run gets another set; the old one stays."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="score_sets")
    version = models.PositiveIntegerField()
    comparers = models.JSONField(default=dict)
    entries = models.PositiveIntegerField(default=0)
    right = models.PositiveIntegerField(default=0)
    missing = models.PositiveIntegerField(default=0)
    #: Replies of the model for one entry, on average over the predictions; null if there are none.
    rounds = models.FloatField(null=True)
    #: Whether everything of it is stored: before that, the earlier scores are shown.
    complete = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: As ``summary.json`` has it for the run, without the figures. Last, because it may be large.
    summary = ExactJSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "version"], name="score_set_once")]

    def __str__(self) -> str:
        return f"scores {self.version} of {self.run_id}"


class Score(models.Model):
    """What one entry earned. ``error`` is its class of error, blank if it is right or has none."""

    score_set = models.ForeignKey(ScoreSet, on_delete=models.PROTECT, related_name="scores")
    prediction = models.ForeignKey(Prediction, on_delete=models.PROTECT, null=True, related_name="scores")
    entry = models.CharField(max_length=260)
    right = models.BooleanField()
    error = models.CharField(max_length=60, blank=True)
    #: A fingerprint of the answer, equal for equal answers; blank where answers are not compared.
    said = models.CharField(max_length=16, blank=True)
    #: As ``entries.jsonl`` has it. Last, because it may be large.
    detail = ExactJSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["score_set", "entry"], name="score_once")]
        indexes = [models.Index(fields=["score_set", "right", "id"], name="score_by_outcome")]

    def __str__(self) -> str:
        return self.entry


class EntryStatistic(models.Model):
    """What all runs of a release made of one entry; counted again after each run."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="entry_statistics")
    family = models.CharField(max_length=8)
    language = models.CharField(max_length=2, blank=True)
    entry = models.CharField(max_length=260)
    item = models.ForeignKey(ReleaseItem, on_delete=models.PROTECT, null=True, related_name="+")
    runs = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    agreeing = models.PositiveIntegerField(default=0)
    discrimination = models.FloatField(null=True)
    #: ``benchmark.core.scoring.items.Flag``.
    flag = models.CharField(max_length=12, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "family", "language", "entry"], name="entry_statistic_once"),
        ]
        indexes = [models.Index(fields=["release", "flag", "id"], name="entry_statistic_by_flag")]

    def __str__(self) -> str:
        return self.entry


class SentBack(models.Model):
    """An item that was sent back to review because of its scores, and the cycle in which it is reviewed."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="sent_back")
    statistic = models.ForeignKey(EntryStatistic, on_delete=models.PROTECT, related_name="sent_back")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="sent_back")
    cycle = models.OneToOneField(Cycle, on_delete=models.PROTECT, related_name="sent_back")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"{self.statistic_id} in cycle {self.cycle_id}"


class Recount(models.Model):
    """Scores counted without the items of a release that were withdrawn until then. The latest one counts."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="recounts")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="recount")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    #: Keys of the items that were left out.
    items = models.JSONField(default=list)
    complete = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["release", "-id"], name="recount_by_release")]

    def __str__(self) -> str:
        return f"recount {self.pk} of {self.release_id}"


class Figure(models.Model):
    """One figure of a run: a name, a cell of it (“all” for the whole), n, the value and its interval.

    All are written once, but ``kept`` changes with each recount, pass^k and best-of-k with each attempt of the model.
    """

    score_set = models.ForeignKey(ScoreSet, on_delete=models.PROTECT, related_name="figures")
    name = models.CharField(max_length=60)
    cell = models.CharField(max_length=120)
    n = models.PositiveIntegerField()
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["score_set", "name", "cell"], name="figure_once")]

    def __str__(self) -> str:
        return f"{self.name} {self.cell}"


def new_token() -> str:
    """Return the secret of a public link."""
    return secrets.token_urlsafe(24)


class SharedBoard(models.Model):
    """A leaderboard that everyone who knows the link can read. The row is deleted when that ends."""

    release = models.OneToOneField(Release, on_delete=models.PROTECT, related_name="shared_board")
    token = models.CharField(max_length=32, unique=True, default=new_token, editable=False)
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"shared scores of {self.release_id}"


class RunPair(models.Model):
    """Two runs compared entry by entry, on the entries that both have: how many only one has right, and McNemar's p."""

    first = models.ForeignKey(ScoreSet, on_delete=models.PROTECT, related_name="+")
    second = models.ForeignKey(ScoreSet, on_delete=models.PROTECT, related_name="+")
    n = models.PositiveIntegerField()
    only_first = models.PositiveIntegerField()
    only_second = models.PositiveIntegerField()
    p = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="run_pair_once"),
            models.CheckConstraint(condition=Q(first__lt=F("second")), name="run_pair_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id}"
