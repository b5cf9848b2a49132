"""The jobs of a project, for administrators: their progress, and stopping one."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.pagination import KeysetPagination
from annotator.api.serializers import JobStateSerializer
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Job
from annotator.services.jobs.jobs import cancel_job
from annotator.services.jobs.listing import jobs_changed_since, list_jobs, load_job


class JobSerializer(serializers.ModelSerializer[Job]):
    """A job and its progress."""

    job = JobStateSerializer(source="*")
    kind = serializers.CharField(help_text="Such as import, release or score_predictions.")
    requester = serializers.CharField(source="requester.public_id", default=None, allow_null=True)
    cancel_requested = serializers.BooleanField(help_text="Whether it is to stop at its next step.")

    class Meta:
        model = Job
        fields = ["public_id", "kind", "requester", "job", "cancel_requested", "created_at", "started_at", "ended_at"]


class JobList(APIView):
    """The jobs of the project, oldest first."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Jobs: those that were started or have ended since, and those in progress."

    @extend_schema(
        responses={200: JobSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="jobs_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        rows = list_jobs(actor=actor(request), project=administered_project(request, slug))
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self, since=jobs_changed_since)
        return paginator.get_paginated_response(JobSerializer(page, many=True).data)


class JobDetail(APIView):
    """One job."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: JobSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="jobs_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(JobSerializer(_job(request, slug, public_id)).data)


class JobCancel(APIView):
    """The end of a job in progress."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None,
        responses={202: JobSerializer, **{status: REFUSALS[status] for status in (403, 404, 409)}},
        operation_id="jobs_cancel",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Stop a job: one that waits ends now, one that runs at its next step."""
        cancel_job(actor=actor(request), job=_job(request, slug, public_id))
        found = _job(request, slug, public_id)
        return Response(JobSerializer(found).data, status=status.HTTP_202_ACCEPTED)


def _job(request: Request, slug: str, public_id: str) -> Job:
    project = administered_project(request, slug)
    return load_job(actor=actor(request), project=project, public_id=public_id)
