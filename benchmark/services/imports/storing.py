"""The rows of a chunk: new dialogues and next revisions of known ones, hidden until the import ends."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils import timezone

from annotator.models import Dialogue, Job, Project, Revision, Toolset, ToolsetRevision
from annotator.models.keys import new_public_ids
from annotator.services.database import bulk_insert
from annotator.services.dialogues.creation import write_dialogues
from annotator.services.dialogues.revisions import latest_guideline
from annotator.services.dialogues.suggestions import hold_suggestions
from benchmark.models import ImportBatch, MergedRecord, NativeLine
from benchmark.services.imports.preparing import NewToolset, PreparedDialogue
from reviews.services.cycles.start import begin_cycles
from reviews.services.protocols.versions import current_version

_NAMED_TOOLS = 3


class Storage:
    """Writes what one import adds, in the caller's transactions."""

    def __init__(self, batch: ImportBatch, job: Job) -> None:
        self._batch = batch
        self._job = job
        guideline = latest_guideline(batch.project)
        self._guideline_id = guideline.pk if guideline else None
        #: Without a protocol, dialogues stay candidates until one is adopted.
        self._reviewed = current_version(batch.project) is not None
        self.toolsets = ToolsetStore(batch.project)

    def write(
        self,
        new: Sequence[PreparedDialogue],
        revised: Sequence[tuple[int, PreparedDialogue]],
        suggested: Sequence[tuple[int, PreparedDialogue]] = (),
    ) -> None:
        """Write new dialogues, and revisions of those with these keys. ``suggested``: known dialogues by key, with the
        suggestions to store.
        """
        dialogues = [*new, *(dialogue for _, dialogue in revised)]
        keys = self.toolsets.keys([dialogue.toolset for dialogue in dialogues])
        for dialogue in dialogues:
            dialogue.toolset_revision_id = keys[dialogue.toolset]
        written = write_dialogues(
            actor=self._batch.requester,
            project=self._batch.project,
            rows=new,
            native_format=self._batch.native_format,
            batch=self._job,
            published=False,
            guideline_id=self._guideline_id,
        )
        if self._reviewed:
            begin_cycles(actor=self._batch.requester, project=self._batch.project, dialogues=written, hidden=True)
        self._keep_lines(zip((one.revision_id for one in written), new, strict=True))
        if revised:
            self._hold_revisions(revised)
        given = [(one.dialogue_id, dialogue) for one, dialogue in zip(written, new, strict=True)] + list(suggested)
        found = [(key, one.external_id, one.suggestions) for key, one in given if one.suggestions]
        if found:
            hold_suggestions(project=self._batch.project, batch=self._job, given=found)

    def _hold_revisions(self, revised: Sequence[tuple[int, PreparedDialogue]]) -> None:
        """Write the next revisions of dialogues, sealed until the import publishes."""
        heads = dict(Dialogue.objects.filter(pk__in=[pk for pk, _ in revised]).values_list("pk", "head_id"))
        revision_ids = bulk_insert.allocate_ids(Revision, len(revised))
        bulk_insert.insert_rows(
            Revision,
            ("id", "public_id", "dialogue_id", "parent_id", "toolset_revision_id", "content_hash", "content"),
            [
                (
                    revision_id, public_id, pk, heads[pk], dialogue.toolset_revision_id, dialogue.content_hash,
                    dialogue.content,
                )
                for revision_id, public_id, (pk, dialogue) in zip(
                    revision_ids, new_public_ids(len(revised)), revised, strict=True
                )
            ],
            constants={
                "number": None, "sealed": True, "batch_id": self._job.pk, "guideline_id": self._guideline_id,
                "message": "Imported", "created_at": timezone.now(),
            },
        )  # fmt: skip
        self._keep_lines((key, dialogue) for key, (_, dialogue) in zip(revision_ids, revised, strict=True))
        merged = [(key, one.merged) for key, (_, one) in zip(revision_ids, revised, strict=True) if one.merged]
        tools = self.toolsets.keys([record.toolset for _, (_, record) in merged])
        bulk_insert.insert_rows(
            MergedRecord,
            ("revision_id", "content_hash", "toolset_revision_id", "text"),
            [(key, record.content_hash, tools[record.toolset], text) for key, (text, record) in merged],
        )

    def _keep_lines(self, imported: Iterable[tuple[int, PreparedDialogue]]) -> None:
        """Store the lines of dialogues, by the keys of their revisions.

        A language variant has no line of its own if another one has the record's.
        """
        bulk_insert.insert_rows(
            NativeLine,
            ("revision_id", "text"),
            [(pk, dialogue.native_line) for pk, dialogue in imported if dialogue.native_line is not None],
            constants={"native_format": self._batch.native_format},
        )


