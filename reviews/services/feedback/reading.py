"""Feedback for reading: errors with places and guideline sections, and counts of error types."""

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.fields import CustomField
from annotator.core.guideline_sections import GuidelineReference, find_reference
from annotator.errors import Denied, Hidden
from annotator.models import Guideline, Notice, Project, User
from annotator.services.access.blindness import blind_to
from annotator.services.access.permissions import OVERSEERS, roles_in
from annotator.services.custom_fields import fields_of
from annotator.services.database.keyset import KeyPage, read_page
from annotator.services.dialogues.revisions import latest_guideline
from annotator.translation import place_name
from reviews.core.protocols import ErrorType
from reviews.models import Feedback, FeedbackKind, ReviewError, Ruling
from reviews.services.feedback.openings import opening_about
from reviews.services.feedback.threads import Thread, decided_by, is_veiled, load_feedback, read_threads
from reviews.services.protocols.versions import current_protocol

PAGE = 25


@dataclass(frozen=True)
class NamedError:
    """One error in a feedback: its type, its place and its note."""

    kind: str
    label: str
    place: str
    anchor: str
    note: str
    guideline: GuidelineReference | None
    #: Of a ruling, on its own page for others than the person: the version that was chosen, in words.
    choice: str = ""


@dataclass(frozen=True)
class FeedbackRow:
    """One feedback, ready for a page."""

    feedback: Feedback
    #: The first sentence: to the person, or to others about them.
    opening: str
    named_errors: list[NamedError]
    unread: bool
    #: Whether reasons are hidden, because the person may review the dialogue again, and blind.
    veiled: bool = False
    thread: Thread = field(default_factory=Thread)
    #: Whether the reader must not know the person, because they may review the dialogue, and blind.
    nameless: bool = False


@dataclass(frozen=True)
class KindCount:
    """The count of one error type; ``share``: in per cent of the most frequent one, for a bar."""

    key: str
    label: str
    count: int
    share: int
    guideline: GuidelineReference | None


@dataclass
class PersonCount:
    """The number of feedbacks to one person, and their most frequent error types."""

    person: User
    count: int
    kinds: list[tuple[str, int]] = field(default_factory=list)


def require_overseer(*, actor: User, project: Project) -> None:
    """Raise Denied unless the actor may see the feedback of others."""
    held = roles_in(project, actor)
    if not held:
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    if not held & OVERSEERS:
        raise Denied(_("Only senior reviewers and administrators can see the feedback of others."))


def list_feedback(
    *,
    actor: User,
    project: Project,
    person: User | None = None,
    everybody: bool = False,
    decided: bool = False,
    before: str | None = None,
    after: str | None = None,
) -> KeyPage[FeedbackRow]:
    """Return feedback to the actor, to one ``person`` or to ``everybody``. Raises Denied for annotators.

    ``decided``: instead, feedback about the actor's own decisions that has a thread.
    """
    if everybody or (person is not None and person.pk != actor.pk):
        require_overseer(actor=actor, project=project)
    rows = decided_by(actor=actor, project=project) if decided else _of(project, None if everybody else person or actor)
    rows = rows.select_related("dialogue__head", "person", "review__person", "dispute__answered_by")
    rows = rows.defer("dialogue__search_text").prefetch_related("review__errors", "rulings")
    page = read_page(rows, before=before, after=after, size=PAGE, newest_first=True)
    shown = feedback_rows(actor=actor, project=project, rows=page.rows, decided=decided)
    return KeyPage(shown, page.before, page.after)


def read_feedback(*, actor: User, project: Project, public_id: str) -> FeedbackRow:
    """Return one feedback with its thread, for its two ends and administrators. Raises Hidden."""
    row = load_feedback(actor=actor, project=project, public_id=public_id)
    [shown] = feedback_rows(actor=actor, project=project, rows=[row], decided=row.person_id != actor.pk)
    return shown


def mark_feedback_read(*, actor: User, rows: Iterable[FeedbackRow]) -> None:
    """Mark the actor's notices about these feedbacks and their threads as read."""
    shown = [row.feedback.public_id for row in rows if row.unread]
    if shown:
        own = Notice.objects.visible_to(actor).unread().filter(subject__in=shown)
        own.update(read_at=timezone.now())


