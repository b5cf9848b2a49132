"""The assignment rules of a project for programs."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Project
from reviews.models import AssignmentRules
from reviews.services.queue.pauses import set_rules

_RULES = ("most_held", "absent_days")


class AssignmentRulesSerializer(Input):
    """The assignment rules; null: no limit. In a change, a rule that is left out keeps its value."""

    most_held = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=500,
        help_text="Items that a person may claim at once.",
    )
    absent_days = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=365, help_text="Days until a person counts as away."
    )


def _rules_of(project: Project) -> dict[str, int | None]:
    found = AssignmentRules.objects.filter(project=project).first()
    return {name: getattr(found, name) if found else None for name in _RULES}


class Rules(APIView):
    """The assignment rules of the project."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: AssignmentRulesSerializer, 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="assignment_rules_read",
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(AssignmentRulesSerializer(_rules_of(administered_project(request, slug))).data)

    @extend_schema(
        request=AssignmentRulesSerializer,
        responses={200: AssignmentRulesSerializer, **REFUSALS},
        operation_id="assignment_rules_change",
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change the rules that are sent."""
        project = administered_project(request, slug)
        sent = read_fields(AssignmentRulesSerializer, request)
        new = dict.fromkeys(_RULES) | sent
        keep = [name for name in _RULES if name not in sent]
        set_rules(actor=actor(request), project=project, keep=keep, **new)
        return Response(AssignmentRulesSerializer(_rules_of(project)).data)
