"""Toolsets for programs: read them, and change the functions and the code of one."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.serializers import JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.schema.exact_json import dumps
from annotator.core.scopes import Scope
from annotator.models import Toolset
from annotator.services.access.permissions import load_project
from reviews.api.serializers import ObjectField
from reviews.services.cycles import toolset_changes


class ToolsetSerializer(serializers.ModelSerializer[Toolset]):
    class Meta:
        model = Toolset
        fields = ["public_id", "name", "created_at"]


class ToolsetDetailSerializer(ToolsetSerializer):
    """A toolset with its newest revision."""

    number = serializers.IntegerField(source="last.number")
    sha256 = serializers.CharField(source="last.content_hash")
    tools = serializers.ListField(child=serializers.DictField(), source="last.tools")
    implementation = serializers.DictField(
        source="last.implementation", allow_null=True, help_text="The code of stateful tools; null for others."
    )

    class Meta(ToolsetSerializer.Meta):
        fields = [*ToolsetSerializer.Meta.fields, "number", "sha256", "tools", "implementation"]


class ToolsetContentSerializer(Input):
    tools = BoundedListField(child=ObjectField(), max_length=10_000)
    implementation = ObjectField(
        required=False, allow_null=True, default=None, help_text="“source”, and “class” and “load”, which may be null."
    )


class ToolsetChangeInputSerializer(ToolsetContentSerializer):
    """The next revision of a toolset."""

    seen = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, help_text="The number of the revision that it starts from."
    )


class ToolsetEffectsSerializer(serializers.Serializer[Any]):
    """What a change would affect."""

    affected = serializers.DictField(
        child=serializers.IntegerField(), help_text="Status → dialogues that get a new revision and are reviewed again."
    )
    problems = serializers.ListField(
        child=serializers.CharField(), help_text="Where the code does not fit the functions."
    )


class ToolsetList(APIView):
    """The toolsets of the project, oldest first."""

    pagination_class = KeysetPagination
    since_meaning = "Toolsets: those with a revision since."

    @extend_schema(responses={200: ToolsetSerializer(many=True), 404: NOT_FOUND}, operation_id="toolsets_list")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = Toolset.objects.filter(project=project)
        return answer_page(self, request, rows, ToolsetSerializer, since=toolset_changes.toolsets_changed_since)


class ToolsetDetail(APIView):
    """One toolset with its newest revision."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: ToolsetDetailSerializer, 404: NOT_FOUND}, operation_id="toolsets_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        toolset = toolset_changes.load_toolset(project=project, public_id=public_id)
        toolset.last = toolset_changes.last_revision(toolset)  # type: ignore[attr-defined]
        return Response(ToolsetDetailSerializer(toolset).data)

    @extend_schema(
        request=ToolsetChangeInputSerializer,
        responses={202: JobStateSerializer, **REFUSALS},
        operation_id="toolsets_change",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Save the next revision. A job then moves the dialogues that use it, and they are reviewed again."""
        toolset = _toolset(request, slug, public_id)
        sent = read_fields(ToolsetChangeInputSerializer, request)
        job = toolset_changes.change_toolset(
            actor=actor(request),
            toolset=toolset,
            tools=dumps(sent["tools"]).decode(),
            implementation=sent["implementation"],
            seen=sent["seen"],
        )
        return Response(JobStateSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class ToolsetPreview(APIView):
    """A change of a toolset before it is saved."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=ToolsetContentSerializer,
        responses={200: ToolsetEffectsSerializer, **REFUSALS},
        operation_id="toolsets_preview",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Count what a change would affect. Nothing is stored."""
        toolset = _toolset(request, slug, public_id)
        sent = read_fields(ToolsetContentSerializer, request)
        change = toolset_changes.preview_change(
            actor=actor(request),
            toolset=toolset,
            tools=dumps(sent["tools"]).decode(),
            implementation=sent["implementation"],
        )
        found = {"affected": dict(change.affected), "problems": [one.message for one in change.problems]}
        return Response(ToolsetEffectsSerializer(found).data)


def _toolset(request: Request, slug: str, public_id: str) -> Toolset:
    project = administered_project(request, slug)
    return toolset_changes.load_toolset(project=project, public_id=public_id)
