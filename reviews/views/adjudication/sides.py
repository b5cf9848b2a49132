"""The reviews of a dispute, side by side: what they say, and what differs."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.presentation.changes import ChangeLine, change_lines
from annotator.services.custom_fields import fields_of
from annotator.translation import place_name
from reviews.core.protocols import Protocol
from reviews.models import Verdict
from reviews.services.submission.checklists import answer_rows
from reviews.services.submission.rulings import Dispute, Side
from reviews.services.submission.workbench import Workbench


def what_differs(dispute: Dispute) -> str:
    """Return what the senior reviewer has to settle, in one or two sentences."""
    verdicts = [side.verdict for side in dispute.sides if side.review]
    number, alone = len(dispute.discrepancies), len(verdicts) == 1
    out = []
    if Verdict.ESCALATE in verdicts:
        out.append(_("The reviewer escalated this dialogue.") if alone else _("A reviewer escalated this dialogue."))
    if Verdict.REJECT in verdicts:
        out.append(_("The reviewer rejected this dialogue.") if alone else _("A reviewer rejected this dialogue."))
    if alone:
        changed = ngettext("The reviewer changed %(number)s place.", "The reviewer changed %(number)s places.", number)
        out.append(changed % {"number": number} if number else _("The reviewer changed nothing."))
        return " ".join([*out, *_to_decide(dispute)])
    differ = ngettext("The versions differ in %(number)s place.", "The versions differ in %(number)s places.", number)
    out.append(differ % {"number": number} if number else _("All versions are the same."))
    if len(set(verdicts)) > 1:
        out.append(_("The verdicts differ."))
    return " ".join([*out, *_to_decide(dispute)])


def _to_decide(dispute: Dispute) -> list[str]:
    """Return what has to be decided if there are no places to settle."""
    if dispute.discrepancies:
        return []
    if dispute.is_about_a_rejection:
        return [_("Reject the dialogue, or approve it and say why the rejection is wrong.")]
    return [_("Approve the dialogue or reject it. You can edit it first.")]


def summaries(dispute: Dispute, protocol: Protocol) -> list[dict[str, Any]]:
    """Return each side with its checklist; for a further review that has no column also its changes."""
    return [_summary(side, dispute, protocol) for side in dispute.sides]


def _summary(side: Side, dispute: Dispute, protocol: Protocol) -> dict[str, Any]:
    review = side.review
    if review is None:
        return {"side": side}
    answers = answer_rows(protocol.stage(review.slot.stage), side.document, review.checklist, review.checklist_notes)
    return {
        "side": side,
        "changes": change_lines(dispute.base, side.document, dispute.fields) if side in dispute.more else [],
        "answers": answers,
        "noes": sum(row.answer is False for row in answers),
    }


def own_changes(bench: Workbench) -> list[ChangeLine]:
    """Return what the senior reviewer has changed in the workspace, as lines."""
    if not bench.changed:
        return []
    slot = bench.work.slot
    return change_lines(slot.revision.document(), bench.document, fields_of(slot.project))


def found_errors(dispute: Dispute, protocol: Protocol) -> dict[str, Any]:
    """Return the errors that the reviews found: ``titles`` of the reviews, and ``rows`` of (error type, place, found).

    ``found``: for each review whether it found this error there, and its notes.
    """
    kinds = {kind.key: kind.label for kind in protocol.taxonomy}
    sides = [side for side in dispute.sides if side.review]
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for number, side in enumerate(sides):
        for one in side.review.errors.all() if side.review else ():
            place = place_name(side.document, one.anchor, dispute.fields) if one.anchor else ""
            found = rows.setdefault((kinds.get(one.kind, one.kind), place), [{"notes": []} for _side in sides])
            found[number] = {"found": True, "notes": [*found[number]["notes"], *filter(None, [one.note])]}
    return {"titles": [side.title for side in sides], "rows": [(*key, found) for key, found in rows.items()]}
