"""Examples for programs: list, read, mark and withdraw them."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.pagination import SINCE, KeysetPagination, answer_page
from annotator.api.schema import DOCUMENT_SCHEMA
from annotator.api.views import NOT_FOUND, REFUSALS, actor
from annotator.core.schema.documents import Policy
from annotator.core.scopes import Scope
from annotator.services.access.permissions import load_dialogue, load_project, require_role
from annotator.services.database.filters import one_of
from reviews.models import Example
from reviews.services.feedback import examples
from reviews.services.protocols.versions import stage_titles


def _keys(child: serializers.Field[Any, Any, Any, Any], **more: Any) -> BoundedListField:
    return BoundedListField(child=child, required=False, default=list, max_length=100, **more)


def _policies(**more: Any) -> BoundedListField:
    return _keys(serializers.ChoiceField([str(one) for one in Policy]), **more)


class ExampleSerializer(serializers.ModelSerializer[Example]):
    """An example, without its document."""

    dialogue = serializers.CharField(source="dialogue.public_id")
    external_id = serializers.CharField(source="dialogue.external_id")
    revision = serializers.CharField(source="revision.public_id")
    stages = serializers.ListField(child=serializers.CharField(), help_text="Where it is shown; empty: everywhere.")
    policies = serializers.ListField(child=serializers.CharField(), help_text="For which policies; empty: all.")
    author = serializers.CharField(source="author.public_id")
    withdrawn_by = serializers.CharField(source="withdrawn_by.public_id", default=None, allow_null=True)

    class Meta:
        model = Example
        fields = [
            "public_id", "dialogue", "external_id", "revision", "task", "comment", "stages", "policies", "author",
            "created_at", "withdrawn_by", "withdrawn_at",
        ]  # fmt: skip


class ExampleDocumentSerializer(ExampleSerializer):
    """An example with its document: the verified dialogue, or only the task that it is about."""

    document = serializers.SerializerMethodField()

    class Meta(ExampleSerializer.Meta):
        fields = [*ExampleSerializer.Meta.fields, "document"]

    @extend_schema_field(DOCUMENT_SCHEMA)
    def get_document(self, example: Example) -> dict[str, Any]:
        return examples.example_document(example)


class NewExampleSerializer(Input):
    dialogue = StrictCharField(max_length=12, help_text="The public id of a verified dialogue.")
    task = StrictCharField(
        max_length=100, required=False, allow_blank=True, default="", help_text="Id of a task; by default the whole."
    )
    comment = StrictCharField(max_length=examples.MAX_COMMENT, help_text="What it shows.")
    stages = _keys(StrictCharField(max_length=40), help_text="Keys of the stages in which it is shown; by default all.")
    policies = _policies(help_text="Policies for which it is shown; by default all.")


class Examples(APIView):
    """The examples in use, oldest first; POST to mark one."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Examples: with this, those that were withdrawn since are listed as well."

    @extend_schema(
        parameters=[
            OpenApiParameter("stage", description="Key of a stage: only examples that are shown in it."),
            OpenApiParameter(
                "policy", enum=[str(one) for one in Policy], description="Only examples that are shown for it."
            ),
        ],
        responses={200: ExampleSerializer(many=True), 404: NOT_FOUND},
        operation_id="examples_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = examples.all_examples(actor=actor(request), project=project)
        if not request.query_params.get(SINCE):
            rows = rows.filter(withdrawn_at=None)
        rows = examples.shown_for(
            rows,
            stage=one_of(request.query_params, "stage", lambda: stage_titles(project)),
            policy=one_of(request.query_params, "policy", [str(one) for one in Policy]),
        )
        return answer_page(self, request, rows, ExampleSerializer, examples.examples_changed_since)

    @extend_schema(
        request=NewExampleSerializer,
        responses={201: ExampleDocumentSerializer, **REFUSALS},
        operation_id="examples_mark",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Mark a verified dialogue, or a task of it. For administrators and senior reviewers.

        The same request again changes nothing.
        """
        project = load_project(actor=actor(request), slug=slug)
        require_role(actor=actor(request), project=project, roles=examples.MARKERS)
        sent = read_fields(NewExampleSerializer, request)
        dialogue = load_dialogue(actor=actor(request), project=project, public_id=sent.pop("dialogue"))
        made = examples.mark_example(actor=actor(request), project=project, dialogue=dialogue, **sent)
        return Response(ExampleDocumentSerializer(made).data, status=status.HTTP_201_CREATED)


class ExampleDetail(APIView):
    """One example, even a withdrawn one."""

    @extend_schema(responses={200: ExampleDocumentSerializer, 404: NOT_FOUND}, operation_id="examples_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        found = examples.load_example(actor=actor(request), project=project, public_id=public_id)
        return Response(ExampleDocumentSerializer(found).data)


class ExampleWithdraw(APIView):
    """The end of an example."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={200: ExampleSerializer, **REFUSALS}, operation_id="examples_withdraw")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Withdraw an example, so that nobody is shown it any more. For administrators and senior reviewers.

        The same request again changes nothing.
        """
        project = load_project(actor=actor(request), slug=slug)
        examples.withdraw_example(actor=actor(request), project=project, public_id=public_id)
        found = examples.load_example(actor=actor(request), project=project, public_id=public_id)
        return Response(ExampleSerializer(found).data)
