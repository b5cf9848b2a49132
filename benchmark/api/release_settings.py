"""What a project says about its releases, for programs: licence, authors, citation and texts."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Project
from benchmark.core.archives.description import LICENCES, OWN_LICENCE, author_lines
from benchmark.services.releases import settings

_TEXT: dict[str, Any] = {"required": False, "allow_blank": True, "default": "", "max_length": settings.MAX_TEXT}


class ReleaseSettingsSerializer(Input):
    """What the next release says; a text that is left out is empty."""

    seen = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="The number of the settings that these start from; 0: none."
    )
    licence = serializers.ChoiceField(choices=["", *LICENCES, OWN_LICENCE], required=False, default="")
    licence_text = StrictCharField(**_TEXT, help_text="Only for the licence “own”.")
    authors = StrictCharField(**_TEXT, help_text="One a line: Family name, given name; ORCID iD; affiliation.")
    citation = StrictCharField(**_TEXT, help_text="BibTeX. If empty, it is made from the name, authors and version.")
    limits = StrictCharField(**_TEXT, help_text="What the data does not cover, and must not be used for.")
    demographics = StrictCharField(**_TEXT, help_text="Who reviewed the dialogues.")


def _answer(project: Project) -> Response:
    found, number = settings.read_settings(project=project)
    return Response(
        ReleaseSettingsSerializer(asdict(found) | {"authors": author_lines(found.authors), "seen": number}).data
    )


class ReleaseSettings(APIView):
    """The licence, the authors and the texts of the releases from now on."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: ReleaseSettingsSerializer, 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="release_settings_read",
    )
    def get(self, request: Request, slug: str) -> Response:
        return _answer(administered_project(request, slug))

    @extend_schema(
        request=ReleaseSettingsSerializer,
        responses={200: ReleaseSettingsSerializer, **REFUSALS},
        operation_id="release_settings_set",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Replace all of them. Releases that are frozen already stay as they are."""
        project = administered_project(request, slug)
        settings.change_settings(
            actor=actor(request), project=project, **read_fields(ReleaseSettingsSerializer, request)
        )
        return _answer(project)
