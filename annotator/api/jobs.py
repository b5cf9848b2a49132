"""The background work of a project for programs: list, read and cancel jobs. For administrators."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.serializers import JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services.jobs.jobs import cancel_job
from annotator.services.jobs.reading import jobs_changed_since, jobs_of, load_job


class JobSerializer(JobStateSerializer):
    """A job: background work that somebody or Assay has started."""

    kind = serializers.CharField(help_text="What it does, such as import or send_back_outdated.")
    requester = serializers.CharField(
        source="requester.public_id", default=None, allow_null=True, help_text="Null: Assay has started it."
    )
    cancel_requested = serializers.BooleanField(help_text="Whether it is to stop at its next step.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class Jobs(APIView):
    """The jobs of the project, oldest first."""

    pagination_class = KeysetPagination
    since_meaning = "Jobs: those that were created or have ended since, and those in progress."

    @extend_schema(
        responses={200: JobSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="jobs_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        rows = jobs_of(actor=actor(request), project=project)
        return answer_page(self, request, rows, JobSerializer, jobs_changed_since)


class JobDetail(APIView):
    """One job of the project."""

    @extend_schema(responses={200: JobSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="jobs_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = administered_project(request, slug)
        job = load_job(actor=actor(request), project=project, public_id=public_id)
        return Response(JobSerializer(job).data)


class JobCancel(APIView):
    """The end of a job that is no longer wanted."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={202: JobSerializer, **REFUSALS}, operation_id="jobs_cancel")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Cancel a job: a waiting one ends now, a running one at its next step. What it has done stays done."""
        project = administered_project(request, slug)
        job = load_job(actor=actor(request), project=project, public_id=public_id)
        found = cancel_job(actor=actor(request), job=job)
        return Response(JobSerializer(found).data, status=status.HTTP_202_ACCEPTED)
