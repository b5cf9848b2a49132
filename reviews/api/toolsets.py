"""Toolsets for programs: import them, read them, count what they consist of, and change one."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.serializers import JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.toolsets import MAX_TOOLS
from annotator.core.scopes import Scope
from annotator.core.tags import MAX_LENGTH, MAX_TAGS
from annotator.core.tools.categories import MAX_LENGTH as MAX_CATEGORY
from annotator.core.tools.checks import check_tools
from annotator.core.tools.sources.reading import MAX_BYTES, SourceKind
from annotator.errors import Invalid
from annotator.models import Project, Toolset
from annotator.services.access.permissions import load_project
from annotator.services.toolsets.details import (
    MAX_LICENCE,
    MAX_SOURCE,
    Details,
    change_details,
    load_toolset,
    newest,
    tags_of,
)
from annotator.services.toolsets.importing import import_toolset, read_description
from annotator.services.toolsets.listing import FINDINGS, changed_since, narrowed, read_filters, statistics_of
from annotator.services.toolsets.storing import MAX_NAME
from annotator.translation import translated
from reviews.api.serializers import ObjectField
from reviews.services.cycles import toolset_changes
from reviews.services.toolset_review.sending import MAX_SENT, send_to_review
from reviews.services.toolset_review.settings import review_project
from reviews.services.toolset_review.states import counts_of, unsent
from reviews.services.transitions.verified_tools import waiting_for_tools

_FILTERS = [
    OpenApiParameter("q", str, description="Part of a name."),
    OpenApiParameter("category", str, description="The name of a category; “-” for toolsets without one."),
    OpenApiParameter("tag", str),
    OpenApiParameter("findings", str, enum=list(FINDINGS), description="clean: no errors and no warnings."),
]


class ToolsetSerializer(serializers.ModelSerializer[Toolset]):
    category = serializers.CharField(source="category.name", allow_null=True, default=None)
    tool_count = serializers.IntegerField(source="head.tool_count")
    error_count = serializers.IntegerField(source="head.facts.errors", help_text="Findings of this severity.")
    warning_count = serializers.IntegerField(source="head.facts.warnings", help_text="Findings of this severity.")

    class Meta:
        model = Toolset
        fields = [
            "public_id", "name", "category", "licence", "source", "tool_count", "error_count", "warning_count",
            "created_at",
        ]  # fmt: skip


class ToolFindingSerializer(serializers.Serializer[Any]):
    """What a check has found in a toolset."""

    check = serializers.CharField()
    severity = serializers.CharField(help_text="error, warning or info")
    tool = serializers.CharField()
    parameter = serializers.CharField(help_text="Its dotted name, such as “legs[].to”; blank for the tool itself.")
    message = serializers.CharField()


class ToolsetDetailSerializer(ToolsetSerializer):
    """A toolset with its newest revision."""

    tags = serializers.ListField(child=serializers.CharField(), source="tag_names")
    number = serializers.IntegerField(source="head.number")
    sha256 = serializers.CharField(source="head.content_hash")
    tools = serializers.ListField(child=serializers.DictField(), source="head.tools")
    implementation = serializers.DictField(
        source="head.implementation", allow_null=True, help_text="The code of stateful tools; null for others."
    )
    findings = ToolFindingSerializer(many=True)

    class Meta(ToolsetSerializer.Meta):
        fields = [
            *ToolsetSerializer.Meta.fields, "tags", "number", "sha256", "tools", "implementation", "findings",
        ]  # fmt: skip


class ToolsetDetailsSerializer(Input):
    """The details of a toolset. ``category``: one of the project’s; blank for none."""

    name = StrictCharField(max_length=MAX_NAME)
    category = StrictCharField(required=False, default="", allow_blank=True, max_length=MAX_CATEGORY)
    tags = BoundedListField(
        child=StrictCharField(max_length=4 * MAX_LENGTH), max_length=MAX_TAGS, required=False, default=list
    )
    licence = StrictCharField(required=False, default="", allow_blank=True, max_length=MAX_LICENCE)
    source = StrictCharField(  # type: ignore[assignment]
        required=False, default="", allow_blank=True, max_length=MAX_SOURCE
    )


class NewToolsetSerializer(ToolsetDetailsSerializer):
    """A toolset to add: either ``tools``, or the ``text`` of a description of tools."""

    tools = BoundedListField(child=ObjectField(), max_length=MAX_TOOLS, required=False, default=None, allow_null=True)
    text = StrictCharField(
        required=False,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        max_length=MAX_BYTES,
        help_text="OpenAI functions, a result of MCP’s tools/list, an OpenAPI 3 document (JSON or YAML), or Python.",
    )
    kind = serializers.ChoiceField(
        choices=[str(kind) for kind in SourceKind],
        required=False,
        default="",
        allow_blank=True,
        help_text="The kind of the text. Blank: it is recognised.",
    )


class SourceNoteSerializer(serializers.Serializer[Any]):
    """What was changed or left out when a description was read."""

    place = serializers.CharField()
    message = serializers.CharField()


class AddedToolsetSerializer(serializers.Serializer[Any]):
    """A toolset that was added."""

    toolset = ToolsetDetailSerializer()
    kind = serializers.CharField(help_text="The kind of the text; blank if tools were sent.")
    notes = SourceNoteSerializer(many=True)


class ToolStatisticsSerializer(serializers.Serializer[Any]):
    """What the newest revisions of toolsets consist of."""

    toolsets = serializers.IntegerField()
    tools = serializers.IntegerField()
    broken = serializers.IntegerField(help_text="Tools whose parameters cannot be checked.")
    required_parameters = serializers.IntegerField(source="required")
    parameters = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()), help_text="Type → depth → number of parameters."
    )
    tools_by_parameters = serializers.DictField(
        child=serializers.IntegerField(), help_text="Number of own parameters → tools."
    )


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

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Toolsets: those with a revision since."

    @extend_schema(
        parameters=_FILTERS,
        responses={200: ToolsetSerializer(many=True), 404: NOT_FOUND},
        operation_id="toolsets_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = narrowed(project, read_filters(request.query_params, project))
        rows = rows.select_related("head", "category").defer("head__content")
        return answer_page(self, request, rows, ToolsetSerializer, since=changed_since)

    @extend_schema(
        request=NewToolsetSerializer,
        responses={201: AddedToolsetSerializer, **REFUSALS},
        operation_id="toolsets_add",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a toolset from functions, or from a description of tools."""
        project = administered_project(request, slug)
        sent = read_fields(NewToolsetSerializer, request)
        kind, notes, tools = "", [], sent["tools"]
        if (tools is None) == (not sent["text"]):
            raise Invalid(_("Send either “tools” or “text”."), field="tools")
        if tools is None:
            kind, read = read_description(sent["text"], sent["kind"])
            tools, notes = read.tools, read.notes
        toolset = import_toolset(actor=actor(request), project=project, tools=tools, details=_details(sent))
        added = {
            "toolset": _with_findings(project, toolset.public_id),
            "kind": str(kind),
            "notes": [{"place": note.place, "message": translated(note.message)} for note in notes],
        }
        return Response(AddedToolsetSerializer(added).data, status=status.HTTP_201_CREATED)


