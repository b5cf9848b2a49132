"""Generation of candidates: prompts, dialogues in the making, and every call of a model. Calls are never deleted."""

from decimal import Decimal
from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, Job, Project, Revision, ToolsetRevision, User
from annotator.models.exact import ExactJSONField
from annotator.models.keys import new_public_id
from annotator.models.messages import MessageField
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import ROLE_OF, Purpose, Role
from benchmark.models.inference import Endpoint
from benchmark.models.sampling import SampledQuery

_PURPOSES = [(one.value, one.value) for one in Purpose]
_ROLES = [(one.value, one.value) for one in Role]
_KINDS = [(one.value, one.value) for one in Kind]


class PromptTemplate(models.Model):
    """A version of the prompt for a purpose. It never changes; the one with the highest number is the newest."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="prompt_templates")
    purpose = models.CharField(max_length=12, choices=_PURPOSES)
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    #: None for the templates with which a project begins.
    author = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    content = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "purpose", "number"], name="prompt_template_number_once"),
            models.CheckConstraint(condition=Q(number__gt=0), name="prompt_template_numbers_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.number}"

    @property
    def role(self) -> Role:
        return ROLE_OF[Purpose(self.purpose)]


class GenerationStatus(models.TextChoices):
    RUNNING = "running", _("Running")
    WAITING = "waiting", _("Waits for people")
    PAUSED = "paused", _("Paused")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class Chooser(models.TextChoices):
    """Who chooses among the candidates of a request."""

    PEOPLE = "people", _("People")
    FIRST = "first", _("The first usable one")


class GenerationQuerySet(models.QuerySet["Generation"]):
    def visible_to(self, user: User) -> Self:
        """Return generations of projects that the user administers."""
        return self.filter(project__in=Project.objects.administered_by(user))


class Generation(models.Model):
    """A dialogue in the making, or texts for one. ``name`` is the id of the dialogue that it becomes.

    ``kind``: see ``core.generation.kinds``. ``setup``, without the tools,
    which are those of the toolset revision, and ``state``: of a dialogue those of ``core.generation.state``, of other
    kinds those of ``core.generation.texts.state``. The sentences of several cases are rewritten at once: then ``name``
    only names the work, and the toolset is that of the first case.

    ``templates``: purpose → number of the version that is used. ``reason``: why it waits, is paused or has failed; None
    if a person wants it so. ``job``: the latest that works on it.
    """

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="generations")
    kind = models.CharField(max_length=11, choices=_KINDS, default=Kind.DIALOGUE.value)
    name = models.CharField(max_length=200)
    toolset_revision = models.ForeignKey(ToolsetRevision, on_delete=models.PROTECT, related_name="+")
    #: The verified revision that it continues; None if it begins by itself.
    past = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="generations")
    #: The dialogue that is translated.
    source = models.ForeignKey(Dialogue, on_delete=models.PROTECT, null=True, related_name="translations")
    #: The dialogue whose stale places are translated again.
    target = models.ForeignKey(Dialogue, on_delete=models.PROTECT, null=True, related_name="renewals")
    #: The policies of its tasks, separated by commas; blank for other kinds than dialogues.
    cell = models.CharField(max_length=60, blank=True)
    language = models.CharField(max_length=2)
    status = models.CharField(max_length=7, choices=GenerationStatus.choices, default=GenerationStatus.RUNNING)
    chooser = models.CharField(max_length=6, choices=Chooser.choices, default=Chooser.PEOPLE)
    reason = MessageField(null=True)
    #: Whether all endpoints answer a repeated request (Idempotency-Key) without charging it again.
    idempotent = models.BooleanField(default=False)
    #: Limits on what it may use in total; null for none.
    token_budget = models.PositiveBigIntegerField(null=True)
    cost_budget = models.DecimalField(max_digits=12, decimal_places=4, null=True)
    #: The fields of what it has used.
    USED = ("requests", "input_tokens", "output_tokens", "cost")
    requests = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=20, decimal_places=6, default=Decimal(0))
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, null=True, related_name="generation")
    dialogue = models.OneToOneField(Dialogue, on_delete=models.PROTECT, null=True, related_name="generation")
    #: The query of which it is an attempt; such a generation becomes no dialogue.
    query = models.ForeignKey(SampledQuery, on_delete=models.PROTECT, null=True, related_name="generations")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    templates: Any = models.JSONField(default=dict)
    setup: Any = ExactJSONField()
    #: Last, because it may be large.
    state: Any = ExactJSONField()

    objects = GenerationQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["project", "cell", "status"], name="generation_by_cell"),
            models.Index(fields=["project", "updated_at"], condition=Q(status="waiting"), name="generation_waiting"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="generation_name_once"),
            models.CheckConstraint(
                condition=Q(query__isnull=True)
                & ((Q(status="done") & ~Q(kind__in=["rewriting", "renewal"])) ^ Q(dialogue__isnull=True))
                | Q(query__isnull=False, dialogue__isnull=True),
                name="done_generation_has_dialogue",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["translation", "renewal"]) ^ Q(source__isnull=True),
                name="translation_has_source",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class GenerationSettings(models.Model):
    """How a project generates. ``layers``: each new task continues tasks that are verified."""

    project = models.OneToOneField(Project, on_delete=models.PROTECT, related_name="generation_settings")
    layers = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"settings of {self.project_id}"


class RoleModel(models.Model):
    """The model that plays a role in a generation. Prices are for a million tokens.

    Without an endpoint its answers come from records, or people write them.
    """

    generation = models.ForeignKey(Generation, on_delete=models.PROTECT, related_name="role_models")
    role = models.CharField(max_length=9, choices=_ROLES)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, related_name="+")
    model = models.CharField(max_length=120)
    #: ``benchmark.services.inference.options.Options``.
    options = models.JSONField(default=dict)
    input_price = models.DecimalField(max_digits=9, decimal_places=4, default=Decimal(0))
    output_price = models.DecimalField(max_digits=9, decimal_places=4, default=Decimal(0))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["generation", "role"], name="role_model_once")]

    def __str__(self) -> str:
        return f"{self.role}: {self.model}"

    def cost_of(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return what so many tokens cost."""
        return (input_tokens * self.input_price + output_tokens * self.output_price) / Decimal(1_000_000)


