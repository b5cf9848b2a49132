"""The shapes of requests and responses of the work API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.inputs import BoundedDictField, BoundedListField, Input, StrictBooleanField, StrictCharField
from annotator.api.schema import DOCUMENT_SCHEMA
from reviews.core.protocols import Applies
from reviews.models import Review, ReviewError, Ruling, Verdict
from reviews.services.submission.checklists import without_yes
from reviews.services.submission.waivers import MAX_REASON as MAX_WAIVER_REASON

#: Most entries in a list or object of a review. A dialogue has at most 64 tasks.
MAX_ENTRIES = 500
MAX_ANCHOR = 600
MAX_REASON = 4000


@extend_schema_field({"type": "object"})
class ObjectField(serializers.Field[Any, Any, Any, Any]):
    """Any JSON object, unchanged."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("This must be an object.")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field(DOCUMENT_SCHEMA)
class DocumentField(ObjectField):
    """A whole dialogue. Services validate it, because their refusals name each wrong place."""


class LengthField(serializers.IntegerField):
    """A number of items."""

    def to_representation(self, value: Any) -> int:
        return len(value)


class ClaimInputSerializer(Input):
    stage = StrictCharField(
        required=False, max_length=40, help_text="Key of a stage; by default the most urgent item of all stages."
    )


class TokenSerializer(Input):
    token = StrictCharField(max_length=40, help_text="The claim’s token.")


class FindingKeySerializer(TokenSerializer):
    """A warning, as listed in ``details.findings`` of a refused submission."""

    check = StrictCharField(max_length=60)
    anchor = StrictCharField(allow_blank=True, max_length=MAX_ANCHOR)
    value_hash = StrictCharField(allow_blank=True, max_length=16)


class WaiverInputSerializer(FindingKeySerializer):
    """A warning, as listed in ``details.findings`` of a refused submission, and why it does not matter."""

    reason = StrictCharField(max_length=MAX_WAIVER_REASON, help_text="Why the warning does not matter here.")
    document = DocumentField(
        required=False,
        help_text="The whole dialogue as you will submit it; by default your draft, or unchanged.",
    )


class HeartbeatInputSerializer(TokenSerializer):
    active_seconds = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=86_400,
        help_text="Active seconds since the last heartbeat.",
    )


class NamedErrorSerializer(Input):
    kind = StrictCharField(max_length=40, help_text="A key of the protocol’s error types.")
    anchor = StrictCharField(required=False, default="", allow_blank=True, max_length=MAX_ANCHOR)
    note = StrictCharField(required=False, default="", allow_blank=True, max_length=1000)


class RulingInputSerializer(Input):
    choice = serializers.ChoiceField(["left", "right", "third", "none"])
    value = serializers.JSONField(required=False, default=None, allow_null=True, help_text="The third value.")
    reason_kind = StrictCharField(max_length=40, help_text="A key of the protocol’s error types.")
    reason = StrictCharField(required=False, default="", allow_blank=True, max_length=1000)


class SubmissionSerializer(TokenSerializer):
    verdict = serializers.ChoiceField([*Verdict])
    document = DocumentField(required=False, help_text="The whole dialogue; by default your draft, or unchanged.")
    checklist = BoundedDictField(
        child=BoundedDictField(child=StrictBooleanField(allow_null=True)),
        required=False,
        default=dict,
        help_text="Task id, or “dialogue” for the whole → checklist item → true, false or null (does not apply).",
    )
    checklist_notes = BoundedDictField(
        child=BoundedDictField(child=StrictCharField(allow_blank=True, max_length=1000)),
        required=False,
        default=dict,
        help_text="Notes in the same form: what is wrong if the answer is no. A note on a yes is refused.",
    )
    named_errors = BoundedListField(child=NamedErrorSerializer(), required=False, default=list, max_length=MAX_ENTRIES)
    reason = StrictCharField(required=False, default="", allow_blank=True, max_length=MAX_REASON)
    rulings = BoundedDictField(
        child=RulingInputSerializer(),
        required=False,
        default=dict,
        help_text="A senior reviewer’s rulings: disputed place → choice and reason.",
    )


# --- answers ----------------------------------------------------------------------------------------------------------


class ChecklistItemSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    text = serializers.CharField()
    per_task = serializers.BooleanField()
    applies = serializers.ChoiceField(
        [*Applies],
        help_text=(
            "What it is asked about: always, several_tasks (dialogues with two tasks or more), later_tasks (tasks "
            "after the first) or has_calls (tasks, or dialogues, that call a tool). Other answers are left out."
        ),
    )
    required = serializers.BooleanField(  # type: ignore[assignment]
        help_text="Whether a submission must answer it with true or false."
    )


class WorkStageSerializer(serializers.Serializer[Any]):
    """What the stage asks of its reviewers."""

    key = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField()
    blind = serializers.BooleanField()
    verdicts = serializers.ListField(child=serializers.CharField())
    checklist = ChecklistItemSerializer(many=True)


class WorkDialogueSerializer(serializers.Serializer[Any]):
    public_id = serializers.CharField()
    external_id = serializers.CharField()


