"""What people have done on dialogues that an import would revise, and what the import says of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from annotator.models import Dialogue, Draft, JobState, Revision
from annotator.models.content import DialogueStatus
from benchmark.models import ImportBatch, ImportNote
from benchmark.services.imports.merging import Merged
from benchmark.services.imports.report import REOPENED, WORKED_ON
from reviews.models import Review

REVIEWED, VERIFIED = "has been reviewed", "is verified"
SETTLED = (REVIEWED, VERIFIED)


@dataclass(slots=True, frozen=True)
class WorkedOn:
    """A dialogue that people have worked on. ``named``: a dry run of the file has listed it; ``stage``: the title of
    the stage in which its review would start again, blank in a project without a protocol.
    """

    external_id: str
    what: str
    batch: ImportBatch
    named: bool
    stage: str

    def refusal(self, merged: Merged | None) -> str:
        """Return why the dialogue is not changed, with what the record would change; blank if it may be."""
        changes = f" The record changes {', '.join(merged.places)}." if merged is not None else ""
        if not self.batch.reopen:
            return (
                f"{self.external_id} {self.what}, so it was not changed.{changes} To change and reopen it"
                f"{self._there}, import with “reopen” as well."
            )
        if not (self.named or self.batch.dry_run):
            return (
                f"{self.external_id} {self.what}, but no dry run of this file has listed it. Do a dry "
                "run first and check the list."
            )
        return ""

    @property
    def settled(self) -> bool:
        """Whether it is reviewed or verified, so that a change reopens what was decided."""
        return self.what in SETTLED

    @property
    def _there(self) -> str:
        return f" at the stage “{self.stage}”" if self.stage else ""

    def reopened(self, merged: Merged | None) -> str:
        verb = "would be" if self.batch.dry_run else "is"
        if merged is not None:
            return (
                f"{self.external_id} {self.what}; it {verb} reopened{self._there}, because the record changes "
                f"{', '.join(merged.places)}. What people entered in other places stays."
            )
        return (
            f"{self.external_id} {self.what}; it {verb} reopened: labels, dependencies and "
            f"everything else are replaced by those of the record, and its review starts again{self._there}. "
            "Earlier revisions and reviews stay in its history."
        )


def work_done_on(keys: Iterable[int]) -> dict[int, str]:
    """Return what people have done on dialogues, by key, as words that follow the dialogue's name; untouched ones are
    left out.
    """
    keys = list(keys)
    drafts = Draft.objects.filter(dialogue__in=keys, closed_at=None, version__gt=0)
    # A revision that no import added, including sealed ones of blind stages.
    edited = Revision.objects.filter(dialogue__in=keys, parent__isnull=False, batch=None)
    reviewed = Review.objects.filter(dialogue__in=keys)
    verified = Dialogue.objects.filter(pk__in=keys, status=DialogueStatus.VERIFIED)
    return (
        dict.fromkeys(drafts.values_list("dialogue_id", flat=True), "is being edited")
        | dict.fromkeys(edited.values_list("dialogue_id", flat=True), "was edited")
        | dict.fromkeys(reviewed.values_list("dialogue_id", flat=True), REVIEWED)
        | dict.fromkeys(verified.values_list("pk", flat=True), VERIFIED)
    )


def settled_work_on(keys: Iterable[int]) -> dict[int, str]:
    """Return ``work_done_on`` of dialogues that are reviewed or verified."""
    return {key: what for key, what in work_done_on(keys).items() if what in SETTLED}


def named_before(batch: ImportBatch, external_ids: Iterable[str]) -> frozenset[str]:
    """Return the dialogues among these that a dry run of the same file has listed as worked on."""
    dry_runs = ImportBatch.objects.filter(
        project=batch.project,
        sha256=batch.sha256,
        native_format=batch.native_format,
        dry_run=True,
        revise=True,
        mapping=batch.mapping,
        suggest_dependencies=batch.suggest_dependencies,
        at_conflicts=batch.at_conflicts,
        reopen_at=batch.reopen_at,
        job__state=JobState.DONE,
    )
    notes = ImportNote.objects.filter(
        batch__in=dry_runs, check_id__in=[WORKED_ON, REOPENED], external_id__in=list(external_ids)
    )
    return frozenset(notes.values_list("external_id", flat=True))
