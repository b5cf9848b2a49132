"""Serializers of the API of scores."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.inputs import Input, StrictCharField
from annotator.api.serializers import JobStateSerializer
from benchmark.core.scoring.scoring_run import FAMILIES
from benchmark.models import HISTORIES, THINKING, TOOL_MODES, Figure, PredictionFile, Score, ScoreSet
from benchmark.services.runs import boards, listing
from benchmark.services.runs.uploads import ENDINGS, run_ids_in

_MODE = ["family", "language", "history", "tool_mode", "thinking"]


class PredictionInputSerializer(Input):
    """A file of predictions and how the models were asked."""

    file = serializers.FileField(allow_empty_file=True, help_text=f"A file that ends in one of: {', '.join(ENDINGS)}.")
    family = serializers.ChoiceField(
        choices=FAMILIES, required=False, help_text="How to score; by default as the release’s own format."
    )
    model = StrictCharField(
        max_length=120, required=False, allow_blank=True, default="",
        help_text="The run of records that name none; by default the name of the file.",
    )  # fmt: skip
    provider = StrictCharField(max_length=120, required=False, allow_blank=True, default="")
    language = serializers.ChoiceField(
        choices=["", "en", "zh"], required=False, default="", help_text="Of the dialogues; by default each run’s own."
    )
    history = serializers.ChoiceField(
        choices=HISTORIES, default="calls", help_text="Whether the models saw the calls of earlier tasks, or answers."
    )
    tool_mode = serializers.ChoiceField(
        choices=TOOL_MODES, default="tool_calls", help_text="Whether they got the tools by the API or in the prompt."
    )
    thinking = serializers.ChoiceField(
        choices=THINKING, required=False, default="", help_text="Whether they were thinking; blank if nothing is known."
    )
    strip_thinking = serializers.BooleanField(
        default=False, help_text="Leave out what models wrote between <think> and </think>."
    )


class PredictionFileSerializer(serializers.ModelSerializer[PredictionFile]):
    """A file of predictions: its progress, and the counts of its records."""

    job = JobStateSerializer()

    class Meta:
        model = PredictionFile
        fields = [
            "public_id", "filename", "bytes", "sha256", *_MODE, "model", "provider", "strip_thinking", "created_at",
            "job", "entries", "missing", "foreign", "doubled", "problems",
        ]  # fmt: skip


class PredictionFileDetailSerializer(PredictionFileSerializer):
    """A file of predictions with its runs, and sentences about what was not scored."""

    runs = serializers.SerializerMethodField(help_text="Public ids of the runs; empty until its job has ended.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="The first of what was not scored, and why.")

    class Meta(PredictionFileSerializer.Meta):
        fields = [*PredictionFileSerializer.Meta.fields, "runs", "notes"]

    def get_runs(self, file: PredictionFile) -> list[str]:
        return run_ids_in(file)


class ScoreFigureSerializer(serializers.ModelSerializer[Figure]):
    """A figure: of what, over how many, and its 95 % interval; “all” is the cell of the whole."""

    class Meta:
        model = Figure
        fields = ["name", "cell", "n", "value", "low", "high"]


class _ModelRunSerializer(serializers.ModelSerializer[ScoreSet]):
    """What a run is and what it earned, by the newest version of the scorers."""

    public_id = serializers.CharField(source="run.public_id")
    model = serializers.CharField(source="run.model")
    provider = serializers.CharField(source="run.provider")
    attempt = serializers.IntegerField(source="run.attempt", help_text="Counts runs of one model in one mode.")
    family = serializers.CharField(source="run.family")
    language = serializers.CharField(source="run.language")
    history = serializers.CharField(source="run.history")
    tool_mode = serializers.CharField(source="run.tool_mode")
    thinking = serializers.CharField(source="run.thinking")
    file = serializers.CharField(source="run.file.public_id", default=None, allow_null=True)
    release_sha256 = serializers.CharField(source="run.release_sha256", help_text="The archive that was scored.")
    created_at = serializers.DateTimeField(source="run.created_at")
    input_tokens = serializers.IntegerField(source="run.input_tokens", allow_null=True)
    output_tokens = serializers.IntegerField(source="run.output_tokens", allow_null=True)
    cost = serializers.DecimalField(20, 6, source="run.cost", allow_null=True)
    scorer = serializers.IntegerField(source="version", help_text="The version of the scorers.")
    rounds = serializers.FloatField(allow_null=True, help_text="Replies for one entry, on average.")

    class Meta:
        model = ScoreSet
        fields = [
            "public_id", "model", "provider", "attempt", *_MODE, "file", "release_sha256", "created_at",
            "input_tokens", "output_tokens", "cost", "scorer", "entries", "right", "missing", "rounds", "figures",
        ]  # fmt: skip


class ModelRunSerializer(_ModelRunSerializer):
    """A run with the figures of the leaderboard, the deciding one first."""

    figures = serializers.SerializerMethodField()

    @extend_schema_field(ScoreFigureSerializer(many=True))
    def get_figures(self, score_set: ScoreSet) -> Any:
        return ScoreFigureSerializer(listing.leading_figures(score_set), many=True).data


class ModelRunDetailSerializer(_ModelRunSerializer):
    """A run with all its figures and its classes of error."""

    figures = serializers.SerializerMethodField()
    errors = serializers.SerializerMethodField(  # type: ignore[assignment]
        help_text="Class of error → number of entries."
    )
    scorers = serializers.SerializerMethodField(help_text="Versions of the scorers that scored it, newest first.")

    class Meta(_ModelRunSerializer.Meta):
        fields = [*_ModelRunSerializer.Meta.fields, "errors", "scorers"]

    @extend_schema_field(ScoreFigureSerializer(many=True))
    def get_figures(self, score_set: ScoreSet) -> Any:
        return ScoreFigureSerializer(score_set.figures.order_by("name", "cell"), many=True).data

    def get_scorers(self, score_set: ScoreSet) -> list[int]:
        return boards.versions_of(score_set.run)

    def get_errors(self, score_set: ScoreSet) -> dict[str, int]:
        return {name: count for name, count in (score_set.summary or {}).get("errors", {}).items() if name}


class ModelRunEntrySerializer(serializers.ModelSerializer[Score]):
    """What an entry earned."""

    key = serializers.CharField(source="pk", help_text="Leads to the entry’s details.")
    error = serializers.CharField(help_text="Its class of error; blank if it is right or has none.")

    class Meta:
        model = Score
        fields = ["key", "entry", "right", "error"]


class ModelRunEntryDetailSerializer(ModelRunEntrySerializer):
    """What an entry earned, and why."""

    detail = serializers.SerializerMethodField(help_text="As entries.jsonl of score_release has it.")
    prediction = serializers.SerializerMethodField(help_text="What the model said; null if nothing.")

    class Meta(ModelRunEntrySerializer.Meta):
        fields = [*ModelRunEntrySerializer.Meta.fields, "detail", "prediction"]

    @extend_schema_field({"type": "object", "additionalProperties": {}})
    def get_detail(self, score: Score) -> Any:
        return score.detail

    @extend_schema_field({"nullable": True})
    def get_prediction(self, score: Score) -> Any:
        return score.prediction.content if score.prediction else None
