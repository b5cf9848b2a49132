"""The history of a project for programs: list and download events, and check that none was removed or changed."""

from typing import Any

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.jobs import JobSerializer
from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.rendering import FileNegotiation
from annotator.api.views import FILE, NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.errors import Hidden
from annotator.models import Event, Job
from annotator.services.access.permissions import load_project
from annotator.services.integrity.history_checks import last_check, start_check
from reviews.api.serializers import ObjectField
from reviews.services.history import project_history as history

_READ = {403: REFUSALS[403], 404: NOT_FOUND, 422: REFUSALS[422]}
FILTERS = [
    OpenApiParameter("kind", enum=[*history.SETTINGS, *history.ITEMS], description="The first part of the kind."),
    OpenApiParameter("person", description=f"Public id of a member; “{history.PROGRAM}”: what Assay did itself."),
    OpenApiParameter("item", description="The id of a dialogue in the project."),
    OpenApiParameter("since", description="The first day in the project’s time zone, such as 2026-05-31."),
    OpenApiParameter("until", description="The last day."),
]


class EventSerializer(serializers.ModelSerializer[Event]):
    """Who did what and when, with the values before and after."""

    actor = serializers.CharField(
        source="actor.public_id",
        default=None,
        allow_null=True,
        help_text="Null: Assay, or a user of a public link.",
    )
    dialogue = serializers.CharField(source="dialogue.public_id", default=None, allow_null=True)
    external_id = serializers.CharField(source="dialogue.external_id", default=None, allow_null=True)
    before = ObjectField()
    after = ObjectField()

    class Meta:
        model = Event
        fields = ["kind", "actor", "dialogue", "external_id", "before", "after", "created_at"]


class CheckResultSerializer(serializers.Serializer[Any]):
    """What a check has found."""

    events = serializers.IntegerField()
    problems = serializers.IntegerField()
    named = serializers.ListField(child=serializers.CharField(), help_text="The first problems, as sentences.")


class HistoryCheckSerializer(JobSerializer):
    """A check of the history."""

    result = serializers.SerializerMethodField(help_text="Null until it is done.")

    @extend_schema_field(CheckResultSerializer(allow_null=True))
    def get_result(self, job: Job) -> Any:
        return CheckResultSerializer(job.result).data if job.result else None


class History(APIView):
    """The events of the project, oldest first: all for administrators, those of dialogues for senior reviewers.

    Events of a blind stage that has not ended, and of dialogues that you review blind, are left out.
    """

    pagination_class = KeyPagination
    since_meaning = "Events: also all of a dialogue that has changed since, because they may be new to you."

    @extend_schema(
        parameters=FILTERS, responses={200: EventSerializer(many=True), **_READ}, operation_id="history_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        # People who may not read the history at all get that refusal first.
        history.visible_events(actor=actor(request), project=project)
        filters = history.read_filters(request.query_params, project=project)
        rows = history.filtered_events(actor=actor(request), project=project, filters=filters)
        return answer_page(self, request, rows, EventSerializer, history.events_changed_since(project))


class HistoryFile(APIView):
    """The same events as a file of JSON lines, with everything that enters each hash (docs/history.md)."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        parameters=FILTERS,
        responses={(200, "application/jsonl"): FILE, **_READ},
        operation_id="history_file",
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        project = administered_project(request, slug)
        filters = history.read_filters(request.query_params, project=project)
        lines = history.export_events(actor=actor(request), project=project, filters=filters)
        return StreamingHttpResponse(lines, content_type="application/jsonl")


class HistoryCheck(APIView):
    """The newest check that nothing in the history was removed or changed. For administrators."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: HistoryCheckSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="history_check_read"
    )
    def get(self, request: Request, slug: str) -> Response:
        check = last_check(administered_project(request, slug))
        if check is None:
            raise Hidden(_("The history hasn’t been checked yet. Send a POST request to check it."))
        return Response(HistoryCheckSerializer(check).data)

    @extend_schema(
        request=None, responses={202: HistoryCheckSerializer, **REFUSALS}, operation_id="history_check_start"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start a check in the background, or return the one in progress."""
        project = administered_project(request, slug)
        check = start_check(actor=actor(request), project=project)
        return Response(HistoryCheckSerializer(check).data, status=status.HTTP_202_ACCEPTED)
