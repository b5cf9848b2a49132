"""Statistics for programs: the figures on the pages, for the same people."""

from dataclasses import asdict
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor
from annotator.core.suggestion_shape import PlaceKind
from annotator.models import Project
from annotator.services.access.permissions import load_project, roles_in
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import day_of, one_of
from reviews.api.serializers import LengthField
from reviews.core.agreement import OVERLAPPING, RATED, more_dialogues, rated_fields, summarise
from reviews.services.protocols.versions import stage_titles
from reviews.services.statistics.access import load_person, oversees, pair_of
from reviews.services.statistics.accuracy import StageRevisions, read_accuracy, revisions_of_repeating
from reviews.services.statistics.agreement import AGREEMENT, hidden_patterns, read_agreement
from reviews.services.statistics.field_answers import read_answers
from reviews.services.statistics.suggestions import read_acceptance
from reviews.services.statistics.throughput import (
    read_error_types,
    read_outlook,
    read_throughput,
    read_times,
)

SAW_LABELS = (
    "Independent first reviews in a blind stage. Both reviewers saw the author’s labels, so they agree more than if "
    "they had started from nothing."
)


class FigureSerializer(serializers.Serializer[Any]):
    """One statistic: its value with a 95 % interval, or the reason why there is none."""

    name = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Number of units.")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    undefined = serializers.CharField(help_text="Why there is no value; empty if there is one.")
    interval = serializers.CharField(help_text="How the interval was computed, or why there is none.")


class MethodSerializer(serializers.Serializer[Any]):
    """How an interval is computed. The version rises if the same counts get another interval."""

    name = serializers.CharField()
    version = serializers.IntegerField()


class AgreementFigureSerializer(FigureSerializer):
    """A statistic of agreement, and how many dialogues it takes."""

    method = MethodSerializer(allow_null=True, help_text="Of the interval; null if there is none.")
    more_dialogues = serializers.IntegerField(
        allow_null=True,
        help_text="About how many more dialogues would give an interval of ± 0.1; 0 if it is as narrow already, and "
        "reliable; null if there is none to tell from, or fewer than 10 units.",
    )
    caution = serializers.CharField(help_text="Why the interval may be too narrow; empty if there is no reason.")


class PointSerializer(serializers.Serializer[Any]):
    """The share of finished items that were right at one point of the protocol."""

    key = serializers.CharField(help_text="“baseline”, the key of a stage, or the number of a round.")
    title = serializers.CharField()
    right = serializers.IntegerField(help_text="Items with exactly the content that was verified.")
    message = serializers.IntegerField(help_text="The same except for a user message that was rewritten later.")
    unlabelled = serializers.IntegerField(
        help_text="The same except for labels that are missing, and perhaps user messages."
    )
    of = serializers.IntegerField(help_text="Finished items; rejected ones count as wrong.")
    figure = FigureSerializer()
    without_messages = FigureSerializer()
    without_missing_labels = FigureSerializer(help_text="Without messages and missing labels.")


class RoundsSerializer(serializers.Serializer[Any]):
    stage = serializers.CharField()
    rounds = PointSerializer(many=True, help_text="Round 0 is the content with which items entered the stage.")


class RevisionsSerializer(serializers.Serializer[Any]):
    stage = serializers.CharField()
    items = serializers.IntegerField(help_text="Finished items that were reviewed in the stage.")
    not_drawn = serializers.IntegerField(
        help_text="Finished items that entered the stage but were not drawn; not in other figures."
    )
    revised = serializers.DictField(
        child=serializers.IntegerField(), help_text="Number of rounds that changed the content → items."
    )
    rate = FigureSerializer(source="rates.total")


class StageRoundsSerializer(RevisionsSerializer):
    """Items that a stage revised, by the number of rounds they needed."""

    title = serializers.CharField()
    by_rounds = serializers.SerializerMethodField(help_text="The same as shares of the items, fewest rounds first.")

    @extend_schema_field(FigureSerializer(many=True))
    def get_by_rounds(self, one: StageRevisions) -> Any:
        return FigureSerializer(list(one.rates.by_rounds.values()), many=True).data


