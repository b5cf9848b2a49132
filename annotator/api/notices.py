"""Your notices for programs: list them, mark them as read, and choose which come by mail."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination
from annotator.api.views import NOT_FOUND, REFUSALS, actor
from annotator.core.scopes import Scope
from annotator.errors import Denied
from annotator.models import Notice, NoticeKind, User
from annotator.services.accounts.notice_settings import change_settings, settings_of
from annotator.services.database.filters import one_of
from annotator.services.notices import notices


class NoticeSerializer(serializers.ModelSerializer[Notice]):
    """A message to you."""

    project = serializers.CharField(source="project.slug")
    kind = serializers.CharField()
    dialogue = serializers.CharField(source="dialogue.public_id", default=None, allow_null=True)
    text = serializers.CharField()
    target = serializers.CharField(help_text="The path of the page that it links to.")

    class Meta:
        model = Notice
        fields = ["public_id", "project", "kind", "dialogue", "text", "target", "created_at", "read_at"]


def _kinds(**more: Any) -> BoundedListField:
    kinds = serializers.ChoiceField(choices=NoticeKind.choices)
    return BoundedListField(
        child=kinds, max_length=len(NoticeKind), help_text="Kinds of notices in the daily mail.", **more
    )


def _zone(**more: Any) -> StrictCharField:
    return StrictCharField(
        max_length=60, allow_blank=True, help_text="When it is sent; blank: in that of your first project.", **more
    )


class NoticeSettingsSerializer(Input):
    """What comes in the daily mail, and the time zone in which it is sent."""

    daily = _kinds()
    time_zone = _zone()


class NoticeSettingsChangeSerializer(Input):
    """What to change; a setting that is left out keeps its value."""

    daily = _kinds(required=False)
    time_zone = _zone(required=False)


class Notices(APIView):
    """Your notices in all projects, oldest first."""

    pagination_class = KeysetPagination
    since_meaning = "Notices: those that were written or read since."

    @extend_schema(
        parameters=[
            OpenApiParameter("show", enum=["unread"], description="Only notices that are not read."),
            OpenApiParameter("kind", enum=NoticeKind.values),
        ],
        responses={200: NoticeSerializer(many=True)},
        operation_id="notices_list",
    )
    def get(self, request: Request) -> Response:
        rows = notices.notices_of(
            actor=actor(request),
            unread=one_of(request.query_params, "show", ["unread"]) == "unread",
            kind=one_of(request.query_params, "kind", NoticeKind.values),
        )
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self, since=notices.notices_changed_since)
        notices.veil_comments(page, actor=actor(request))
        return paginator.get_paginated_response(NoticeSerializer(page, many=True).data)


class NoticeRead(APIView):
    """A notice that you have read."""

    scope = Scope.ANNOTATE

    @extend_schema(request=None, responses={200: NoticeSerializer, 404: NOT_FOUND}, operation_id="notices_read")
    def post(self, request: Request, public_id: str) -> Response:
        """Mark a notice as read. The same request again changes nothing."""
        notice = notices.mark_read(actor=actor(request), public_id=public_id)
        notices.veil_comments([notice], actor=actor(request))
        return Response(NoticeSerializer(notice).data)


class NoticeSettingsView(APIView):
    """Which of your notices come in the daily mail. Not with a token that is limited to some projects."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: NoticeSettingsSerializer, 403: REFUSALS[403]}, operation_id="notice_settings_read")
    def get(self, request: Request) -> Response:
        return Response(NoticeSettingsSerializer(settings_of(_whole_person(request))).data)

    @extend_schema(
        request=NoticeSettingsChangeSerializer,
        responses={200: NoticeSettingsSerializer, **{status: REFUSALS[status] for status in (400, 403, 422)}},
        operation_id="notice_settings_change",
    )
    def patch(self, request: Request) -> Response:
        """Change settings from the next daily mail on."""
        person = _whole_person(request)
        sent = read_fields(NoticeSettingsChangeSerializer, request)
        now = settings_of(person)
        seen = {"daily": now.daily, "time_zone": now.time_zone}
        saved = change_settings(actor=person, **seen | sent, seen=seen)
        return Response(NoticeSettingsSerializer(saved).data)


def _whole_person(request: Request) -> User:
    """Return the person who sent the request. Raises Denied for a token for some projects: settings are for all."""
    person = actor(request)
    if person.token_projects is not None:
        raise Denied(_("This token is limited to some projects. Use a token for all your projects."))
    return person
