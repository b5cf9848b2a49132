"""Composites: how often they use single tasks, drawing more of them, and playing one."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.serializers import ErrorSerializer, JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project, requested_dialogue, requested_revision
from annotator.core.scopes import Scope
from annotator.models import Job
from benchmark.api import serializers as shapes
from benchmark.api.views import CONFLICT, DENIED, INVALID, MALFORMED
from benchmark.core.composing.drawing import Kind
from benchmark.core.composing.plays import MAX_CHARACTERS
from benchmark.services import composing, plays

_CONFLICT = OpenApiResponse(ErrorSerializer, "You have another play in progress. Wait until it has ended.")


class PlayInputSerializer(Input):
    """What to play."""

    revision = StrictCharField(
        required=False, default="", allow_blank=True, max_length=20, help_text="The revision; default: the newest."
    )
    delay = StrictCharField(
        required=False, default=plays.DEFAULT_DELAY, max_length=20,
        help_text="Rounds until a result comes, such as 0, 1 or 0-1.",
    )  # fmt: skip
    seed = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=10**9 - 1, help_text="Of delays such as 0-1."
    )
    messages = StrictCharField(
        required=False, default="", allow_blank=True, trim_whitespace=False, max_length=MAX_CHARACTERS,
        help_text="A model’s messages, as on the page; blank: the reference solution.",
    )  # fmt: skip


class PlaySerializer(serializers.Serializer[Job]):
    """A play and, when its job has ended, what happened in each round, with the score."""

    public_id = serializers.CharField()
    job = JobStateSerializer(source="*")
    play = serializers.SerializerMethodField(help_text="Rounds, calls, states and score; null until it has ended.")

    @extend_schema_field({"type": "object", "additionalProperties": {}, "nullable": True})
    def get_play(self, job: Job) -> Any:
        return plays.read_play(job)


class Compose(APIView):
    """The composites of the project, and drawing more from verified single tasks. For administrators."""

    scope = Scope.IMPORT

    @extend_schema(
        responses={200: shapes.CoverageSerializer, 403: DENIED, 404: NOT_FOUND}, operation_id="composites_coverage"
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return how often composites use each single task, each category, and each pair of categories."""
        project = administered_project(request, slug)
        _singles, used = composing.read_coverage(project)
        found = {
            "composites": composing.count_composites(project),
            "uses": used.singles,
            "categories": used.categories,
            "pairs": [{"categories": pair, "uses": uses} for pair, uses in used.pairs.items()],
        }
        return Response(shapes.CoverageSerializer(found).data)

    @extend_schema(
        request=shapes.ComposeInputSerializer,
        responses={
            200: shapes.ComposeSerializer, 202: shapes.ComposeSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND,
            409: CONFLICT, 422: INVALID,
        },
        operation_id="composites_draw",
    )  # fmt: skip
    def post(self, request: Request, slug: str) -> Response:
        """Draw composites and import them in the background; a dry run only counts."""
        project = administered_project(request, slug)
        sent = read_fields(shapes.ComposeInputSerializer, request)
        asked = composing.Request(Kind(sent["kind"]), sent["size"], sent["per_stratum"], sent["seed"])
        if sent["dry_run"]:
            batch, draw = None, composing.preview(actor=actor(request), project=project, request=asked)
        else:
            batch, draw = composing.start_composing(actor=actor(request), project=project, request=asked)
        found = {
            "composites": len(draw.composites),
            "strata": draw.strata,
            "uses": draw.coverage.singles,
            "import_id": batch.public_id if batch else None,
        }
        code = status.HTTP_202_ACCEPTED if batch else status.HTTP_200_OK
        return Response(shapes.ComposeSerializer(found).data, status=code)


class PlayStart(APIView):
    """Plays of a composite."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=PlayInputSerializer,
        responses={
            202: PlaySerializer, 400: REFUSALS[400], 403: REFUSALS[403], 404: NOT_FOUND, 409: _CONFLICT,
            422: REFUSALS[422],
        },
        operation_id="plays_start",
    )  # fmt: skip
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Play the reference solution, or a model’s messages. Poll the play until its job has ended."""
        dialogue = requested_dialogue(request, slug, public_id)
        sent = read_fields(PlayInputSerializer, request)
        revision = requested_revision(request, dialogue, sent["revision"])
        job = plays.start_play(
            actor=actor(request), dialogue=dialogue, document=revision.document(), delay=sent["delay"],
            seed=str(sent["seed"]), messages=sent["messages"],
        )  # fmt: skip
        return Response(PlaySerializer(job).data, status=status.HTTP_202_ACCEPTED)


class PlayDetail(APIView):
    """One of your plays."""

    @extend_schema(responses={200: PlaySerializer, 404: NOT_FOUND}, operation_id="plays_read")
    def get(self, request: Request, slug: str, public_id: str, play: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        return Response(PlaySerializer(plays.load_play(actor=actor(request), dialogue=dialogue, public_id=play)).data)
