"""Replays of constrained cases, with the same services as the pages."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.serializers import ErrorSerializer, JobStateSerializer
from annotator.api.views import NOT_FOUND, actor, requested_dialogue, requested_revision
from annotator.core.scopes import Scope
from annotator.models import Replay
from annotator.services.dialogues.replays import load_replay, start_replay

_CONFLICT = OpenApiResponse(ErrorSerializer, "You have too many replays in progress. Wait until one has ended.")
_INVALID = OpenApiResponse(ErrorSerializer, "The trajectory cannot be run. Details give the place and the reason.")
_MALFORMED = OpenApiResponse(ErrorSerializer, "Fields are missing or invalid. See details.")


class ReplayInputSerializer(Input):
    """The trajectory to run."""

    revision = StrictCharField(required=False, max_length=20, help_text="The revision; default: the newest.")
    trajectory = serializers.JSONField(
        required=False,
        default=None,
        allow_null=True,
        help_text="Rounds, or messages in the OpenAI format; default: the reference trajectory.",
    )


class ReplaySerializer(serializers.ModelSerializer[Replay]):
    """A replay with its progress and result."""

    revision = serializers.CharField(source="revision.public_id", default=None, allow_null=True)
    is_custom = serializers.SerializerMethodField(help_text="Whether the trajectory was sent with the request.")
    job = JobStateSerializer()
    record = serializers.SerializerMethodField(help_text="Verdict, constraints and rounds; null until it is done.")

    class Meta:
        model = Replay
        fields = ["public_id", "revision", "is_custom", "created_at", "job", "record"]

    def get_is_custom(self, replay: Replay) -> bool:
        return replay.trajectory is not None

    @extend_schema_field({"type": "object", "nullable": True})
    def get_record(self, replay: Replay) -> dict[str, Any] | None:
        record: dict[str, Any] | None = replay.record
        return record


class ReplayStart(APIView):
    """Replays of a constrained case."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=ReplayInputSerializer,
        responses={202: ReplaySerializer, 400: _MALFORMED, 404: NOT_FOUND, 409: _CONFLICT, 422: _INVALID},
        operation_id="replays_start",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Run a trajectory through the code of the tools. It runs in the background: poll until its job has ended."""
        dialogue = requested_dialogue(request, slug, public_id)
        sent = read_fields(ReplayInputSerializer, request)
        revision = requested_revision(request, dialogue, sent.get("revision", ""))
        begun = start_replay(actor=actor(request), dialogue=dialogue, revision=revision, trajectory=sent["trajectory"])
        return Response(ReplaySerializer(begun).data, status=status.HTTP_202_ACCEPTED)


class ReplayDetail(APIView):
    """One replay."""

    @extend_schema(responses={200: ReplaySerializer, 404: NOT_FOUND}, operation_id="replays_read")
    def get(self, request: Request, slug: str, public_id: str, replay: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        return Response(ReplaySerializer(load_replay(actor=actor(request), dialogue=dialogue, public_id=replay)).data)
