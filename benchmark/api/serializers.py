"""Serializers of the API of imports and releases."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.inputs import Input, StrictBooleanField, StrictCharField
from annotator.api.serializers import JobStateSerializer
from benchmark.core.composing.drawing import SIZES, Kind
from benchmark.core.files.extensions import SHOWN
from benchmark.core.formats import FORMATS, WRITTEN
from benchmark.models import AtConflicts, ImportBatch, Release
from benchmark.services.imports.report_groups import count_by_check
from benchmark.services.releases.requests import VERSION

_MAPPING = (
    "With format: role → field of the records, for fields with other names. Roles are id, messages, tools, system, "
    "user and assistant."
)


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
class _MappingField(serializers.JSONField):
    """Role → field of a file. In a form, it is a JSON text."""


class _ImportOptionsSerializer(Input):
    """How to import a file."""

    mapping = _MappingField(required=False, help_text=_MAPPING)
    dry_run = serializers.BooleanField(default=False, help_text="Read, check and report, but save nothing.")
    revise = serializers.BooleanField(
        default=False, help_text="Merge records with known ids and new content into their dialogues."
    )
    reopen = serializers.BooleanField(
        default=False,
        help_text=(
            "With revise: also change reviewed and verified dialogues, if a dry run of this file has listed them."
        ),
    )
    reopen_at = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text=(
            "With revise: the key of the stage in which the review of reviewed and verified dialogues starts again. "
            "Without it, the first stage."
        ),
    )
    at_conflicts = serializers.ChoiceField(
        choices=AtConflicts.choices,
        required=False,
        help_text=(
            "With revise: whose value to take where people and the record changed the same place. Without it, such a "
            "dialogue is not changed."
        ),
    )
    suggest_dependencies = serializers.BooleanField(
        default=False,
        help_text="Store the records’ dependencies as suggestions, for people to accept or refuse.",
    )


class ImportInputSerializer(_ImportOptionsSerializer):
    """A file of candidates and how to import it."""

    file = serializers.FileField(allow_empty_file=True, help_text=f"A file that ends in one of: {SHOWN}.")
    format = serializers.ChoiceField(
        choices=list(FORMATS), required=False, help_text="The format of the records; without it, Assay recognises it."
    )
    preview = serializers.BooleanField(
        default=False, help_text="Only find out what the file has. “confirm” then imports it."
    )


class ConfirmInputSerializer(_ImportOptionsSerializer):
    """How to import the file of a preview."""

    format = serializers.ChoiceField(choices=list(FORMATS), help_text="The format of the records.")
    remember = serializers.BooleanField(
        default=False, help_text="Use the format and the mapping for the next files with the same fields."
    )
    preview = serializers.BooleanField(
        default=False, help_text="Only look at the file again, in this format and with this mapping."
    )


class RepeatInputSerializer(Input):
    """How to import a stored file again."""

    reopen = StrictBooleanField(
        default=False, allow_null=False,
        help_text="After a dry run: also change the reviewed and verified dialogues that it has listed.",
    )  # fmt: skip


class ComposeInputSerializer(Input):
    """What composites to draw from the project's verified single tasks."""

    kind = serializers.ChoiceField(
        choices=[kind.value for kind in Kind],
        help_text="similar: all tasks of one category; cross: each of a different one.",
    )
    size = serializers.ChoiceField(choices=SIZES, help_text="Tasks of each composite.")
    per_stratum = serializers.IntegerField(
        min_value=1, max_value=1_000, help_text="Composites of each category, or of each set of categories."
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, help_text="The same seed gives the same draw.")
    dry_run = StrictBooleanField(default=False, help_text="Count, but save nothing.")


class StratumSerializer(serializers.Serializer[Any]):
    """A stratum of a draw; missing: how many combinations it lacks of those asked for."""

    categories = serializers.ListField(child=serializers.CharField())
    combinations = serializers.IntegerField()
    missing = serializers.IntegerField(source="short")


class PairSerializer(serializers.Serializer[Any]):
    """Two categories, perhaps the same, and how many composites have a task of each."""

    categories = serializers.ListField(child=serializers.CharField())
    uses = serializers.IntegerField()