class RevisionRoundsSerializer(serializers.Serializer[Any]):
    """Rounds of revision in stages that repeat after a change; empty if the protocol has none."""

    finished = serializers.IntegerField()
    unfinished = serializers.IntegerField(help_text="Not included in any figure.")
    waiting = serializers.IntegerField(help_text="Items that are being counted now.")
    stages = StageRoundsSerializer(many=True)


class AuditSerializer(serializers.Serializer[Any]):
    stage = serializers.CharField()
    population = serializers.IntegerField()
    audited = serializers.IntegerField()
    errors_found = serializers.IntegerField(source="errors")
    error_rate = FigureSerializer(source="residual.error_rate")
    residual = FigureSerializer(source="residual.residual", help_text="Errors left after the found ones are fixed.")
    sensitivity = FigureSerializer(source="sensitivity.figure", help_text="Share of known errors that were noticed.")
    warnings = serializers.ListField(
        child=serializers.CharField(), source="residual.warnings", help_text="What to know before using the figures."
    )


class AccuracySerializer(serializers.Serializer[Any]):
    """Agreement of finished items with their verified revision."""

    finished = serializers.IntegerField()
    verified = serializers.IntegerField()
    rejected = serializers.IntegerField()
    unfinished = serializers.IntegerField(allow_null=True, help_text="Left out of every figure; null for one person.")
    waiting = serializers.IntegerField(help_text="Items that are being counted now.")
    #: Without the reasons, which the page shows to people who can fix them.
    set_aside = LengthField(help_text="Items that could not be counted.")
    by_stage = PointSerializer(many=True)
    by_round = RoundsSerializer(many=True)
    revisions = RevisionsSerializer(many=True)
    audits = AuditSerializer(many=True)


class LabelSerializer(serializers.Serializer[Any]):
    #: A built-in label, or “field:” with the key of a custom field.
    label = serializers.CharField()  # type: ignore[assignment]
    figures = AgreementFigureSerializer(many=True)
    patterns = serializers.DictField(child=serializers.IntegerField(), help_text="Pattern of ratings, as JSON → units.")


class AgreementSerializer(serializers.Serializer[Any]):
    stage = serializers.CharField()
    note = serializers.CharField()
    labels = LabelSerializer(many=True)
    set_aside = LengthField(help_text="Comparisons that could not be counted.")


class StageCountsSerializer(serializers.Serializer[Any]):
    stage = serializers.CharField()
    counts = serializers.ListField(child=serializers.IntegerField(), help_text="One for each of ``starts``.")


class ThroughputSerializer(serializers.Serializer[Any]):
    starts = serializers.ListField(child=serializers.DateField(), help_text="Days, or Mondays, in local time.")
    step = serializers.IntegerField(help_text="Days between two starts: 1 or 7.")
    stages = StageCountsSerializer(many=True)


class TimeSerializer(serializers.Serializer[Any]):
    """Seconds of activity in a review: the quartiles."""

    stage = serializers.CharField()
    n = serializers.IntegerField()
    low = serializers.FloatField()
    median = serializers.FloatField()
    high = serializers.FloatField()


class ErrorTypeCountSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    by_stage = serializers.DictField(child=serializers.IntegerField())
    total = serializers.IntegerField()


class ForecastSerializer(serializers.Serializer[Any]):
    """When the work will be done at the pace of the last four weeks, or why there is no forecast."""

    open = serializers.IntegerField(help_text="Reviews to do now.")
    following = serializers.FloatField(help_text="Expected reviews of these items in later stages.")
    per_day = serializers.FloatField(source="forecast.pace")
    date = serializers.DateField(source="dates.expected", allow_null=True)
    earliest = serializers.DateField(source="dates.earliest", allow_null=True)
    latest = serializers.DateField(
        source="dates.latest", allow_null=True, help_text="Also null if the pace varies too much for a bound."
    )
    reason = serializers.CharField(source="forecast.reason")


class ProgressSerializer(serializers.Serializer[Any]):
    by_day = ThroughputSerializer()
    by_week = ThroughputSerializer()
    times = TimeSerializer(many=True)
    error_types = ErrorTypeCountSerializer(many=True)
    forecast = ForecastSerializer()


