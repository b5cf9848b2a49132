"""Threads about feedback: replies of both ends, and disputes.

The two ends are the person who got the feedback and the person whose decision it reports. Administrators read every
thread and can answer a dispute. Other people do not learn that a thread exists, so its events name only the feedback,
and its notices name no person.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import Message, message
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import NoticeKind, Project, Role, User
from annotator.services.access.blindness import blind_to
from annotator.services.access.permissions import roles_in
from annotator.services.history.events import append_event
from annotator.services.notices.notices import members_with, notify
from reviews.models import DisputeState, Feedback, FeedbackDispute, FeedbackKind, FeedbackReply
from reviews.models.disputed_feedback import MAX_TEXT

#: Replies to one feedback.
MAX_REPLIES = 100


@dataclass(frozen=True)
class Post:
    """One text of a thread.

    ``kind``: dispute, reply, accepted or kept. ``end``: person (who got the feedback), decider or administrator.
    """

    kind: str
    end: str
    #: None while the reader may not know who wrote it.
    author: User | None
    mine: bool
    text: str
    created_at: datetime


@dataclass(frozen=True)
class Thread:
    """The thread of a feedback as somebody reads it."""

    posts: list[Post] = field(default_factory=list)
    #: Of the dispute; blank without one.
    state: str = ""
    #: Whether the reader is one of the ends, or an administrator.
    shown: bool = False
    may_reply: bool = False
    may_dispute: bool = False
    may_answer: bool = False


def feedback_of(*, actor: User, project: Project) -> QuerySet[Feedback]:
    """Return the feedback in a project whose threads the actor may read: all of it for administrators."""
    rows = Feedback.objects.filter(review__project=project).select_related("person", "review__person", "dialogue")
    rows = rows.select_related("dispute__answered_by").defer("dialogue__search_text")
    if Role.ADMINISTRATOR in roles_in(project, actor):
        return rows
    return rows.filter(Q(person=actor) | Q(review__person=actor))


def load_feedback(*, actor: User, project: Project, public_id: str) -> Feedback:
    """Return a feedback whose thread the actor may read. Raises Hidden."""
    row = feedback_of(actor=actor, project=project).filter(public_id=public_id).first()
    if row is None:
        raise Hidden(_("This feedback doesn’t exist, or you can’t see it."))
    row.dialogue.project = project
    return row


def feedback_changed_since(rows: QuerySet[Feedback], moment: datetime) -> QuerySet[Feedback]:
    """Narrow feedback down to that which was written, answered or replied to since."""
    replied = FeedbackReply.objects.filter(feedback=OuterRef("pk"), created_at__gte=moment)
    disputed = Q(dispute__created_at__gte=moment) | Q(dispute__answered_at__gte=moment)
    return rows.filter(Q(created_at__gte=moment) | disputed | Exists(replied))


def decided_by(*, actor: User, project: Project) -> QuerySet[Feedback]:
    """Return the feedback about the actor's decisions that has a thread."""
    replied = FeedbackReply.objects.filter(feedback=OuterRef("pk"))
    rows = Feedback.objects.filter(review__project=project, review__person=actor)
    return rows.filter(Q(dispute__isnull=False) | Exists(replied))


def is_veiled(*, actor: User, row: Feedback, blind: set[int]) -> bool:
    """Return whether the actor may not know why a reviewer was overruled. ``blind``: dialogues they may review blind.

    The person who decided knows it.
    """
    return row.kind == FeedbackKind.OVERRULED and row.dialogue_id in blind and row.review.person_id != actor.pk


