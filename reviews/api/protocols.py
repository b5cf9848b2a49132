"""The versions of a project's protocol for programs: read, check, adopt, and move items to the current one."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.serializers import JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services.access.permissions import load_project
from reviews.api.serializers import ObjectField
from reviews.core.protocols.differences import describe_protocol_changes
from reviews.models import ProtocolVersion
from reviews.services.cycles.migration import preview_migration, start_migration
from reviews.services.protocols.definitions import read_definition, require_definition
from reviews.services.protocols.versions import adopt_protocol, current_protocol, load_version, parse, shortfalls


class ProtocolVersionSerializer(serializers.ModelSerializer[ProtocolVersion]):
    """A version of the protocol, without its definition."""

    author = serializers.CharField(source="author.public_id", default=None, allow_null=True)
    sha256 = serializers.CharField(source="content_hash")

    class Meta:
        model = ProtocolVersion
        fields = ["number", "preset", "sha256", "author", "created_at"]


class ProtocolSerializer(ProtocolVersionSerializer):
    """A version of the protocol with its definition."""

    definition = serializers.SerializerMethodField()

    class Meta(ProtocolVersionSerializer.Meta):
        fields = [*ProtocolVersionSerializer.Meta.fields, "definition"]

    def get_definition(self, version: ProtocolVersion) -> dict[str, Any]:
        return parse(version).model_dump(mode="json")


class DefinitionSerializer(Input):
    definition = ObjectField(help_text="A protocol: the object that a version has as its definition.")


class NewProtocolSerializer(DefinitionSerializer):
    """The next version of the protocol."""

    seen = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="The number of the version that it starts from; 0: none."
    )
    understaffed = StrictBooleanField(
        default=False, help_text="Whether to adopt it although stages have too few people."
    )


class ProblemSerializer(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="The place in the definition: a JSON pointer.")
    message = serializers.CharField()


class ProtocolChangeSerializer(serializers.Serializer[Any]):
    """A setting that differs from the current version."""

    place = serializers.CharField()
    what = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()


class CheckedProtocolSerializer(serializers.Serializer[Any]):
    """What would happen to a definition. It can be adopted if there are no problems."""

    problems = ProblemSerializer(many=True)
    short = serializers.ListField(child=serializers.CharField(), help_text="Each stage with too few people.")
    changes = ProtocolChangeSerializer(many=True, help_text="What differs from the current version.")


class MoveStepSerializer(serializers.Serializer[Any]):
    """What happens to the items in one stage of an earlier version."""

    version = serializers.IntegerField()
    stage = serializers.CharField()
    waiting = serializers.BooleanField()
    escalated = serializers.BooleanField()
    items = serializers.IntegerField()
    action = serializers.CharField(help_text="stay, restart, move or verify.")
    to = serializers.CharField(help_text="Key of the stage that they go to; blank if they are verified.")
    why = serializers.CharField()


class MovePreviewSerializer(serializers.Serializer[Any]):
    """What the move of items in progress to the current version would do now."""

    number = serializers.IntegerField(source="version.number")
    items = serializers.IntegerField()
    interrupted = serializers.IntegerField(help_text="Claimed items whose stage restarts; their drafts are kept.")
    in_draw = serializers.IntegerField(help_text="Items in a draw; they can't be moved until it ends.")
    steps = MoveStepSerializer(many=True)


class MoveInputSerializer(Input):
    number = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, help_text="The current version, as the preview has it."
    )
    reason = StrictCharField(max_length=500, required=False, allow_blank=True, default="")


class ProtocolCurrent(APIView):
    """The current version of the protocol."""

    @extend_schema(responses={200: ProtocolSerializer, 404: NOT_FOUND}, operation_id="protocol_read")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(ProtocolSerializer(load_version(project=project)).data)


class ProtocolVersions(APIView):
    """The versions of the protocol, oldest first; POST to adopt the next one."""

    scope = Scope.ADMINISTER
    pagination_class = KeyPagination

    @extend_schema(
        responses={200: ProtocolVersionSerializer(many=True), 404: NOT_FOUND}, operation_id="protocol_versions_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = ProtocolVersion.objects.filter(project=project).select_related("author").defer("definition")
        return answer_page(self, request, rows, ProtocolVersionSerializer)

    @extend_schema(
        request=NewProtocolSerializer,
        responses={201: ProtocolSerializer, **REFUSALS},
        operation_id="protocol_versions_adopt",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Adopt a version. Items that start from now on follow it; those in progress keep theirs until they are moved.

        The current definition again changes nothing.
        """
        project = administered_project(request, slug)
        sent = read_fields(NewProtocolSerializer, request)
        version = adopt_protocol(
            actor=actor(request),
            project=project,
            protocol=require_definition(sent["definition"]),
            seen=sent["seen"],
            understaffed=sent["understaffed"],
        )
        return Response(ProtocolSerializer(version).data, status=status.HTTP_201_CREATED)


class ProtocolDetail(APIView):
    """One version of the protocol."""

    @extend_schema(responses={200: ProtocolSerializer, 404: NOT_FOUND}, operation_id="protocol_versions_read")
    def get(self, request: Request, slug: str, number: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(ProtocolSerializer(load_version(project=project, number=number)).data)


class ProtocolCheck(APIView):
    """A definition that is not adopted yet."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=DefinitionSerializer,
        responses={200: CheckedProtocolSerializer, **REFUSALS},
        operation_id="protocol_check",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Check a definition. Nothing is stored."""
        project = administered_project(request, slug)
        found, problems = read_definition(read_fields(DefinitionSerializer, request)["definition"])
        current = current_protocol(project)
        answer = {
            "problems": problems,
            "short": shortfalls(project=project, protocol=found) if found else [],
            "changes": describe_protocol_changes(current, found) if current and found else [],
        }
        return Response(CheckedProtocolSerializer(answer).data)


class ProtocolMove(APIView):
    """The move of items in progress from earlier versions to the current one."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: MovePreviewSerializer, **REFUSALS}, operation_id="protocol_move_preview")
    def get(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        return Response(MovePreviewSerializer(preview_migration(actor=actor(request), project=project)).data)

    @extend_schema(
        request=MoveInputSerializer, responses={202: JobStateSerializer, **REFUSALS}, operation_id="protocol_move"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start the move, in the background."""
        project = administered_project(request, slug)
        sent = read_fields(MoveInputSerializer, request)
        version = load_version(project=project, number=str(sent["number"]))
        job = start_migration(actor=actor(request), project=project, version=version, reason=sent["reason"])
        return Response(JobStateSerializer(job).data, status=status.HTTP_202_ACCEPTED)
