"""Validation of a submission before anything is locked.

Reading and checking a document is most of the work of a submission. It happens here, outside the transaction, which
then only verifies that nothing has changed in between.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.checks import Finding
from annotator.core.checks.of_runs import UNTRIED
from annotator.core.comparison import AnchorMissing, resolve
from annotator.core.schema import SchemaProblem, canonical, content_hash, load_text, read_document, value_hash
from annotator.core.schema.canonical import shortened
from annotator.errors import Conflict, Invalid
from annotator.models import Draft, Project, Revision, User, Waiver
from annotator.services.dialogues.drafts import find_open_draft
from annotator.services.dialogues.revisions import as_stored
from annotator.services.dialogues.untried import start_runs
from annotator.translation import place_name, translated_text
from reviews.core.protocols import Protocol, Stage, StageKind
from reviews.core.protocols import offered_verdicts as verdicts_of
from reviews.models import Slot, Verdict
from reviews.services.queue.slot_work import Work, branch_of
from reviews.services.submission.checklists import (
    Answers,
    Notes,
    contradictions,
    read_answers,
    read_notes,
    require_answers,
    ungrounded,
)
from reviews.services.submission.refusals import Refusals
from reviews.services.submission.rulings import RulingLine, capital, load_dispute, read_rulings, settle_document
from reviews.services.submission.waivers import check_for_stage, live_waivers, waive

MAX_REASON = 4000
MAX_NOTE = 1000
MAX_ERRORS = 200

PASSING = (Verdict.APPROVE, Verdict.FIX)


@dataclass(frozen=True)
class NamedError:
    """An error that the reviewer names."""

    kind: str
    anchor: str
    value_hash: str
    note: str


@dataclass(frozen=True)
class Submission:
    """A valid review, ready to be written."""

    verdict: Verdict
    document: dict[str, Any]
    changed: bool
    labels: dict[str, dict[str, str | None]]
    checklist: Answers
    notes: Notes
    named_errors: list[NamedError]
    reason: str
    rulings: list[RulingLine] = field(default_factory=list)
    #: The draft the content comes from, as it was read.
    draft: Draft | None = None
    #: Whether it came as a whole document, whatever draft there may be.
    as_document: bool = False


def offered_verdicts(stage: Stage, *, changed: bool) -> list[Verdict]:
    """Return the verdicts that fit a draft: approve only if it is unchanged, fix only if it is changed."""
    odd = Verdict.APPROVE if changed else Verdict.FIX
    return [verdict for verdict in map(Verdict, verdicts_of(stage)) if verdict != odd]


def prepare(
    *,
    actor: User,
    slot: Slot,
    project: Project,
    protocol: Protocol,
    verdict: str,
    draft: Draft | None,
    document: dict[str, Any] | None,
    checklist: Mapping[str, Any],
    notes: Mapping[str, Any],
    named_errors: Sequence[Mapping[str, Any]],
    reason: str,
    rulings: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Submission:
    """Read and check a submission.

    Raises Invalid with all that the reviewer has to fix (see ``Refusals``), Conflict for a draft of another revision.
    """
    stage, seen = protocol.stage(slot.stage), slot.revision
    if draft is None and document is None:
        draft = open_draft_of(actor, slot)
    if draft is not None and draft.base_id != seen.pk:
        raise Conflict(_("Your draft isn’t based on the revision under review. Merge them first."))
    text = _text(seen, draft, document)
    lines = read_rulings(rulings)
    if lines and stage.kind is not StageKind.EXPERT:
        raise Invalid(_("Only senior reviewers make rulings. Edit the dialogue instead."))
    dispute = load_dispute(slot) if stage.kind is StageKind.EXPERT and verdict != Verdict.REJECT else None
    if stage.kind is StageKind.EXPERT and verdict != Verdict.REJECT:
        kinds = protocol.error_type_keys()
        text, lines = settle_document(slot=slot, text=text, lines=lines, kinds=kinds, dispute=dispute)
    if text != seen.content:
        text = as_stored(load_text(text), seen)
    changed = content_hash(text) != seen.content_hash
    content = load_text(text)
    disputed = stage.kind is StageKind.EXPERT and slot.stage_run.disputed_run is not None
    refusals, chosen = Refusals(), None
    with refusals.collected():
        chosen = _verdict(stage, verdict, changed, disputed)
    with refusals.collected():
        reason = _reason(chosen, reason, overrules=dispute is not None and dispute.is_about_a_rejection)
    if chosen in PASSING:
        with refusals.collected():
            _require_clean(actor, slot, project, stage, content)
    anchored = _Anchored(content, seen)
    errors_found: list[NamedError] = []
    for number, one in enumerate(_some(named_errors)):
        with refusals.collected():
            errors_found.append(_named_error(one, protocol, anchored, number))
    answers = read_answers(stage, content, checklist)
    noted = read_notes(stage, content, notes, answers)
    with refusals.collected():
        require_answers(stage, content, answers)
    if chosen in PASSING:
        refusals.found += contradictions(stage, content, answers)
    elif chosen is not None:
        anchors = [shortened(str(one.get("anchor") or "")) for one in named_errors]
        refusals.found += ungrounded(stage, content, answers, noted, anchors)
    refusals.raise_found()
    assert chosen is not None  # noqa: S101 - without a verdict there was a refusal
    return Submission(
        verdict=chosen,
        document=content,
        changed=changed,
        labels={
            task["id"]: {"policy": task["policy"], "information": task["information"]}
            for task in content.get("tasks", [])
        },
        checklist=answers,
        notes=noted,
        named_errors=errors_found,
        reason=reason,
        rulings=lines,
        draft=None if document is not None else draft,
        as_document=document is not None,
    )


def open_draft_of(actor: User, slot: Slot) -> Draft | None:
    """Return the actor's open draft in this slot."""
    return find_open_draft(actor=actor, dialogue=slot.dialogue, branch=branch_of(slot))