class WorkRevisionSerializer(serializers.Serializer[Any]):
    public_id = serializers.CharField()
    content_hash = serializers.CharField()


class ClaimSuggestionSerializer(serializers.Serializer[Any]):
    """A value that a model or a script suggests. It is in no document; to take it, submit it as your own."""

    place = serializers.CharField(help_text="An anchor, as in POST …/suggestions/.")
    value = serializers.JSONField()
    source = serializers.CharField()  # type: ignore[assignment]
    score = serializers.FloatField(allow_null=True)


class ClaimSerializer(serializers.Serializer[Any]):
    """A slot that is reserved for you until the claim expires, with everything you need to review it."""

    slot = serializers.CharField()
    token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    stage = WorkStageSerializer()
    dialogue = WorkDialogueSerializer()
    revision = WorkRevisionSerializer()
    document = DocumentField()
    tools = serializers.ListField(child=ObjectField())
    suggestions = ClaimSuggestionSerializer(many=True, help_text="Those whose value the document does not have.")


class HeartbeatSerializer(serializers.Serializer[Any]):
    expires_at = serializers.DateTimeField()


class RetakenSerializer(HeartbeatSerializer):
    """The claim that is live again."""

    token = serializers.CharField(help_text="The same as before, unless a colleague had the item in between.")


class SubmittedSerializer(serializers.Serializer[Any]):
    """The submitted review; the dialogue’s reviews contain all of it."""

    public_id = serializers.CharField()
    verdict = serializers.ChoiceField([*Verdict])
    made_revision = serializers.CharField(allow_null=True, help_text="The revision with your changes.")
    seconds = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class ReviewErrorSerializer(serializers.ModelSerializer[ReviewError]):
    class Meta:
        model = ReviewError
        fields = ["kind", "anchor", "value_hash", "note"]


class RulingSerializer(serializers.ModelSerializer[Ruling]):
    value = serializers.JSONField()

    class Meta:
        model = Ruling
        fields = ["anchor", "choice", "value", "reason_kind", "reason"]


class ReviewSerializer(serializers.ModelSerializer[Review]):
    """One person's review of one revision."""

    person = serializers.CharField(source="person.public_id")
    stage = serializers.CharField(source="stage_run.stage")
    round = serializers.IntegerField(source="stage_run.round")
    seen_revision = serializers.CharField(source="seen_revision.public_id")
    made_revision = serializers.CharField(source="made_revision.public_id", default=None, allow_null=True)
    named_errors = ReviewErrorSerializer(source="errors", many=True)
    rulings = RulingSerializer(many=True)
    checklist_notes = serializers.SerializerMethodField()

    class Meta:
        model = Review
        fields = [
            "public_id",
            "person",
            "stage",
            "round",
            "verdict",
            "seen_revision",
            "made_revision",
            "labels",
            "checklist",
            "checklist_notes",
            "reason",
            "named_errors",
            "rulings",
            "seconds",
            "created_at",
        ]

    @extend_schema_field({"type": "object"})
    def get_checklist_notes(self, review: Review) -> dict[str, dict[str, str]]:
        """Return the notes; older reviews may have notes on items that were answered with yes."""
        return without_yes(review.checklist, review.checklist_notes)


class StageStatusSerializer(serializers.Serializer[Any]):
    """The number of items in one stage, and the outcomes of those that left it."""

    key = serializers.CharField()
    title = serializers.CharField()
    open = serializers.IntegerField(help_text="Open slots.")
    claimed = serializers.IntegerField(help_text="Claimed slots.")
    done = serializers.IntegerField(help_text="Slots with a review.")
    pooled = serializers.IntegerField(help_text="Items that wait for a random draw.")
    settled = serializers.IntegerField(help_text="Items that left the stage.")
    outcomes = serializers.DictField(child=serializers.IntegerField(), help_text="Outcome → items that left with it.")
    compared = serializers.IntegerField(help_text="Items that two or more people reviewed independently.")
    discrepant = serializers.IntegerField(help_text="Compared items on which reviewers disagreed.")
    discrepancy_rate = serializers.FloatField(
        allow_null=True, help_text="discrepant / compared; null if none were compared."
    )
    alarm = serializers.BooleanField(
        help_text="Whether the rate is above the protocol’s limit, if enough items were compared."
    )
    sampled = serializers.IntegerField(help_text="Drawn items that were reviewed.")
    sampled_errors = serializers.IntegerField(help_text="Reviewed drawn items with errors.")
    sample_error_rate = serializers.FloatField(allow_null=True, help_text="sampled_errors / sampled, or null.")


class ProjectStatusSerializer(serializers.Serializer[Any]):
    """The number of items in each status and stage."""

    dialogues = serializers.DictField(
        source="statuses", child=serializers.IntegerField(), help_text="Status → number of dialogues."
    )
    stages = StageStatusSerializer(many=True)
    shortfalls = serializers.ListField(
        child=serializers.CharField(), help_text="Stages with too few people, as sentences."
    )
