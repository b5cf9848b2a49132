"""Random draws for programs: what waits for one, draw, and check the draws. For administrators and senior reviewers."""

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.views import FILE, NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import one_of
from reviews.models import Draw
from reviews.services.sampling import draws, samples

_READ = {403: REFUSALS[403], 404: NOT_FOUND}


class DrawSerializer(serializers.ModelSerializer[Draw]):
    """A draw, without its population."""

    actor = serializers.CharField(
        source="actor.public_id", default=None, allow_null=True, help_text="Null: Assay has drawn."
    )

    class Meta:
        model = Draw
        fields = [
            "public_id", "stage", "number", "fraction", "algorithm", "seed", "population_hash", "population_size",
            "sample_size", "closing", "actor", "created_at", "carried_out_at", "round_ended_at",
        ]  # fmt: skip
        extra_kwargs: dict[str, Any] = {
            "algorithm": {"help_text": "Version of the algorithm; see docs/sampling.md."},
            "closing": {"help_text": "Whether it ends the rounds: nothing is drawn, and the pool moves on."},
            "carried_out_at": {"help_text": "When every member had moved on; null: a job is at work."},
            "round_ended_at": {"help_text": "When all that was drawn for a round was settled."},
        }


class PoolSerializer(serializers.Serializer[Any]):
    """The items that wait for a draw of a stage."""

    stage = serializers.CharField(source="stage.key")
    title = serializers.CharField(source="stage.title")
    mode = serializers.CharField(source="stage.entry.mode", help_text="rounds, fraction or escalated_and_fraction.")
    fraction = serializers.FloatField(source="stage.entry.fraction", allow_null=True)
    waiting = serializers.IntegerField(help_text="Items in the pool.")
    last = DrawSerializer(allow_null=True, help_text="The newest draw of the stage.")
    under_way = serializers.BooleanField(help_text="Whether a round is in progress; the next draw waits for its end.")


class PoolsSerializer(serializers.Serializer[Any]):
    pools = PoolSerializer(many=True)


class DrawInputSerializer(Input):
    stage = StrictCharField(
        max_length=40, required=False, help_text="Key of a stage; by default the first stage with a pool."
    )


class DrawCheckSerializer(serializers.Serializer[Any]):
    """Whether the recorded seed and population give the recorded sample."""

    problems = serializers.ListField(child=serializers.CharField(), help_text="Each difference; none: it is honest.")


class Draws(APIView):
    """The draws of the project, oldest first; POST to draw."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Draws: those that were made, carried out or, as rounds, ended since."

    @extend_schema(responses={200: DrawSerializer(many=True), **_READ}, operation_id="draws_list")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = samples.all_draws(actor=actor(request), project=project)
        return answer_page(self, request, rows, DrawSerializer, samples.draws_changed_since)

    @extend_schema(
        request=DrawInputSerializer,
        responses={201: DrawSerializer, 204: OpenApiResponse(description="No items are waiting."), **REFUSALS},
        operation_id="draws_make",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Close a pool and draw from it: the audit sample, or the next round. For administrators.

        A round in progress is refused with 409. To repeat a request without an answer, read the list first: a second
        draw would be one of what has come in since.
        """
        project = administered_project(request, slug)
        sent = read_fields(DrawInputSerializer, request)
        stage = one_of(sent, "stage", lambda: [one.key for one in draws.drawing_stages(project)])
        drawn = draws.close_population_and_draw(actor=actor(request), project=project, stage=stage or None)
        if drawn is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(DrawSerializer(drawn).data, status=status.HTTP_201_CREATED)


class Pools(APIView):
    """What waits for a draw, by stage."""

    @extend_schema(responses={200: PoolsSerializer, **_READ}, operation_id="draws_pools")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(PoolsSerializer({"pools": samples.list_pools(actor=actor(request), project=project)}).data)


class DrawDetail(APIView):
    """One draw."""

    @extend_schema(responses={200: DrawSerializer, **_READ}, operation_id="draws_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(
            DrawSerializer(samples.load_draw(actor=actor(request), project=project, public_id=public_id)).data
        )


class DrawCheck(APIView):
    """The reproduction of a draw from its record."""

    @extend_schema(responses={200: DrawCheckSerializer, **_READ}, operation_id="draws_check")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        _draw, problems = samples.check_draw(actor=actor(request), project=project, public_id=public_id)
        return Response({"problems": problems})


class DrawPopulation(APIView):
    """The population of a draw as JSON lines. You cannot read it while you review one of its dialogues blind."""

    @extend_schema(responses={(200, "application/jsonl"): FILE, **_READ}, operation_id="draws_population")
    def get(self, request: Request, slug: str, public_id: str) -> StreamingHttpResponse:
        project = load_project(actor=actor(request), slug=slug)
        lines = samples.read_population(actor=actor(request), project=project, public_id=public_id)
        return StreamingHttpResponse(lines, content_type="application/jsonl")
