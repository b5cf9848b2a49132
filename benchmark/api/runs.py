"""The API of scores: upload predictions of models for a release, read its runs and what each entry earned.

Answers of models reveal what reviewers must find, so only administrators and senior reviewers read runs.
"""

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import read_fields
from annotator.api.pagination import KeyPagination, KeysetPagination, answer_page
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor
from annotator.core.scopes import Scope
from annotator.services.access.permissions import load_project, require_administrator
from annotator.services.database.filters import one_of
from annotator.services.jobs.changes_since import with_job_since
from benchmark.api import run_serializers as shapes
from benchmark.api.views import CONFLICT, DENIED, INVALID, MALFORMED
from benchmark.core.scoring.scoring_run import FAMILIES
from benchmark.models import Mode, Release, ScoreSet
from benchmark.services.releases.requests import load_release
from benchmark.services.runs import boards, listing, uploads

OVERSEERS = OpenApiResponse(ErrorSerializer, "Administrators and senior reviewers only.")

_SCORER = OpenApiParameter("scorer", description="One of “scorers” of the run; by default the newest.")


class PredictionList(APIView):
    """The files of predictions for a release, oldest first; POST one to score it. For administrators."""

    scope = Scope.IMPORT
    pagination_class = KeysetPagination
    since_meaning = "Files: those that were uploaded or scored since, and those in progress."
    parser_classes = [MultiPartParser]

    @extend_schema(
        responses={200: shapes.PredictionFileSerializer(many=True), 403: DENIED, 404: NOT_FOUND},
        operation_id="predictions_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        rows = uploads.list_files(actor=actor(request), release=_release(request, slug, public_id))
        return answer_page(self, request, rows, shapes.PredictionFileSerializer, since=with_job_since)

    @extend_schema(
        request={"multipart/form-data": shapes.PredictionInputSerializer},
        responses={
            202: shapes.PredictionFileSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT,
            422: INVALID,
        },
        operation_id="predictions_upload",
    )  # fmt: skip
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Upload predictions and start to score them: poll the file until its job has ended.

        The same file again, while its job has not ended, returns that file.
        """
        release = _release(request, slug, public_id)
        require_administrator(actor=actor(request), project=release.project)
        sent = read_fields(shapes.PredictionInputSerializer, request)
        mode = Mode(**{name: sent[name] for name in ("history", "language", "tool_mode", "thinking")})
        stored = uploads.start_scoring(
            actor=actor(request), release=release, upload=sent["file"], filename=sent["file"].name, mode=mode,
            family=sent.get("family") or uploads.families_of(release)[0],
            **{name: sent[name] for name in ("model", "provider", "strip_thinking")},
        )  # fmt: skip
        return Response(shapes.PredictionFileSerializer(stored).data, status=status.HTTP_202_ACCEPTED)


class PredictionDetail(APIView):
    """One file of predictions, with its runs and the reasons why records were not scored. For administrators."""

    @extend_schema(
        responses={200: shapes.PredictionFileDetailSerializer, 403: DENIED, 404: NOT_FOUND},
        operation_id="predictions_read",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        file = uploads.load_file(actor=actor(request), project=project, public_id=public_id)
        return Response(shapes.PredictionFileDetailSerializer(file).data)


class RunList(APIView):
    """The runs of models over a release, oldest first, with the figures of the leaderboard."""

    pagination_class = KeysetPagination
    since_meaning = "Runs: all of them if the release was scored since or is being scored, else none."

    @extend_schema(
        parameters=[OpenApiParameter("family", enum=FAMILIES, description="Only runs scored as this family.")],
        responses={200: shapes.ModelRunSerializer(many=True), 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="model_runs_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        release = boards.load_overseen(actor=actor(request), project=project, public_id=public_id)
        family = one_of(request.query_params, "family", FAMILIES)
        rows = listing.list_runs(actor=actor(request), release=release, family=family)
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self, since=listing.runs_changed_since(release))
        return paginator.get_paginated_response(shapes.ModelRunSerializer(listing.with_scores(page), many=True).data)


class RunDetail(APIView):
    """One run with all its figures, by slice, and its classes of error."""

    @extend_schema(
        parameters=[_SCORER],
        responses={200: shapes.ModelRunDetailSerializer, 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="model_runs_read",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(shapes.ModelRunDetailSerializer(_scores(request, slug, public_id)).data)


class RunEntryList(APIView):
    """What each entry of a run earned, without the answers."""

    pagination_class = KeyPagination
    since_meaning = "Entries: all of them if the release was scored since or is being scored, else none."

    @extend_schema(
        parameters=[
            OpenApiParameter("outcome", enum=boards.OUTCOMES, description="By default all."),
            OpenApiParameter("error", description="Only entries with this class of error."),
            _SCORER,
        ],
        responses={200: shapes.ModelRunEntrySerializer(many=True), 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="model_run_entries_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        score_set = _scores(request, slug, public_id)
        query = request.query_params
        errors = [name for name in (score_set.summary or {}).get("errors", {}) if name]
        rows = boards.list_scores(
            score_set,
            outcome=one_of(query, "outcome", boards.OUTCOMES, otherwise="all"),
            error=one_of(query, "error", errors),
        )
        since = listing.scores_changed_since(score_set.run.release)
        return answer_page(self, request, rows, shapes.ModelRunEntrySerializer, since=since)


class RunEntryDetail(APIView):
    """One entry of a run: what the model said, and everything that led to the score."""

    @extend_schema(
        responses={200: shapes.ModelRunEntryDetailSerializer, 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="model_run_entries_read",
    )
    def get(self, request: Request, slug: str, public_id: str, key: str) -> Response:
        score = boards.load_score(_run(request, slug, public_id).run, key)
        return Response(shapes.ModelRunEntryDetailSerializer(score).data)


def _release(request: Request, slug: str, public_id: str) -> Release:
    project = load_project(actor=actor(request), slug=slug)
    return load_release(actor=actor(request), project=project, public_id=public_id)


def _scores(request: Request, slug: str, public_id: str) -> ScoreSet:
    """Return the scores of a run that “scorer” names."""
    project = load_project(actor=actor(request), slug=slug)
    return boards.choose_scores(
        actor=actor(request), project=project, public_id=public_id, query=request.query_params
    )  # fmt: skip


def _run(request: Request, slug: str, public_id: str) -> ScoreSet:
    project = load_project(actor=actor(request), slug=slug)
    return boards.load_run(actor=actor(request), project=project, public_id=public_id)
