"""Saved views of the list of dialogues for programs: list, read, save, rename and delete them."""

from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor
from annotator.core.scopes import Scope
from annotator.models import SavedView
from annotator.models.saved_views import MAX_NAME, MAX_QUERY
from annotator.services import saved_views
from annotator.services.access.permissions import load_project, require_administrator
from annotator.services.database.filters import refuse_unknown_names
from reviews.services.protocols.versions import stage_titles


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    """Filters, order and columns of the list of dialogues under a name."""

    query = serializers.CharField(help_text="The query string of the list, as it was saved.")
    person = serializers.CharField(source="person.public_id", help_text="Who saved it.")
    shared = serializers.BooleanField(help_text="Whether every member sees it.")

    class Meta:
        model = SavedView
        fields = ["public_id", "name", "query", "shared", "person", "created_at"]


class UsableViewSerializer(SavedViewSerializer):
    """A saved view and the part of it that still has a meaning."""

    usable = serializers.CharField(help_text="The query string without what no longer exists, such as a stage.")
    left_out = serializers.ListField(child=serializers.CharField(), help_text="A sentence about each part left out.")

    class Meta(SavedViewSerializer.Meta):
        fields = [*SavedViewSerializer.Meta.fields, "usable", "left_out"]


class SavedViewsSerializer(serializers.Serializer[Any]):
    views = SavedViewSerializer(many=True)


class ViewNameSerializer(Input):
    name = StrictCharField(max_length=MAX_NAME)


class NewViewSerializer(ViewNameSerializer):
    query = StrictCharField(
        max_length=MAX_QUERY,
        allow_blank=True,
        help_text="A query string of the list of dialogues: its filters, “sort”, and “column” for a key of metadata.",
    )
    shared = StrictBooleanField(default=False, help_text="Whether every member sees it; for administrators.")


class SavedViews(APIView):
    """The shared views of the project and your own; POST to save one."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: SavedViewsSerializer, 404: NOT_FOUND}, operation_id="saved_views_list")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        views = saved_views.list_views(actor=actor(request), project=project)
        return Response(SavedViewsSerializer({"views": views}).data)

    @extend_schema(
        request=NewViewSerializer, responses={201: UsableViewSerializer, **REFUSALS}, operation_id="saved_views_save"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Save a view. A name that you, or for shared views the project, already have is refused with 409."""
        project = load_project(actor=actor(request), slug=slug)
        sent = read_fields(NewViewSerializer, request)
        if sent["shared"]:
            require_administrator(actor=actor(request), project=project)
        query = QueryDict(sent.pop("query"))
        refuse_unknown_names(query, saved_views.SAVED)
        saved_views.reader_of(actor=actor(request), project=project, stages=lambda: stage_titles(project))(query)
        kept = saved_views.clean_query(query, saved_views.SAVED)
        view = saved_views.save_view(actor=actor(request), project=project, query=kept, **sent)
        return Response(_shown(view, request), status=status.HTTP_201_CREATED)


class SavedViewDetail(APIView):
    """One view."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: UsableViewSerializer, 404: NOT_FOUND}, operation_id="saved_views_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(_shown(_view(request, slug, public_id), request))

    @extend_schema(
        request=ViewNameSerializer,
        responses={200: UsableViewSerializer, **REFUSALS},
        operation_id="saved_views_rename",
    )
    def patch(self, request: Request, slug: str, public_id: str) -> Response:
        """Rename a view; a shared one is renamed by administrators."""
        view = _view(request, slug, public_id)
        sent = read_fields(ViewNameSerializer, request)
        renamed = saved_views.rename_view(actor=actor(request), view=view, name=sent["name"])
        return Response(_shown(renamed, request))

    @extend_schema(
        request=None,
        responses={204: OpenApiResponse(description="Deleted."), **REFUSALS},
        operation_id="saved_views_delete",
    )
    def delete(self, request: Request, slug: str, public_id: str) -> Response:
        """Delete a view; a shared one is deleted by administrators."""
        saved_views.delete_view(actor=actor(request), view=_view(request, slug, public_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _view(request: Request, slug: str, public_id: str) -> SavedView:
    project = load_project(actor=actor(request), slug=slug)
    return saved_views.load_view(actor=actor(request), project=project, public_id=public_id)


def _shown(view: Any, request: Request) -> Any:
    project = view.project
    read = saved_views.reader_of(actor=actor(request), project=project, stages=lambda: stage_titles(project))
    view.usable, view.left_out = saved_views.usable_query(view.query, saved_views.SAVED, read)
    return UsableViewSerializer(view).data
