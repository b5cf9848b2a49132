"""The export and the deletion of a whole project, as their page does."""

from django.http import FileResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.rendering import FileNegotiation
from annotator.api.serializers import JobStateSerializer
from annotator.api.views import FILE, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.errors import Hidden
from annotator.models import Job, ProjectDeletion
from benchmark.services.project_data.deletion import cancel_deletion, plan_deletion, planned_deletion
from benchmark.services.project_data.export import last_export, start_export
from benchmark.views.archiving import export_response


class ExportSerializer(serializers.Serializer[Job]):
    """The newest export of a project."""

    job = JobStateSerializer(source="*")

    public_id = serializers.CharField()
    created_at = serializers.DateTimeField()
    bytes = serializers.IntegerField(source="result.bytes", default=None, allow_null=True)
    sha256 = serializers.CharField(source="result.sha256", default=None, allow_null=True)
    rows = serializers.IntegerField(source="result.rows", default=None, allow_null=True)


class DeletionInputSerializer(Input):
    name = StrictCharField(max_length=120, help_text="The name of the project, to confirm.")


class DeletionSerializer(serializers.ModelSerializer[ProjectDeletion]):
    """A planned deletion. It can be cancelled until it has started."""

    person = serializers.CharField(source="person.public_id")

    class Meta:
        model = ProjectDeletion
        fields = ["public_id", "person", "created_at", "due_at", "started_at"]


class Export(APIView):
    """The newest export of the project; POST to start one."""

    scope = Scope.ADMINISTER
    in_archive = True

    @extend_schema(
        responses={200: ExportSerializer, 403: REFUSALS[403], 404: REFUSALS[404]}, operation_id="export_read"
    )
    def get(self, request: Request, slug: str) -> Response:
        job: Job | None = last_export(administered_project(request, slug))
        if job is None:
            raise Hidden(_("There is no export of this project. Start one first."))
        return Response(ExportSerializer(job).data)

    @extend_schema(request=None, responses={202: ExportSerializer, **REFUSALS}, operation_id="export_start")
    def post(self, request: Request, slug: str) -> Response:
        """Start an export of everything in the project. One in progress goes on."""
        project = administered_project(request, slug)
        job = start_export(actor=actor(request), project=project)
        return Response(ExportSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class ExportArchive(APIView):
    """The archive of the newest export. It also has sealed reviews and the answers of gold items."""

    scope_to_read = Scope.ADMINISTER

    content_negotiation_class = FileNegotiation

    @extend_schema(
        responses={
            (200, "application/zip"): FILE, 403: REFUSALS[403], 404: REFUSALS[404], 409: REFUSALS[409],
        },
        operation_id="export_archive",
    )  # fmt: skip
    def get(self, request: Request, slug: str) -> FileResponse:
        return export_response(actor(request), administered_project(request, slug))


class Deletion(APIView):
    """The planned deletion of an archived project."""

    scope = Scope.ADMINISTER
    in_archive = True

    @extend_schema(
        responses={200: DeletionSerializer, 403: REFUSALS[403], 404: REFUSALS[404]}, operation_id="deletion_read"
    )
    def get(self, request: Request, slug: str) -> Response:
        found = planned_deletion(administered_project(request, slug))
        if found is None:
            raise Hidden(_("No deletion of this project is planned."))
        return Response(DeletionSerializer(found).data)

    @extend_schema(
        request=DeletionInputSerializer,
        responses={201: DeletionSerializer, **REFUSALS},
        operation_id="deletion_plan",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Plan the deletion of an archived project that was exported since and has no public links."""
        project = administered_project(request, slug)
        sent = read_fields(DeletionInputSerializer, request)
        found = plan_deletion(actor=actor(request), project=project, name=sent["name"])
        return Response(DeletionSerializer(found).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={204: None, **REFUSALS}, operation_id="deletion_cancel")
    def delete(self, request: Request, slug: str) -> Response:
        """Cancel the planned deletion. The project stays archived."""
        cancel_deletion(actor=actor(request), project=administered_project(request, slug))
        return Response(status=status.HTTP_204_NO_CONTENT)
