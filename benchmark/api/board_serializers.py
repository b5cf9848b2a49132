"""Serializers of the API of leaderboards, comparisons and entries over all runs."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmark.api.run_serializers import ModelRunSerializer, ScoreFigureSerializer
from benchmark.core.scoring.items import Flag
from benchmark.models import EntryStatistic, Score, ScoreSet
from benchmark.services.runs import boards, suspects

FLAGS = [flag.value for flag in Flag if flag]


class FigureNameSerializer(serializers.Serializer[Any]):
    """A column of a leaderboard."""

    name = serializers.CharField()
    cell = serializers.CharField()


class BoardRowSerializer(ModelRunSerializer):
    """A run on a leaderboard."""

    rank = serializers.SerializerMethodField(
        help_text="1 + the runs that are better beyond chance; null if another version than most runs’ scored it."
    )

    class Meta(ModelRunSerializer.Meta):
        fields = ["rank", *(name for name in ModelRunSerializer.Meta.fields if name != "file")]

    def get_rank(self, score_set: ScoreSet) -> int | None:
        rank: int | None = self.context["rows"][score_set.pk].rank
        return rank

    @extend_schema_field(ScoreFigureSerializer(many=True))
    def get_figures(self, score_set: ScoreSet) -> Any:
        found = self.context["rows"][score_set.pk].figures
        figures = [found[column] for column in self.context["columns"] if column in found]
        return ScoreFigureSerializer(figures, many=True).data


class ScoreBoardSerializer(serializers.Serializer[Any]):
    """A leaderboard of one family."""

    family = serializers.CharField(allow_blank=True, help_text="Blank without runs.")
    families = serializers.ListField(child=serializers.CharField(), help_text="Those that were scored.")
    order = FigureNameSerializer(help_text="The figure by which the rows are in order.")
    columns = FigureNameSerializer(many=True)
    slices = serializers.ListField(child=serializers.CharField(), help_text="Values of the parameter “slice”.")
    withdrawn = serializers.IntegerField(help_text="Items of the release that were withdrawn since.")
    recounted = serializers.BooleanField(help_text="Whether the figure “kept” is without exactly these.")
    rows = BoardRowSerializer(many=True)


class ComparedFigureSerializer(FigureNameSerializer):
    """A figure of two runs; null where a run does not have it."""

    first = ScoreFigureSerializer(allow_null=True)
    second = ScoreFigureSerializer(allow_null=True)


class RunComparisonSerializer(serializers.Serializer[boards.Versus]):
    """Two runs compared entry by entry."""

    first = serializers.CharField(source="first.run.public_id")
    second = serializers.CharField(source="second.run.public_id")
    n = serializers.IntegerField(help_text="Entries that both have.")
    only_first = serializers.IntegerField(help_text="Those that only the first has right.")
    only_second = serializers.IntegerField()
    p = serializers.FloatField(help_text="Of McNemar’s test.")
    differs = serializers.SerializerMethodField(help_text=f"Whether p is below {boards.LEVEL}.")
    figures = serializers.SerializerMethodField()

    def get_differs(self, versus: boards.Versus) -> bool:
        return versus.p < boards.LEVEL

    @extend_schema_field(ComparedFigureSerializer(many=True))
    def get_figures(self, versus: boards.Versus) -> Any:
        names = ("name", "cell", "first", "second")
        rows = [dict(zip(names, cell, strict=True)) for cell in versus.cells]
        return ComparedFigureSerializer(rows, many=True).data


class ChangedEntrySerializer(serializers.ModelSerializer[Score]):
    """An entry that only one of two runs has right."""

    right = serializers.SerializerMethodField(help_text="Which run has it right: first or second.")
    first = serializers.CharField(source="pk", help_text="Key of the entry in the first run.")
    second = serializers.CharField(source="other_id", help_text="Key of the entry in the second run.")

    class Meta:
        model = Score
        fields = ["entry", "right", "first", "second"]

    @extend_schema_field({"type": "string", "enum": list(boards.SIDES)})
    def get_right(self, score: Score) -> str:
        return boards.SIDES[0 if score.right else 1]


class EntrySerializer(serializers.ModelSerializer[EntryStatistic]):
    """An entry of a release, and what all runs made of it."""

    key = serializers.CharField(source="pk", help_text="Leads to the entry’s details.")
    item = serializers.CharField(
        source="item.dialogue.external_id", default=None, allow_null=True, help_text="Null if it belongs to no item."
    )
    dialogue = serializers.CharField(source="item.dialogue.public_id", default=None, allow_null=True)
    agreeing = serializers.IntegerField(help_text="Runs with the most frequent answer that is not right.")
    discrimination = serializers.FloatField(
        allow_null=True,
        help_text="Correlation of being right here with the other entries that a run has right; null for few runs.",
    )
    flag = serializers.ChoiceField(choices=FLAGS, allow_blank=True, help_text="What is notable; blank if nothing is.")
    suspect = serializers.SerializerMethodField(help_text="Whether the flag speaks against the reference.")

    class Meta:
        model = EntryStatistic
        fields = [
            "key", "entry", "family", "language", "item", "dialogue", "runs", "right", "agreeing", "discrimination",
            "flag", "suspect",
        ]  # fmt: skip

    def get_suspect(self, statistic: EntryStatistic) -> bool:
        return statistic.flag in suspects.SUSPECT


class RunAnswerSerializer(serializers.ModelSerializer[Score]):
    """What one run earned on an entry. ``runs/RUN/entries/KEY/`` has what it said."""

    key = serializers.CharField(source="pk")
    run = serializers.CharField(source="score_set.run.public_id")
    model = serializers.CharField(source="score_set.run.model")
    attempt = serializers.IntegerField(source="score_set.run.attempt")
    said = serializers.CharField(help_text="The same for the same answer; blank where answers are not compared.")

    class Meta:
        model = Score
        fields = ["key", "run", "model", "attempt", "right", "error", "said"]


class EntryDetailSerializer(EntrySerializer):
    """An entry with what the runs earned on it."""

    answers = serializers.SerializerMethodField(help_text="At most 100; the same answers are next to each other.")

    class Meta(EntrySerializer.Meta):
        fields = [*EntrySerializer.Meta.fields, "answers"]

    @extend_schema_field(RunAnswerSerializer(many=True))
    def get_answers(self, statistic: EntryStatistic) -> Any:
        return RunAnswerSerializer(suspects.answers_to(statistic), many=True).data
