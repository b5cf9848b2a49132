"""The list of dialogues as a file, for programs."""

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from annotator.api.rendering import FileNegotiation
from annotator.api.views import FILE, NOT_FOUND, actor
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import one_of
from annotator.services.dialogues.listing import Filters
from annotator.services.dialogues.sorting import order_of, sort_of
from benchmark.services.exports import TYPES, export_dialogues
from reviews.api.dialogues import FILTERS, SORT
from reviews.services.protocols.versions import stage_titles


class DialogueExport(APIView):
    """The list of dialogues as a file, with the same filters and order: CSV or Parquet tables, or neutral documents."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        parameters=[*FILTERS, SORT, OpenApiParameter("format", enum=list(TYPES), description="By default CSV.")],
        responses={**{(200, kind.partition(";")[0]): FILE for kind in TYPES.values()}, 404: NOT_FOUND},
        operation_id="dialogues_export",
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        project = load_project(actor=actor(request), slug=slug)
        form = one_of(request.query_params, "format", TYPES, "csv")
        pieces = export_dialogues(
            actor=actor(request),
            project=project,
            filters=Filters.of(request.query_params, project=project, stages=lambda: stage_titles(project)),
            order=order_of(sort_of(request.query_params)),
            form=form,
        )
        return StreamingHttpResponse(pieces, content_type=TYPES[form])
