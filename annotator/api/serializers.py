"""Serializers of responses. Read-only; services write."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.schema import DOCUMENT_SCHEMA
from annotator.models import Dialogue, Finding, Project, Revision
from annotator.services.dialogues.addressed import findings_for


class ErrorSerializer(serializers.Serializer[Any]):
    """A refusal."""

    error = serializers.CharField()
    sentence = serializers.CharField()
    details = serializers.JSONField()


class JobStateSerializer(serializers.Serializer[Any]):
    """The progress of background work."""

    public_id = serializers.CharField(help_text="Of the job: administrators stop it at jobs/ID/cancel/.")
    state = serializers.ChoiceField(choices=["queued", "running", "done", "failed", "cancelled"])
    done = serializers.IntegerField(source="progress_done")
    total = serializers.IntegerField(source="progress_total", allow_null=True)
    error = serializers.CharField(help_text="Why it failed or was cancelled, as a sentence.")


class ProjectSerializer(serializers.ModelSerializer[Project]):
    class Meta:
        model = Project
        fields = [
            "public_id",
            "slug",
            "name",
            "description",
            "time_zone",
            "long_range_rule",
            "created_at",
            "archived_at",
        ]


class _Listed(serializers.Field[Any, Any, Any, Any]):
    """``,a,b,`` as ["a", "b"]; an empty part (not annotated) as null."""

    def to_representation(self, value: str) -> list[str | None]:
        return [part or None for part in value[1:-1].split(",")] if value else []


@extend_schema_field({"type": "array", "items": {"type": "string", "nullable": True}})
class ListedField(_Listed):
    pass


class DialogueSerializer(serializers.ModelSerializer[Dialogue]):
    """A dialogue with its status and labels."""

    policies = ListedField()
    topologies = ListedField()
    information = ListedField()
    owner = serializers.CharField(source="owner.public_id", default=None, allow_null=True)
    tags = serializers.ListField(
        source="tag_names",
        child=serializers.CharField(),
        help_text="Empty unless you oversee the project, and in dialogues that you review blind.",
    )

    class Meta:
        model = Dialogue
        fields = [
            "public_id",
            "external_id",
            "kind",
            "language",
            "variant_group",
            "status",
            "stage",
            "title",
            "policies",
            "topologies",
            "information",
            "task_count",
            "call_count",
            "switches",
            "error_count",
            "warning_count",
            "owner",
            "tags",
            "content_hash",
            "created_at",
            "updated_at",
        ]


class FindingSerializer(serializers.ModelSerializer[Finding]):
    check = serializers.CharField(source="check_id")

    class Meta:
        model = Finding
        fields = ["check", "severity", "anchor", "value_hash", "message"]


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """A revision without its content."""

    parent = serializers.CharField(source="parent.public_id", default=None, allow_null=True)  # type: ignore[assignment]
    author = serializers.CharField(source="author.public_id", default=None, allow_null=True)
    is_head = serializers.SerializerMethodField()

    class Meta:
        model = Revision
        fields = [
            "public_id",
            "number",
            "branch",
            "parent",
            "author",
            "message",
            "content_hash",
            "created_at",
            "is_head",
        ]

    def get_is_head(self, revision: Revision) -> bool:
        return bool(revision.pk == self.context.get("head_id"))


class RevisionContentSerializer(RevisionSerializer):
    """A revision with its document and tools."""

    document = serializers.SerializerMethodField()
    tools = serializers.SerializerMethodField()
    implementation = serializers.SerializerMethodField(help_text="The code of stateful tools; null for others.")

    class Meta(RevisionSerializer.Meta):
        fields = [*RevisionSerializer.Meta.fields, "document", "tools", "implementation"]

    @extend_schema_field(DOCUMENT_SCHEMA)
    def get_document(self, revision: Revision) -> dict[str, Any]:
        return revision.document()

    @extend_schema_field({"type": "array", "items": {"type": "object"}})
    def get_tools(self, revision: Revision) -> list[Any]:
        return revision.toolset_revision.tools()

    @extend_schema_field({"type": "object", "nullable": True})
    def get_implementation(self, revision: Revision) -> dict[str, Any] | None:
        return revision.toolset_revision.implementation()


class DialogueDetailSerializer(DialogueSerializer):
    """A dialogue with its head revision and findings."""

    head = serializers.SerializerMethodField()
    findings = serializers.SerializerMethodField()

    class Meta(DialogueSerializer.Meta):
        fields = [*DialogueSerializer.Meta.fields, "head", "findings"]

    @extend_schema_field(RevisionContentSerializer(allow_null=True))
    def get_head(self, dialogue: Dialogue) -> Any:
        if dialogue.head is None:
            return None
        return RevisionContentSerializer(dialogue.head, context={"head_id": dialogue.head_id}).data

    @extend_schema_field(FindingSerializer(many=True))
    def get_findings(self, dialogue: Dialogue) -> Any:
        # Findings about variants depend on other dialogues and are not stored.
        found = findings_for(self.context["roles"], dialogue.findings.order_by("pk"))
        return FindingSerializer([*found, *self.context.get("beside", ())], many=True).data


class ChangeSerializer(serializers.Serializer[Any]):
    """One difference between two revisions."""

    anchor = serializers.CharField()
    kind = serializers.ChoiceField(["added", "removed", "changed", "moved"])
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
