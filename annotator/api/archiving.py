"""Archiving and restoring a project, as its page does."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.serializers import ProjectSerializer
from annotator.api.views import REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services import archiving


class Archive(APIView):
    """A project that is archived."""

    scope = Scope.ADMINISTER
    in_archive = True

    @extend_schema(request=None, responses={200: ProjectSerializer, **REFUSALS}, operation_id="projects_archive")
    def post(self, request: Request, slug: str) -> Response:
        """Archive a project: it is out of lists and queues, and nothing in it changes until it is restored."""
        project = administered_project(request, slug)
        return Response(ProjectSerializer(archiving.archive_project(actor=actor(request), project=project)).data)


class Restore(APIView):
    """A project that is restored."""

    scope = Scope.ADMINISTER
    in_archive = True

    @extend_schema(request=None, responses={200: ProjectSerializer, **REFUSALS}, operation_id="projects_restore")
    def post(self, request: Request, slug: str) -> Response:
        """Restore an archived project as it was."""
        project = administered_project(request, slug)
        return Response(ProjectSerializer(archiving.restore_project(actor=actor(request), project=project)).data)
