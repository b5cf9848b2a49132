"""The settings of a project for programs."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedDictField, Input, StrictCharField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Project
from annotator.services.projects import SEVERITIES, change_project, settings_of

_RULES = list(Project._meta.get_field("long_range_rule").choices or ())
_CHECKS = "Id of a check → its severity, for the checks whose severity differs from the built-in one."


class _SeveritiesField(BoundedDictField):
    child = serializers.ChoiceField(choices=SEVERITIES)


class SettingsSerializer(Input):
    """The settings of a project."""

    name = StrictCharField(max_length=120)
    description = StrictCharField(max_length=2000, allow_blank=True)
    time_zone = StrictCharField(max_length=60, help_text="Statistics count days in it, such as Europe/Kyiv.")
    long_range_rule = serializers.ChoiceField(choices=_RULES)
    check_settings = _SeveritiesField(help_text=_CHECKS)


class SettingsChangeSerializer(Input):
    """What to change; a setting that is left out keeps its value."""

    name = StrictCharField(max_length=120, required=False)
    description = StrictCharField(max_length=2000, allow_blank=True, required=False)
    time_zone = StrictCharField(max_length=60, required=False)
    long_range_rule = serializers.ChoiceField(choices=_RULES, required=False)
    check_settings = _SeveritiesField(required=False, help_text=f"{_CHECKS} Replaces all of them.")
    seen = SettingsSerializer(
        required=False,
        help_text="The settings as you read them. If somebody else has changed one that you change, too, you get 409.",
    )


class ProjectSettings(APIView):
    """The settings of the project."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: SettingsSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="settings_read"
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(SettingsSerializer(settings_of(administered_project(request, slug))).data)

    @extend_schema(
        request=SettingsChangeSerializer,
        responses={200: SettingsSerializer, **REFUSALS},
        operation_id="settings_change",
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change settings. Changes of others to other settings are kept."""
        project = administered_project(request, slug)
        sent = read_fields(SettingsChangeSerializer, request)
        seen = sent.pop("seen", None) or settings_of(project)
        changed = change_project(actor=actor(request), project=project, seen=seen, **{**seen, **sent})
        return Response(SettingsSerializer(settings_of(changed)).data)