def _text(seen: Revision, draft: Draft | None, document: dict[str, Any] | None) -> str:
    """Return the canonical text to submit: the given document, else the draft, else the revision under review."""
    if document is None:
        if draft is None or draft.content == seen.content:
            return seen.content
        document = load_text(draft.content)
    try:
        return canonical(read_document(document))
    except SchemaProblem as problem:
        raise Invalid(
            _("The dialogue can’t be saved: %(problem)s") % {"problem": problem},
            problems=[{"pointer": p.pointer, "message": p.message} for p in problem.problems],
        ) from None


def _verdict(stage: Stage, verdict: str, changed: bool, disputed: bool) -> Verdict:
    offered = verdicts_of(stage)
    words = ", ".join(offered)
    if verdict in ("", *PASSING) and (disputed or (not verdict and stage.kind is StageKind.SELF_CHECK)):
        # In a self-check and in a dispute, changing the dialogue or not is the verdict.
        return Verdict.FIX if changed else Verdict.APPROVE
    if not verdict:
        raise Invalid(_("Choose a verdict: %(verdicts)s.") % {"verdicts": words}, field="verdict")
    if verdict not in offered:
        raise Invalid(
            _("This stage has no verdict “%(verdict)s”. Choose one of: %(verdicts)s.")
            % {"verdict": verdict, "verdicts": words},
            field="verdict",
        )
    if verdict == Verdict.APPROVE and changed:
        raise Invalid(_("You changed the dialogue. Choose “Approve with fix”, or reset the draft."), field="verdict")
    if verdict == Verdict.FIX and not changed:
        raise Invalid(
            _("You haven’t changed anything. Choose “Approve”, or change the dialogue first."), field="verdict"
        )
    return Verdict(verdict)


def _reason(verdict: Verdict | None, reason: str, *, overrules: bool) -> str:
    reason = reason.strip()
    if len(reason) > MAX_REASON:
        raise Invalid(
            _("The reason is longer than %(limit)s characters. Shorten it.") % {"limit": f"{MAX_REASON:,}"},
            field="reason",
        )
    if "\x00" in reason:
        raise Invalid(_("The reason contains a NUL character. Remove it."), field="reason")
    if verdict not in (None, *PASSING) and not reason:
        raise Invalid(_("Enter a reason. The next person needs it."), field="reason")
    if verdict in PASSING and overrules and not reason:
        raise Invalid(_("Enter why the dialogue passes although a reviewer rejected it. They read it."), field="reason")
    return reason


