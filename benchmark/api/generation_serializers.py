"""Serializers of the API of generations."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.inputs import BoundedListField, Input, StrictBooleanField, StrictCharField
from annotator.api.serializers import JobStateSerializer
from annotator.translation import translated
from benchmark.api.inference_serializers import BudgetInputSerializer, ExtraField, PriceField, number
from benchmark.core.generation.cells import HIDING, MAX_TASKS, POLICIES
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import ROLE_OF, Role
from benchmark.core.generation.state import MAX_CANDIDATES, MAX_RETRIES, Stage, State
from benchmark.core.generation.turns import purpose_of
from benchmark.models import Chooser, Generation, GenerationStatus
from benchmark.services.generation.claims import live_claim
from benchmark.services.generation.people import MAX_TEXT
from benchmark.services.generation.reading import is_busy, read_state
from benchmark.services.generation.recordings import MAX_FILE
from benchmark.services.inference import options as limits

#: Who plays all roles that are not named.
ALL = "all"
ACTS = ("choose", "reject", "write", "plan", "retry", "back")
_ANY_OBJECT = {"type": "object", "additionalProperties": {}}


class PlayerInputSerializer(Input):
    """The model that plays a role."""

    role = serializers.ChoiceField([ALL, *Role], help_text="“all” plays the roles that are not named.")
    endpoint = StrictCharField(max_length=20, help_text="The public id of an endpoint.")
    model = StrictCharField(max_length=120, help_text="Its name at the endpoint.")
    temperature = serializers.FloatField(min_value=0, max_value=limits.MAX_TEMPERATURE, required=False, allow_null=True)
    seed = number(limits.MAX_NUMBER, 0, allow_null=True)
    max_tokens = number(limits.MAX_REPLY_TOKENS, allow_null=True, help_text="Of an answer.")
    extra = ExtraField(required=False, help_text="More parameters of each request.")
    input_price = PriceField(help_text="Of a million input tokens.")
    output_price = PriceField(help_text="Of a million output tokens.")


class GenerationInputSerializer(BudgetInputSerializer):
    """A dialogue to generate. Roles without a model are played by people."""

    toolset = StrictCharField(
        max_length=20, required=False, allow_blank=True, default="",
        help_text="The public id of a toolset; its newest revision is used. Name it, or “past”, whose tools are used.",
    )  # fmt: skip
    past = StrictCharField(
        max_length=20, required=False, allow_blank=True, default="",
        help_text="The public id of a verified dialogue to continue, with its tools, language and environment.",
    )  # fmt: skip
    policies = BoundedListField(
        child=serializers.ChoiceField(POLICIES), min_length=1, max_length=MAX_TASKS,
        help_text="Of all tasks, in order; first those of “past”.",
    )  # fmt: skip
    relations = BoundedListField(
        child=BoundedListField(child=serializers.ChoiceField(["explicit", *HIDING]), max_length=len(HIDING)),
        max_length=MAX_TASKS, required=False,
        help_text="What each task may hide, “explicit” for the first; by default drawn by the seed.",
    )  # fmt: skip
    name = StrictCharField(
        max_length=200, required=False, allow_blank=True, default="", help_text="The ID of the dialogue."
    )
    language = serializers.ChoiceField(["en", "zh"], required=False, default="en")
    env_info = StrictCharField(max_length=2_000, required=False, allow_blank=True, default="")
    seed = number(limits.MAX_NUMBER, 0, default=1)
    candidates = number(MAX_CANDIDATES, default=5, help_text="Requests proposed for the first task.")
    per_relation = number(MAX_CANDIDATES, default=3, help_text="Requests proposed for each relation.")
    retries = number(MAX_RETRIES, 0, default=2)
    chooser = serializers.ChoiceField(Chooser.choices, required=False, default=Chooser.PEOPLE)
    players = BoundedListField(child=PlayerInputSerializer(), max_length=1 + len(Role), required=False, default=list)
    idempotent = StrictBooleanField(
        required=False, default=False, allow_null=False, help_text="All endpoints support Idempotency-Key."
    )
    records = StrictCharField(
        max_length=MAX_FILE, required=False, allow_blank=True, default="", trim_whitespace=False,
        help_text="JSON lines of recorded answers, instead of players.",
    )  # fmt: skip

    def validate_players(self, players: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Refuse two models for one role."""
        if len({one["role"] for one in players}) < len(players):
            raise serializers.ValidationError(_("Each role has one model at most."))
        return players


class GenerationActInputSerializer(Input):
    """What a person does."""

    act = serializers.ChoiceField(ACTS)
    seen = serializers.IntegerField(min_value=0, help_text="The number of events of what you have read.")
    candidate = StrictCharField(max_length=40, required=False, allow_blank=True, default="", help_text="To choose.")
    text = StrictCharField(
        max_length=MAX_TEXT, required=False, allow_blank=True, default="", trim_whitespace=False,
        help_text="choose: the edited request, blank to leave it; write: the answer; plan: the actions as JSON.",
    )  # fmt: skip
    reason = StrictCharField(
        max_length=MAX_TEXT, required=False, allow_blank=True, default="", help_text="Why all are rejected."
    )
    events = number(10**6, 0, default=0, help_text="back: the number of events to keep.")


