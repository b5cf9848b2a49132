"""Tags of dialogues for programs."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor, requested_dialogue
from annotator.core.scopes import Scope
from annotator.core.tags import MAX_LENGTH, MAX_TAGS
from annotator.services.access.permissions import OVERSEERS, require_role
from annotator.services.dialogues.tags import change_tags, set_tags

_RESPONSES = {
    403: OpenApiResponse(ErrorSerializer, "Only administrators and senior reviewers set tags."),
    404: NOT_FOUND,
    409: OpenApiResponse(ErrorSerializer, "You review the dialogue blind, so its tags are hidden from you."),
    422: OpenApiResponse(ErrorSerializer, "A name can’t be a tag, or there would be too many."),
}


def _names(**more: Any) -> BoundedListField:
    return BoundedListField(child=StrictCharField(max_length=4 * MAX_LENGTH), max_length=MAX_TAGS, **more)


class TagsSerializer(Input):
    """The tags of a dialogue, in lower case."""

    tags = _names()


class TagChangeSerializer(Input):
    """Tags to add and to remove; a tag in both is removed."""

    add = _names(required=False, default=list)
    remove = _names(required=False, default=list)


class DialogueTags(APIView):
    """Change the tags of a dialogue. For administrators and senior reviewers."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=TagChangeSerializer, responses={200: TagsSerializer, **_RESPONSES}, operation_id="dialogue_tags_change"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Add and remove tags; the others stay."""
        dialogue = requested_dialogue(request, slug, public_id)
        require_role(actor=actor(request), project=dialogue.project, roles=OVERSEERS)
        sent = read_fields(TagChangeSerializer, request)
        tags = change_tags(actor=actor(request), dialogue=dialogue, add=sent["add"], remove=sent["remove"])
        return Response(TagsSerializer({"tags": tags}).data)

    @extend_schema(
        request=TagsSerializer, responses={200: TagsSerializer, **_RESPONSES}, operation_id="dialogue_tags_set"
    )
    def put(self, request: Request, slug: str, public_id: str) -> Response:
        """Replace all tags."""
        dialogue = requested_dialogue(request, slug, public_id)
        require_role(actor=actor(request), project=dialogue.project, roles=OVERSEERS)
        sent = read_fields(TagsSerializer, request)
        return Response(
            TagsSerializer({"tags": set_tags(actor=actor(request), dialogue=dialogue, tags=sent["tags"])}).data
        )
