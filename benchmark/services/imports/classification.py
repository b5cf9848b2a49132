"""Classify each record of a chunk as new, revised, unchanged or rejected, with the reason. Reads only."""

from collections.abc import Callable, Sequence

from django.db.models.functions import Coalesce, Now

from annotator.models import Dialogue, Job, Revision, StoredSuggestion
from annotator.services.access.blindness import blind_to
from annotator.services.dialogues.suggestions import MAX_OF_DIALOGUE
from benchmark.models import ImportBatch
from benchmark.services.imports.first_seen import FirstSeen
from benchmark.services.imports.merging import Merger
from benchmark.services.imports.outcome import Known, Outcome
from benchmark.services.imports.preparing import PreparedDialogue, PreparedRecord
from benchmark.services.imports.reopening import reopening_titles
from benchmark.services.imports.report import (
    CONFLICT,
    KEPT,
    MERGED,
    NOTES_PER_RECORD,
    OTHER_FORMAT,
    REOPENED,
    REPLACED,
    SUGGESTION,
    WORKED_ON,
    Note,
)
from benchmark.services.imports.worked_on import SETTLED, WorkedOn, named_before, work_done_on
from benchmark.services.releases.items import released_as
from reviews.models import Claim, ClaimState, Cycle, CycleState, Review
from reviews.services.cycles.start import claimed_message, reviewed_message