class PersonSerializer(serializers.Serializer[Any]):
    """What one person did in the project."""

    by_week = ThroughputSerializer()
    times = TimeSerializer(many=True)
    error_types_named = ErrorTypeCountSerializer(many=True)
    error_types_received = ErrorTypeCountSerializer(many=True)
    accuracy = AccuracySerializer(help_text="Items that this person owns.")


class AcceptanceSerializer(serializers.Serializer[Any]):
    """What became of the suggestions of one source."""

    source = serializers.CharField()  # type: ignore[assignment]
    kind = serializers.ChoiceField(
        choices=list(PlaceKind), allow_blank=True, help_text="Kind of place; blank: all of the source’s suggestions."
    )
    accepted = serializers.IntegerField()
    refused = serializers.IntegerField()
    changed = serializers.IntegerField(help_text="Accepted first; the submitted value is another one.")
    rate = FigureSerializer()


class SuggestionFiguresSerializer(serializers.Serializer[Any]):
    """How often people accept suggestions, in submitted reviews."""

    suggestions = serializers.IntegerField(help_text="Suggestions in the project, decided or not.")
    decided = serializers.IntegerField(help_text="Decisions in submitted reviews.")
    acceptance = AcceptanceSerializer(source="rows", many=True)


class AnswerCountSerializer(serializers.Serializer[Any]):
    """One answer to a custom field."""

    field = serializers.CharField(help_text="The key of the field.")
    value = serializers.CharField(
        help_text="As in documents, numbers as text; blank: all answers together that are no longer possible."
    )
    dialogues = serializers.IntegerField(help_text="Dialogues whose current revision has it.")
    verified = serializers.IntegerField(help_text="Those among them that are verified.")


class FieldAnswersSerializer(serializers.Serializer[Any]):
    """Answers to choices, sets and scales. Those of a blind stage count when it has ended."""

    answers = AnswerCountSerializer(many=True)


class ProgressStatistics(APIView):
    """Reviews by day and week, time per item, error types, and the forecast."""

    @extend_schema(responses={200: ProgressSerializer, 404: NOT_FOUND}, operation_id="statistics_progress")
    def get(self, request: Request, slug: str) -> Response:
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        now = timezone.now()
        overseer = oversees(roles_in(project, who))
        shown_to = None if overseer else who
        return Response(
            ProgressSerializer(
                {
                    "by_day": read_throughput(project=project, now=now, by_week=False, shown_to=shown_to),
                    "by_week": read_throughput(project=project, now=now, by_week=True, shown_to=shown_to),
                    "times": read_times(project=project, viewer=who, shown_to=shown_to),
                    "error_types": read_error_types(project=project, hide_answers=not overseer),
                    "forecast": read_outlook(project=project, now=now, shown_to=shown_to),
                }
            ).data
        )


class AccuracyStatistics(APIView):
    """Accuracy after each stage and round, revision rates, and the audit's estimates."""

    @extend_schema(responses={200: AccuracySerializer, 404: NOT_FOUND}, operation_id="statistics_accuracy")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(AccuracySerializer(read_accuracy(project=project, hide_answers=_hides(request, project))).data)


class RevisionStatistics(APIView):
    """Items that were revised in stages that repeat after a change, by number of rounds."""

    @extend_schema(responses={200: RevisionRoundsSerializer, 404: NOT_FOUND}, operation_id="statistics_revisions")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        counted = read_accuracy(project=project, hide_answers=_hides(request, project))
        found = {
            "finished": counted.finished,
            "unfinished": counted.unfinished,
            "waiting": counted.waiting,
            "stages": revisions_of_repeating(project, counted),
        }
        return Response(RevisionRoundsSerializer(found).data)