class ToolsetStatistics(APIView):
    """What the toolsets of a project consist of."""

    @extend_schema(
        parameters=_FILTERS,
        responses={200: ToolStatisticsSerializer, 404: NOT_FOUND},
        operation_id="toolsets_statistics",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Count tools and parameters by type and depth. The newest revision of each toolset counts."""
        project = load_project(actor=actor(request), slug=slug)
        found = statistics_of(narrowed(project, read_filters(request.query_params, project)))
        return Response(ToolStatisticsSerializer(found).data)


class ToolsetDetail(APIView):
    """One toolset with its newest revision."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: ToolsetDetailSerializer, 404: NOT_FOUND}, operation_id="toolsets_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(ToolsetDetailSerializer(_with_findings(project, public_id)).data)

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

    @extend_schema(
        request=ToolsetDetailsSerializer,
        responses={200: ToolsetDetailSerializer, **REFUSALS},
        operation_id="toolsets_set_details",
    )
    def put(self, request: Request, slug: str, public_id: str) -> Response:
        """Replace the details: name, category, tags, licence and source. The tools stay as they are."""
        toolset = _toolset(request, slug, public_id)
        sent = read_fields(ToolsetDetailsSerializer, request)
        change_details(actor=actor(request), toolset=toolset, details=_details(sent))
        return Response(ToolsetDetailSerializer(_with_findings(toolset.project, public_id)).data)


class ToolsetReviewSerializer(serializers.Serializer[Any]):
    """How far the review of toolsets is."""

    project = serializers.CharField(allow_null=True, help_text="Where toolsets are reviewed; null if they aren’t.")
    toolsets = serializers.DictField(
        child=serializers.IntegerField(), help_text="State (none, in_review, verified, differs, rejected) → toolsets."
    )
    waiting = serializers.IntegerField(help_text="Dialogues that have passed all stages and wait for their toolset.")


class SendToolsetsSerializer(Input):
    toolsets = BoundedListField(
        child=StrictCharField(max_length=12),
        max_length=MAX_SENT,
        required=False,
        default=None,
        allow_null=True,
        help_text="Public ids. Without them: all that were never sent, oldest first.",
    )


class SentToolsetsSerializer(serializers.Serializer[Any]):
    """Names of toolsets: new in review, in review again, and there already; and why others were refused."""

    new = serializers.ListField(child=serializers.CharField())
    again = serializers.ListField(child=serializers.CharField())
    there = serializers.ListField(child=serializers.CharField())
    refused = serializers.ListField(child=serializers.CharField())


class ToolsetReview(APIView):
    """The review of toolsets."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: ToolsetReviewSerializer, **REFUSALS}, operation_id="toolsets_review")
    def get(self, request: Request, slug: str) -> Response:
        """Count toolsets by the state of their review. For administrators."""
        project = administered_project(request, slug)
        review = review_project(project)
        found = {
            "project": review.slug if review else None,
            "toolsets": {
                str(state): count for state, count in counts_of(actor=actor(request), project=project).items()
            },
            "waiting": waiting_for_tools(project).count(),
        }
        return Response(ToolsetReviewSerializer(found).data)

    @extend_schema(
        request=SendToolsetsSerializer,
        responses={200: SentToolsetsSerializer, **REFUSALS},
        operation_id="toolsets_send_to_review",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Send toolsets to review. Sending the same again changes nothing. For administrators."""
        project = administered_project(request, slug)
        ids = read_fields(SendToolsetsSerializer, request)["toolsets"]
        if ids is None:
            toolsets = unsent(actor=actor(request), project=project)[:MAX_SENT]
        else:
            toolsets = [load_toolset(project=project, public_id=one) for one in dict.fromkeys(ids)]
        sent = send_to_review(actor=actor(request), project=project, toolsets=toolsets)
        return Response(SentToolsetsSerializer(sent).data)


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
    return load_toolset(project=administered_project(request, slug), public_id=public_id)


def _with_findings(project: Project, public_id: str) -> Toolset:
    """Return a toolset with what the answer shows beside its fields."""
    toolset: Any = load_toolset(project=project, public_id=public_id)
    toolset.tag_names = tags_of(toolset)
    toolset.findings = [
        {
            "check": one.check, "severity": one.severity, "tool": one.tool, "parameter": one.parameter,
            "message": translated(one.message),
        }
        for one in check_tools(newest(toolset).tools())
    ]  # fmt: skip
    return toolset


def _details(sent: dict[str, Any]) -> Details:
    return Details(sent["name"], sent["category"], sent["tags"], sent["licence"], sent["source"])
