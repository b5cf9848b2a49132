"""From which overlap two dialogues are near-duplicates, for programs: the threshold, and what others would report."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Project
from annotator.services.database.filters import one_of
from benchmark.services.similarity import settings
from benchmark.services.similarity.pairs import LOWEST

_PERCENT: dict[str, Any] = {"min_value": LOWEST, "max_value": 100}


class ThresholdSerializer(Input):
    """The threshold in percent."""

    threshold = serializers.IntegerField(**_PERCENT)
    seen = serializers.IntegerField(
        **_PERCENT, required=False, help_text="The threshold that this starts from; another one now is refused."
    )


class ExtentSerializer(serializers.Serializer[Any]):
    """What a threshold would report."""

    threshold = serializers.IntegerField()
    dialogues = serializers.IntegerField(help_text="In all groups together.")
    groups = serializers.IntegerField()


class SimilaritySerializer(serializers.Serializer[Any]):
    """The threshold, and what this and others would report."""

    threshold = serializers.IntegerField()
    searching = serializers.BooleanField(help_text="Whether a search of the whole project is running.")
    extents = ExtentSerializer(many=True)


def _answer(request: Request, project: Project, asked: int | None = None) -> Response:
    extents = settings.preview(actor=actor(request), project=project, threshold=asked)
    state = {
        "threshold": settings.threshold_of(project),
        "searching": settings.running_search(project) is not None,
        "extents": [asdict(one) for one in extents],
    }
    return Response(SimilaritySerializer(state).data)


class Similarity(APIView):
    """The threshold from which two dialogues are near-duplicates."""

    scope = Scope.ADMINISTER

    @extend_schema(
        parameters=[OpenApiParameter("threshold", int, description=f"Another one to preview, {LOWEST} to 100.")],
        responses={200: SimilaritySerializer, 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="similarity_read",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        asked = one_of(request.query_params, "threshold", [str(percent) for percent in range(LOWEST, 101)])
        return _answer(request, project, int(asked) if asked else None)

    @extend_schema(
        request=ThresholdSerializer,
        responses={200: SimilaritySerializer, **REFUSALS},
        operation_id="similarity_set",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Set the threshold. Another one starts a search of the whole project."""
        project = administered_project(request, slug)
        settings.change_threshold(actor=actor(request), project=project, **read_fields(ThresholdSerializer, request))
        return _answer(request, project)
