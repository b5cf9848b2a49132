"""The versions of a project's guideline for programs."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Guideline, GuidelineAcceptance
from annotator.services.acceptance import accept_guideline, list_acceptances, require_acceptance
from annotator.services.access.permissions import load_project
from annotator.services.projects import MAX_GUIDELINE, load_guideline, publish_guideline


class GuidelineSerializer(serializers.ModelSerializer[Guideline]):
    """A version of the guideline, without its text."""

    author = serializers.CharField(source="author.public_id", default=None, allow_null=True)
    asks_again = serializers.SerializerMethodField(
        help_text="Whether people who accepted an earlier version have to accept this."
    )

    class Meta:
        model = Guideline
        fields = ["number", "note", "asks_again", "author", "created_at"]

    def get_asks_again(self, guideline: Guideline) -> bool:
        return bool(guideline.asks_again)


class GuidelineTextSerializer(GuidelineSerializer):
    """A version of the guideline with its text in Markdown."""

    class Meta(GuidelineSerializer.Meta):
        fields = [*GuidelineSerializer.Meta.fields, "text"]


class NewGuidelineSerializer(Input):
    text = StrictCharField(max_length=MAX_GUIDELINE, trim_whitespace=False, help_text="Markdown.")
    note = StrictCharField(max_length=200, required=False, allow_blank=True, default="", help_text="What changed.")
    seen = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="The number of the version that the text starts from; 0: none."
    )
    asks_again = StrictBooleanField(
        required=False, default=False, help_text="Whether people who accepted an earlier version have to accept this."
    )


class GuidelineAcceptanceSerializer(serializers.ModelSerializer[GuidelineAcceptance]):
    """A person has accepted a version of the guideline."""

    number = serializers.IntegerField(source="guideline.number")
    person = serializers.CharField(source="person.public_id")

    class Meta:
        model = GuidelineAcceptance
        fields = ["number", "person", "created_at"]


class AcceptedNumberSerializer(Input):
    number = serializers.IntegerField(min_value=1, max_value=2**31 - 1, help_text="The version that you have read.")


class AcceptanceSettingSerializer(Input):
    required = StrictBooleanField(  # type: ignore[assignment]
        help_text="Whether people must accept the guideline before they get work."
    )


class GuidelineCurrent(APIView):
    """The current guideline."""

    @extend_schema(responses={200: GuidelineTextSerializer, 404: NOT_FOUND}, operation_id="guideline_read")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(GuidelineTextSerializer(load_guideline(project=project, number="")).data)


class GuidelineVersions(APIView):
    """The versions of the guideline, oldest first; POST to publish the next one."""

    scope = Scope.ADMINISTER
    pagination_class = KeyPagination

    @extend_schema(
        responses={200: GuidelineSerializer(many=True), 404: NOT_FOUND}, operation_id="guideline_versions_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = Guideline.objects.filter(project=project).select_related("author").defer("text")
        return answer_page(self, request, rows, GuidelineSerializer)

    @extend_schema(
        request=NewGuidelineSerializer,
        responses={201: GuidelineTextSerializer, **REFUSALS},
        operation_id="guideline_versions_publish",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Publish a version. Repeating the same request changes nothing."""
        project = administered_project(request, slug)
        sent = read_fields(NewGuidelineSerializer, request)
        found = publish_guideline(actor=actor(request), project=project, **sent)
        return Response(GuidelineTextSerializer(found).data, status=status.HTTP_201_CREATED)


class GuidelineVersion(APIView):
    """One version of the guideline."""

    @extend_schema(responses={200: GuidelineTextSerializer, 404: NOT_FOUND}, operation_id="guideline_versions_read")
    def get(self, request: Request, slug: str, number: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(GuidelineTextSerializer(load_guideline(project=project, number=number)).data)


class GuidelineAcceptances(APIView):
    """Who accepted which version of the guideline, for administrators; POST to accept the current version yourself."""

    scope = Scope.ANNOTATE
    pagination_class = KeyPagination

    @extend_schema(
        responses={200: GuidelineAcceptanceSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="guideline_acceptances_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = list_acceptances(actor=actor(request), project=project)
        return answer_page(self, request, rows, GuidelineAcceptanceSerializer)

    @extend_schema(
        request=AcceptedNumberSerializer,
        responses={201: GuidelineAcceptanceSerializer, **REFUSALS},
        operation_id="guideline_acceptances_accept",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Accept the current version. Repeating the same request changes nothing."""
        project = load_project(actor=actor(request), slug=slug)
        sent = read_fields(AcceptedNumberSerializer, request)
        found = accept_guideline(actor=actor(request), project=project, number=sent["number"])
        return Response(GuidelineAcceptanceSerializer(found).data, status=status.HTTP_201_CREATED)


class GuidelineAcceptanceSetting(APIView):
    """Whether people must accept the guideline before they get work."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=AcceptanceSettingSerializer,
        responses={200: AcceptanceSettingSerializer, **REFUSALS},
        operation_id="guideline_acceptance_setting",
    )
    def post(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        sent = read_fields(AcceptanceSettingSerializer, request)
        project = require_acceptance(actor=actor(request), project=project, required=sent["required"])
        return Response({"required": bool(project.requires_acceptance)})
