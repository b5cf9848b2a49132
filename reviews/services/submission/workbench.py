"""What the page of one claimed slot shows: the draft, its findings, and the form of the review."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.core.comparison import differ_in_remainder_only
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Conflict
from annotator.models import Dialogue, Draft, Finding, Revision, User
from annotator.presentation.dialogue import DialogueView
from annotator.presentation.document import present
from annotator.services.access.permissions import roles_in
from annotator.services.custom_fields import fields_of
from annotator.services.database.compiled import compiled
from annotator.services.dialogues.addressed import findings_for, is_note_for_administrators
from annotator.services.dialogues.drafts import open_draft
from annotator.services.dialogues.executions import execution_of
from annotator.services.dialogues.revisions import as_stored
from annotator.services.dialogues.variant_comparison import untranslated_findings
from annotator.services.dialogues.variants import variants_of
from reviews.core.protocols import Outcome, Stage
from reviews.models import Review, ReviewDraft, Slot, SlotState, StageRun
from reviews.services.queue.slot_work import Work, load_slot_work
from reviews.services.submission.review_forms import read_form
from reviews.services.submission.waivers import check_for_stage, live_waivers


@dataclass
class Workbench:
    """One person's work on one slot. Content, findings and form are loaded when first used."""

    actor: User
    work: Work
    draft: Draft

    @cached_property
    def document(self) -> dict[str, Any]:
        """Return the draft's content."""
        return self.draft.document()

    @cached_property
    def toolset(self) -> CompiledToolset:
        """Return the tools that the draft may call."""
        return CompiledToolset.of(self.draft.toolset_revision.content)

    @cached_property
    def view(self) -> DialogueView:
        """Return the draft as pages show it, with its findings."""
        project = self.work.slot.project
        findings = check_for_stage(
            self.document,
            self.draft.toolset_revision,
            project=project,
            stage=self.stage,
            seen=self.work.slot.revision,
        )
        if any(map(is_note_for_administrators, findings)):
            findings = findings_for(roles_in(project, self.actor), findings)
        waived = live_waivers(actor=self.actor, dialogue=self.dialogue, blind=self.work.blind)
        return present(
            self.document,
            [*findings, *self._untranslated()],
            waived,
            execution=execution_of(self.document, self.toolset),
            fields=fields_of(self.work.slot.project),
        )

    def _untranslated(self) -> list[Finding]:
        """Return notes about texts that are still those of a variant in another language; they block nothing."""
        variants = variants_of(actor=self.actor, dialogue=self.dialogue)
        return untranslated_findings(dialogue=self.dialogue, variants=variants, document=self.document, severity="info")

    @cached_property
    def kept(self) -> ReviewDraft:
        """Return the stored form of the review."""
        return read_form(actor=self.actor, work=self.work)

    @property
    def form(self) -> dict[str, Any]:
        """Return the reason, checklist, named errors and rulings filled in so far."""
        form: dict[str, Any] = {"reason": "", "checklist": {}, "notes": {}, "named_errors": [], "rulings": {}}
        form |= self.kept.form
        return form

    @cached_property
    def sent_back(self) -> list[Review]:
        """Return the reviews of the later stage that sent the item back here; none in a blind stage."""
        slot = self.work.slot
        if self.work.blind or slot.round == 1:
            return []
        before = StageRun.objects.filter(cycle=slot.cycle_id, pk__lt=slot.stage_run_id).order_by("pk").last()
        if before is None or before.outcome != Outcome.BACK_TO_AUTHOR:
            return []
        reviews = Review.objects.visible_to(self.actor).filter(stage_run=before).order_by("slot__index")
        return list(reviews.select_related("person", "made_revision"))

    @property
    def dialogue(self) -> Dialogue:
        return self.work.slot.dialogue

    @property
    def stage(self) -> Stage:
        return self.work.stage

    @property
    def disputed(self) -> bool:
        """Return whether this slot settles a dispute."""
        return self.work.slot.stage_run.disputed_run is not None

    @cached_property
    def changed(self) -> bool:
        """Return whether the draft, as it would be stored, differs from the revision under review."""
        seen = self.work.slot.revision
        if self.draft.content_hash() == seen.content_hash:
            return False
        # Storing may undo edits of the native record only.
        return not differ_in_remainder_only(seen.document(), self.document) or (
            as_stored(self.document, seen) != seen.content
        )

    @property
    def outdated(self) -> bool:
        """Return whether the draft is based on a revision other than the one it has to be submitted on."""
        return self.draft.base_id != (self.work.slot.revision_id if self.work.blind else self.dialogue.head_id)

    @property
    def onto(self) -> Revision:
        """Return the revision to merge an outdated draft with: the newest; in a blind stage the one under review."""
        head = self.work.slot.revision if self.work.blind else self.dialogue.head
        assert head is not None  # noqa: S101 - a dialogue under review has a head
        return head

    @property
    def blocking(self) -> list[Any]:
        """Return the findings that have to be fixed or waived before an approval."""
        return [f for f in self.view.findings if f.blocks]


def open_workbench(*, actor: User, slot_id: str) -> Workbench:
    """Return the actor's work on a slot they have claimed; create its draft if needed. Raises Hidden or Conflict."""
    work = load_slot_work(actor=actor, public_id=slot_id)
    slot = work.slot

    def left() -> list[str]:
        """Return the branches of the actor's cancelled slots: if the stage restarted, their drafts move to this one."""
        if not work.blind:
            return []
        return [f"slot-{key}" for key in _cancelled_slots(slot.dialogue_id, slot.stage, actor.pk)]

    draft = open_draft(actor=actor, dialogue=slot.dialogue, base=slot.revision, branch=work.branch, left=left)
    return Workbench(actor=actor, work=work, draft=draft)


@compiled
def _cancelled_slots(dialogue_id: int, stage: str, person_id: int) -> QuerySet[Slot, str]:
    gone = Slot.objects.filter(dialogue=dialogue_id, stage=stage, state=SlotState.CANCELLED)
    return gone.filter(claims__person=person_id).values_list("public_id", flat=True)


class DraftChanged(Conflict):
    """Another window has changed the draft."""


def require_draft_version(draft: Draft, seen: int) -> None:
    """Refuse to submit a draft that was changed since ``seen``. Raises DraftChanged."""
    if draft.version != seen:
        raise DraftChanged(_("The draft was changed in another window. Check it, then submit again."))
