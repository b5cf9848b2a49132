"""Feedback for programs: list it with its threads, reply, dispute and answer."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination
from annotator.api.views import NOT_FOUND, REFUSALS, actor
from annotator.core.scopes import Scope
from annotator.services.access.permissions import load_project
from reviews.models import Feedback
from reviews.models.disputed_feedback import MAX_TEXT
from reviews.services.feedback import reading, threads


class PostSerializer(serializers.Serializer[Any]):
    """One text of a thread."""

    kind = serializers.CharField(help_text="dispute, reply, accepted or kept.")
    end = serializers.CharField(help_text="Who wrote it: person (who got the feedback), decider or administrator.")
    author = serializers.CharField(
        source="author.public_id",
        default=None,
        allow_null=True,
        help_text="Null while you may not know it, because you may review the dialogue, and blind.",
    )
    text = serializers.CharField()
    created_at = serializers.DateTimeField()


class FeedbackSerializer(serializers.Serializer[Any]):
    """A finding or decision against somebody’s work, with its thread."""

    public_id = serializers.CharField(source="feedback.public_id")
    dialogue = serializers.CharField(source="feedback.dialogue.public_id")
    kind = serializers.CharField(source="feedback.kind", help_text="audit, adjudication, overruled or returned.")
    person = serializers.SerializerMethodField(help_text="Who got it; null while you may not know it.")
    opening = serializers.CharField()
    reason = serializers.SerializerMethodField(help_text="Blank while you may not know it.")
    dispute = serializers.CharField(source="thread.state", help_text="open, accepted or kept; blank: not disputed.")
    posts = PostSerializer(source="thread.posts", many=True)
    created_at = serializers.DateTimeField(source="feedback.created_at")

    def get_person(self, row: reading.FeedbackRow) -> str | None:
        return None if row.nameless else row.feedback.person.public_id

    def get_reason(self, row: reading.FeedbackRow) -> str:
        return "" if row.veiled else row.feedback.review.reason


class FeedbackTextSerializer(Input):
    text = StrictCharField(max_length=MAX_TEXT)


class DisputeAnswerSerializer(Input):
    accept = serializers.BooleanField(help_text="True: the decision was wrong. False: it stays.")
    text = StrictCharField(max_length=MAX_TEXT)


class FeedbackList(APIView):
    """The feedback to you and about your decisions; all of it for administrators."""

    scope = Scope.ANNOTATE
    pagination_class = KeysetPagination
    since_meaning = "Feedback: that which was written, disputed, answered or replied to since."

    @extend_schema(responses={200: FeedbackSerializer(many=True), 404: NOT_FOUND}, operation_id="feedback_list")
    def get(self, request: Request, slug: str) -> Response:
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        rows = threads.feedback_of(actor=who, project=project)
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self, since=threads.feedback_changed_since)
        shown = reading.feedback_rows(actor=who, project=project, rows=page)
        return paginator.get_paginated_response(FeedbackSerializer(shown, many=True).data)


class FeedbackReplies(APIView):
    """The thread of a feedback."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=FeedbackTextSerializer,
        responses={201: FeedbackSerializer, **REFUSALS},
        operation_id="feedback_reply",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Add a reply. The same text twice in a row is stored once."""
        row = _requested(request, slug, public_id)
        sent = read_fields(FeedbackTextSerializer, request)
        threads.reply_to_feedback(actor=actor(request), feedback=row, text=sent["text"])
        return _answer(request, row, status.HTTP_201_CREATED)


class FeedbackDisputing(APIView):
    """The dispute of a feedback."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=FeedbackTextSerializer,
        responses={201: FeedbackSerializer, **REFUSALS},
        operation_id="feedback_dispute",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Dispute feedback to you, once. The same reason again changes nothing."""
        row = _requested(request, slug, public_id)
        sent = read_fields(FeedbackTextSerializer, request)
        threads.dispute_feedback(actor=actor(request), feedback=row, reason=sent["text"])
        return _answer(request, row, status.HTTP_201_CREATED)


class FeedbackAnswer(APIView):
    """The answer to a dispute."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=DisputeAnswerSerializer,
        responses={200: FeedbackSerializer, **REFUSALS},
        operation_id="feedback_answer",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Accept the dispute of your decision, or keep the decision. Administrators can answer in your place.

        The same answer again changes nothing.
        """
        row = _requested(request, slug, public_id)
        sent = read_fields(DisputeAnswerSerializer, request)
        threads.answer_dispute(actor=actor(request), feedback=row, **sent)
        return _answer(request, row, status.HTTP_200_OK)


def _requested(request: Request, slug: str, public_id: str) -> Feedback:
    project = load_project(actor=actor(request), slug=slug)
    return threads.load_feedback(actor=actor(request), project=project, public_id=public_id)


def _answer(request: Request, row: Feedback, code: int) -> Response:
    found = reading.read_feedback(actor=actor(request), project=row.dialogue.project, public_id=row.public_id)
    return Response(FeedbackSerializer(found).data, status=code)
