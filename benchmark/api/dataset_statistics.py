"""What dialogues consist of, for programs: of a filtered list, and of a release."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.serializers import JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor
from annotator.core.scopes import Scope
from annotator.models import Job
from annotator.services.access.permissions import load_project
from annotator.services.dialogues.listing import Filters
from benchmark.services.dataset_statistics import selections
from benchmark.services.dataset_statistics.releases import statistics_of
from benchmark.services.releases.requests import load_release
from reviews.api.dialogues import FILTERS
from reviews.services.protocols.versions import stage_titles

_CONTENT = (
    "Counts of labels, steps, tools, arguments, messages and constraints. Most are lists of a name and a number. See "
    "docs/dataset-statistics.md."
)


class DatasetStatisticsSerializer(serializers.Serializer[Any]):
    """What dialogues consist of."""

    statistics = serializers.DictField(allow_null=True, help_text=f"{_CONTENT} Null: they are not counted yet.")
    unreadable = serializers.IntegerField(
        allow_null=True, help_text="Dialogues of the list that are not counted, because you cannot open their content."
    )
    counted_at = serializers.DateTimeField(allow_null=True, help_text="Null: now.")
    job = JobStateSerializer(allow_null=True, help_text="The last job that counted this list, if it is a long one.")


class ReleaseStatisticsSerializer(serializers.Serializer[Any]):
    """What a release consists of."""

    statistics = serializers.DictField(
        allow_null=True,
        help_text=f"{_CONTENT} Null: the release is not frozen, or an earlier version of Assay froze it.",
    )


class DialogueStatistics(APIView):
    """What the dialogues of a list consist of, with the same filters."""

    scope = Scope.ANNOTATE

    @extend_schema(
        parameters=FILTERS,
        responses={200: DatasetStatisticsSerializer, 404: NOT_FOUND},
        operation_id="dialogues_statistics",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Count up to 2,000 dialogues. POST counts a longer list; its result is here when its job has ended."""
        project = load_project(actor=actor(request), slug=slug)
        filters = Filters.of(request.query_params, project=project, stages=lambda: stage_titles(project))
        found = selections.read_statistics(actor=actor(request), project=project, filters=filters)
        answer = {
            "statistics": found.counted and found.counted.statistics,
            "unreadable": found.counted and found.counted.unreadable,
            "counted_at": found.counted and found.counted.at,
            "job": found.job,
        }
        return Response(DatasetStatisticsSerializer(answer).data)

    @extend_schema(
        request=None,
        parameters=FILTERS,
        responses={202: JobStateSerializer, **REFUSALS},
        operation_id="dialogues_statistics_start",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Count a list in the background."""
        project = load_project(actor=actor(request), slug=slug)
        filters = Filters.of(request.query_params, project=project, stages=lambda: stage_titles(project))
        job: Job = selections.start_counting(actor=actor(request), project=project, filters=filters)
        return Response(JobStateSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class ReleaseStatistics(APIView):
    """What the dialogues of a release consist of."""

    @extend_schema(
        responses={200: ReleaseStatisticsSerializer, 404: NOT_FOUND}, operation_id="releases_statistics"
    )  # fmt: skip
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        release = load_release(actor=actor(request), project=project, public_id=public_id)
        return Response(ReleaseStatisticsSerializer({"statistics": statistics_of(release)}).data)