def _require_clean(actor: User, slot: Slot, project: Project, stage: Stage, document: dict[str, Any]) -> None:
    seen = slot.revision
    found = check_for_stage(document, seen.toolset_revision, project=project, stage=stage, seen=seen)
    errors = [one for one in found if one.severity == "error"]
    if errors and all(one.check in UNTRIED for one in errors):
        start_runs(
            actor=actor,
            project=project,
            document=document,
            toolset_revision=slot.revision.toolset_revision,
            dialogue=slot.dialogue,
        )
        sentence = _("The validators are being tried. Submit again in a moment.")
        if document["kind"] == "single_task":
            sentence = _("The trajectory is being run. Submit again in a moment.")
        raise Invalid(sentence, findings=_as_data(errors))
    if errors:
        number = ngettext(
            "Fix %(count)s error before approving.", "Fix %(count)s errors before approving.", len(errors)
        )
        raise Invalid(_sentence(number, errors, document), findings=_as_data(errors))
    warnings = [one for one in found if one.severity == "warning"]
    if warnings:
        waived = live_waivers(actor=actor, dialogue=slot.dialogue)
        warnings = [one for one in warnings if (one.check, one.anchor, one.value_hash) not in waived]
    if warnings:
        number = ngettext("Fix or waive %(count)s warning.", "Fix or waive %(count)s warnings.", len(warnings))
        raise Invalid(_sentence(number, warnings, document), findings=_as_data(warnings))


def waive_found(
    *, actor: User, work: Work, key: tuple[str, str, str], reason: str, document: dict[str, Any] | None = None
) -> Waiver:
    """Waive a warning (check, anchor, value hash) about what will be submitted: the document given, else the draft,
    else the revision under review. Raises Conflict if there is no such warning, and what ``waive`` raises.
    """
    slot = work.slot
    draft = open_draft_of(actor, slot) if document is None else None
    content = load_text(_text(slot.revision, draft, document))
    seen = slot.revision
    found = check_for_stage(content, seen.toolset_revision, project=slot.project, stage=work.stage, seen=seen)
    if not any(one.severity == "warning" and (one.check, one.anchor, one.value_hash) == key for one in found):
        raise Conflict(
            _(
                "There is no such warning, or its value has changed. Send check, anchor and value_hash as given in the "
                "response that refused your submission, and the document that you want to submit."
            )
        )
    return waive(actor=actor, work=work, check=key[0], anchor=key[1], value_hash=key[2], reason=reason)


def _sentence(number: str, findings: list[Finding], document: dict[str, Any]) -> str:
    """Return what to do about the findings, with the first one and its place."""
    first = findings[0]
    place = place_name(document, first.anchor) if first.anchor else _("the whole dialogue")
    return f"{number % {'count': len(findings)}} {capital(place)}: {translated_text(first.message)}"


def _as_data(findings: list[Finding]) -> list[dict[str, str]]:
    return [
        {"check": one.check, "severity": one.severity, "anchor": one.anchor, "message": one.message,
         "value_hash": one.value_hash}
        for one in findings
    ]  # fmt: skip


def _some(named_errors: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if len(named_errors) > MAX_ERRORS:
        raise Invalid(_("You can tag at most %(limit)s errors. Keep the most important ones.") % {"limit": MAX_ERRORS})
    return named_errors


class _Anchored(dict[str, str]):
    """Anchor → hash of its value in the submitted document, or else in the revision under review; each hashed once."""

    def __init__(self, document: dict[str, Any], seen: Revision) -> None:
        self.document, self.seen = document, seen

    def __missing__(self, anchor: str) -> str:
        try:
            value = resolve(self.document, anchor)
        except AnchorMissing:
            value = resolve(self._before, anchor)
        self[anchor] = value_hash(value)
        return self[anchor]

    @cached_property
    def _before(self) -> dict[str, Any]:
        return self.seen.document()


def _named_error(given: Mapping[str, Any], protocol: Protocol, anchored: _Anchored, number: int) -> NamedError:
    kind, anchor, note = (str(given.get(key) or "") for key in ("kind", "anchor", "note"))
    anchor = shortened(anchor)
    if not kind:
        raise Invalid(
            _("Choose an error type for your note “%(note)s”, or clear the note.") % {"note": note[:100]},
            named_error=number,
        )
    if kind not in protocol.error_type_keys():
        raise Invalid(_("There is no error type “%(kind)s”.") % {"kind": kind}, named_error=number)
    if len(note) > MAX_NOTE:
        raise Invalid(
            _("A note is longer than %(limit)s characters. Shorten it.") % {"limit": f"{MAX_NOTE:,}"},
            named_error=number,
        )
    try:
        return NamedError(kind, anchor, anchored[anchor], note)
    except AnchorMissing:
        place = place_name(anchored.document, anchor)
        raise Invalid(
            _("You tagged an error at %(place)s, but there is nothing there.") % {"place": place},
            anchor=anchor,
            named_error=number,
        ) from None
