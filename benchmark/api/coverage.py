"""The coverage of a project for programs: what there is of each kind, its targets, and what is needed next."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.coverage import spreads_of
from annotator.core.scopes import Scope
from annotator.models import Project
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import one_of
from benchmark.api.views import MALFORMED
from benchmark.models import TargetDimension
from benchmark.services.coverage.counting import read_coverage
from benchmark.services.coverage.coverage_first import raised_in, set_coverage_first
from benchmark.services.coverage.targets import MAX_WANTED, change_target

#: A level is a target of cells, not something that is counted by itself.
COUNTED = [one for one in TargetDimension.values if one != TargetDimension.LEVEL]
#: Values of “needed_next”.
MOST_NEEDED = 50


class CoverageTargetSerializer(Input):
    """How many of a value are wanted."""

    dimension = serializers.ChoiceField(choices=TargetDimension.values)
    value = StrictCharField(max_length=60, help_text="Such as “single_tool,chat”, or the number of tasks of a level.")
    wanted = serializers.IntegerField(
        min_value=1, max_value=MAX_WANTED, allow_null=True, help_text="Verified or released; null removes the target."
    )


class CoverageFirstSerializer(Input):
    """The order in which dialogues are handed out."""

    coverage_first = StrictBooleanField(help_text="Whether what fills gaps is handed out first.")


class CoverageValueSerializer(serializers.Serializer[Any]):
    """A value with its counts by status."""

    value = serializers.CharField()
    candidate = serializers.IntegerField()
    in_review = serializers.IntegerField()
    verified = serializers.IntegerField()
    released = serializers.IntegerField(help_text="In the newest release.")
    rejected = serializers.IntegerField()
    reached = serializers.IntegerField(help_text="Verified, or in the newest release and in review again.")
    wanted = serializers.IntegerField(allow_null=True, help_text="Null: no target.")
    missing = serializers.IntegerField()


class CoverageLevelSerializer(serializers.Serializer[Any]):
    """The coverage of the sequences of a length by what is verified or released."""

    level = serializers.IntegerField(help_text="Tasks of the sequences; 0: all lengths.")
    cells = serializers.IntegerField()
    covered = serializers.IntegerField()
    entries = serializers.IntegerField()
    uniformity = serializers.FloatField(help_text="Normalised entropy, 0 to 1.")


class NeededNextSerializer(serializers.Serializer[Any]):
    """A value that stays below its target even if all candidates and everything in review are verified."""

    value = serializers.CharField()
    there = serializers.IntegerField(help_text="Including candidates and what is in review.")
    wanted = serializers.IntegerField()
    missing = serializers.IntegerField()


class ProjectCoverageSerializer(serializers.Serializer[Any]):
    """One dimension of the coverage."""

    dimension = serializers.ChoiceField(choices=COUNTED)
    release = serializers.CharField(allow_blank=True, help_text="Version of the newest release.")
    values = CoverageValueSerializer(many=True)
    levels = CoverageLevelSerializer(many=True, help_text="Of cells only.")
    needed_next = NeededNextSerializer(many=True, help_text=f"At most {MOST_NEEDED}, the largest gap first.")
    raised = serializers.IntegerField(
        allow_null=True, help_text="Dialogues that are handed out first because they fill a gap; null: switched off."
    )


def _answer(request: Request, project: Project, dimension: str) -> Response:
    found = read_coverage(project=project, actor=actor(request), dimension=dimension)
    values = [
        {
            "value": value,
            **{place: counts[value] for place, counts in found.counts.items()},
            "reached": found.reached[value],
            "wanted": found.wanted.get(value),
            "missing": max(0, found.wanted.get(value, 0) - found.reached[value]),
        }
        for value in found.values
    ]
    needed = [asdict(gap) | {"missing": gap.missing} for gap in found.needed_next()[:MOST_NEEDED]]
    levels = [asdict(one) for one in spreads_of(found.reached)] if dimension == TargetDimension.CELL else []
    answer = {"dimension": dimension, "release": found.version, "values": values, "levels": levels}
    return Response(ProjectCoverageSerializer(answer | {"needed_next": needed, "raised": raised_in(project)}).data)


class ProjectCoverage(APIView):
    """What the project has of each kind: sequences of policies by default, in entries."""

    scope = Scope.ADMINISTER

    @extend_schema(
        parameters=[OpenApiParameter("dimension", enum=COUNTED, description="By default the sequences (cell).")],
        responses={200: ProjectCoverageSerializer, 400: MALFORMED, 404: NOT_FOUND},
        operation_id="coverage_read",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return _answer(request, project, one_of(request.query_params, "dimension", COUNTED, "cell"))

    @extend_schema(
        request=CoverageTargetSerializer,
        responses={200: ProjectCoverageSerializer, **REFUSALS},
        operation_id="coverage_target_set",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Set or remove a target. For administrators."""
        project = administered_project(request, slug)
        sent = read_fields(CoverageTargetSerializer, request)
        change_target(actor=actor(request), project=project, **sent)
        level = sent["dimension"] == TargetDimension.LEVEL
        return _answer(request, project, TargetDimension.CELL if level else sent["dimension"])

    @extend_schema(
        request=CoverageFirstSerializer,
        responses={200: ProjectCoverageSerializer, **REFUSALS},
        operation_id="coverage_first_set",
    )
    def put(self, request: Request, slug: str) -> Response:
        """Hand out first what fills gaps, or go back to the order of import. For administrators."""
        project = administered_project(request, slug)
        sent = read_fields(CoverageFirstSerializer, request)
        set_coverage_first(actor=actor(request), project=project, on=sent["coverage_first"])
        return _answer(request, project, TargetDimension.CELL)
