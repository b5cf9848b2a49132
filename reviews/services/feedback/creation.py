"""Feedback: later findings go back to the people who could have seen them."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from annotator.core.comparison import describe, discrepancies, lookup
from annotator.core.comparison.anchors import AnchorIndex
from annotator.core.comparison.field_titles import titled
from annotator.core.text import Message, Value, lines, message
from annotator.models import NoticeKind, Revision
from annotator.services.custom_fields import fields_of
from annotator.services.notices.notices import notify
from reviews.core.protocols import Protocol
from reviews.models import Cycle, Feedback, FeedbackKind, Review, Ruling, StageRun, Verdict

#: Lines about errors and rulings in one feedback.
MAX_LINES = 20
_MISSING = object()


def report_audit_error(*, review: Review, cycle: Cycle, protocol: Protocol, owner_id: int | None) -> list[int]:
    """Notify the owner, and everybody who approved it, of an error in the random sample; return these people."""
    passed = Review.objects.filter(stage_run__cycle=cycle, verdict__in=[Verdict.APPROVE, Verdict.FIX]).exclude(
        pk=review.pk
    )
    people = [owner_id, *passed.order_by("pk").values_list("person_id", flat=True)]
    opening = message("A random sample found an error in a dialogue that you worked on.")
    return _notify(review, FeedbackKind.AUDIT, people, _text(opening, review, protocol))


def report_ruling(
    *, review: Review, run: StageRun, revision: Revision, protocol: Protocol, owner_id: int | None
) -> list[int]:
    """Notify the authors of what a senior reviewer changed, and reviewers of where they were overruled; return these
    people.

    ``revision``: the senior reviewer's revision. Each person gets one feedback with the rulings that concern them.
    """
    rejected, entry = review.verdict == Verdict.REJECT, run.entry_revision
    rulings, overruled = list(review.rulings.all()), _overruled(review, run, revision)
    created: list[int] = []
    if rejected or revision.content_hash != entry.content_hash:
        opening = message("A dispute about your dialogue was settled. The result differs from your revision.")
        if rejected:
            opening = message("A dispute about your dialogue was settled. The dialogue was rejected.")
        before = entry.document()
        # Places that others added are not the author's.
        own = [one for one in rulings if lookup(before, one.anchor, _MISSING) is not _MISSING]
        own = _contradicted(before, revision, own)
        for person in _recipients(review, [owner_id, entry.author_id]):
            besides = overruled.pop(person)[1] if person in overruled else []
            mine = [one for one in rulings if one in own or one in besides]
            created += _notify(
                review, FeedbackKind.ADJUDICATION, [person], _text(opening, review, protocol, mine), mine
            )
    for person, (opening, against) in overruled.items():
        # They may review the dialogue again, and blind, so their notice does not say why it was settled that way.
        text = _text(opening, review, protocol, against, named_errors=False)
        created += _notify(review, FeedbackKind.OVERRULED, [person], text, against, notice=opening)
    return created


def _overruled(review: Review, run: StageRun, revision: Revision) -> dict[int, tuple[Message, list[Ruling]]]:
    """Return {reviewer whom the senior reviewer contradicts: (opening sentence, rulings against them)}."""
    rejected, out = review.verdict == Verdict.REJECT, {}
    rulings = list(review.rulings.all())
    said = Review.objects.filter(stage_run=run.disputed_run).select_related("made_revision").order_by("slot__index")
    for one in said if run.disputed_run else ():
        against: list[Ruling] = []
        if one.verdict != Verdict.REJECT and (one.made_revision or one.verdict == Verdict.APPROVE):
            against = _contradicted((one.made_revision or run.entry_revision).document(), revision, rulings)
        outcome = None
        if one.verdict == Verdict.REJECT and not rejected:
            outcome = message("The dialogue passed, although you had rejected it.")
        elif rejected and one.verdict in (Verdict.APPROVE, Verdict.FIX):
            outcome = message("The dialogue was rejected, although you had approved it.")
        elif against:
            outcome = message("The result differs from your review.")
        if outcome is not None:
            out[one.person_id] = (
                message("A dispute about a dialogue that you reviewed was settled. %(outcome)s", outcome=outcome),
                against,
            )
    return out


def _contradicted(document: dict[str, Any], settled: Revision, rulings: list[Ruling]) -> list[Ruling]:
    """Return the rulings at places where the settled revision differs from ``document``."""
    differing = AnchorIndex(one.anchor for one in discrepancies(settled.document(), document)) if rulings else None
    return [one for one in rulings if differing and differing.touching(one.anchor) is not None]


def report_sent_back(*, review: Review, owner_id: int, text: Message) -> list[int]:
    """Notify an owner that their other items come back because of ``review`` and earlier ones; return the owner."""
    return _notify(review, FeedbackKind.RETURNED, [owner_id], text)


def _notify(
    review: Review,
    kind: FeedbackKind,
    people: Iterable[int | None],
    text: Message,
    rulings: Iterable[Ruling] = (),
    *,
    notice: Message | None = None,
) -> list[int]:
    wanted = _recipients(review, people)
    created = Feedback.objects.bulk_create(
        Feedback(dialogue_id=review.dialogue_id, person_id=person, review=review, kind=kind, message=text)
        for person in wanted
    )
    dialogue = review.dialogue
    for row in created:
        row.rulings.set(rulings)
        # Reading the notice marks the feedback as read.
        notify(
            actor=None,
            project=dialogue.project,
            people=[row.person_id],
            kind=NoticeKind.FEEDBACK,
            text=message("%(dialogue)s: %(text)s", dialogue=dialogue.external_id, text=notice or text),
            target=reverse("feedback-list", args=[dialogue.project.slug]) + f"#f-{row.public_id}",
            dialogue=dialogue,
            subject=row.public_id,
        )
    return wanted


def _recipients(review: Review, people: Iterable[int | None]) -> list[int]:
    """Return each person once, without the reviewer."""
    return [person for person in dict.fromkeys(people) if person is not None and person != review.person_id]


def _text(
    opening: Message, review: Review, protocol: Protocol, rulings: Iterable[Ruling] = (), *, named_errors: bool = True
) -> Message:
    labels = {kind.key: kind.label for kind in protocol.taxonomy}
    parts: list[Value] = [opening]
    if review.reason:
        parts.append(review.reason)
    named = [(one.kind, one.anchor, one.note) for one in review.errors.all()] if named_errors else []
    named += [(ruling.reason_kind, ruling.anchor, ruling.reason) for ruling in rulings]
    document, fields = review.seen_revision.document(), fields_of(review.dialogue.project)
    for kind, anchor, note in named[:MAX_LINES]:
        if kind == "other" and not anchor and not note:
            # The reason already says everything.
            continue
        label: Value = labels.get(kind, kind)
        if anchor:
            place = message(titled(describe(document, anchor), anchor, fields))
            label = message("%(error)s at %(place)s", error=label, place=place)
        parts.append(
            message("%(error)s: %(note)s", error=label, note=note) if note else message("%(error)s.", error=label)
        )
    return lines(parts)
