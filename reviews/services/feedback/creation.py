"""Feedback: what was found wrong later on goes back to whoever could have seen it."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from annotator.core.comparison import describe, discrepancies, lookup
from annotator.core.comparison.anchors import AnchorIndex
from annotator.models import NoticeKind, Revision
from annotator.services.notices.notices import notify
from reviews.core.protocols import Protocol
from reviews.models import Cycle, Feedback, FeedbackKind, Review, Ruling, StageRun, Verdict

MAX_TEXT = 4000
_MISSING = object()


def report_audit_error(*, review: Review, cycle: Cycle, protocol: Protocol, owner_id: int | None) -> list[int]:
    """Tell the owner, and everybody who let it pass, of an error in the random sample; returns whom."""
    passed = Review.objects.filter(stage_run__cycle=cycle, verdict__in=[Verdict.APPROVE, Verdict.FIX]).exclude(
        pk=review.pk
    )
    people = [owner_id, *passed.order_by("pk").values_list("person_id", flat=True)]
    opening = "An audit of a random sample found an error in a dialogue that you worked on and that had passed."
    return _notify(review, FeedbackKind.AUDIT, people, _text(opening, review, protocol))


def report_ruling(
    *, review: Review, run: StageRun, revision: Revision, protocol: Protocol, owner_id: int | None
) -> list[int]:
    """Tell the authors what of theirs an expert changed, and reviewers where they were overruled; returns whom.

    ``revision``: as the expert left the dialogue. One feedback each, with the rulings that concern the person alone.
    """
    rejected, entry = review.verdict == Verdict.REJECT, run.entry_revision
    rulings, overruled = list(review.rulings.all()), _overruled(review, run, revision)
    created: list[int] = []
    if rejected or revision.content_hash != entry.content_hash:
        opening = "A dispute about a dialogue of yours was settled, and it is not as you had it any more."
        if rejected:
            opening = "A dispute about a dialogue of yours was settled: the dialogue was rejected."
        before = entry.document()
        # What others have added is nothing that the author wrote.
        own = [one for one in rulings if lookup(before, one.anchor, _MISSING) is not _MISSING]
        own = _contradicted(before, revision, own)
        for person in _recipients(review, [owner_id, entry.author_id]):
            _, besides = overruled.pop(person, ("", []))
            mine = [one for one in rulings if one in own or one in besides]
            created += _notify(
                review, FeedbackKind.ADJUDICATION, [person], _text(opening, review, protocol, mine), mine
            )
    for person, (opening, lines) in overruled.items():
        text = _text(opening, review, protocol, lines, named_errors=False)
        created += _notify(review, FeedbackKind.OVERRULED, [person], text, lines)
    return created


def _overruled(review: Review, run: StageRun, revision: Revision) -> dict[int, tuple[str, list[Ruling]]]:
    """Reviewers of the dispute whom the expert contradicts: what they are told first, and the rulings against them."""
    rejected, out = review.verdict == Verdict.REJECT, {}
    rulings = list(review.rulings.all())
    said = Review.objects.filter(stage_run=run.disputed_run).select_related("made_revision").order_by("slot__index")
    for one in said if run.disputed_run else ():
        against: list[Ruling] = []
        if one.verdict != Verdict.REJECT and (one.made_revision or one.verdict == Verdict.APPROVE):
            against = _contradicted((one.made_revision or run.entry_revision).document(), revision, rulings)
        opening = "A dispute about a dialogue that you reviewed was settled"
        if one.verdict == Verdict.REJECT and not rejected:
            out[one.person_id] = f"{opening}: the dialogue passed, which you had rejected.", against
        elif rejected and one.verdict in (Verdict.APPROVE, Verdict.FIX):
            out[one.person_id] = f"{opening}: the dialogue was rejected.", against
        elif against:
            out[one.person_id] = f"{opening} otherwise than you had it.", against
    return out


def _contradicted(document: dict[str, Any], settled: Revision, rulings: list[Ruling]) -> list[Ruling]:
    """The rulings at places where the settled version says something else than ``document``."""
    differing = AnchorIndex(one.anchor for one in discrepancies(settled.document(), document)) if rulings else None
    return [one for one in rulings if differing and differing.touching(one.anchor) is not None]


def report_sent_back(*, review: Review, owner_id: int, text: str) -> list[int]:
    """Tell an owner that their other items come back, ``review`` being the last of the evidence; returns whom."""
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
    """Each once, and not whoever said it."""
    return [person for person in dict.fromkeys(people) if person is not None and person != review.person_id]


def _send_notices(review: Review, created: Iterable[Feedback]) -> None:
    """A notice for each feedback: its reading is what says that the feedback was read.

    A reviewer may look at the dialogue again, and blind: a notice to them says that it was settled, and not why.
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
            # Its reason says it all.
            continue
        place = f" at {describe(document, anchor)}" if anchor else ""
        lines.append(f"{labels.get(kind, kind)}{place}{': ' + note if note else '.'}")
    return "\n".join(lines)[:MAX_TEXT]
