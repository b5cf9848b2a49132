"""A project's custom fields for programs. Their values are the ``labels`` of documents."""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, read_fields
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor
from annotator.core.fields import MAX_FIELDS
from annotator.core.scopes import Scope
from annotator.models import Project
from annotator.services.access.permissions import load_project, require_administrator
from annotator.services.field_changes import change_fields


class CustomFieldsSerializer(Input):
    """``definitions``: each with key, title, type and scope. ``version``: the one that they were read with."""

    version = serializers.IntegerField(min_value=0)
    definitions = BoundedListField(child=serializers.DictField(), max_length=MAX_FIELDS)


class CustomFieldsChangeSerializer(CustomFieldsSerializer):
    """What is to replace them."""

    confirmed = serializers.BooleanField(
        default=False, help_text="Save them also if answers no longer fit, or verified dialogues lack one."
    )


def _answer(project: Project) -> Response:
    found = {"version": project.fields_version, "definitions": project.custom_fields}
    return Response(CustomFieldsSerializer(found).data)


class CustomFields(APIView):
    """The custom fields of a project, in the order in which they are asked."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: CustomFieldsSerializer, 404: NOT_FOUND}, operation_id="custom_fields_read")
    def get(self, request: Request, slug: str) -> Response:
        return _answer(load_project(actor=actor(request), slug=slug))

    @extend_schema(
        request=CustomFieldsChangeSerializer,
        responses={
            200: CustomFieldsSerializer,
            403: OpenApiResponse(ErrorSerializer, "Only administrators change them."),
            404: NOT_FOUND,
            409: OpenApiResponse(
                ErrorSerializer,
                "Somebody else changed them since this version. Or the error is “unconfirmed”: “details” has what the "
                "change would do, “waiting” verified dialogues without an answer and the “unfit” answers.",
            ),
            422: OpenApiResponse(ErrorSerializer, "A definition cannot work; “problems” says which and why."),
        },
        operation_id="custom_fields_set",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Replace all definitions. Labels of dialogues stay as they are."""
        project = load_project(actor=actor(request), slug=slug)
        require_administrator(actor=actor(request), project=project)
        sent = read_fields(CustomFieldsChangeSerializer, request)
        changed = change_fields(
            actor=actor(request),
            project=project,
            fields=sent["definitions"],
            seen=sent["version"],
            confirmed=sent["confirmed"],
        )
        return _answer(changed)
