"""What a reviewer hands in, brought into form and held against the rules before anything is locked.

Reading and checking a document is most of the work of a submission. It happens here, outside the transaction, which
then only has to make sure that nothing has moved meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from annotator.core.checks import Finding
from annotator.core.comparison import AnchorMissing, describe, resolve
from annotator.core.schema import SchemaProblem, canonical, content_hash, load_text, read_document, value_hash
from annotator.core.schema.canonical import shortened
from annotator.errors import Conflict, Invalid
from annotator.models import Draft, Project, Revision, User, Waiver
from annotator.services.dialogues.drafts import find_open_draft
from annotator.services.dialogues.revisions import as_stored
from annotator.services.dialogues.trials import start_trials
from reviews.core.protocols import Protocol, Stage, StageKind
from reviews.core.protocols import Verdict as PureVerdict
from reviews.core.protocols import offered_verdicts as verdicts_of
from reviews.models import Slot, Verdict
from reviews.services.protocols.stage_checks import check_for_stage
from reviews.services.queue.slot_work import Work, branch_of
from reviews.services.submission.checklists import Answers, Notes, read_answers, read_notes, require_grounds
from reviews.services.submission.rulings import RulingLine, capital, read_rulings, settle_document
from reviews.services.submission.waivers import live_waivers, waive

MAX_REASON = 4000
MAX_NOTE = 1000
MAX_ERRORS = 200

PASSING = (Verdict.APPROVE, Verdict.FIX)


@dataclass(frozen=True)
class NamedError:
    """An error the reviewer names."""

    kind: str
    anchor: str
    value_hash: str
    note: str


@dataclass(frozen=True)
class Submission:
    """A review that could be written, if nothing has moved."""

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
    """The verdicts that make sense of a draft: an approval of what was not changed, a fix of what was."""
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
    """Read, compare and check. Raises Invalid with what to mend, Conflict for a draft begun from another version."""
    stage, seen = protocol.stage(slot.stage), slot.revision
    if draft is None and document is None:
        draft = open_draft_of(actor, slot)
    if draft is not None and draft.base_id != seen.pk:
        raise Conflict("Your draft was begun from another version than the one under review; merge them first.")
    text = _text(seen, draft, document)
    lines = read_rulings(rulings)
    if lines and stage.kind is not StageKind.EXPERT:
        raise Invalid("Only an expert rules on disputed places; here, edit the dialogue itself.")
    if stage.kind is StageKind.EXPERT and verdict != Verdict.REJECT:
        text, lines = settle_document(slot=slot, text=text, lines=lines, kinds=protocol.error_type_keys())
    if text != seen.content:
        text = as_stored(load_text(text), seen)
    changed = content_hash(text) != seen.content_hash
    content = load_text(text)
    disputed = stage.kind is StageKind.EXPERT and slot.stage_run.disputed_run is not None
    chosen = _verdict(stage, verdict, changed, disputed)
    reason = _reason(chosen, reason)
    if chosen in PASSING:
        _require_clean(actor, slot, project, stage, content)
    answers = read_answers(stage, content, checklist, passing=chosen in PASSING)
    noted = read_notes(stage, content, notes, answers)
    anchored = _Anchored(content, seen)
    errors_found = [_named_error(one, protocol, anchored) for one in _some(named_errors)]
    require_grounds(stage, content, answers, noted, [one.anchor for one in errors_found])
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
    """What the actor has been editing in this slot."""
    return find_open_draft(actor=actor, dialogue=slot.dialogue, branch=branch_of(slot))


def _text(seen: Revision, draft: Draft | None, document: dict[str, Any] | None) -> str:
    """Canonical text of what is handed in: the document given, else the draft, else what was seen."""
    if document is None:
        if draft is None or draft.content == seen.content:
            return seen.content
        document = load_text(draft.content)
    try:
        return canonical(read_document(document))
    except SchemaProblem as problem:
        raise Invalid(
            f"The dialogue cannot be stored: {problem}",
            problems=[{"pointer": p.pointer, "message": p.message} for p in problem.problems],
        ) from None


def _verdict(stage: Stage, verdict: str, changed: bool, disputed: bool) -> Verdict:
    offered = verdicts_of(stage)
    words = ", ".join(offered)
    if verdict in ("", *PASSING) and (disputed or (not verdict and stage.kind is StageKind.SELF_CHECK)):
        # Whoever checks their own work, or settles a dispute, has said it by what they left as it is.
        return Verdict.FIX if changed else Verdict.APPROVE
    if not verdict:
        raise Invalid(f"Choose a verdict: {words}.")
    if verdict not in offered:
        raise Invalid(f"“{verdict}” is no verdict of this stage; choose one of: {words}.")
    if verdict == PureVerdict.APPROVE and changed:
        raise Invalid(
            "You changed the dialogue, so this is no plain approval: approve with changes, or reset the draft."
        )
    if verdict == PureVerdict.FIX and not changed:
        raise Invalid("Nothing has been changed: approve the dialogue as it is, or make the change first.")
    return Verdict(verdict)


def _reason(verdict: Verdict, reason: str) -> str:
    reason = reason.strip()
    if len(reason) > MAX_REASON:
        raise Invalid(f"The reason is longer than {MAX_REASON:,} characters; shorten it.")
    if "\x00" in reason:
        raise Invalid("The reason holds a NUL character, which cannot be stored; remove it.")
    if verdict not in PASSING and not reason:
        raise Invalid("Say why: whoever takes it up from here needs the reason.")
    return reason


def _require_clean(actor: User, slot: Slot, project: Project, stage: Stage, document: dict[str, Any]) -> None:
    found = check_for_stage(document, slot.revision.toolset_revision, project=project, stage=stage)
    errors = [one for one in found if one.severity == "error"]
    if errors and all(one.check == "validator.untried" for one in errors):
        start_trials(actor=actor, project=project, document=document, dialogue=slot.dialogue)
        raise Invalid(
            "The validators are being tried as they stand now; submit again in a moment.", findings=_as_data(errors)
        )
    if errors:
        raise Invalid(
            _sentence(errors, "must be mended before it can be approved", document), findings=_as_data(errors)
        )
    warnings = [one for one in found if one.severity == "warning"]
    if warnings:
        waived = live_waivers(actor=actor, dialogue=slot.dialogue)
        warnings = [one for one in warnings if (one.check, one.anchor, one.value_hash) not in waived]
    if warnings:
        raise Invalid(
            _sentence(warnings, "must be mended, or waived with a reason", document), findings=_as_data(warnings)
        )


def waive_found(
    *, actor: User, work: Work, key: tuple[str, str, str], reason: str, document: dict[str, Any] | None = None
) -> Waiver:
    """Waive a warning (check, anchor, value hash) about what is about to be handed in: the document given, else the
    draft, else the version under review. Raises Conflict where there is no such warning, and what ``waive`` raises.
    """
    slot = work.slot
    draft = open_draft_of(actor, slot) if document is None else None
    content = load_text(_text(slot.revision, draft, document))
    found = check_for_stage(content, slot.revision.toolset_revision, project=slot.project, stage=work.stage)
    if not any(one.severity == "warning" and (one.check, one.anchor, one.value_hash) == key for one in found):
        raise Conflict(
            "There is no such warning, or the value it was about has changed. Name it by check, anchor and value_hash "
            "as the refusal of your submission does, and send the document you mean to submit."
        )
    return waive(actor=actor, work=work, check=key[0], anchor=key[1], value_hash=key[2], reason=reason)


def _sentence(findings: list[Finding], what: str, document: dict[str, Any]) -> str:
    """The first of them with its place in words; all of them, with their anchors, come beside it."""
    first = findings[0]
    noun = {"error": "error", "warning": "warning"}[first.severity] + ("s" if len(findings) > 1 else "")
    place = describe(document, first.anchor) if first.anchor else "the dialogue as a whole"
    return f"{len(findings)} {noun} {what}. {capital(place)}: {first.message}"


def _as_data(findings: list[Finding]) -> list[dict[str, str]]:
    return [
        {"check": one.check, "severity": one.severity, "anchor": one.anchor, "message": one.message,
         "value_hash": one.value_hash}
        for one in findings
    ]  # fmt: skip


def _some(named_errors: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if len(named_errors) > MAX_ERRORS:
        raise Invalid(f"More than {MAX_ERRORS} errors are named; name the gravest.")
    return named_errors


class _Anchored(dict[str, str]):
    """Anchor → hash of what stands there, in what is handed in or else in what was seen. Two hundred errors may all be
    of the whole dialogue, which is read and hashed once.
    """

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


def _named_error(given: Mapping[str, Any], protocol: Protocol, anchored: _Anchored) -> NamedError:
    kind, anchor, note = (str(given.get(key) or "") for key in ("kind", "anchor", "note"))
    anchor = shortened(anchor)
    if not kind:
        raise Invalid(f"Choose what error type it is that you noted: “{note[:100]}”; or empty the note.")
    if kind not in protocol.error_type_keys():
        raise Invalid(f"There is no error type called “{kind}”.")
    if len(note) > MAX_NOTE:
        raise Invalid(f"A note is longer than {MAX_NOTE:,} characters; shorten it.")
    try:
        return NamedError(kind, anchor, anchored[anchor], note)
    except AnchorMissing:
        place = describe(anchored.document, anchor)
        raise Invalid(f"An error is named at {place}, but the dialogue has nothing there.", anchor=anchor) from None
