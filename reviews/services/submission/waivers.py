"""Findings before a submission, and waivers: reasons why a warning does not matter, which can be taken back."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.checks import Finding
from annotator.core.checks.of_runs import UNTRIED
from annotator.core.checks.validator import validator_anchor
from annotator.core.findings import keys_digest
from annotator.core.schema.canonical import shortened
from annotator.core.validators.matrix import REJECTS_REFERENCE
from annotator.core.validators.trial import Subject, subjects_of
from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Draft, Project, Revision, StepState, ToolsetRevision, User, Waiver
from annotator.services.database.compiled import compiled
from annotator.services.dialogues import drafts
from annotator.services.dialogues.drafts import Edited
from annotator.services.dialogues.revisions import check_document, hold_dialogue
from annotator.services.dialogues.trials import known_outcomes
from annotator.services.history.events import append_event
from reviews.core.protocols import Stage
from reviews.models import Slot
from reviews.services.protocols.versions import parse
from reviews.services.queue.slot_work import Work

MAX_REASON = 500
#: Waivers of one person on one dialogue. A common limit would reveal the waivers of others to a blind reviewer.
MAX_WAIVERS = 1000
#: Reasons that are offered again, and the waivers of the person among which they are searched.
MAX_OFFERED, MAX_SEARCHED = 8, 500
#: Shown instead of a colleague's reason in a blind stage.
HIDDEN_REASON = gettext_lazy("Waived by a colleague. You can see the reason when the stage ends.")

#: (check, anchor, hash of the value it is about)
Key = tuple[str, str, str]


def check_for_stage(
    document: dict[str, Any], toolset: ToolsetRevision, *, project: Project, stage: Stage, seen: Revision
) -> list[Finding]:
    """Return the findings before submission; ``seen``: the revision under review.

    Where a later stage checks the validators, their findings are only notes, except for those that the reviewer's own
    edit causes: a validator that accepted the answer of the revision under review and rejects the one of the document.
    That is a warning. It has to be tried first, so that this is known.
    """
    found = check_document(document, toolset, project=project, stage="submit")
    if not stage.validators_are_checked_later:
        return found
    accepted = _accepted_before_edit(document, seen)
    return [_as_note(one, accepted) if one.check.startswith("validator.") else one for one in found]


def _as_note(finding: Finding, accepted: frozenset[str]) -> Finding:
    if finding.anchor in accepted:
        if finding.check in UNTRIED:
            return finding
        if finding.check == "validator.matrix" and finding.message.endswith(REJECTS_REFERENCE):
            return replace(finding, severity="warning")
    return replace(finding, severity="info")


def _accepted_before_edit(document: dict[str, Any], seen: Revision) -> frozenset[str]:
    """Return the anchors of the validators that accepted the answer of the revision, if it or they have changed."""
    after = {one.constraint: _verdict_depends_on(one) for one in subjects_of(document)}
    edited = [one for one in subjects_of(seen.document()) if _verdict_depends_on(one) != after.get(one.constraint, ())]
    # Results are stored by content: this runs nothing.
    known = known_outcomes(edited)
    return frozenset(
        shortened(validator_anchor(one)) for one in edited if one.key in known and known[one.key].accepts_reference
    )


def _verdict_depends_on(one: Subject) -> tuple[Any, ...]:
    """Return what decides the verdict of a validator on the reference."""
    return one.reference, one.code, one.function, one.form, one.form_parameters


def live_waivers(*, actor: User, dialogue: Dialogue, blind: bool = False) -> dict[Key, str]:
    """Return the waivers of a dialogue that the actor may see, with their reasons.

    A waiver does not count for a finding with another value hash. ``blind``: hide the reasons of colleagues.
    """
    return {
        (check, anchor, value_hash): str(HIDDEN_REASON) if blind and author != actor.pk else reason
        for check, anchor, value_hash, reason, author in _unsealed(dialogue.pk, actor.pk)
    }


@compiled
def _unsealed(dialogue_id: int, actor_id: int) -> QuerySet[Waiver, Any]:
    given = Waiver.objects.in_effect().unsealed_for(actor_id).filter(dialogue=dialogue_id).order_by("pk")
    return given.values_list("check_id", "anchor", "value_hash", "reason", "author_id")


def waive(*, actor: User, work: Work, check: str, anchor: str, value_hash: str, reason: str) -> Waiver:
    """Waive a warning. In a blind stage nobody else sees it before the stage ends.

    The same reason twice, after a double click for example, makes one waiver. Raises Invalid without a reason, and
    above the limit.
    """
    return _write(actor, work.slot, [(check, anchor, value_hash)], _reason(reason))[0]


def waive_alike(*, actor: User, work: Work, keys: Sequence[Key], shown: str, reason: str) -> list[Waiver]:
    """Waive several warnings of one check with one reason.

    ``shown``: the ``keys_digest`` of the warnings that the person saw. Raises Conflict if they are others now, and what
    ``waive`` raises.
    """
    if keys_digest(keys) != shown:
        raise Conflict(_("These warnings have changed in the meantime. Look at them again, then waive them."))
    return _write(actor, work.slot, list(keys), _reason(reason))


def unwaive(*, actor: User, work: Work, check: str, anchor: str, value_hash: str) -> int:
    """Take back the waivers of a warning, which counts again from now on; return how many there were.

    The rows stay, and an event says what was taken back. Doing it twice changes nothing. In a blind stage a person
    takes back only what they waived in it: raises Denied for a waiver that colleagues see.
    """
    slot = work.slot
    key = {"check_id": check[:60], "anchor": anchor[:600], "value_hash": value_hash[:16]}
    with transaction.atomic():
        hold_dialogue(slot.dialogue_id)
        rows = list(Waiver.objects.in_effect().unsealed_for(actor).filter(dialogue=slot.dialogue, **key).order_by("pk"))
        if not rows:
            return 0
        if work.blind and not all(row.sealed for row in rows):
            raise Denied(
                _(
                    "This warning was waived before your stage began, and you review independently. Fix it, or say in "
                    "the reason of your review why it matters."
                )
            )
        Waiver.objects.filter(pk__in=[row.pk for row in rows]).update(withdrawn_at=timezone.now(), withdrawn_by=actor)
        append_event(
            actor=actor,
            project=slot.project,
            dialogue=slot.dialogue,
            kind="warning.unwaived",
            before={"check": check, "anchor": anchor, "reason": rows[-1].reason},
            sealed=work.blind,
        )
    return len(rows)


def last_waivers(*, actor: User, work: Work, draft: Draft) -> list[Waiver]:
    """Return the waivers that the actor gave at once after the last edit that is not undone; none if there are none."""
    latest = next(iter(_latest_waiver(work.slot.dialogue_id, actor.pk)), None)
    if latest is None:
        return []
    edits = draft.steps.filter(state=StepState.DONE).order_by("-version")
    last_edit = edits.values_list("created_at", flat=True).first()
    if latest.created_at <= (last_edit or draft.created_at):
        return []
    mine = Waiver.objects.in_effect().filter(dialogue=work.slot.dialogue, author=actor)
    return list(mine.filter(created_at=latest.created_at).order_by("pk"))


@compiled
def _latest_waiver(dialogue_id: int, author_id: int) -> QuerySet[Waiver]:
    mine = Waiver.objects.in_effect().filter(dialogue=dialogue_id, author=author_id)
    return mine.order_by("-created_at", "-pk")[:1]


def undo_waivers(*, actor: User, work: Work, draft: Draft, edit_id: str = "") -> Edited | None:
    """Take back the waivers that are the last thing the actor did; return None if that was an edit.

    Once for each ``edit_id``. Raises as ``unwaive``.
    """
    if not last_waivers(actor=actor, work=work, draft=draft):
        return None
    with transaction.atomic():
        hold_dialogue(work.slot.dialogue_id)
        given = last_waivers(actor=actor, work=work, draft=draft)
        if not given:
            return None
        moved = drafts.note_move(
            actor=actor, draft=draft, operation={"op": "unwaive", "anchor": given[0].anchor}, edit_id=edit_id
        )
        if moved is None:
            return None
        for one in given:
            unwaive(actor=actor, work=work, check=one.check_id, anchor=one.anchor, value_hash=one.value_hash)
    return moved


def earlier_reasons(*, actor: User, project: Project, checks: Collection[str]) -> list[str]:
    """Return the reasons that the actor gave most often for these checks in this project, at most ``MAX_OFFERED``.

    Only their own: the reasons of others could reveal what colleagues did in a blind stage.
    """
    if not checks:
        return []
    rows = Waiver.objects.filter(author=actor, dialogue__project=project, check_id__in=checks).order_by("-pk")
    given = Counter(rows.values_list("reason", flat=True)[:MAX_SEARCHED])
    return [reason for reason, _number in given.most_common(MAX_OFFERED)]


def waive_all(*, actor: User, slot: Slot, reason: str, document: dict[str, Any] | None = None) -> int:
    """Waive every warning about what will be submitted with one reason, and return their number.

    ``document``: as it will be submitted; without it, the revision under review. Raises Invalid without a reason.
    """
    reason = _reason(reason)
    dialogue, seen = slot.dialogue, slot.revision
    content = seen.document() if document is None else document
    stage = parse(slot.protocol).stage(slot.stage)
    found = check_for_stage(content, seen.toolset_revision, project=dialogue.project, stage=stage, seen=seen)
    waived = live_waivers(actor=actor, dialogue=dialogue)
    keys = [(one.check, one.anchor, one.value_hash) for one in found if one.severity == "warning"]
    wanted = [key for key in dict.fromkeys(keys) if key not in waived]
    _write(actor, slot, wanted, reason)
    return len(wanted)


def _reason(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise Invalid(_("Enter the reason why this warning doesn’t matter here."))
    if len(reason) > MAX_REASON or "\x00" in reason:
        raise Invalid(
            _("The reason may have at most %(limit)s characters and no NUL character.") % {"limit": MAX_REASON}
        )
    return reason


def _write(actor: User, slot: Slot, keys: Sequence[Key], reason: str) -> list[Waiver]:
    sealed = slot.stage_run.blind
    with transaction.atomic():
        # The lock serialises counting and writing.
        hold_dialogue(slot.dialogue_id)
        mine = Waiver.objects.filter(dialogue=slot.dialogue, author=actor)
        count, now = mine.count(), timezone.now()
        alike = mine.in_effect().filter(anchor__in=[anchor[:600] for _check, anchor, _hash in keys]).order_by("pk")
        latest = {(one.check_id, one.anchor, one.value_hash): one for one in alike}
        written = []
        for check, anchor, value_hash in keys:
            key = (check[:60], anchor[:600], value_hash[:16])
            waiver = latest.get(key)
            if waiver is None or (waiver.reason, waiver.sealed) != (reason, sealed):
                count += 1
                if count > MAX_WAIVERS:
                    raise Invalid(
                        _("You can waive at most %(limit)s warnings in a dialogue. Fix the others or reject it.")
                        % {"limit": f"{MAX_WAIVERS:,}"},
                        field="reason",
                    )
                waiver = Waiver.objects.create(
                    dialogue=slot.dialogue,
                    author=actor,
                    check_id=key[0],
                    anchor=key[1],
                    value_hash=key[2],
                    reason=reason,
                    sealed=sealed,
                    # Those given at once are taken back at once.
                    created_at=now,
                )
                latest[key] = waiver
            written.append(waiver)
    return written