class Sorter:
    """Classifies the records of one import."""

    def __init__(self, batch: ImportBatch, job: Job, tools_of: Callable[[str], str]) -> None:
        """``tools_of``: the canonical text of a toolset, by hash."""
        self._batch = batch
        self._job = job
        self._merger = Merger(batch, tools_of)
        self._stages = reopening_titles(batch)
        self._seen = FirstSeen() if batch.dry_run else None
        #: Of the current chunk: dialogues (by key) that the requester reviews blind, and the suggestions there are.
        self._blind: set[int] = set()
        self._suggested: dict[int, set[tuple[str, str]]] = {}

    def close(self) -> None:
        """Close the resources of this run."""
        if self._seen is not None:
            self._seen.close()

    def sort(self, records: Sequence[PreparedRecord | Note]) -> Outcome:
        """Classify records; the items may also be errors in the file's lines."""
        read = [record for record in records if isinstance(record, PreparedRecord)]
        known = self._look_up([dialogue.external_id for record in read for dialogue in record.dialogues])
        if self._batch.revise:
            self._look_for_people({one.pk: (name, one) for name, one in known.items() if one.pending is None})
        self._look_for_releases(read, known)
        self._look_for_suggestions(read, known)
        outcome = Outcome()
        here: dict[str, tuple[str, str]] = {}
        for record in records:
            if isinstance(record, Note):
                outcome.notes.append(record)
                outcome.rejected += record.rejects
                continue
            outcome.rejected += bool(record.problems)
            for problem in record.problems:
                outcome.note(record, problem.pointer, "import.unreadable", "error", problem.message, rejects=True)
            for problem in record.suggestion_problems[:NOTES_PER_RECORD]:
                outcome.note(record, problem.pointer, SUGGESTION, "warning", problem.message)
            other_language = _other_language(record, known)
            for dialogue in record.dialogues:
                name, content = dialogue.external_id, dialogue.hashes
                if name in here:
                    outcome.double(record, dialogue, same=here[name] == content)
                    continue
                here[name] = content
                if other_language:
                    outcome.reject(record, dialogue, "import.language", other_language)
                else:
                    self._place(outcome, record, dialogue, known.get(name))
        if self._seen is not None:
            self._seen.add((name, " ".join(content)) for name, content in here.items())
        return outcome

    def _place(self, outcome: Outcome, record: PreparedRecord, dialogue: PreparedDialogue, found: Known | None) -> None:
        """Decide what happens to one dialogue."""
        content = dialogue.hashes
        if found is None:
            outcome.new.append(dialogue)
            outcome.accept(record, dialogue)
        elif found.pending is not None:
            outcome.double(record, dialogue, same=found.pending == content)
        elif found.published and content in (found.content, found.last, (found.released, found.content[1])):
            # Another import may still roll back what it has written, so that does not count yet.
            outcome.unchanged += 1
            self._suggest(outcome, record, dialogue, found)
            if self._batch.revise and self._batch.dry_run:
                outcome.note(record, "/id", KEPT, "info", f"{dialogue.external_id} is unchanged.", dialogue=dialogue)
            outcome.group_stays(record, dialogue, found)
        else:
            self._revise(outcome, record, dialogue, found)

    def _suggest(self, outcome: Outcome, record: PreparedRecord, dialogue: PreparedDialogue, found: Known) -> None:
        """Store the suggestions of a known dialogue, unless the requester could learn from them what others decided."""
        if not dialogue.suggestions:
            return
        name, sentence = dialogue.external_id, ""
        held = self._suggested.get(found.pk, set())
        if found.pk in self._blind:
            sentence = (
                f"You review {name} in a blind stage, so its suggestions were left out. Import them when the stage has "
                "ended."
            )
        elif len(held | {(one.place, one.source) for one in dialogue.suggestions}) > MAX_OF_DIALOGUE:
            sentence = (
                f"{name} would have more than {MAX_OF_DIALOGUE:,} suggestions. Those of the record were left out."
            )
        if sentence:
            outcome.note(record, "/suggestions", SUGGESTION, "warning", sentence, dialogue=dialogue)
        else:
            outcome.suggested.append((found.pk, dialogue))

    def _look_for_suggestions(self, records: Sequence[PreparedRecord], known: dict[str, Known]) -> None:
        """Note which suggestions the known dialogues of these records have, and which of them the requester reviews
        blind.
        """
        keys = [
            known[one.external_id].pk
            for record in records
            for one in record.dialogues
            if one.suggestions and one.external_id in known
        ]
        actor = self._batch.requester
        self._blind = blind_to(actor=actor, dialogues=keys) if actor is not None else set()
        self._suggested = {}
        there = StoredSuggestion.objects.filter(dialogue__in=keys, published=True)
        for pk, place, source in there.values_list("dialogue_id", "place", "source") if keys else ():
            self._suggested.setdefault(pk, set()).add((place, source))

    def _revise(self, outcome: Outcome, record: PreparedRecord, dialogue: PreparedDialogue, found: Known) -> None:
        """Decide what happens to a known dialogue whose record has changed."""
        merged = None
        if self._batch.revise and found.published and not found.archived and (found.worked_on or found.refusal):
            merged = self._merger.merge(found.pk, dialogue)
        if merged is not None and merged.conflicts:
            sentence = (
                f"People and the record changed {dialogue.external_id} in the same places: "
                f"{'; '.join(merged.conflicts)}. It was not changed. "
                + ("Change the record." if self._batch.at_conflicts else "Choose whose values to take at conflicts.")
            )
            outcome.reject(record, dialogue, CONFLICT, sentence)
        elif merged is not None and merged.dialogue is None:
            outcome.unchanged += 1
            self._suggest(outcome, record, dialogue, found)
            sentence = (
                f"{dialogue.external_id} stays as it is: people have made the record’s changes, or replaced them."
            )
            outcome.note(record, "/id", KEPT, "info", sentence, dialogue=dialogue)
        elif reason := self._refusal(found, dialogue):
            outcome.reject(record, dialogue, "import.conflict", reason)
        else:
            work, chosen = found.worked_on, (merged and merged.dialogue) or dialogue
            needs_consent = work is not None and (work.settled or merged is None)
            if work is not None and needs_consent and (refusal := work.refusal(merged)):
                outcome.reject(record, dialogue, WORKED_ON, refusal)
                return
            if work is not None and needs_consent:
                outcome.note(record, "/id", REOPENED, "warning", work.reopened(merged), dialogue=dialogue)
            elif work is not None and merged is not None:
                sentence = (
                    f"{dialogue.external_id} {work.what}; the record’s changes are merged: {', '.join(merged.places)}."
                )
                outcome.note(record, "/id", MERGED, "info", sentence, dialogue=dialogue)
            elif self._batch.dry_run:
                sentence = f"{dialogue.external_id} would be replaced by the record. No one has worked on it."
                outcome.note(record, "/id", REPLACED, "info", sentence, dialogue=dialogue)
            if found.native_format not in ("", self._batch.native_format):
                sentence = (
                    f"{dialogue.external_id} was imported as {found.native_format}, but the record is "
                    f"{self._batch.native_format}. If it is another dialogue, give the record its own id."
                )
                outcome.note(record, "/id", OTHER_FORMAT, "warning", sentence, dialogue=dialogue)
            outcome.revised.append((found.pk, chosen))
            self._suggest(outcome, record, dialogue, found)
            outcome.group_stays(record, dialogue, found)
            outcome.accept(record, chosen)

    def _look_up(self, incoming: list[str]) -> dict[str, Known]:
        """Return the dialogues with these ids, and what was imported into them."""
        rows = Dialogue.objects.filter(project=self._batch.project, external_id__in=incoming).counted().values_list(
            "external_id", "pk", "batch_id", "published", "archived_at", "content_hash",
            "head__toolset_revision__content_hash", "variant_group", "language", "native_format",
        )  # fmt: skip
        known = {
            name: Known(
                pk, batch_id, published, archived_at is not None, (content_hash, toolset), group, language, source
            )
            for name, pk, batch_id, published, archived_at, content_hash, toolset, group, language, source in rows
        }
        by_key = {one.pk: one for one in known.values()}
        for one in known.values():
            if one.batch_id == self._job.pk:
                one.pending = one.content
        if any(one.pending is None for one in known.values()):
            imported = Revision.objects.filter(dialogue_id__in=by_key, batch__isnull=False).order_by("pk")
            # Of a merge, what its record said.
            imported = imported.annotate(
                said=Coalesce("merged_record__content_hash", "content_hash"),
                tools=Coalesce("merged_record__toolset_revision__content_hash", "toolset_revision__content_hash"),
            )
            for dialogue_id, batch_id, sealed, content_hash, toolset in imported.values_list(
                "dialogue_id", "batch_id", "sealed", "said", "tools"
            ):
                if batch_id == self._job.pk:
                    by_key[dialogue_id].pending = (content_hash, toolset)
                elif not sealed:
                    by_key[dialogue_id].last = (content_hash, toolset)
        for name, content in self._seen.find(incoming).items() if self._seen is not None else ():
            content_hash, toolset = content.split()
            one = known.setdefault(name, Known(-len(known) - 1, None, True, False, ("", "")))
            one.pending = (content_hash, toolset)
        return known

    def _look_for_releases(self, records: Sequence[PreparedRecord], known: dict[str, Known]) -> None:
        """Note the content that a release would write for the dialogues of records that come from one."""
        groups = []
        for record in records if known else ():
            there = [(known[one.external_id], one) for one in record.dialogues if one.external_id in known]
            if record.released and any(found.content[0] != one.content_hash for found, one in there):
                groups.append([found.pk for found, _ in there])
        if groups:
            released = released_as(self._batch.native_format, groups)
            for one in known.values():
                one.released = released.get(one.pk)

    def _look_for_people(self, asked: dict[int, tuple[str, Known]]) -> None:
        """Note why dialogues cannot be revised now, and what people have done on the others."""
        if not asked:
            return
        active = Cycle.objects.filter(dialogue__in=asked, state=CycleState.ACTIVE)
        claimed = Claim.objects.filter(slot__cycle__in=active, state=ClaimState.LIVE, expires_at__gt=Now())
        reviewed = Review.objects.filter(stage_run__cycle__in=active)
        for pk in reviewed.values_list("dialogue_id", flat=True):
            name, one = asked[pk]
            one.refusal = (
                f"{reviewed_message(name)} A dry run then lists it, and “reopen” revises it. To import "
                "the record now, give it its own id."
            )
        for pk in claimed.values_list("slot__dialogue_id", flat=True):
            name, one = asked[pk]
            one.refusal = claimed_message(name)
        free = {pk: name for pk, (name, one) in asked.items() if not one.refusal}
        named = named_before(self._batch, free.values()) if self._batch.reopen and free else frozenset()
        for pk, what in (work_done_on(free) if free else {}).items():
            name, one = asked[pk]
            stage = self._stages[what in SETTLED]
            one.worked_on = WorkedOn(name, what, self._batch, named=name in named, stage=stage)

    def _refusal(self, found: Known, dialogue: PreparedDialogue) -> str:
        named = f"The project already has a dialogue “{dialogue.external_id}”"
        if not found.published:
            return f"{named} from another import that is not finished. Wait until it ends, then try again."
        if not self._batch.revise:
            return (
                f"{named} with different content. Import with “revise” to make this its next "
                "revision, or give the record its own id."
            )
        if found.archived:
            return f"{named}, which is archived and was not changed. Give the record its own id."
        return found.refusal


def _other_language(record: PreparedRecord, known: dict[str, Known]) -> str:
    """Return why a record is rejected as a whole: the project has a dialogue of its ids in another language, which
    would be replaced or duplicated. Blank if not.
    """
    for dialogue in record.dialogues:
        name, language = dialogue.external_id, dialogue.language
        found = known.get(name)
        if found is None or not found.published or found.pending is not None:
            continue
        if not language or found.language in ("", language):
            continue
        last = found.last[0] if found.last is not None else ""
        if dialogue.content_hash not in (found.content[0], last, found.released):
            return (
                f"The project has “{name}” in the language {found.language}, but the record has it "
                f"in {language}. An import cannot change a dialogue’s language. To add {language} as "
                f"a variant, import a record with both languages in which the {found.language} dialogue has the id "
                f"“{name}”. In the format neutral, import a record with its own id and the variant group "
                f"“{found.group or name}”."
            )
    return ""