class ToolsetStore:
    """Knows the toolsets of one import by hash: their content until they are stored, then their keys."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._contents: dict[str, NewToolset] = {}
        self._keys: dict[str, int] = {}

    def learn(self, toolsets: Mapping[str, NewToolset]) -> None:
        """Remember toolsets by hash."""
        self._contents.update({found: told for found, told in toolsets.items() if found not in self._keys})

    def text(self, found: str) -> str:
        """Return the canonical text of a toolset of the project or of this import."""
        if found in self._contents:
            return self._contents[found].content
        return ToolsetRevision.objects.values_list("content", flat=True).get(project=self._project, content_hash=found)

    def committed(self) -> None:
        """Keep only the keys, since the rows are committed."""
        for found in self._contents.keys() & self._keys.keys():
            del self._contents[found]

    def forget_keys(self) -> None:
        """Forget the keys after a rollback, and look everything up again."""
        self._keys.clear()

    def keys(self, hashes: Sequence[str]) -> dict[str, int]:
        """Return the keys of these toolsets' revisions; new ones are written."""
        wanted = set(hashes)
        missing = [found for found in dict.fromkeys(hashes) if found not in self._keys]
        if missing:
            known = ToolsetRevision.objects.filter(project=self._project, content_hash__in=missing)
            self._keys.update(known.values_list("content_hash", "pk"))
            self._write([found for found in missing if found not in self._keys])
        return {found: self._keys[found] for found in wanted}

    def _write(self, hashes: list[str]) -> None:
        if not hashes:
            return
        now = timezone.now()
        toolset_ids = bulk_insert.allocate_ids(Toolset, len(hashes))
        revision_ids = bulk_insert.allocate_ids(ToolsetRevision, len(hashes))
        bulk_insert.insert_rows(
            Toolset,
            ("id", "public_id", "name", "head_id"),
            [
                (key, public_id, _name(found, self._contents[found].names), head)
                for key, public_id, found, head in zip(
                    toolset_ids, new_public_ids(len(hashes)), hashes, revision_ids, strict=True
                )
            ],
            constants={"project_id": self._project.pk, "created_at": now},
        )
        contents = [self._contents[found] for found in hashes]
        bulk_insert.insert_rows(
            ToolsetRevision,
            ("id", "toolset_id", "tool_count", "facts", "content_hash", "content"),
            [
                (key, toolset_id, len(one.names), bulk_insert.as_json(one.facts), found, one.content)
                for key, toolset_id, found, one in zip(revision_ids, toolset_ids, hashes, contents, strict=True)
            ],
            constants={"project_id": self._project.pk, "number": 1, "created_at": now},
        )
        self._keys.update(zip(hashes, revision_ids, strict=True))


def _name(found: str, names: list[str]) -> str:
    """Return the name of an imported toolset: its first tools; the hash distinguishes it from others."""
    first = ", ".join(names[:_NAMED_TOOLS]) or "No tools"
    more = f" and {len(names) - _NAMED_TOOLS} more" if len(names) > _NAMED_TOOLS else ""
    return f"{first[:80]}{more} ({found[:8]})"