class GenerationClaimInputSerializer(Input):
    """How to claim."""

    take_over = StrictBooleanField(
        required=False, default=False, allow_null=False, help_text="For administrators: end a colleague’s claim."
    )


class GenerationContinueInputSerializer(BudgetInputSerializer):
    """The limits from now on, and what to do with a request without an answer."""

    send_again = StrictBooleanField(
        required=False, default=False, allow_null=False, help_text="It may be charged twice."
    )


class GenerationClaimSerializer(serializers.Serializer[Any]):
    """The claim: its holder, and when it expires."""

    person = serializers.CharField(source="person.public_id")
    expires_at = serializers.DateTimeField()


class GenerationSerializer(serializers.ModelSerializer[Generation]):
    """A dialogue in the making."""

    policies = serializers.SerializerMethodField()
    toolset = serializers.CharField(source="toolset_revision.toolset.public_id")
    reason = serializers.SerializerMethodField(help_text="Why it waits, is paused or has failed; blank if unknown.")
    claim = serializers.SerializerMethodField(help_text="Null: unclaimed.")
    job = JobStateSerializer(allow_null=True, help_text="The latest job that works on it.")
    dialogue = serializers.CharField(
        source="dialogue.public_id", default=None, allow_null=True, help_text="What it has become."
    )
    requester = serializers.CharField(source="requester.public_id", default=None, allow_null=True)
    past = serializers.CharField(
        source="past.dialogue.public_id", default=None, allow_null=True, help_text="The dialogue that it continues."
    )

    class Meta:
        model = Generation
        fields = [
            "public_id", "name", "policies", "language", "toolset", "past", "status", "chooser", "reason", "claim",
            "job", "dialogue", "requester", "requests", "input_tokens", "output_tokens", "cost", "token_budget",
            "cost_budget", "created_at", "updated_at",
        ]  # fmt: skip

    def get_policies(self, generation: Generation) -> list[str]:
        return generation.cell.split(",")

    def get_reason(self, generation: Generation) -> str:
        return translated(generation.reason) if generation.reason else ""

    @extend_schema_field(GenerationClaimSerializer(allow_null=True))
    def get_claim(self, generation: Generation) -> Any:
        known = getattr(generation, "live_claims", None)
        claim = live_claim(generation) if known is None else next(iter(known), None)
        return None if claim is None else GenerationClaimSerializer(claim).data


class GenerationDetailSerializer(GenerationSerializer):
    """A generation with what it waits for, its candidates, and the dialogue so far."""

    seen = serializers.SerializerMethodField(help_text="The number of events; an action sends it back.")
    waits_for = serializers.SerializerMethodField(
        help_text="Null while models are asked and at the end; else the stage, task, role and purpose of what is next, "
        "whether the retries are used up, and the problems of the last answer."
    )
    candidates = serializers.SerializerMethodField(help_text="Requests to choose: id, text, relation and problem.")
    tasks = serializers.SerializerMethodField(help_text="The dialogue so far.")

    class Meta(GenerationSerializer.Meta):
        fields = [*GenerationSerializer.Meta.fields, "seen", "waits_for", "candidates", "tasks"]

    def to_representation(self, instance: Generation) -> dict[str, Any]:
        """Read the state once."""
        self._state: State = read_state(instance)
        found: dict[str, Any] = super().to_representation(instance)
        return found

    def get_seen(self, generation: Generation) -> int:
        return len(self._state.events)

    @extend_schema_field(_ANY_OBJECT | {"nullable": True})
    def get_waits_for(self, generation: Generation) -> dict[str, Any] | None:
        state = self._state
        if is_busy(generation) or state.stage is Stage.DONE or generation.status == GenerationStatus.FAILED:
            return None
        purpose = None if state.stage is Stage.CHOOSE else purpose_of(state)
        return {
            "stage": state.stage.value, "task": state.task + 1, "role": ROLE_OF[purpose].value if purpose else "",
            "purpose": purpose.value if purpose else "", "stuck": state.stuck,
            "problems": [translated(one.text) for one in state.problems],
        }  # fmt: skip

    @extend_schema_field({"type": "array", "items": _ANY_OBJECT})
    def get_candidates(self, generation: Generation) -> list[dict[str, Any]]:
        return [
            {"id": one["id"], "text": one["text"], "relation": one["relation"],
             "problem": translated(Problem.from_json(one["problem"]).text) if one["problem"] else ""}
            for one in self._state.candidates
        ]  # fmt: skip

    @extend_schema_field({"type": "array", "items": _ANY_OBJECT})
    def get_tasks(self, generation: Generation) -> Any:
        return self._state.tasks
