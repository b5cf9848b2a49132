"""The API of imports and releases. It calls the same services as the pages, so the same rules apply."""

from django.http import FileResponse, StreamingHttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import read_fields
from annotator.api.pagination import KeyPagination, KeysetPagination, answer_page
from annotator.api.rendering import FileNegotiation
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import FILE, NOT_FOUND, actor
from annotator.core.scopes import Scope
from annotator.models import Project
from annotator.services.access.permissions import load_project, require_administrator
from annotator.services.jobs.changes_since import with_job_since
from benchmark.api import serializers as shapes
from benchmark.models import ImportBatch, Release
from benchmark.services.imports import requests
from benchmark.services.imports.recognising import confirm_preview
from benchmark.services.imports.report import read_report
from benchmark.services.releases import requests as releases
from benchmark.views.releases import archive_response

DENIED = OpenApiResponse(ErrorSerializer, "Administrators only.")
CONFLICT = OpenApiResponse(ErrorSerializer, "The current state does not allow this; the message gives the reason.")
INVALID = OpenApiResponse(ErrorSerializer, "The input is invalid; the message gives the reason.")
MALFORMED = OpenApiResponse(ErrorSerializer, "Fields are missing or invalid; see details.")


class ImportList(APIView):
    """The project's imports, oldest first; POST a file to start one. For administrators."""

    scope = Scope.IMPORT
    pagination_class = KeysetPagination
    since_meaning = "Imports: those that were started or have ended since, and those in progress."
    parser_classes = [MultiPartParser]

    @extend_schema(
        responses={200: shapes.ImportSerializer(many=True), 403: DENIED, 404: NOT_FOUND},
        operation_id="imports_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = requests.list_imports(actor=actor(request), project=project)
        return answer_page(self, request, rows, shapes.ImportSerializer, since=with_job_since)

    @extend_schema(
        request={"multipart/form-data": shapes.ImportInputSerializer},
        responses={202: shapes.ImportSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 422: INVALID},
        operation_id="imports_start",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start an import. It runs in the background: poll it until its job has ended."""
        project = load_project(actor=actor(request), slug=slug)
        require_administrator(actor=actor(request), project=project)
        sent = read_fields(shapes.ImportInputSerializer, request)
        batch = requests.start_import(
            actor=actor(request),
            project=project,
            upload=sent["file"],
            filename=sent["file"].name,
            native_format=sent.get("format", ""),
            mapping=sent.get("mapping"),
            dry_run=sent["dry_run"],
            revise=sent["revise"],
            reopen=sent["reopen"],
            reopen_at=sent.get("reopen_at", ""),
            at_conflicts=sent.get("at_conflicts", ""),
            suggest_dependencies=sent["suggest_dependencies"],
            preview=sent["preview"],
        )
        return Response(shapes.ImportSerializer(batch).data, status=status.HTTP_202_ACCEPTED)


class ImportDetail(APIView):
    """One import."""

    @extend_schema(
        responses={200: shapes.ImportSerializer, 403: DENIED, 404: NOT_FOUND}, operation_id="imports_read"
    )  # fmt: skip
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        batch = _import(request, slug, public_id)
        return Response(shapes.ImportSerializer(batch).data)


class ImportConfirm(APIView):
    """Import the file of a preview, or look at it again in another format."""

    scope = Scope.IMPORT

    @extend_schema(
        request=shapes.ConfirmInputSerializer,
        responses={
            202: shapes.ImportSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID,
        },
        operation_id="imports_confirm",
    )  # fmt: skip
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        batch = _import(request, slug, public_id)
        sent = read_fields(shapes.ConfirmInputSerializer, request)
        started = confirm_preview(
            actor=actor(request),
            batch=batch,
            native_format=sent["format"],
            mapping=sent.get("mapping", {}),
            at_conflicts=sent.get("at_conflicts", ""),
            reopen_at=sent.get("reopen_at", ""),
            **{
                name: sent[name]
                for name in ("dry_run", "revise", "reopen", "suggest_dependencies", "remember", "preview")
            },
        )
        return Response(shapes.ImportSerializer(started).data, status=status.HTTP_202_ACCEPTED)


class ImportRepeat(APIView):
    """Import a stored file again."""

    scope = Scope.IMPORT

    @extend_schema(
        request=shapes.RepeatInputSerializer,
        responses={
            202: shapes.ImportSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID,
        },
        operation_id="imports_repeat",
    )  # fmt: skip
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Import the file for real after a dry run, or again after a failure."""
        batch = _import(request, slug, public_id)
        sent = read_fields(shapes.RepeatInputSerializer, request)
        again = requests.repeat_import(actor=actor(request), batch=batch, reopen=sent["reopen"])
        return Response(shapes.ImportSerializer(again).data, status=status.HTTP_202_ACCEPTED)


class ImportCancel(APIView):
    """Stop an import and roll back what it has written."""

    scope = Scope.IMPORT

    @extend_schema(
        request=None,
        responses={202: shapes.ImportSerializer, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT},
        operation_id="imports_cancel",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        requests.cancel_import(actor=actor(request), batch=_import(request, slug, public_id))
        return Response(
            shapes.ImportSerializer(_import(request, slug, public_id)).data, status=status.HTTP_202_ACCEPTED
        )


class ImportReport(APIView):
    """The report of an import as JSON lines: line, id, pointer, check, severity, message."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        responses={(200, "application/jsonl"): FILE, 403: DENIED, 404: NOT_FOUND}, operation_id="imports_report"
    )  # fmt: skip
    def get(self, request: Request, slug: str, public_id: str) -> StreamingHttpResponse:
        batch = _import(request, slug, public_id)
        return StreamingHttpResponse(read_report(batch), content_type="application/jsonl")


class ReleaseList(APIView):
    """The project's releases, oldest first; POST to freeze one (administrators)."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Releases: those that were started or have ended since, and those in progress."

    @extend_schema(
        responses={200: shapes.ReleaseSerializer(many=True), 404: NOT_FOUND}, operation_id="releases_list"
    )  # fmt: skip
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = releases.list_releases(actor=actor(request), project=project)
        context = _seen_by(request, project)
        return answer_page(self, request, rows, shapes.ReleaseSerializer, since=with_job_since, context=context)

    @extend_schema(
        request=shapes.ReleaseInputSerializer,
        responses={
            202: shapes.ReleaseSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID,
        },
        operation_id="releases_start",
    )  # fmt: skip
    def post(self, request: Request, slug: str) -> Response:
        """Freeze the verified dialogues. It runs in the background: poll the release until its job has ended."""
        project = load_project(actor=actor(request), slug=slug)
        require_administrator(actor=actor(request), project=project)
        sent = read_fields(shapes.ReleaseInputSerializer, request)
        release = releases.start_release(
            actor=actor(request),
            project=project,
            version=sent["version"],
            native_format=sent["format"],
            require_all=sent["require_all"],
            leave_out_gold=sent["leave_out_gold"],
        )
        return Response(
            shapes.ReleaseSerializer(release, context=_seen_by(request, project)).data, status=status.HTTP_202_ACCEPTED
        )


class ReleaseDetail(APIView):
    """One release."""

    @extend_schema(responses={200: shapes.ReleaseSerializer, 404: NOT_FOUND}, operation_id="releases_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _release(request, slug, public_id)
        return Response(shapes.ReleaseSerializer(release, context=_seen_by(request, release.project)).data)


class ReleaseLeftOut(APIView):
    """The dialogues that a release leaves out, with reasons: for administrators and senior reviewers."""

    pagination_class = KeyPagination
    since_meaning = "Rows of a release: all of them if it was frozen since or is in progress, else none."

    @extend_schema(
        responses={200: shapes.LeftOutDialogueSerializer(many=True), 403: DENIED, 404: NOT_FOUND},
        operation_id="releases_left_out",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _release(request, slug, public_id)
        rows = releases.list_left_out(actor=actor(request), release=release)
        since = releases.items_changed_since(release)
        return answer_page(self, request, rows, shapes.LeftOutDialogueSerializer, since=since)


class ReleaseArchive(APIView):
    """The archive of a frozen release."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        responses={(200, "application/zip"): FILE, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT},
        operation_id="releases_archive",
    )
    def get(self, request: Request, slug: str, public_id: str) -> FileResponse:
        release = _release(request, slug, public_id)
        return archive_response(actor(request), release)


def _import(request: Request, slug: str, public_id: str) -> ImportBatch:
    project = load_project(actor=actor(request), slug=slug)
    return requests.load_import(actor=actor(request), project=project, public_id=public_id)


def _release(request: Request, slug: str, public_id: str) -> Release:
    project = load_project(actor=actor(request), slug=slug)
    return releases.load_release(actor=actor(request), project=project, public_id=public_id)


def _seen_by(request: Request, project: Project) -> dict[str, bool]:
    return {"oversees": releases.oversees(actor=actor(request), project=project)}
