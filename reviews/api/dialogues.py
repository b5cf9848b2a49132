"""The list of dialogues for programs, filtered by labels and review state."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.pagination import KeysetPagination
from annotator.api.serializers import DialogueSerializer
from annotator.api.views import NOT_FOUND, actor
from annotator.core.schema.documents import Information, Policy
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import load_project
from annotator.services.dialogues import listing
from annotator.services.dialogues.changes_since import dialogues_changed_since
from annotator.services.dialogues.sorting import VALUES, order_of, sort_of
from reviews.services.protocols.versions import stage_titles

FILTERS = [
    OpenApiParameter("q", description="Words (by prefix) or Chinese text (by substring), or the beginning of an id."),
    OpenApiParameter("status", enum=DialogueStatus.values),
    OpenApiParameter("stage", description="Key of a stage."),
    OpenApiParameter("policy", enum=[str(one) for one in Policy]),
    OpenApiParameter("topology", enum=listing.TOPOLOGIES),
    OpenApiParameter("information", enum=[str(one) for one in Information]),
    OpenApiParameter("sequence", description="Policies of the first one to four tasks, such as “single_tool,chat”."),
    OpenApiParameter("language", enum=list(listing.LANGUAGES)),
    OpenApiParameter("owner", description="Public id of a person; only yours if you are an annotator."),
    OpenApiParameter("problems", enum=list(listing.PROBLEMS)),
    OpenApiParameter("check", description="Id of a check: only dialogues with a finding from it."),
    OpenApiParameter(
        "outdated", enum=list(listing.OUTDATED), description="Only dialogues that a new guideline made outdated."
    ),
    OpenApiParameter(
        "stale",
        enum=list(listing.STALE),
        description="Only dialogues that continue verified tasks which have changed since; for overseers.",
    ),
    OpenApiParameter("tag", description="Only dialogues with this tag, among those whose tags you may see."),
    OpenApiParameter("field", description="Only dialogues with this answer to a custom field, as “key=value”."),
    OpenApiParameter("meta", description="Only dialogues with this value in their metadata, as “key=value”."),
]
SORT = OpenApiParameter("sort", enum=VALUES, description="By default the order of import; with “-”, downwards.")


class TotalSerializer(serializers.Serializer[listing.Total]):
    """The number of dialogues in a list; at least this many if it is not exact."""

    count = serializers.IntegerField()
    exact = serializers.BooleanField()


class DialogueList(APIView):
    """List the project's dialogues without their content, by default oldest first."""

    pagination_class = KeysetPagination
    since_meaning = (
        "Dialogues: those with new content, another status, stage or owner. Findings that a job adds later, tags, and "
        "groups of variants are not changes."
    )

    @extend_schema(
        parameters=[*FILTERS, SORT],
        responses={200: DialogueSerializer(many=True), 404: NOT_FOUND},
        operation_id="dialogues_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        filters = listing.Filters.of(request.query_params, project=project, stages=lambda: stage_titles(project))
        rows = listing.shown_dialogues(actor=actor(request), project=project, filters=filters)
        paginator = self.pagination_class()
        order = order_of(sort_of(request.query_params))
        found = paginator.paginate_queryset(rows, request, self, since=dialogues_changed_since(project), order=order)
        page = listing.veil_owners(found, actor=actor(request))
        return paginator.get_paginated_response(DialogueSerializer(page, many=True).data)


class DialogueCount(APIView):
    """Count the dialogues of the filtered list, up to 100,000."""

    @extend_schema(
        parameters=FILTERS, responses={200: TotalSerializer, 404: NOT_FOUND}, operation_id="dialogues_count"
    )  # fmt: skip
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        filters = listing.Filters.of(request.query_params, project=project, stages=lambda: stage_titles(project))
        total = listing.count_dialogues(actor=actor(request), project=project, filters=filters)
        return Response(TotalSerializer(total).data)