class AgreementStatistics(APIView):
    """Agreement between independent reviewers of a stage, by label."""

    @extend_schema(
        parameters=[
            OpenApiParameter("stage", {"type": "string", "minLength": 1}, required=True, description="Key of a stage."),
            OpenApiParameter(
                "label",
                str,
                description=f"One of {', '.join([*RATED, *OVERLAPPING])}, or “field:” with the key of a custom field. "
                "By default every label.",
            ),
            OpenApiParameter(
                "pair",
                str,
                description="Public ids of two people, “one:other”: for senior reviewers and administrators.",
            ),
            OpenApiParameter("since", str, description="First week: a day in it, as YYYY-MM-DD."),
            OpenApiParameter("until", str, description="Last week: a day in it, as YYYY-MM-DD."),
        ],
        responses={200: AgreementSerializer, 404: NOT_FOUND},
        operation_id="statistics_agreement",
    )
    def get(self, request: Request, slug: str) -> Response:
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        asked = request.query_params
        stage = one_of(asked, "stage", stage_titles(project), required=True)
        fields = rated_fields(fields_of(project))
        wanted = one_of(asked, "label", [*RATED, *OVERLAPPING, *fields])
        since, until = day_of(asked, "since"), day_of(asked, "until")
        pair = pair_of(project=project, wanted=asked.get("pair", ""), roles=roles_in(project, who))
        less = hidden_patterns(project) if _hides(request, project) else None
        labels = []
        for label in [wanted] if wanted else [*RATED, *OVERLAPPING, *fields]:
            counts = read_agreement(
                project=project, stage=stage, label=label, pair=pair, since=since, until=until, less=less
            )
            figures = [
                asdict(figure) | {"more_dialogues": more_dialogues(figure)}
                for figure in summarise(label, counts, pair=pair is not None, field=fields.get(label))
            ]
            labels.append({"label": label, "figures": figures, "patterns": counts.to_json()})
        found = {
            "stage": stage,
            "note": SAW_LABELS,
            "labels": labels,
            "set_aside": AGREEMENT.set_aside(project),
        }
        return Response(AgreementSerializer(found).data)


class SuggestionStatistics(APIView):
    """Acceptance of the suggestions of models and scripts: for senior reviewers and administrators."""

    @extend_schema(
        responses={
            200: SuggestionFiguresSerializer,
            403: OpenApiResponse(ErrorSerializer, "Your role does not allow this."),
            404: NOT_FOUND,
        },
        operation_id="statistics_suggestions",
    )
    def get(self, request: Request, slug: str) -> Response:
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        return Response(SuggestionFiguresSerializer(read_acceptance(actor=who, project=project)).data)


class FieldStatistics(APIView):
    """How often each answer to a custom field was given: for senior reviewers and administrators."""

    @extend_schema(
        responses={
            200: FieldAnswersSerializer,
            403: OpenApiResponse(ErrorSerializer, "Your role does not allow this."),
            404: NOT_FOUND,
        },
        operation_id="statistics_fields",
    )
    def get(self, request: Request, slug: str) -> Response:
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        return Response(FieldAnswersSerializer({"answers": read_answers(actor=who, project=project)}).data)


class PersonStatistics(APIView):
    """One person's work: your own; everyone’s for senior reviewers and administrators."""

    @extend_schema(responses={200: PersonSerializer, 404: NOT_FOUND}, operation_id="statistics_person")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        roles = roles_in(project, who)
        whose = load_person(actor=who, roles=roles, project=project, public_id=public_id)
        hides = not oversees(roles)
        shown_to = who if hides else None
        weeks = read_throughput(
            project=project,
            now=timezone.now(),
            person=whose,
            by_week=True,
            shown_to=shown_to,
            settled=whose.pk != who.pk,
        )
        found = {
            "by_week": weeks,
            "times": read_times(project=project, viewer=who, person=whose, shown_to=shown_to),
            "error_types_named": read_error_types(project=project, person=whose, hide_answers=hides),
            "error_types_received": read_error_types(project=project, person=whose, received=True, hide_answers=hides),
            "accuracy": read_accuracy(project=project, owner=whose, hide_answers=hides),
        }
        return Response(PersonSerializer(found).data)


def _hides(request: Request, project: Project) -> bool:
    """Return whether the known answers of gold items are left out."""
    return not oversees(roles_in(project, actor(request)))