class CoverageSerializer(serializers.Serializer[Any]):
    """How often the project's composites use single tasks; unused ones count 0."""

    composites = serializers.IntegerField()
    uses = serializers.DictField(child=serializers.IntegerField(), help_text="By the id of the single task.")
    categories = serializers.DictField(child=serializers.IntegerField())
    pairs = PairSerializer(many=True)


class ComposeSerializer(serializers.Serializer[Any]):
    """A draw: the number of composites, the strata, how often each single task is then used, and the import."""

    composites = serializers.IntegerField()
    strata = StratumSerializer(many=True)
    uses = serializers.DictField(child=serializers.IntegerField())
    import_id = serializers.CharField(allow_null=True, help_text="The import that saves them; null for a dry run.")


class CheckCountSerializer(serializers.Serializer[Any]):
    """How many notes of one severity a check has in the report, and in how many dialogues."""

    check = serializers.CharField()
    severity = serializers.CharField(help_text="error, warning or info.")
    notes = serializers.IntegerField()
    dialogues = serializers.IntegerField(help_text="0 if the notes are about no dialogue, but about lines or files.")


class ImportSerializer(serializers.ModelSerializer[ImportBatch]):
    """An import: its file, its progress, the counts of its records."""

    format = serializers.CharField(source="native_format")
    job = JobStateSerializer()
    found = serializers.SerializerMethodField(
        help_text=(
            "Of a preview that has ended: the file's format, mapping, fields (columns), problems, warnings and first "
            "dialogues."
        )
    )

    @extend_schema_field({"type": "object", "nullable": True, "additionalProperties": {}})
    def get_found(self, batch: ImportBatch) -> dict[str, Any] | None:
        return (batch.job.result or None) if batch.preview else None

    checks = serializers.SerializerMethodField(
        help_text="The report’s notes by check, also while the import runs: errors first, then the most frequent."
    )

    @extend_schema_field(CheckCountSerializer(many=True))
    def get_checks(self, batch: ImportBatch) -> Any:
        return CheckCountSerializer(count_by_check(batch.job.checkpoint.get("notes", {})), many=True).data

    class Meta:
        model = ImportBatch
        fields = [
            "public_id", "filename", "format", "mapping", "bytes", "sha256", "dry_run", "revise", "reopen",
            "reopen_at", "at_conflicts", "suggest_dependencies", "preview", "found", "created_at", "job",
            "read", "created", "revised", "unchanged", "rejected", "with_errors", "suggestions",
            "checks",
        ]  # fmt: skip


@extend_schema_field({"type": "string", "pattern": f"^{VERSION.pattern}$"})
class _VersionField(StrictCharField):
    """The name of a release; ``start_release`` says what is wrong with an invalid one."""


class ReleaseInputSerializer(Input):
    """The input for freezing a release: its version, its format and its contents."""

    version = _VersionField(max_length=40, help_text="For example 1.0.")
    format = serializers.ChoiceField(choices=list(WRITTEN), help_text="The native format.")
    require_all = StrictBooleanField(default=False, help_text="Fail if anything would be left out.")
    leave_out_gold = StrictBooleanField(
        default=False,
        help_text=(
            "Leave out the answers of gold items in use. Otherwise the release makes them public, and these gold items "
            "are retired."
        ),
    )


class ReleaseSerializer(serializers.ModelSerializer[Release]):
    """A release: its contents and checksum."""

    format = serializers.CharField(source="native_format")
    left_out_count = serializers.SerializerMethodField(
        help_text="Null if you are not allowed to see what was left out."
    )
    job = JobStateSerializer()

    class Meta:
        model = Release
        fields = [
            "public_id", "version", "format", "state", "require_all", "item_count", "left_out_count", "archive_bytes",
            "sha256", "errata_count", "errata_head", "created_at", "frozen_at", "job",
        ]  # fmt: skip

    def get_left_out_count(self, release: Release) -> int | None:
        return release.left_out_count if self.context["oversees"] else None


class LeftOutDialogueSerializer(serializers.Serializer[Any]):
    """A dialogue that is not in a release."""

    dialogue = serializers.CharField(source="dialogue.public_id")
    external_id = serializers.CharField(source="dialogue.external_id")
    reason = serializers.CharField()
