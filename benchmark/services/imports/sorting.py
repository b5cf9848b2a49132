"""What becomes of each record of a chunk: new, revised, unchanged or rejected, and why. Reads, writes nothing."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Now

from annotator.models import Dialogue, Draft, Job, JobState, Revision
from annotator.models.content import DialogueStatus
from benchmark.models import ImportBatch, ImportNote
from benchmark.services.imports.preparing import PreparedDialogue, PreparedRecord
from benchmark.services.imports.report import NOTES_PER_RECORD, REOPENED, WORKED_ON, Note
from benchmark.services.releases.items import released_as
from reviews.models import Claim, ClaimState, Cycle, CycleState, Review
from reviews.services.cycles.start import at_work_on, under_review

GROUP_STAYS = "import.variant_group"


@dataclass(slots=True)
class Outcome:
    """What a chunk's records come to."""

    new: list[PreparedDialogue] = field(default_factory=list)
    #: Pairs (dialogue's key, what is to be its next revision).
    revised: list[tuple[int, PreparedDialogue]] = field(default_factory=list)
    unchanged: int = 0
    rejected: int = 0
    with_errors: int = 0
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class _Known:
    """A dialogue of the project that has the id of an incoming one."""

    pk: int
    batch_id: int | None
    published: bool
    archived: bool
    #: (content hash, toolset hash) of the head.
    content: tuple[str, str]
    group: str = ""
    language: str = ""


@dataclass(slots=True, frozen=True)
class _WorkedOn:
    """A dialogue that people have worked on. ``named``: a dry run of the file has said so."""

    external_id: str
    what: str
    batch: ImportBatch
    named: bool

    @property
    def refusal(self) -> str:
        if not self.batch.reopen:
            return (
                f"{self.external_id} {self.what}, so it stays as it is. To reopen it from this record, import with "
                "“reopen” as well."
            )
        if not (self.named or self.batch.dry_run):
            return f"{self.external_id} {self.what}, and no dry run of this file has named it; do one, and look at it."
        return ""

    @property
    def reopened(self) -> str:
        verb = "would be" if self.batch.dry_run else "is"
        return (
            f"{self.external_id} {self.what}; it {verb} reopened: labels, dependencies and all else are those of the "
            "record, and its review starts again. The earlier versions and reviews stay in its history."
        )


def work_done_on(keys: Iterable[int]) -> dict[int, str]:
    """What people have done on dialogues, by key, in words that follow the dialogue's name; none where nothing is."""
    keys = list(keys)
    drafts = Draft.objects.filter(dialogue__in=keys, closed_at=None, version__gt=0)
    # A version that no import brought in, sealed ones of blind stages included.
    edited = Revision.objects.filter(dialogue__in=keys, parent__isnull=False, batch=None)
    reviewed = Review.objects.filter(dialogue__in=keys)
    verified = Dialogue.objects.filter(pk__in=keys, status=DialogueStatus.VERIFIED)
    return (
        dict.fromkeys(drafts.values_list("dialogue_id", flat=True), "is being edited")
        | dict.fromkeys(edited.values_list("dialogue_id", flat=True), "was edited by hand")
        | dict.fromkeys(reviewed.values_list("dialogue_id", flat=True), "has been reviewed")
        | dict.fromkeys(verified.values_list("pk", flat=True), "is verified")
    )


def named_before(batch: ImportBatch, external_ids: Iterable[str]) -> frozenset[str]:
    """Those of the dialogues that a dry run of the same file has named as worked on."""
    dry_runs = ImportBatch.objects.filter(
        project=batch.project,
        sha256=batch.sha256,
        native_format=batch.native_format,
        dry_run=True,
        revise=True,
        job__state=JobState.DONE,
    )
    notes = ImportNote.objects.filter(
        batch__in=dry_runs, check_id__in=[WORKED_ON, REOPENED], external_id__in=list(external_ids)
    )
    return frozenset(notes.values_list("external_id", flat=True))


