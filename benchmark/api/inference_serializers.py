"""Serializers of the API of inferences: a model or a person that is asked about a release."""

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.inputs import BoundedListField, Input, StrictBooleanField, StrictCharField
from annotator.api.serializers import JobStateSerializer
from annotator.core.schema.exact_json import dumps
from benchmark.core.scoring.scoring_run import FAMILIES
from benchmark.models import HISTORIES, THINKING, TOOL_MODES, Inference, InferenceReply
from benchmark.services.inference import options as limits
from benchmark.services.inference import requests
from benchmark.services.inference.options import Options
from reviews.api.serializers import ObjectField

_MODE = ["family", "language", "history", "tool_mode", "thinking"]


@extend_schema_field({"type": "string", "pattern": r"^\d{1,5}(\.\d{1,4})?$"})
class PriceField(serializers.DecimalField):
    """A price of a million tokens, as text or as a number."""

    def __init__(self, **more: Any) -> None:
        super().__init__(9, 4, min_value=Decimal(0), required=False, **more)


@extend_schema_field({"type": "string", "pattern": r"^\d{1,8}(\.\d{1,4})?$"})
class _CostField(serializers.DecimalField):
    """A limit on the cost, as text or as a number."""

    def __init__(self, **more: Any) -> None:
        super().__init__(12, 4, min_value=Decimal(0), required=False, **more)


def number(most: int, least: int = 1, **more: Any) -> serializers.IntegerField:
    """Return a field for an optional whole number."""
    return serializers.IntegerField(min_value=least, max_value=most, required=False, **more)


