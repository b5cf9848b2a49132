"""Playing composites, and what models answered to a dialogue that was sent back, as their pages show it."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.serializers import ErrorSerializer, JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor, requested_dialogue, requested_revision
from annotator.core.scopes import Scope
from annotator.models import Job
from benchmark.core.composing.plays import MAX_CHARACTERS
from benchmark.services import plays
from benchmark.services.runs import suspects

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


class ModelAnswerSerializer(serializers.Serializer[suspects.Answer]):
    """One answer to an entry, and the runs that gave it."""

    runs = serializers.ListField(child=serializers.CharField(), help_text="Models; further attempts with a number.")
    right = serializers.BooleanField()
    content = serializers.SerializerMethodField(help_text="What the models said; null if nothing.")

    @extend_schema_field({"nullable": True})
    def get_content(self, answer: suspects.Answer) -> Any:
        return answer.content


class AnsweredEntrySerializer(serializers.Serializer[Any]):
    """An entry for which the dialogue was sent back."""

    entry = serializers.CharField()
    family = serializers.CharField()
    release = serializers.CharField(help_text="The version of the release.")
    answers = ModelAnswerSerializer(many=True)


class DialogueAnswersSerializer(serializers.Serializer[Any]):
    entries = AnsweredEntrySerializer(many=True)


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


class DialogueAnswers(APIView):
    """What models answered to a dialogue that was sent back to review because of its scores."""

    @extend_schema(responses={200: DialogueAnswersSerializer, 404: NOT_FOUND}, operation_id="dialogues_answers")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        """For people who see the scores, and its reviewers after the review."""
        dialogue = requested_dialogue(request, slug, public_id)
        rows = suspects.load_answers(actor=actor(request), dialogue=dialogue)
        entries = [
            {
                "entry": row.statistic.entry,
                "family": row.statistic.family,
                "release": row.release.version,
                "answers": answers,
            }
            for row, answers in rows
        ]
        return Response(DialogueAnswersSerializer({"entries": entries}).data)
