"""Work that a new guideline makes outdated, for programs: preview, mark, send back, withdraw. For administrators."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.jobs import JobSerializer
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.views import REFUSALS, actor, administered_project
from annotator.core.schema.documents import Policy
from annotator.core.scopes import Scope
from annotator.models import Dialogue, GuidelineChange
from reviews.services.cycles import outdated

_READ = {status: REFUSALS[status] for status in (403, 404)}


def _keys(child: serializers.Field[Any, Any, Any, Any], **more: Any) -> BoundedListField:
    return BoundedListField(child=child, required=False, default=list, max_length=100, **more)


def _policies(**more: Any) -> BoundedListField:
    return _keys(serializers.ChoiceField([str(one) for one in Policy]), **more)


class GuidelineChangeSerializer(serializers.ModelSerializer[GuidelineChange]):
    """A statement that a version of the guideline outdates earlier work."""

    number = serializers.IntegerField(source="guideline.number", help_text="The version of the guideline.")
    policies = serializers.ListField(child=serializers.CharField())
    error_types = serializers.ListField(child=serializers.CharField())
    author = serializers.CharField(source="author.public_id")
    touched = serializers.IntegerField(help_text="Dialogues that it marked.")
    left = serializers.IntegerField(help_text="Dialogues that are still marked.")

    class Meta:
        model = GuidelineChange
        fields = ["public_id", "number", "policies", "error_types", "reason", "author", "created_at", "touched", "left"]


class ScopeSerializer(Input):
    """What a version makes outdated: dialogues with one of the policies or error types; all, if there are none."""

    number = serializers.IntegerField(min_value=1, max_value=2**31 - 1, help_text="The version of the guideline.")
    policies = _policies()
    error_types = _keys(StrictCharField(max_length=40), help_text="Error types of the protocol, found by a reviewer.")


class MarkSerializer(ScopeSerializer):
    reason = StrictCharField(max_length=500, help_text="What has changed. It is shown on every marked dialogue.")


class AffectedDialogueSerializer(serializers.ModelSerializer[Dialogue]):
    class Meta:
        model = Dialogue
        fields = ["public_id", "external_id"]


class AffectedSerializer(serializers.Serializer[Any]):
    """The dialogues that a change affects."""

    total = serializers.IntegerField()
    statuses = serializers.SerializerMethodField(help_text="Status → number of dialogues.")
    first = AffectedDialogueSerializer(many=True, help_text=f"At most {outdated.MAX_SHOWN} of them.")

    def get_statuses(self, preview: outdated.Preview) -> dict[str, int]:
        return {status.value: count for status, count in preview.statuses}


class GuidelineChangeDetailSerializer(GuidelineChangeSerializer):
    """A change, and what sending back would move now."""

    moving = AffectedSerializer(help_text="Dialogues that would start the protocol again.")

    class Meta(GuidelineChangeSerializer.Meta):
        fields = [*GuidelineChangeSerializer.Meta.fields, "moving"]


class WithdrawnSerializer(serializers.Serializer[Any]):
    withdrawn = serializers.IntegerField(help_text="Dialogues that are no longer marked.")


class GuidelineChanges(APIView):
    """The changes of the guideline that outdated work, oldest first; POST to mark dialogues."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Changes: those that were made since, and those that have fewer marks since."

    @extend_schema(
        responses={200: GuidelineChangeSerializer(many=True), **_READ}, operation_id="guideline_changes_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        rows = outdated.all_changes(actor=actor(request), project=project)
        return answer_page(self, request, rows, GuidelineChangeSerializer, outdated.changes_changed_since)

    @extend_schema(
        request=MarkSerializer,
        responses={201: GuidelineChangeDetailSerializer, **REFUSALS},
        operation_id="guideline_changes_mark",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Mark the dialogues that were reviewed under an earlier version. The same request again changes nothing."""
        project = administered_project(request, slug)
        sent = read_fields(MarkSerializer, request)
        reason = sent.pop("reason")
        scope = outdated.read_scope(project=project, **sent)
        change = outdated.mark_outdated(actor=actor(request), project=project, scope=scope, reason=reason)
        return Response(_shown(request, slug, change.public_id), status=status.HTTP_201_CREATED)


class GuidelineChangePreview(APIView):
    """What a version would make outdated."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=ScopeSerializer,
        responses={200: AffectedSerializer, **REFUSALS},
        operation_id="guideline_changes_preview",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Count the dialogues that a mark would affect. Nothing is stored."""
        project = administered_project(request, slug)
        scope = outdated.read_scope(project=project, **read_fields(ScopeSerializer, request))
        return Response(
            AffectedSerializer(outdated.preview_change(actor=actor(request), project=project, scope=scope)).data
        )


class GuidelineChangeDetail(APIView):
    """One change of the guideline."""

    @extend_schema(responses={200: GuidelineChangeDetailSerializer, **_READ}, operation_id="guideline_changes_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(_shown(request, slug, public_id))


class GuidelineChangeSendBack(APIView):
    """The restart of the marked dialogues."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={202: JobSerializer, **REFUSALS}, operation_id="guideline_changes_send_back")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Start the protocol again for the marked dialogues that nobody is working on, in the background."""
        project = administered_project(request, slug)
        change = outdated.load_change(actor=actor(request), project=project, public_id=public_id)
        job = outdated.start_send_back(actor=actor(request), project=project, change=change)
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class GuidelineChangeWithdraw(APIView):
    """The end of the marks of a change."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None, responses={200: WithdrawnSerializer, **REFUSALS}, operation_id="guideline_changes_withdraw"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Remove the marks that are left. The same request again changes nothing."""
        project = administered_project(request, slug)
        change = outdated.load_change(actor=actor(request), project=project, public_id=public_id)
        count = outdated.withdraw_change(actor=actor(request), project=project, change=change)
        return Response({"withdrawn": count})


def _shown(request: Request, slug: str, public_id: str) -> Any:
    project = administered_project(request, slug)
    change: Any = outdated.load_change(actor=actor(request), project=project, public_id=public_id)
    change.moving = outdated.preview_send_back(actor=actor(request), project=project, change=change)
    return GuidelineChangeDetailSerializer(change).data