class FirstSeen:
    """The ids a dry run has met, with their content: in a file that vanishes, so that memory stays constant."""

    def __init__(self) -> None:
        self._table = sqlite3.connect("")
        self._table.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID")

    def find(self, ids: Sequence[str]) -> dict[str, str]:
        """id → content, for those met before."""
        marks = ",".join("?" * len(ids))
        rows = self._table.execute(f"SELECT id, content FROM seen WHERE id IN ({marks})", ids)  # noqa: S608 - marks only
        return dict(rows.fetchall())

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Remember (id, content) pairs."""
        self._table.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?)", pairs)

    def close(self) -> None:
        self._table.close()


class Sorter:
    """Sorts the records of one import."""

    def __init__(self, batch: ImportBatch, job: Job) -> None:
        self._batch = batch
        self._job = job
        self._seen = FirstSeen() if batch.dry_run else None

    def close(self) -> None:
        """Give up what only this run needs."""
        if self._seen is not None:
            self._seen.close()

    def sort(self, records: Sequence[PreparedRecord | Note]) -> Outcome:
        """Sort records; notes among them are faults of the file's lines."""
        incoming = [d.external_id for r in records if isinstance(r, PreparedRecord) for d in r.dialogues]
        known, last, pending = self._look_up(incoming)
        refusals = self._refusals(known, pending)
        worked = self._worked_on(known, pending, refusals)
        released = self._released(records, known)
        outcome = Outcome()
        here: dict[str, tuple[str, str]] = {}
        for record in records:
            if isinstance(record, Note):
                outcome.notes.append(record)
                outcome.rejected += record.rejects
                continue
            if record.problems:
                outcome.rejected += 1
                outcome.notes += [
                    _note(record, problem.pointer, "import.unreadable", "error", problem.message, rejects=True)
                    for problem in record.problems
                ]
            other_language = self._other_language(record, known, pending, (last, released))
            for dialogue in record.dialogues:
                content = dialogue.hashes
                external_id = dialogue.external_id
                if external_id in here:
                    self._double(outcome, record, dialogue, same=here[external_id] == content)
                    continue
                here[external_id] = content
                found = known.get(external_id)
                if other_language:
                    self._reject(outcome, record, dialogue, "import.language", other_language)
                elif found is None:
                    outcome.new.append(dialogue)
                    self._accepted(outcome, record, dialogue)
                elif found.pk in pending:
                    self._double(outcome, record, dialogue, same=pending[found.pk] == content)
                elif found.published and self._same(dialogue, found, last, released):
                    # What another import may yet take back is not there.
                    outcome.unchanged += 1
                    self._group_stays(outcome, record, dialogue, found)
                elif reason := self._refusal(found, dialogue, refusals):
                    self._reject(outcome, record, dialogue, "import.conflict", reason)
                elif found.pk in worked and (reason := worked[found.pk].refusal):
                    self._reject(outcome, record, dialogue, WORKED_ON, reason)
                else:
                    if found.pk in worked:
                        sentence = worked[found.pk].reopened
                        outcome.notes.append(
                            _note(record, "/id", REOPENED, "warning", sentence, external_id=external_id)
                        )
                    outcome.revised.append((found.pk, dialogue))
                    self._group_stays(outcome, record, dialogue, found)
                    self._accepted(outcome, record, dialogue)
        if self._seen is not None:
            self._seen.add((external_id, " ".join(content)) for external_id, content in here.items())
        return outcome

    def _same(
        self,
        dialogue: PreparedDialogue,
        found: _Known,
        last: dict[int, tuple[str, str]],
        released: dict[int, str],
    ) -> bool:
        """Whether a record brings what is there, what was imported last, or what a release makes of what is there."""
        there = (found.content, last.get(found.pk), (released.get(found.pk), found.content[1]))
        return dialogue.hashes in there

    def _look_up(
        self, incoming: list[str]
    ) -> tuple[dict[str, _Known], dict[int, tuple[str, str]], dict[int, tuple[str, str]]]:
        """Dialogues that have these ids; by key, what was imported into them last, and what this import has brought."""
        rows = Dialogue.objects.filter(project=self._batch.project, external_id__in=incoming).counted().values_list(
            "external_id", "pk", "batch_id", "published", "archived_at", "content_hash",
            "head__toolset_revision__content_hash", "variant_group", "language",
        )  # fmt: skip
        known = {
            external_id: _Known(pk, batch_id, published, archived_at is not None, (content_hash, toolset), *rest)
            for external_id, pk, batch_id, published, archived_at, content_hash, toolset, *rest in rows
        }
        pending = {found.pk: found.content for found in known.values() if found.batch_id == self._job.pk}
        last: dict[int, tuple[str, str]] = {}
        if len(known) > len(pending):
            imported = Revision.objects.filter(
                dialogue_id__in=[found.pk for found in known.values()], batch__isnull=False
            ).order_by("pk")
            for dialogue_id, batch_id, sealed, content_hash, toolset in imported.values_list(
                "dialogue_id", "batch_id", "sealed", "content_hash", "toolset_revision__content_hash"
            ):
                if batch_id == self._job.pk:
                    pending[dialogue_id] = (content_hash, toolset)
                elif not sealed:
                    last[dialogue_id] = (content_hash, toolset)
        if self._seen is not None:
            for external_id, content in self._seen.find(incoming).items():
                content_hash, toolset = content.split()
                found = known.get(external_id) or _Known(-len(known) - 1, None, True, False, ("", ""))
                known[external_id] = found
                pending[found.pk] = (content_hash, toolset)
        return known, last, pending

    def _released(self, records: Sequence[PreparedRecord | Note], known: dict[str, _Known]) -> dict[int, str]:
        """What a release would make of the dialogues that records of one speak of: their content, by key."""
        groups = []
        for record in records:
            if isinstance(record, PreparedRecord) and record.released:
                there = [(known.get(one.external_id), one.content_hash) for one in record.dialogues]
                if any(found is not None and found.content[0] != content for found, content in there):
                    groups.append([found.pk for found, _ in there if found is not None])
        return released_as(self._batch.native_format, groups) if groups else {}

    def _refusals(self, known: dict[str, _Known], pending: dict[int, Any]) -> dict[int, str]:
        """Why dialogues may not be revised now, by key."""
        asked = {found.pk: external_id for external_id, found in known.items() if found.pk not in pending}
        if not self._batch.revise or not asked:
            return {}
        active = Cycle.objects.filter(dialogue__in=asked, state=CycleState.ACTIVE)
        claimed = Claim.objects.filter(slot__cycle__in=active, state=ClaimState.LIVE, expires_at__gt=Now())
        reviewed = Review.objects.filter(stage_run__cycle__in=active)
        return {
            pk: f"{under_review(asked[pk])} A dry run then names it, and “reopen” revises it. To have the record now, "
            "give it an id of its own."
            for pk in reviewed.values_list("dialogue_id", flat=True)
        } | {pk: at_work_on(asked[pk]) for pk in claimed.values_list("slot__dialogue_id", flat=True)}

    def _worked_on(
        self, known: dict[str, _Known], pending: dict[int, Any], refusals: dict[int, str]
    ) -> dict[int, "_WorkedOn"]:
        """What people have made of dialogues that would be revised, by key."""
        asked = {
            found.pk: external_id
            for external_id, found in known.items()
            if found.pk not in pending and found.pk not in refusals
        }
        if not self._batch.revise or not asked:
            return {}
        named = named_before(self._batch, asked.values()) if self._batch.reopen else frozenset()
        return {
            pk: _WorkedOn(asked[pk], what, self._batch, named=asked[pk] in named)
            for pk, what in work_done_on(asked).items()
        }

    def _refusal(self, found: _Known, dialogue: PreparedDialogue, refusals: dict[int, str]) -> str:
        named = f"The project has a dialogue “{dialogue.external_id}”"
        if not found.published:
            return f"{named} that another import, not finished yet, is bringing in. Wait for its end, then try again."
        if not self._batch.revise:
            return (
                f"{named} with other content. Import with “revise” to make this its next revision, or give the record "
                "an id of its own."
            )
        if found.archived:
            return f"{named} that is archived, so it stays as it is; give the record an id of its own."
        return refusals.get(found.pk, "")

    def _other_language(
        self,
        record: PreparedRecord,
        known: dict[str, _Known],
        pending: dict[int, tuple[str, str]],
        before: tuple[dict[int, tuple[str, str]], dict[int, str]],
    ) -> str:
        """Why a record stays out as a whole: the project has a dialogue of its ids in another language, which would be
        replaced, or be there twice. Blank where that is not so. ``before``: what was imported last, or released.
        """
        last, released = before
        for dialogue in record.dialogues:
            name, language = dialogue.external_id, dialogue.language
            found = known.get(name)
            if found is None or not found.published or found.pk in pending:
                continue
            if not language or found.language in ("", language):
                continue
            there = (found.content[0], last.get(found.pk, ("",))[0], released.get(found.pk))
            if dialogue.content_hash not in there:
                return (
                    f"The project has “{name}” in the language {found.language}, and the record has it in {language}. "
                    f"An import changes no dialogue’s language. To add {language} as a variant, import a record that "
                    f"holds both, with {found.language} as “{name}”; in the format neutral, one with an id of its own "
                    f"and the variant group “{found.group or name}”."
                )
        return ""

    def _group_stays(self, outcome: Outcome, record: PreparedRecord, dialogue: PreparedDialogue, found: _Known) -> None:
        """Say where a record puts a dialogue into another variant group than the project has it in."""
        name, group = dialogue.external_id, dialogue.variant_group
        # A record of one language says nothing of groups. Alone so far: publishing lets it join its record's variants.
        if group in ("", found.group) or (group == name and not found.group):
            return
        has = f"the variant group “{found.group}”" if found.group else "no variant group"
        sentence = (
            f"The project has “{name}” in {has}, and the record puts it in the variant group “{group}”. It stays where "
            "it is; give its variants the group it is in, or import all of them under ids of their own."
        )
        outcome.notes.append(_note(record, "/variant_group", GROUP_STAYS, "warning", sentence, external_id=name))

    def _double(self, outcome: Outcome, record: PreparedRecord, dialogue: PreparedDialogue, *, same: bool) -> None:
        named = f"The id “{dialogue.external_id}” stands twice in this file"
        if same:
            outcome.unchanged += 1
            outcome.notes.append(
                _note(record, "/id", "import.duplicate", "warning", f"{named}, the content is the same; taken once.")
            )
        else:
            sentence = f"{named} with different content; the first one was taken. Give this one an id of its own."
            self._reject(outcome, record, dialogue, "import.duplicate", sentence)

    def _reject(
        self, outcome: Outcome, record: PreparedRecord, dialogue: PreparedDialogue, check: str, sentence: str
    ) -> None:
        outcome.rejected += 1
        outcome.notes.append(
            _note(record, "/id", check, "error", sentence, rejects=True, external_id=dialogue.external_id)
        )

    def _accepted(self, outcome: Outcome, record: PreparedRecord, dialogue: PreparedDialogue) -> None:
        """Report what the reader and the checks have to say of a dialogue that comes in."""
        external_id = dialogue.external_id
        findings = dialogue.findings
        outcome.with_errors += any(finding.severity == "error" for finding in findings)
        notes = [
            _note(record, warning.pointer, "import.reading", "warning", warning.message, external_id=external_id)
            for warning in dialogue.warnings
        ]
        notes += [
            _note(record, one.anchor, one.check, one.severity, one.message, external_id=external_id) for one in findings
        ]
        if len(notes) > NOTES_PER_RECORD:
            left = len(notes) - NOTES_PER_RECORD
            notes = notes[:NOTES_PER_RECORD]
            notes.append(_note(record, "", "import.more", "info", f"{left} more findings; see the dialogue."))
        outcome.notes += notes


def _note(
    record: PreparedRecord,
    pointer: str,
    check: str,
    severity: str,
    message: str,
    *,
    rejects: bool = False,
    external_id: str = "",
) -> Note:
    return Note(
        record.line, record.member, external_id or record.external_id, pointer, check, severity, message, rejects
    )
