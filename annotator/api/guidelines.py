"""The versions of a project's guideline for programs."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Guideline
from annotator.services.access.permissions import load_project
from annotator.services.projects import MAX_GUIDELINE, load_guideline, publish_guideline


class GuidelineSerializer(serializers.ModelSerializer[Guideline]):
    """A version of the guideline, without its text."""

    author = serializers.CharField(source="author.public_id", default=None, allow_null=True)

    class Meta:
        model = Guideline
        fields = ["number", "note", "author", "created_at"]


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
