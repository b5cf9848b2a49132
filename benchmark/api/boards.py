"""Leaderboards for programs: as data and as files, counted again, runs scored again and compared.

For administrators and senior reviewers, as the runs of models.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.jobs import JobSerializer
from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.rendering import FileNegotiation
from annotator.api.views import FILE, NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import one_of
from annotator.services.jobs.reading import load_job
from benchmark.api import board_serializers as shapes
from benchmark.api.runs import OVERSEERS
from benchmark.core.scoring.scoring_run import FAMILIES
from benchmark.models import Release, ScoreSet
from benchmark.services.runs import boards, listing, rescoring, withdrawn
from benchmark.views.board_files import DOCUMENTS, board_file

_CHOICES = [
    OpenApiParameter("family", enum=FAMILIES, description="By default the first of those that were scored."),
    OpenApiParameter("slice", description="“name=cell”, one of “slices”: the order is by the figure of that cell."),
    OpenApiParameter("sort", description="“name|cell” of a column, to order by another figure."),
]
_START = {status: REFUSALS[status] for status in (403, 404, 409)}
_RUNS = [
    OpenApiParameter("a", required=True, description="The public id of a run."),
    OpenApiParameter("b", required=True, description="The public id of another run over the same release."),
]


class ScoreBoard(APIView):
    """The leaderboard of a release: its runs in order, with ranks and the figures of its columns."""

    @extend_schema(
        parameters=_CHOICES,
        responses={200: shapes.ScoreBoardSerializer, 400: REFUSALS[400], 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="score_boards_read",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _overseen(request, slug, public_id)
        board = boards.leaderboard(release, request.query_params)
        counted = withdrawn.read_recount(release)
        found = {
            "family": board.family,
            "families": board.families,
            "order": _column(board.column),
            "columns": [_column(one) for one in board.columns],
            "slices": board.slices,
            "withdrawn": counted.withdrawn,
            "recounted": counted.current,
            "rows": [row.score_set for row in board.rows],
        }
        context = {"rows": {row.score_set.pk: row for row in board.rows}, "columns": board.columns}
        return Response(shapes.ScoreBoardSerializer(found, context=context).data)


class ScoreBoardFile(APIView):
    """The leaderboard as a file: CSV, JSON or a LaTeX table."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        parameters=[*_CHOICES, OpenApiParameter("format", enum=list(DOCUMENTS), description="By default CSV.")],
        responses={
            **{(200, kind.partition(";")[0]): FILE for kind in DOCUMENTS.values()},
            (200, DOCUMENTS["json"]): OpenApiResponse(OpenApiTypes.ANY, "The rows."),
            400: REFUSALS[400], 403: OVERSEERS, 404: NOT_FOUND,
        },
        operation_id="score_boards_file",
    )  # fmt: skip
    def get(self, request: Request, slug: str, public_id: str) -> HttpResponse:
        release = _overseen(request, slug, public_id)
        query: Mapping[str, Any] = request.query_params
        return board_file(release, query, one_of(query, "format", DOCUMENTS, "csv"))


class Recount(APIView):
    """Scores without the items that were withdrawn since the release. For administrators."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={202: JobSerializer, **_START}, operation_id="score_boards_recount")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Count the scores of the release again. The leaderboard has them when the job has ended."""
        project = administered_project(request, slug)
        release = boards.load_overseen(actor=actor(request), project=project, public_id=public_id)
        recount = withdrawn.start_recount(actor=actor(request), release=release)
        return Response(JobSerializer(recount.job).data, status=status.HTTP_202_ACCEPTED)


class RunAgain(APIView):
    """The scores of a run by the newest version of the scorers. For administrators."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={202: JobSerializer, **_START}, operation_id="model_runs_score_again")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Score the stored predictions again. The earlier scores stay."""
        project = administered_project(request, slug)
        run = boards.load_run(actor=actor(request), project=project, public_id=public_id).run
        job = rescoring.start_rescoring(actor=actor(request), run=run)
        found = load_job(actor=actor(request), project=project, public_id=job.public_id)
        return Response(JobSerializer(found).data, status=status.HTTP_202_ACCEPTED)


class RunCompare(APIView):
    """Two runs over a release: on how many entries they differ, McNemar’s p, and their figures."""

    @extend_schema(
        parameters=_RUNS,
        responses={200: shapes.RunComparisonSerializer, 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="model_runs_compare",
    )
    def get(self, request: Request, slug: str) -> Response:
        first, second = _two(request, slug)
        return Response(shapes.RunComparisonSerializer(boards.compare_runs(first, second)).data)


class RunCompareEntries(APIView):
    """The entries that only one of two runs has right."""

    pagination_class = KeyPagination
    since_meaning = "Entries: all of them if the release was scored since or is being scored, else none."

    @extend_schema(
        parameters=[
            *_RUNS,
            OpenApiParameter("which", enum=boards.SIDES, description="Only those that this run has right."),
        ],
        responses={200: shapes.ChangedEntrySerializer(many=True), 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="model_runs_compare_entries",
    )
    def get(self, request: Request, slug: str) -> Response:
        first, second = _two(request, slug)
        boards.compare_runs(first, second)
        which = one_of(request.query_params, "which", boards.SIDES)
        rows = boards.list_changed(first, second, which=which)
        since = listing.scores_changed_since(first.run.release)
        return answer_page(self, request, rows, shapes.ChangedEntrySerializer, since)


def _column(column: tuple[str, str]) -> dict[str, str]:
    return {"name": column[0], "cell": column[1]}


def _overseen(request: Request, slug: str, public_id: str) -> Release:
    project = load_project(actor=actor(request), slug=slug)
    return boards.load_overseen(actor=actor(request), project=project, public_id=public_id)


def _two(request: Request, slug: str) -> tuple[ScoreSet, ScoreSet]:
    project = load_project(actor=actor(request), slug=slug)
    query = request.query_params
    return boards.two_runs(
        actor=actor(request), project=project, first=query.get("a", ""), second=query.get("b", "")
    )  # fmt: skip