def read_threads(*, actor: User, project: Project, rows: Sequence[Feedback], blind: set[int]) -> dict[int, Thread]:
    """Return {key of the feedback: its thread} in a fixed number of queries.

    ``rows``: with ``dispute``, ``person`` and ``review__person``. ``blind``: the dialogues that the actor may review
    blind now, whose threads show no names; a veiled feedback shows only their own texts and takes none.
    """
    administers = Role.ADMINISTRATOR in roles_in(project, actor)
    shown = [row for row in rows if administers or actor.pk in (row.person_id, row.review.person_id)]
    replies: dict[int, list[FeedbackReply]] = {}
    for reply in FeedbackReply.objects.filter(feedback__in=shown).select_related("author").order_by("pk"):
        replies.setdefault(reply.feedback_id, []).append(reply)
    out = {row.pk: Thread() for row in rows}
    for row in shown:
        dispute, veiled = _dispute_of(row), is_veiled(actor=actor, row=row, blind=blind)
        said = [(reply.author, "reply", reply.text, reply.created_at) for reply in replies.get(row.pk, [])]
        if dispute is not None:
            said.append((row.person, "dispute", dispute.reason, dispute.created_at))
            if dispute.answered_by is not None and dispute.answered_at is not None:
                said.append((dispute.answered_by, dispute.state, dispute.answer, dispute.answered_at))
        posts = [
            Post(
                kind=kind,
                end=_end(row, author),
                author=author if row.dialogue_id not in blind or author == actor else None,
                mine=author == actor,
                text=text,
                created_at=moment,
            )
            for author, kind, text, moment in sorted(said, key=lambda one: one[3])
            if not veiled or author == actor
        ]
        own, open_dispute = row.person_id == actor.pk, dispute is not None and dispute.state == DisputeState.OPEN
        out[row.pk] = Thread(
            posts=posts,
            state="" if dispute is None else DisputeState.OPEN if veiled else dispute.state,
            shown=True,
            may_reply=not veiled,
            may_dispute=own and dispute is None and not veiled,
            may_answer=open_dispute and not own and not veiled,
        )
    return out


def reply_to_feedback(*, actor: User, feedback: Feedback, text: str) -> FeedbackReply:
    """Add a reply; the same text twice in a row is stored once. Raises Invalid, Hidden, Denied."""
    text = _checked(text, _("Enter a reply."))
    with transaction.atomic():
        row = _locked(actor, feedback)
        last = FeedbackReply.objects.filter(feedback=row).order_by("-pk").first()
        if last is not None and last.author_id == actor.pk and last.text == text:
            return last
        if FeedbackReply.objects.filter(feedback=row).count() >= MAX_REPLIES:
            raise Invalid(_("A thread can have at most %(limit)s replies.") % {"limit": MAX_REPLIES}, field="text")
        reply = FeedbackReply.objects.create(feedback=row, author=actor, text=text)
        _log(actor, row, "feedback.replied")
        words = message("New reply about the feedback on %(dialogue)s.", dialogue=row.dialogue.external_id)
        _notify(actor, row, [row.person_id, row.review.person_id], NoticeKind.REPLY, words)
    return reply


def dispute_feedback(*, actor: User, feedback: Feedback, reason: str) -> FeedbackDispute:
    """Dispute a feedback to oneself, once; the same reason again changes nothing.

    Raises Invalid, Hidden, Denied for somebody else's feedback, Conflict if it is disputed already.
    """
    reason = _checked(reason, _("Say why you think that the decision is wrong."))
    with transaction.atomic():
        row = _locked(actor, feedback)
        if row.person_id != actor.pk:
            raise Denied(_("Only the person who got this feedback can dispute it."))
        found = _dispute_of(row)
        if found is not None and found.reason == reason:
            return found
        if found is not None:
            raise Conflict(_("You have already disputed this feedback. Add a reply instead."))
        dispute = FeedbackDispute.objects.create(feedback=row, reason=reason)
        _log(actor, row, "feedback.disputed")
        words = message(
            "Your decision on %(dialogue)s is disputed. Read the reason and answer it.",
            dialogue=row.dialogue.external_id,
        )
        _notify(actor, row, [row.review.person_id], NoticeKind.ESCALATION, words)
    return dispute