def feedback_rows(
    *, actor: User, project: Project, rows: Sequence[Feedback], decided: bool = False
) -> list[FeedbackRow]:
    """Return feedback as the actor reads it, with its threads.

    ``decided``: whether the actor's own notices make a row unread, and not those of the person who got it.
    """
    notices = Notice.objects.filter(subject__in=[row.public_id for row in rows], read_at=None).order_by()
    unread = set(notices.values_list("subject", "person"))
    kinds, guideline, fields = _kinds(project), latest_guideline(project), fields_of(project)
    blind = blind_to(actor=actor, dialogues=[row.dialogue_id for row in rows])
    threads = read_threads(actor=actor, project=project, rows=rows, blind=blind)
    out = []
    for row in rows:
        new = (row.public_id, actor.pk if decided else row.person_id) in unread
        veiled, own = is_veiled(actor=actor, row=row, blind=blind), row.person_id == actor.pk
        nameless = row.dialogue_id in blind and not own
        out.append(
            FeedbackRow(
                row,
                row.opening if own else opening_about(row, nameless=nameless),
                [] if veiled else _named_errors(row, kinds, guideline, fields),
                new,
                veiled=veiled,
                thread=threads[row.pk],
                nameless=nameless,
            )
        )
    return out


def count_kinds(*, project: Project, person: User | None = None) -> list[KindCount]:
    """Return the count of each error type in the feedback to everybody (or one person), most frequent first.

    An error counts once for each person who was notified.
    """
    tally: Tally[str] = Tally()
    for _person, kind, count in _tallied(project, person):
        tally[kind] += count
    kinds, guideline = _kinds(project), latest_guideline(project)
    most = max(tally.values(), default=1)
    return [
        KindCount(key, _label(kinds, key), count, round(100 * count / most), reference_of(kinds.get(key), guideline))
        for key, count in sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def count_people(*, actor: User, project: Project) -> list[PersonCount]:
    """Return the number and most frequent types of feedback by person, largest first. Raises Denied for annotators."""
    require_overseer(actor=actor, project=project)
    counts = dict(_of(project, None).values_list("person").annotate(Count("id")).order_by())
    out = {person.pk: PersonCount(person, counts[person.pk]) for person in User.objects.filter(pk__in=counts)}
    kinds = _kinds(project)
    tallies: dict[int, Tally[str]] = {}
    for person_id, kind, count in _tallied(project, None):
        tallies.setdefault(person_id, Tally())[_label(kinds, kind)] += count
    for person_id, tally in tallies.items():
        out[person_id].kinds = tally.most_common()
    return sorted(out.values(), key=lambda row: (-row.count, str(row.person)))


def reference_of(kind: ErrorType | None, guideline: Guideline | None) -> GuidelineReference | None:
    """Return the section of the guideline that explains an error type, or None."""
    if kind is None or guideline is None:
        return None
    # “Other” occurs in every guideline, but no section explains it.
    words = [] if kind.key == "other" else [kind.label, kind.key]
    return find_reference(guideline.text, heading=kind.guideline, words=words)


def _of(project: Project, person: User | None) -> QuerySet[Feedback]:
    rows = Feedback.objects.filter(review__project=project)
    return rows if person is None else rows.filter(person=person)


def _tallied(project: Project, person: User | None) -> Iterable[tuple[int, str, int]]:
    """Yield (person id, kind, count) of findings, then of rulings."""
    recipient: dict[str, Any] = {"person__isnull": False} if person is None else {"person": person}
    # Errors that a senior reviewer names next to the rulings are about the dialogue, not about its reviewers.
    authors = {"kind__in": set(FeedbackKind) - {FeedbackKind.OVERRULED}}
    named = {f"review__feedback__{name}": value for name, value in (recipient | authors).items()}
    ruled = {f"feedback__{name}": value for name, value in recipient.items()}
    findings = ReviewError.objects.filter(review__project=project, **named).values_list(
        "review__feedback__person", "kind"
    )
    rulings = Ruling.objects.filter(review__project=project, **ruled).values_list("feedback__person", "reason_kind")
    yield from findings.annotate(count=Count("id")).order_by()
    yield from rulings.annotate(count=Count("id")).order_by()


def _kinds(project: Project) -> dict[str, ErrorType]:
    protocol = current_protocol(project)
    return {kind.key: kind for kind in protocol.taxonomy} if protocol else {}


def _label(kinds: dict[str, ErrorType], key: str) -> str:
    return kinds[key].label if key in kinds else key.replace("_", " ").capitalize()


def _named_errors(
    row: Feedback, kinds: dict[str, ErrorType], guideline: Guideline | None, fields: Sequence[CustomField]
) -> list[NamedError]:
    head = row.dialogue.head
    document = head.document() if head is not None else {}
    named_errors = row.review.errors.all() if row.kind != FeedbackKind.OVERRULED else ()
    named = [(one.kind, one.anchor, one.note) for one in named_errors]
    named += [(ruling.reason_kind, ruling.anchor, ruling.reason) for ruling in row.rulings.all()]
    return [
        NamedError(
            kind,
            _label(kinds, kind),
            place_name(document, anchor, fields) if anchor else "",
            anchor,
            note,
            reference_of(kinds.get(kind), guideline),
        )
        for kind, anchor, note in named
    ]