class CallState(models.TextChoices):
    ASKED = "asked", _("sent")
    ANSWERED = "answered", _("answered")
    FAILED = "failed", _("failed")


class ModelCall(models.Model):
    """A call of a model: stored before it is sent, so that none is paid twice unnoticed. ``number`` is from 1.

    ``attempts``: how often it was sent. ``replayed``: its answer comes from a file of recorded answers.
    """

    generation = models.ForeignKey(Generation, on_delete=models.PROTECT, related_name="calls")
    number = models.PositiveIntegerField()
    purpose = models.CharField(max_length=12, choices=_PURPOSES)
    template = models.ForeignKey(PromptTemplate, on_delete=models.PROTECT, related_name="+")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, related_name="+")
    model = models.CharField(max_length=120)
    #: The name under which the model answered.
    answered_as = models.CharField(max_length=120, blank=True)
    parameters = models.JSONField(default=dict)
    request_sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=CallState.choices, default=CallState.ASKED)
    attempts = models.PositiveIntegerField(default=1)
    replayed = models.BooleanField(default=False)
    failure = MessageField(null=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=20, decimal_places=6, default=Decimal(0))
    milliseconds = models.PositiveIntegerField(default=0)
    asked_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True)
    prompt = models.TextField()
    #: The message as the endpoint gave it. Last, because it may be large.
    answer: Any = ExactJSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["generation", "number"], name="model_call_number_once"),
            models.CheckConstraint(
                condition=Q(state="answered") ^ Q(answer__isnull=True), name="answered_call_has_answer"
            ),
            models.CheckConstraint(condition=Q(number__gt=0), name="model_calls_numbered_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose}, {self.number}"

    @property
    def role(self) -> Role:
        return ROLE_OF[Purpose(self.purpose)]