def answer_dispute(*, actor: User, feedback: Feedback, accept: bool, text: str) -> FeedbackDispute:
    """Accept the dispute, or keep the decision; the same answer again changes nothing.

    Acceptance records that the decision was wrong and notifies the administrators, who can send the dialogue back. It
    changes no dialogue by itself. Raises Invalid, Hidden, Denied for the person who disputes, Conflict if there is no
    open dispute.
    """
    text = _checked(text, _("Give a reason for your answer."))
    state = DisputeState.ACCEPTED if accept else DisputeState.KEPT
    with transaction.atomic():
        row = _locked(actor, feedback)
        if row.person_id == actor.pk:
            raise Denied(_("You can’t answer your own dispute."))
        dispute = _dispute_of(row)
        if dispute is None:
            raise Conflict(_("This feedback isn’t disputed, so there is nothing to answer."))
        if dispute.state != DisputeState.OPEN:
            if (dispute.state, dispute.answer, dispute.answered_by_id) == (state, text, actor.pk):
                return dispute
            raise Conflict(_("This dispute has already been answered. Add a reply instead."))
        dispute.state, dispute.answer = state, text
        dispute.answered_by, dispute.answered_at = actor, timezone.now()
        dispute.save(update_fields=["state", "answer", "answered_by", "answered_at"])
        _log(actor, row, "feedback.dispute_accepted" if accept else "feedback.dispute_kept")
        name = {"dialogue": row.dialogue.external_id}
        words = message("Your dispute about %(dialogue)s was answered: the decision stays.", **name)
        if accept:
            words = message("Your dispute about %(dialogue)s was accepted: the decision was wrong.", **name)
        _notify(actor, row, [row.person_id], NoticeKind.FEEDBACK, words)
        if accept:
            told = {row.person_id, row.review.person_id}
            others = [one for one in members_with(row.dialogue.project, Role.ADMINISTRATOR) if one not in told]
            words = message(
                "A dispute about %(dialogue)s was accepted. Send the dialogue back if it needs another review.", **name
            )
            _notify(actor, row, others, NoticeKind.ALARM, words)
        if actor.pk != row.review.person_id:
            words = message("An administrator answered the dispute of your decision on %(dialogue)s.", **name)
            _notify(actor, row, [row.review.person_id], NoticeKind.REPLY, words)
    return dispute


# --- in detail --------------------------------------------------------------------------------------------------------


def _locked(actor: User, feedback: Feedback) -> Feedback:
    """Return the feedback's row, locked, so that the second of two requests sees what the first has written."""
    Feedback.objects.select_for_update().filter(pk=feedback.pk).first()
    row = load_feedback(actor=actor, project=feedback.dialogue.project, public_id=feedback.public_id)
    if is_veiled(actor=actor, row=row, blind=blind_to(actor=actor, dialogues=[row.dialogue_id])):
        raise Denied(_("The dialogue is in a blind stage again. You can reply when the stage has ended."))
    return row


def _dispute_of(row: Feedback) -> FeedbackDispute | None:
    # The reverse of a one-to-one field raises if there is no row.
    return getattr(row, "dispute", None)


def _end(row: Feedback, author: User) -> str:
    if author.pk == row.person_id:
        return "person"
    return "decider" if author.pk == row.review.person_id else "administrator"


def _checked(text: str, empty: str) -> str:
    text = text.strip()
    if not text:
        raise Invalid(empty, field="text")
    if len(text) > MAX_TEXT or "\x00" in text:
        raise Invalid(
            _("The text may have at most %(limit)s characters and no NUL character.") % {"limit": f"{MAX_TEXT:,}"},
            field="text",
        )
    return text


def _log(actor: User, row: Feedback, kind: str) -> None:
    # Not in the dialogue's history: colleagues who review it blind read that.
    append_event(actor=actor, project=row.dialogue.project, kind=kind, after={"feedback": row.public_id})


def _notify(actor: User, row: Feedback, people: Iterable[int], kind: NoticeKind, words: Message) -> None:
    notify(
        actor=actor,
        project=row.dialogue.project,
        people=people,
        kind=kind,
        text=words,
        target=reverse("feedback", args=[row.dialogue.project.slug, row.public_id]),
        dialogue=row.dialogue,
        subject=row.public_id,
    )
