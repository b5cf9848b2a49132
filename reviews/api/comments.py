"""Comments on dialogues for programs: list, add, resolve and reopen them."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination
from annotator.api.views import NOT_FOUND, REFUSALS, actor, requested_dialogue
from annotator.core.scopes import Scope
from annotator.models import Dialogue
from reviews.api.serializers import MAX_ANCHOR
from reviews.models import Comment
from reviews.services.feedback import comments


class CommentSerializer(serializers.ModelSerializer[Comment]):
    """A comment on a place in a dialogue. While you review the dialogue blind, names of others are replaced."""

    reply_to = serializers.CharField(
        source="parent.public_id", default=None, allow_null=True, help_text="The comment that it replies to."
    )
    author = serializers.CharField(source="author.public_id")
    anchor = serializers.CharField(help_text="The place; blank: the whole dialogue.")
    outdated = serializers.SerializerMethodField(
        help_text="Whether the place has changed since, in the newest revision."
    )
    resolved_by = serializers.CharField(source="resolved_by.public_id", default=None, allow_null=True)

    class Meta:
        model = Comment
        fields = [
            "public_id", "reply_to", "author", "anchor", "text", "outdated", "created_at", "edited_at", "resolved_by",
            "resolved_at",
        ]  # fmt: skip

    def get_outdated(self, comment: Comment) -> bool:
        return comment.pk in self.context["outdated"]


class CommentTextSerializer(Input):
    text = StrictCharField(max_length=comments.MAX_TEXT, help_text="@name mentions a member.")


class NewCommentSerializer(CommentTextSerializer):
    anchor = StrictCharField(
        max_length=MAX_ANCHOR, required=False, allow_blank=True, default="", help_text="A place, such as /tasks/t1."
    )
    reply_to = StrictCharField(
        max_length=12,
        required=False,
        allow_blank=True,
        default="",
        help_text="The comment to reply to.",
    )


class Comments(APIView):
    """The comments on a dialogue that you may see, oldest first; in a blind stage only yours until it ends."""

    scope = Scope.ANNOTATE
    pagination_class = KeysetPagination
    since_meaning = (
        "Comments: those that were written, edited or resolved since; all of them if the dialogue has changed, because "
        "they may have become visible by that. A comment that is opened again is not reported."
    )

    @extend_schema(responses={200: CommentSerializer(many=True), 404: NOT_FOUND}, operation_id="comments_list")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        rows = comments.comments_of(actor=actor(request), dialogue=dialogue)
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self, since=comments.comments_changed_since(dialogue))
        page = comments.veil_comments(page, actor=actor(request), dialogue=dialogue)
        return paginator.get_paginated_response(_shown(dialogue, page))

    @extend_schema(
        request=NewCommentSerializer, responses={201: CommentSerializer, **REFUSALS}, operation_id="comments_add"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Add a comment that every member can see. Refused while you review the dialogue blind (403).

        The same comment a second time in a row is stored once.
        """
        dialogue = requested_dialogue(request, slug, public_id)
        sent = read_fields(NewCommentSerializer, request)
        made = comments.comment_on(actor=actor(request), dialogue=dialogue, **sent)
        return Response(_one(request, dialogue, made.public_id), status=status.HTTP_201_CREATED)


class CommentEdit(APIView):
    """The text of a comment."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=CommentTextSerializer, responses={200: CommentSerializer, **REFUSALS}, operation_id="comments_edit"
    )
    def post(self, request: Request, slug: str, public_id: str, comment: str) -> Response:
        """Change the text of your own comment, at most five minutes after you wrote it; later it is refused (409).

        The same text again changes nothing.
        """
        dialogue = requested_dialogue(request, slug, public_id)
        sent = read_fields(CommentTextSerializer, request)
        comments.edit_comment(actor=actor(request), public_id=comment, dialogue=dialogue, **sent)
        return Response(_one(request, dialogue, comment))


class CommentResolve(APIView):
    """The end of a discussion."""

    scope = Scope.ANNOTATE

    @extend_schema(request=None, responses={200: CommentSerializer, **REFUSALS}, operation_id="comments_resolve")
    def post(self, request: Request, slug: str, public_id: str, comment: str) -> Response:
        """Resolve a comment and its replies. The same request again changes nothing."""
        return Response(_resolve(request, slug, public_id, comment, reopen=False))


class CommentReopen(APIView):
    """A discussion that goes on."""

    scope = Scope.ANNOTATE

    @extend_schema(request=None, responses={200: CommentSerializer, **REFUSALS}, operation_id="comments_reopen")
    def post(self, request: Request, slug: str, public_id: str, comment: str) -> Response:
        """Open a resolved comment again. The same request again changes nothing."""
        return Response(_resolve(request, slug, public_id, comment, reopen=True))


def _resolve(request: Request, slug: str, public_id: str, comment: str, *, reopen: bool) -> Any:
    dialogue = requested_dialogue(request, slug, public_id)
    comments.resolve_comment(actor=actor(request), public_id=comment, dialogue=dialogue, reopen=reopen)
    return _one(request, dialogue, comment)


def _one(request: Request, dialogue: Dialogue, public_id: str) -> Any:
    found = comments.load_comment(actor=actor(request), dialogue=dialogue, public_id=public_id)
    return _shown(dialogue, [found])[0]


def _shown(dialogue: Dialogue, found: Sequence[Comment]) -> Any:
    document = dialogue.head.document() if dialogue.head else {}
    context = {"outdated": comments.outdated_comments(found, document)}
    return CommentSerializer(found, many=True, context=context).data
