"""The entries of a release over all runs: their statistics, what models answered, and sending an item back."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project, requested_dialogue
from annotator.core.scopes import Scope
from annotator.models import Dialogue
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import one_of
from benchmark.api import board_serializers as shapes
from benchmark.api.runs import OVERSEERS
from benchmark.models import EntryStatistic
from benchmark.services.runs import boards, listing, suspects


class SentBackSerializer(serializers.Serializer[Dialogue]):
    """The dialogue that is in review again."""

    dialogue = serializers.CharField(source="public_id")
    item = serializers.CharField(source="external_id")


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


class EntryList(APIView):
    """The entries of a release with their statistics over all runs. For administrators and senior reviewers."""

    pagination_class = KeyPagination
    since_meaning = "Entries: all of them if the release was scored since or is being scored, else none."

    @extend_schema(
        parameters=[OpenApiParameter("flag", enum=shapes.FLAGS, description="Only entries with this flag.")],
        responses={200: shapes.EntrySerializer(many=True), 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="entries_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        release = boards.load_overseen(actor=actor(request), project=project, public_id=public_id)
        rows = suspects.list_statistics(release, flag=one_of(request.query_params, "flag", shapes.FLAGS))
        return answer_page(self, request, rows, shapes.EntrySerializer, listing.scores_changed_since(release))


class EntryDetail(APIView):
    """One entry, with what the runs earned on it. For administrators and senior reviewers."""

    @extend_schema(
        responses={200: shapes.EntryDetailSerializer, 403: OVERSEERS, 404: NOT_FOUND}, operation_id="entries_read"
    )
    def get(self, request: Request, slug: str, public_id: str, key: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        release = boards.load_overseen(actor=actor(request), project=project, public_id=public_id)
        return Response(shapes.EntryDetailSerializer(suspects.load_statistic(release, key)).data)


class EntrySendBack(APIView):
    """The review of an entry’s item, again. For administrators."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None,
        responses={200: SentBackSerializer, **{status: REFUSALS[status] for status in (403, 404, 409)}},
        operation_id="entries_send_back",
    )
    def post(self, request: Request, slug: str, public_id: str, key: str) -> Response:
        """Send the item back to review, from the first stage on. The release stays as it is."""
        project = administered_project(request, slug)
        release = boards.load_overseen(actor=actor(request), project=project, public_id=public_id)
        statistic: EntryStatistic = suspects.load_statistic(release, key)
        return Response(SentBackSerializer(suspects.send_back(actor=actor(request), statistic=statistic)).data)


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
