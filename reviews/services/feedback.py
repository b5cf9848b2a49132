"""Feedback: what was found wrong later on goes back to whoever could have seen it."""

from collections.abc import Iterable

from django.urls import reverse

from annotator.comparison import describe
from annotator.models import NoticeKind
from annotator.services.notices import notify
from reviews.models import Cycle, Feedback, FeedbackKind, Review, StageRun, Verdict
from reviews.protocols import Protocol

MAX_TEXT = 4000


def report_audit_error(*, review: Review, cycle: Cycle, protocol: Protocol, owner_id: int | None) -> list[int]:
    """Tell the owner, and everybody who let it pass, of an error in the random sample; returns whom."""
    passed = Review.objects.filter(stage_run__cycle=cycle, verdict__in=[Verdict.APPROVE, Verdict.FIX]).exclude(
        pk=review.pk
    )
    people = [owner_id, *passed.order_by("pk").values_list("person_id", flat=True)]
    opening = "An audit of a random sample found an error in a dialogue that you worked on and that had passed."
    return _notify(review, FeedbackKind.AUDIT, people, _words(opening, review, protocol))


def report_ruling(*, review: Review, run: StageRun, protocol: Protocol, owner_id: int | None) -> list[int]:
    """Tell the authors that an expert settled a dispute otherwise than they had it; returns whom."""
    opening = "A dispute about a dialogue of yours was settled, and it is not as you had it any more."
    if review.verdict == Verdict.REJECT:
        opening = "A dispute about a dialogue of yours was settled: the dialogue was rejected."
    people = [owner_id, run.entry_revision.author_id]
    return _notify(review, FeedbackKind.ADJUDICATION, people, _words(opening, review, protocol))


def report_sent_back(*, review: Review, owner_id: int, text: str) -> list[int]:
    """Tell an owner that their other items come back, ``review`` being the last of the evidence; returns whom."""
    return _notify(review, FeedbackKind.RETURNED, [owner_id], text[:MAX_TEXT])


def _notify(review: Review, kind: FeedbackKind, people: Iterable[int | None], text: str) -> list[int]:
    wanted = [person for person in dict.fromkeys(people) if person is not None and person != review.person_id]
    told = Feedback.objects.bulk_create(
        Feedback(dialogue_id=review.dialogue_id, person_id=person, review=review, kind=kind, text=text)
        for person in wanted
    )
    _tell(review, told)
    return wanted


def _tell(review: Review, told: Iterable[Feedback]) -> None:
    """A notice for each feedback: its reading is what says that the feedback was read."""
    dialogue = review.dialogue
    for row in told:
        notify(
            actor=None,
            project=dialogue.project,
            people=[row.person_id],
            kind=NoticeKind.FEEDBACK,
            text=f"{dialogue.external_id}: {row.text}",
            target=reverse("feedback-list", args=[dialogue.project.slug]) + f"#f-{row.public_id}",
            dialogue=dialogue,
            subject=row.public_id,
        )


def _words(opening: str, review: Review, protocol: Protocol) -> str:
    labels = {kind.key: kind.label for kind in protocol.taxonomy}
    lines = [opening]
    if review.reason:
        lines.append(review.reason)
    faults = [(fault.kind, fault.anchor, fault.note) for fault in review.findings.all()]
    rulings = [(ruling.reason_kind, ruling.anchor, ruling.reason) for ruling in review.rulings.all()]
    document = review.seen_revision.document()
    for kind, anchor, note in (*faults, *rulings):
        if kind == "other" and not anchor and not note:
            # Its reason says it all.
            continue
        place = f" at {describe(document, anchor)}" if anchor else ""
        lines.append(f"{labels.get(kind, kind)}{place}{': ' + note if note else '.'}")
    return "\n".join(lines)[:MAX_TEXT]
