"""Asking models: endpoints, what was asked over a release, and every reply. Replies are written once."""

import json
from decimal import Decimal
from typing import Any, Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Job, JobState, Project, User
from annotator.models.exact import ExactJSONField
from annotator.models.keys import new_public_id
from benchmark.models.modes import HasMode
from benchmark.models.releases import Release
from benchmark.models.runs import PredictionFile


class Endpoint(models.Model):
    """A service with the OpenAI chat API. ``key`` is encrypted (``benchmark.services.inference.keys``)."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="endpoints")
    name = models.CharField(max_length=80)
    base_url = models.CharField(max_length=500)
    key = models.TextField(blank=True)
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When it was removed; it has no key then.
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"], condition=Q(removed_at__isnull=True), name="endpoint_name_once"
            ),
            models.CheckConstraint(
                condition=Q(removed_at__isnull=True) | Q(key=""), name="removed_endpoint_has_no_key"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def has_key(self) -> bool:
        return bool(self.key)


class InferenceQuerySet(models.QuerySet["Inference"]):
    def visible_to(self, user: User) -> Self:
        """Return inferences of projects that the user administers."""
        return self.filter(release__project__in=Project.objects.administered_by(user))


class Inference(HasMode):
    """One model, or one person, asked about all entries of a release. ``job``: the latest job that works on it.

    Its answers become a file of predictions when all are there. Prices are for a million tokens.
    """

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="inferences")
    release_sha256 = models.CharField(max_length=64)
    #: Where the model is; None if a person answers.
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, related_name="inferences")
    #: Who answers, for a human baseline.
    person = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="baselines")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="inference")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    #: The model's name at the endpoint, and on the leaderboard.
    model = models.CharField(max_length=120)
    name = models.CharField(max_length=120)
    family = models.CharField(max_length=8)
    #: ``benchmark.services.inference.settings.Settings``.
    settings = models.JSONField(default=dict)
    input_price = models.DecimalField(max_digits=9, decimal_places=4, default=Decimal(0))
    output_price = models.DecimalField(max_digits=9, decimal_places=4, default=Decimal(0))
    #: Limits on what it may use in total; null for none.
    token_budget = models.PositiveBigIntegerField(null=True)
    cost_budget = models.DecimalField(max_digits=12, decimal_places=4, null=True)
    #: Conversations: all, and those that have ended.
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    requests = models.PositiveIntegerField(default=0)
    #: Requests that the endpoint refused; their entries count as wrong.
    refused = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=20, decimal_places=6, default=Decimal(0))
    #: The names by which the endpoint has answered.
    answered_as = models.JSONField(default=list)
    predictions = models.OneToOneField(PredictionFile, on_delete=models.PROTECT, null=True, related_name="inference")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = InferenceQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["release", "-id"], name="inference_by_release")]
        constraints = [
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="inference_done_of_total"),
            models.CheckConstraint(
                condition=Q(endpoint__isnull=False) ^ Q(person__isnull=False), name="inference_asks_model_or_person"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def waits(self) -> bool:
        """Whether it is a person's turn."""
        return self.person_id is not None and self.job.state == JobState.DONE and self.done < self.total

    @property
    def priced(self) -> bool:
        return bool(self.input_price or self.output_price)

    def cost_of(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return what so many tokens cost."""
        return (input_tokens * self.input_price + output_tokens * self.output_price) / Decimal(1_000_000)


class InferenceReply(models.Model):
    """One reply that was asked for and perhaps paid: reply ``number`` (from 0) of a conversation.

    ``message`` is null if the endpoint refused the request; ``error`` says why.
    """

    inference = models.ForeignKey(Inference, on_delete=models.PROTECT, related_name="replies")
    unit = models.CharField(max_length=260)
    number = models.PositiveIntegerField()
    error = models.CharField(max_length=500, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=20, decimal_places=6, default=Decimal(0))
    milliseconds = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: Text, calls and thoughts, as the endpoint gave them. Last, because it may be large.
    message: Any = ExactJSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["inference", "unit", "number"], name="inference_reply_once")]

    def __str__(self) -> str:
        return f"{self.unit}, {self.number}"

    @property
    def shown(self) -> str:
        """The message as indented JSON."""
        return json.dumps(self.message, ensure_ascii=False, indent=1)


class InferenceAnswer(models.Model):
    """What a conversation came to: a record of a prediction."""

    inference = models.ForeignKey(Inference, on_delete=models.PROTECT, related_name="answers")
    unit = models.CharField(max_length=260)
    #: Last, because it may be large.
    record: Any = ExactJSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["inference", "unit"], name="inference_answer_once")]

    def __str__(self) -> str:
        return self.unit


class BaselineState(models.TextChoices):
    """Who acts next in a conversation with a person."""

    DUE = "due", _("to answer")
    SENT = "sent", _("being processed")
    ENDED = "ended", _("answered")


class BaselineEntry(models.Model):
    """One conversation with a person: what is asked now, and the number (from 0) of the reply to it."""

    inference = models.ForeignKey(Inference, on_delete=models.PROTECT, related_name="entries")
    unit = models.CharField(max_length=260)
    #: The order in which the entries are answered, from 1.
    place = models.PositiveIntegerField()
    state = models.CharField(max_length=5, choices=BaselineState.choices, default=BaselineState.DUE)
    number = models.PositiveIntegerField(default=0)
    #: The latest job that processed a reply.
    job = models.OneToOneField(Job, on_delete=models.PROTECT, null=True, related_name="baseline_entry")
    #: ``{"messages", "tools"}``; null when the conversation has ended. Last, because it may be large.
    ask: Any = ExactJSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["inference", "unit"], name="baseline_entry_once"),
            models.UniqueConstraint(fields=["inference", "place"], name="baseline_place_once"),
            models.CheckConstraint(
                condition=Q(state="ended") ^ Q(ask__isnull=False), name="baseline_entry_asks_until_it_ends"
            ),
        ]
        indexes = [models.Index(fields=["inference", "state", "place"], name="baseline_by_state")]

    def __str__(self) -> str:
        return self.unit
