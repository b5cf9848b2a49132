"""Suggestions of models and scripts for places of dialogues, posted by administrators."""

from collections import Counter
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, read_fields
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor
from annotator.core.scopes import Scope
from annotator.core.suggestion_shape import MAX_PLACE, MAX_SOURCE
from annotator.services.access.permissions import load_project, require_administrator
from annotator.services.dialogues.suggestions import MAX_AT_ONCE, RESULTS, post_suggestions


class SuggestionInputSerializer(serializers.Serializer[Any]):
    """A suggested value for one place of a dialogue."""

    dialogue = serializers.CharField(max_length=200, help_text="The dialogue’s id in the project.")
    place = serializers.CharField(
        max_length=MAX_PLACE,
        help_text=(
            "An anchor, such as /tasks/t1/policy or /tasks/t1/steps/s2/arguments/city. A dependency: "
            "/tasks/t1/steps/s2/depends_on/s1 with its kind (parameter or logical) as the value."
        ),
    )
    value = serializers.JSONField(help_text="What the person gets who accepts it; null is not possible.")
    source = serializers.CharField(max_length=MAX_SOURCE, help_text="The name of the model or script.")  # type: ignore[assignment]
    score = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=1)


@extend_schema_field(SuggestionInputSerializer(many=True))
class _SuggestionsField(BoundedListField):
    """A list; each of its items is read by the service, so that a bad one does not stop the others."""

    child = serializers.JSONField(allow_null=True)


class SuggestionsInputSerializer(Input):
    suggestions = _SuggestionsField(max_length=MAX_AT_ONCE, help_text=f"1 to {MAX_AT_ONCE:,} suggestions.")


class PostedSuggestionSerializer(serializers.Serializer[Any]):
    """What happened to one suggestion."""

    dialogue = serializers.CharField()
    place = serializers.CharField()
    result = serializers.ChoiceField(
        choices=RESULTS,
        help_text=(
            "stored; replaced: an undecided one of the same source; unchanged: it was there already; decided: somebody "
            "has decided the one that is there, so it stays; refused: see message."
        ),
    )
    field = serializers.CharField(help_text="The wrong field of a refused suggestion; empty otherwise.")
    message = serializers.CharField(help_text="What is wrong and what to do; empty if nothing is.")


class PostedSuggestionsSerializer(serializers.Serializer[Any]):
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Result → number of suggestions.")
    results = PostedSuggestionSerializer(many=True, help_text="One for each suggestion, in their order.")


class Suggestions(APIView):
    """Suggest values, for people to accept or refuse."""

    scope = Scope.IMPORT

    @extend_schema(
        request=SuggestionsInputSerializer,
        responses={
            200: PostedSuggestionsSerializer,
            400: OpenApiResponse(ErrorSerializer, "Fields are missing or invalid; see details."),
            403: OpenApiResponse(ErrorSerializer, "Your role does not allow this."),
            404: NOT_FOUND,
            422: OpenApiResponse(ErrorSerializer, "The request is invalid; the message gives the reason."),
        },
        operation_id="suggestions_post",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Post suggestions of many dialogues at once. A bad one does not stop the others."""
        project = load_project(actor=actor(request), slug=slug)
        require_administrator(actor=actor(request), project=project)
        sent = read_fields(SuggestionsInputSerializer, request)
        posted = post_suggestions(actor=actor(request), project=project, items=sent["suggestions"])
        found = {"counts": Counter(one.result for one in posted), "results": posted}
        return Response(PostedSuggestionsSerializer(found).data)