class ExtraField(ObjectField):
    """More parameters of a request, of limited length."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        value = super().to_internal_value(data)
        if len(dumps(value).decode()) > limits.MAX_EXTRA:
            sentence = _("This has more than %(most)s characters as JSON. Leave something out.")
            raise serializers.ValidationError(sentence % {"most": f"{limits.MAX_EXTRA:,}"})
        return value


class _EntriesSerializer(Input):
    """Which entries are asked, and how."""

    name = StrictCharField(
        max_length=120, required=False, allow_blank=True, default="", help_text="Of the run, on the leaderboard."
    )
    family = serializers.ChoiceField(
        choices=FAMILIES, required=False, help_text="How to ask and score; by default as the release’s own format."
    )
    language = serializers.ChoiceField(
        choices=["", "en", "zh"], required=False, help_text="By default English, or the only one."
    )
    history = serializers.ChoiceField(
        choices=HISTORIES, required=False, help_text="Whether earlier tasks are shown with their calls."
    )
    delays = BoundedListField(
        child=StrictCharField(max_length=20), required=False, min_length=1, max_length=limits.MAX_DELAYS,
        help_text="Of composites: rounds until a result comes, such as 0, 1 or 0-1.",
    )  # fmt: skip
    delay_seed = number(limits.MAX_NUMBER, 0, help_text="For delays such as 0-1.")
    limit = number(
        limits.MAX_NUMBER, allow_null=True, help_text="Only the first so many dialogues, cases or composites."
    )


class BaselineInputSerializer(_EntriesSerializer):
    """A member who answers the entries of a release as a model would."""

    person = StrictCharField(max_length=20, help_text="The public id of a member.")


class BudgetInputSerializer(Input):
    """Limits on what an inference may use in total; one that is left out stays."""

    token_budget = number(limits.MAX_BUDGET, allow_null=True, help_text="Tokens at most; null: no limit.")
    cost_budget = _CostField(allow_null=True, help_text="Cost at most; null: no limit. It needs the prices.")


class InferenceInputSerializer(_EntriesSerializer, BudgetInputSerializer):
    """A model at an endpoint, and how it is asked."""

    endpoint = StrictCharField(max_length=20, help_text="The public id of an endpoint.")
    model = StrictCharField(max_length=120, help_text="Its name at the endpoint.")
    tool_mode = serializers.ChoiceField(
        choices=TOOL_MODES, required=False, help_text="Whether it gets the tools by the API or in the prompt."
    )
    thinking = serializers.ChoiceField(
        choices=THINKING, required=False, help_text="Shown with the run; the model’s setting goes into “extra”."
    )
    attempts = number(limits.MAX_ATTEMPTS, help_text="At each constrained case.")
    temperature = serializers.FloatField(min_value=0, max_value=limits.MAX_TEMPERATURE, required=False, allow_null=True)
    seed = number(limits.MAX_NUMBER, 0, allow_null=True)
    max_tokens = number(limits.MAX_REPLY_TOKENS, allow_null=True, help_text="Of a reply; null: the endpoint decides.")
    extra = ExtraField(required=False, help_text="More parameters of each request, such as reasoning_effort.")
    strip_thinking = StrictBooleanField(
        required=False, allow_null=False, help_text="Thoughts in <think>…</think> are neither sent back nor scored."
    )
    stream = StrictBooleanField(required=False, allow_null=False)
    concurrency = number(limits.MAX_CONCURRENCY, help_text="Requests at the same time.")
    per_minute = number(limits.MAX_PER_MINUTE, allow_null=True, help_text="Requests in a minute; null: no limit.")
    timeout = number(limits.TIMEOUTS[1], limits.TIMEOUTS[0], help_text="Seconds for one reply at most.")
    input_price = PriceField(help_text="Of a million input tokens.")
    output_price = PriceField(help_text="Of a million output tokens.")


class InferenceSerializer(serializers.ModelSerializer[Inference]):
    """A model, or a person, that is asked about the entries of a release: its progress and cost."""

    job = JobStateSerializer(help_text="The latest job that asks.")
    scoring = JobStateSerializer(
        source="predictions.job", default=None, allow_null=True, help_text="The job that scores the answers."
    )
    release = serializers.CharField(source="release.public_id")
    endpoint = serializers.CharField(
        source="endpoint.public_id", default=None, allow_null=True, help_text="Null if a person answers."
    )
    person = serializers.CharField(
        source="person.public_id", default=None, allow_null=True, help_text="Who answers a human baseline."
    )
    requester = serializers.CharField(source="requester.public_id", default=None, allow_null=True)
    predictions = serializers.CharField(
        source="predictions.public_id", default=None, allow_null=True,
        help_text="The file of its answers; null until all are there.",
    )  # fmt: skip
    waits = serializers.BooleanField(help_text="Whether it is the person’s turn.")
    total = serializers.IntegerField(help_text="Conversations; 0 until they are prepared.")
    done = serializers.IntegerField(help_text="Conversations that have ended.")
    requests = serializers.IntegerField(help_text="Replies.")
    refused = serializers.IntegerField(help_text="Requests that the endpoint refused; their entries count as wrong.")

    class Meta:
        model = Inference
        fields = [
            "public_id", "release", "endpoint", "person", "model", "name", *_MODE, "requester", "created_at", "job",
            "scoring", "waits", "predictions", "total", "done", "requests", "refused", "input_tokens", "output_tokens",
            "cost", "input_price", "output_price", "token_budget", "cost_budget",
        ]  # fmt: skip


class RefusedRequestSerializer(serializers.ModelSerializer[InferenceReply]):
    """A request that the endpoint refused."""

    entry = serializers.CharField(source="unit")
    number = serializers.IntegerField(help_text="Of the reply within its conversation, from 0.")
    error = serializers.CharField(help_text="What the endpoint said.")

    class Meta:
        model = InferenceReply
        fields = ["entry", "number", "error"]


class InferenceDetailSerializer(InferenceSerializer):
    """An inference with its settings, its runs, and the first of what was refused."""

    settings = serializers.SerializerMethodField(help_text="How the model is asked.")
    answered_as = serializers.ListField(
        child=serializers.CharField(), help_text="Names by which the endpoint has answered."
    )
    runs = serializers.SerializerMethodField(help_text="Public ids of the runs; empty until the answers are scored.")
    refusals = serializers.SerializerMethodField(
        help_text=f"The first {requests.MAX_REFUSED} requests that the endpoint refused."
    )

    class Meta(InferenceSerializer.Meta):
        fields = [*InferenceSerializer.Meta.fields, "settings", "answered_as", "runs", "refusals"]

    @extend_schema_field({"type": "object", "additionalProperties": {}})
    def get_settings(self, inference: Inference) -> Any:
        return Options.of(inference.settings).as_json()

    def get_runs(self, inference: Inference) -> list[str]:
        return requests.run_ids_of(inference)

    @extend_schema_field(RefusedRequestSerializer(many=True))
    def get_refusals(self, inference: Inference) -> Any:
        return RefusedRequestSerializer(requests.list_refused(inference), many=True).data
