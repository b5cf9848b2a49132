"""Feedback: later findings go back to the people who could have seen them."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotator.core.comparison import describe, discrepancies, lookup
from annotator.core.comparison.anchors import AnchorIndex
from annotator.models import NoticeKind, Revision
from annotator.services.notices.notices import notify
from reviews.core.protocols import Protocol
from reviews.models import Cycle, Feedback, FeedbackKind, Review, Ruling, StageRun, Verdict

MAX_TEXT = 4000
_MISSING = object()


def report_audit_error(*, review: Review, cycle: Cycle, protocol: Protocol, owner_id: int | None) -> list[int]:
    """Tell the owner, and everybody who approved it, about an error in the random sample; return them."""
    passed = Review.objects.filter(stage_run__cycle=cycle, verdict__in=[Verdict.APPROVE, Verdict.FIX]).exclude(
        pk=review.pk
    )
    people = [owner_id, *passed.order_by("pk").values_list("person_id", flat=True)]
    opening = _("A random sample found an error in a dialogue that you worked on.")
    return _notify(review, FeedbackKind.AUDIT, people, _text(opening, review, protocol))


def report_ruling(
    *, review: Review, run: StageRun, revision: Revision, protocol: Protocol, owner_id: int | None
) -> list[int]:
    """Tell the authors what an expert changed, and reviewers where they were overruled; return these people.

    ``revision``: the expert's revision. Each person gets one feedback with the rulings that concern them.
    """
    rejected, entry = review.verdict == Verdict.REJECT, run.entry_revision
    rulings, overruled = list(review.rulings.all()), _overruled(review, run, revision)
    created: list[int] = []
    if rejected or revision.content_hash != entry.content_hash:
        opening = _("A dispute about your dialogue was settled. The result differs from your revision.")
        if rejected:
            opening = _("A dispute about your dialogue was settled. The dialogue was rejected.")
        before = entry.document()
        # Places that others added are not the author's.
        own = [one for one in rulings if lookup(before, one.anchor, _MISSING) is not _MISSING]
        own = _contradicted(before, revision, own)
        for person in _recipients(review, [owner_id, entry.author_id]):
            _opening, besides = overruled.pop(person, ("", []))
            mine = [one for one in rulings if one in own or one in besides]
            created += _notify(
                review, FeedbackKind.ADJUDICATION, [person], _text(opening, review, protocol, mine), mine
            )
    for person, (opening, lines) in overruled.items():
        text = _text(opening, review, protocol, lines, named_errors=False)
        created += _notify(review, FeedbackKind.OVERRULED, [person], text, lines)
    return created


def _overruled(review: Review, run: StageRun, revision: Revision) -> dict[int, tuple[str, list[Ruling]]]:
    """Return {reviewer that the expert contradicts: (opening sentence, rulings against them)}."""
    rejected, out = review.verdict == Verdict.REJECT, {}
    rulings = list(review.rulings.all())
    said = Review.objects.filter(stage_run=run.disputed_run).select_related("made_revision").order_by("slot__index")
    for one in said if run.disputed_run else ():
        against: list[Ruling] = []
        if one.verdict != Verdict.REJECT and (one.made_revision or one.verdict == Verdict.APPROVE):
            against = _contradicted((one.made_revision or run.entry_revision).document(), revision, rulings)
        opening = _("A dispute about a dialogue that you reviewed was settled.") + " "
        if one.verdict == Verdict.REJECT and not rejected:
            out[one.person_id] = opening + _("The dialogue passed, although you had rejected it."), against
        elif rejected and one.verdict in (Verdict.APPROVE, Verdict.FIX):
            out[one.person_id] = opening + _("The dialogue was rejected, although you had approved it."), against
        elif against:
            out[one.person_id] = opening + _("The result differs from your review."), against
    return out


def _contradicted(document: dict[str, Any], settled: Revision, rulings: list[Ruling]) -> list[Ruling]:
    """Return the rulings at places where the settled revision differs from ``document``."""
    differing = AnchorIndex(one.anchor for one in discrepancies(settled.document(), document)) if rulings else None
    return [one for one in rulings if differing and differing.touching(one.anchor) is not None]


def report_sent_back(*, review: Review, owner_id: int, text: str) -> list[int]:
    """Tell an owner that their other items come back because of ``review`` and earlier ones; return the owner."""
    return _notify(review, FeedbackKind.RETURNED, [owner_id], text[:MAX_TEXT])


def _notify(
    review: Review, kind: FeedbackKind, people: Iterable[int | None], text: str, rulings: Iterable[Ruling] = ()
) -> list[int]:
    wanted = _recipients(review, people)
    created = Feedback.objects.bulk_create(
        Feedback(dialogue_id=review.dialogue_id, person_id=person, review=review, kind=kind, text=text)
        for person in wanted
    )
    for row in created:
        row.rulings.set(rulings)
    _send_notices(review, created)
    return wanted


def _recipients(review: Review, people: Iterable[int | None]) -> list[int]:
    """Return each person once, without the reviewer."""
    return [person for person in dict.fromkeys(people) if person is not None and person != review.person_id]


def _send_notices(review: Review, created: Iterable[Feedback]) -> None:
    """Send a notice for each feedback; reading the notice marks the feedback as read.

    A reviewer may review the dialogue again, and blind, so their notice does not say why it was settled that way.
    """
    dialogue = review.dialogue
    for row in created:
        notify(
            actor=None,
            project=dialogue.project,
            people=[row.person_id],
            kind=NoticeKind.FEEDBACK,
            text=f"{dialogue.external_id}: {row.opening if row.kind == FeedbackKind.OVERRULED else row.text}",
            target=reverse("feedback-list", args=[dialogue.project.slug]) + f"#f-{row.public_id}",
            dialogue=dialogue,
            subject=row.public_id,
        )


def _text(
    opening: str, review: Review, protocol: Protocol, rulings: Iterable[Ruling] = (), *, named_errors: bool = True
) -> str:
    labels = {kind.key: kind.label for kind in protocol.taxonomy}
    lines = [opening]
    if review.reason:
        lines.append(review.reason)
    named = [(one.kind, one.anchor, one.note) for one in review.errors.all()] if named_errors else []
    named += [(ruling.reason_kind, ruling.anchor, ruling.reason) for ruling in rulings]
    document = review.seen_revision.document()
    for kind, anchor, note in named:
        if kind == "other" and not anchor and not note:
            # The reason already says everything.
            continue
        label = labels.get(kind, kind)
        if anchor:
            label = _("%(error)s at %(place)s") % {"error": label, "place": describe(document, anchor)}
        lines.append(f"{label}{': ' + note if note else '.'}")
    return "\n".join(lines)[:MAX_TEXT]
