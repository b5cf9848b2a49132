"""Merge the record of a known dialogue with what people have made of the dialogue since its last import."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from annotator.core.comparison import describe, diff, differ_in_remainder_only
from annotator.core.comparison.merging import Conflict as MergeConflict
from annotator.core.comparison.revising import aligned_record, merge_record
from annotator.core.schema import SchemaProblem, canonical, read_document
from annotator.core.schema.exact_json import dumps, load_stored
from annotator.models import Dialogue, Revision
from annotator.services.dialogues.revisions import check_settings
from benchmark.core.formats import ReadDialogue
from benchmark.core.formats.outdated_remainder import forget_outdated
from benchmark.models import ImportBatch
from benchmark.services.imports.preparing import PreparedDialogue, Preparer, Setup, TookTooLong, patience

#: Places that a sentence names, and characters of a value in it.
_NAMED, _VALUE = 5, 60


@dataclass(slots=True)
class Merged:
    """``dialogue``: the merged content; None if nothing is to change, or if there are conflicts.

    ``places``: what the record changes, in words.
    """

    dialogue: PreparedDialogue | None = None
    places: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


class Merger:
    """Merges the records of one import. ``tools_of``: the canonical text of a toolset, by hash."""

    def __init__(self, batch: ImportBatch, tools_of: Callable[[str], str]) -> None:
        self._batch = batch
        self._tools_of = tools_of

    @cached_property
    def _preparer(self) -> Preparer:
        return Preparer(Setup(self._batch.native_format, check_settings(self._batch.project)))

    def merge(self, dialogue_id: int, record: PreparedDialogue) -> Merged | None:
        """Return the result of a merge; None if there is no earlier record to compare with, or if it takes too long."""
        revisions = Revision.objects.filter(dialogue=dialogue_id, sealed=False).select_related("toolset_revision")
        same = {"content_hash": record.content_hash, "toolset_revision__content_hash": record.toolset}
        if revisions.filter(batch=None, **same).exists():
            # The record is an earlier version of what people made, for example from a release.
            return Merged()
        imported = revisions.filter(batch__isnull=False).select_related("merged_record__toolset_revision")
        last = imported.order_by("-number").first()
        head = revisions.filter(pk__in=Dialogue.objects.filter(pk=dialogue_id).values("head")).first()
        if last is None or head is None:
            return None
        try:
            with patience():
                return self._merge(last, head, record)
        except TookTooLong:
            return None

    def _merge(self, last: Revision, head: Revision, record: PreparedDialogue) -> Merged | None:
        said = getattr(last, "merged_record", None)
        base = load_stored(said.text) if said is not None else last.document()
        ours, theirs = head.document(), load_stored(record.content)
        if not base["kind"] == ours["kind"] == theirs["kind"]:
            return None
        theirs = aligned_record(base, ours, theirs)
        result = merge_record(base, ours, theirs, at_conflicts=self._batch.at_conflicts)
        conflicts = [_conflict_words(one, ours) for one in result.conflicts]
        base_tools = (said or last).toolset_revision.content_hash
        tools = head.toolset_revision.content_hash
        if record.toolset != base_tools:
            if tools not in (base_tools, record.toolset) and not self._batch.at_conflicts:
                conflicts.append("the tools")
            elif tools == base_tools or self._batch.at_conflicts == "theirs":
                tools = record.toolset
        if conflicts:
            return Merged(conflicts=conflicts)
        same_tools = tools == head.toolset_revision.content_hash
        if same_tools and differ_in_remainder_only(ours, result.document):
            return Merged()
        document = forget_outdated(forget_outdated(result.document, ours), theirs)
        try:
            document = read_document(document)
        except SchemaProblem:
            # Each side is valid, but not both together.
            return None
        places = list(dict.fromkeys(describe(document, one.anchor) or one.anchor for one in diff(ours, document)))
        if not same_tools:
            places.append("the tools")
        content = load_stored(self._tools_of(tools))
        read = ReadDialogue(
            record.external_id, document.get("language") or "", record.variant_group, document, content["tools"],
            record.warnings, implementation=content.get("implementation"),
        )  # fmt: skip
        # Either toolset is known: the dialogue's is stored, and the record's was prepared with the record.
        merged = self._preparer.describe(read, {})
        merged = replace(merged, native_line=record.native_line, merged=(canonical(theirs), record))
        return Merged(merged, places[:_NAMED] + ([f"{len(places) - _NAMED} more"] if len(places) > _NAMED else []))


def _conflict_words(conflict: MergeConflict, document: dict[str, object]) -> str:
    place = describe(document, conflict.anchor) or conflict.anchor
    return f"{place} (people: {_shown(conflict.mine)}, record: {_shown(conflict.theirs)})"


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    text = dumps(value).decode()
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"
