"""Review sessions: several people settle the disputes of a round together.

A decision is a normal review by a senior reviewer who has claimed the slot, so all its rules apply. The session adds
who was present, and a note.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Membership, Project, User
from annotator.services.access.permissions import OVERSEERS, require_role, roles_in
from annotator.services.history.events import append_event
from reviews.core.protocols import Outcome, Protocol, Stage, StageKind
from reviews.models import (
    Claim,
    ClaimState,
    Review,
    ReviewSession,
    Ruling,
    SessionDecision,
    Slot,
    StageRun,
    StageRunState,
)
from reviews.services.protocols.versions import current_protocol, stage_titles
from reviews.services.queue import claims
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.co_authors import co_written
from reviews.services.queue.eligibility import HeldSlot, refusal
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.sampling.rounds import OpenDispute, open_disputes
from reviews.services.submission.review_forms import read_form, store_form
from reviews.services.submission.submit import submit_review

MAX_NOTE = 4000
#: Decisions on one page of a session's summary.
PAGE_SIZE = 300

_ADDRESS = re.compile(r"(?:([a-z][a-z0-9_]*)-)?([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class Round:
    """One round of one stage with its number of open disputes."""

    stage: str
    title: str
    number: int
    open: int = 0

    @property
    def address(self) -> str:
        """Return the name of the round in URLs."""
        return f"{self.stage}-{self.number}"


@dataclass
class SessionSummary:
    """A session as its page shows it."""

    round: Round
    session: ReviewSession | None
    disputes: list[OpenDispute]
    decisions: list[SessionDecision]
    #: The number of decisions, and of those before the listed ones.
    decided: int = 0
    start: int = 0
    present: list[User] = field(default_factory=list)
    #: (choice, count) and (error type, count) over all rulings of the session.
    choices: list[tuple[str, int]] = field(default_factory=list)
    reasons: list[tuple[str, int]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.disputes) + self.decided

    def free_for(self, person: User) -> list[OpenDispute]:
        """Return the disputes that the person can claim or has claimed; the table was read for them."""
        free = [one for one in self.disputes if one.slot is not None and one.slot.holder_id in (None, person.pk)]
        return [one for one in free if not one.refusal]


def rounds_in_dispute(*, actor: User, project: Project) -> list[Round]:
    """Return the rounds with open disputes, in the order of the protocol. Raises Denied."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    titles = stage_titles(project)
    order = {key: place for place, key in enumerate(titles)}
    rows = (
        StageRun.objects.filter(project=project, state=StageRunState.OPEN, escalated_from__isnull=False)
        .values_list("escalated_from__stage", "escalated_from__round")
        .annotate(count=Count("pk"))
    )
    found = [
        Round(str(stage), titles.get(str(stage), str(stage)), int(number or 0), count) for stage, number, count in rows
    ]
    return sorted(found, key=lambda one: (order.get(one.stage, len(order)), one.number))


def find_round(*, actor: User, project: Project, address: str) -> Round:
    """Return the round of a URL: ``cross_check-1``, or ``1`` for the usual stage. Raises Denied, Hidden."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    match = _ADDRESS.fullmatch(address)
    titles, protocol = stage_titles(project), current_protocol(project)
    stage = (match[1] or (_usual_stage(protocol) if protocol else "")) if match else ""
    if match is None or stage not in titles:
        raise Hidden(_("This round doesn’t exist in the project."))
    number = int(match[2])
    if number > 1 and not StageRun.objects.filter(project=project, stage=stage, round=number).exists():
        raise Hidden(_("This round doesn’t exist in the project."))
    return Round(stage, titles[stage], number)


def _usual_stage(protocol: Protocol) -> str:
    """Return the stage with rounds, else the first cross-check."""

    def rank(stage: Stage) -> tuple[bool, bool]:
        escalates = any(rule.outcome is Outcome.ESCALATE for rule in stage.outcomes)
        return (not (stage.in_rounds and escalates), not (stage.kind is StageKind.CROSS_CHECK and escalates))

    return min(protocol.stages, key=rank).key


def read_session_summary(*, actor: User, project: Project, round: Round, start: int | None = None) -> SessionSummary:
    """Return the open disputes of a round and the number of decisions of its session.

    ``start``: also the page of decisions that contains this one, and the counts over all decisions.
    """
    require_role(actor=actor, project=project, roles=OVERSEERS)
    session = session_for(project=project, round=round)
    disputes = _with_refusals(actor, project, open_disputes(project, round.stage, round.number, actor=actor))
    summary = SessionSummary(round, session, disputes, [])
    if session is not None:
        summary.present = list(session.participants.order_by("display_name"))
        made = decisions_of(actor=actor, project=project, round=round)
        summary.decided = made.count()
        if start is None:
            return summary
        summary.start = max(0, min(start, summary.decided - 1)) // PAGE_SIZE * PAGE_SIZE
        summary.decisions = list(made.order_by("review_id")[summary.start : summary.start + PAGE_SIZE])
        rulings = Ruling.objects.filter(review__in=_seen_by(actor), review__session_decision__session=session)
        summary.choices = _tally(rulings, "choice")
        summary.reasons = _tally(rulings, "reason_kind")
    return summary


def _with_refusals(actor: User, project: Project, disputes: list[OpenDispute]) -> list[OpenDispute]:
    """Return the disputes, each with the reason why the actor may not settle it."""
    roles = roles_in(project, actor)
    cycles = [one.slot.cycle_id for one in disputes if one.slot is not None]
    mine = Slot.objects.filter(cycle__in=cycles, holder=actor)
    parts = co_written(actor, [one.slot.dialogue_id for one in disputes if one.slot is not None])
    held: dict[int, list[HeldSlot]] = {}
    for cycle, slot_id, run, stage, number in mine.values_list("cycle", "pk", "stage_run", "stage", "round"):
        held.setdefault(cycle, []).append(HeldSlot(slot_id, run, stage, number))
    return [
        replace(one, refusal=refusal(person=actor, roles=roles, slot=slot, stage=stage_of(slot),
                                     held=held.get(slot.cycle_id, []), parts=parts))
        if (slot := one.slot) is not None
        else one
        for one in disputes
    ]  # fmt: skip


def _tally(rulings: QuerySet[Ruling], name: str) -> list[tuple[str, int]]:
    counted = rulings.values_list(name).annotate(count=Count("pk")).order_by("-count", name)
    return [(str(value), int(count)) for value, count in counted]


def members_of(project: Project) -> list[User]:
    """Return the active members, who can take part."""
    people = Membership.objects.active().filter(project=project).people()
    return list(people.order_by("display_name", "pk"))


def start_session(*, actor: User, project: Project, round: Round, people: Sequence[str]) -> ReviewSession:
    """Open the session, or change who is present (public ids of members). Raises Denied, Invalid."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    present = _members(project, people)
    with transaction.atomic():
        session, _created = ReviewSession.objects.select_for_update(of=("self",)).get_or_create(
            project=project, stage=round.stage, round=round.number, defaults={"opened_by": actor}
        )
        session.participants.set(present)
        append_event(
            actor=actor,
            project=project,
            kind="review_session.started",
            after={"stage": round.stage, "round": round.number, "people": sorted(one.public_id for one in present)},
        )
    return session


def open_dispute(*, actor: User, project: Project, round: Round, dialogue_id: str) -> Slot:
    """Claim one dispute of the session, and release the actor's other claims in it.

    Raises Denied if the actor may not settle it, Conflict if it is settled or somebody else has claimed it.
    """
    if session_for(project=project, round=round) is None:
        raise Conflict(_("Select who is present first."))
    disputes = open_disputes(project, round.stage, round.number, actor=actor)
    dispute = next((one for one in disputes if one.dialogue.public_id == dialogue_id), None)
    if dispute is None or dispute.slot is None:
        raise Conflict(_("This dispute has been settled. Open another one."))
    claims.claim_slot(actor=actor, slot=dispute.slot)
    others = [one.slot.pk for one in disputes if one.slot is not None and one.slot.pk != dispute.slot.pk]
    for claim in Claim.objects.filter(person=actor, slot__in=others, state=ClaimState.LIVE):
        claims.release(actor=actor, token=claim.token)
    return dispute.slot


def session_for(*, project: Project, round: Round) -> ReviewSession | None:
    """Return the session of a round; None before it is opened."""
    return ReviewSession.objects.filter(project=project, stage=round.stage, round=round.number).first()


def session_of(*, slot: Slot, session: Any) -> ReviewSession | None:
    """Return the session that the reviewer's form names, if it is one of the slot's project."""
    if not isinstance(session, int):
        return None
    return ReviewSession.objects.filter(pk=session, project_id=slot.project_id).first()


def enter_session(*, actor: User, slot: Slot, session: ReviewSession) -> Claim:
    """Store in the form of a claimed dispute that it is decided in this session; return the claim."""
    work = load_slot_work(actor=actor, public_id=slot.public_id)
    kept = read_form(actor=actor, work=work).form.get("review_session") or {}
    # The form of this session is kept; that of another session starts empty.
    blank = {} if kept.get("session") == session.pk else {"people": None, "note": None}
    changes = {"review_session": {**blank, "session": session.pk, "claim": work.claim.pk}}
    store_form(actor=actor, work=work, changes=changes)
    return work.claim


def decisions_of(*, actor: User, project: Project, round: Round) -> QuerySet[SessionDecision]:
    """Return the decisions of a round's session that the actor may see. Raises Denied."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    session = session_for(project=project, round=round)
    made = SessionDecision.objects.filter(session=session) if session else SessionDecision.objects.none()
    return (
        made.filter(review__in=_seen_by(actor), review__dialogue__in=Dialogue.objects.visible_to(actor))
        .select_related("review__person", "review__dialogue")
        .defer("review__dialogue__search_text")
        .prefetch_related(Prefetch("participants", User.objects.order_by("pk")), "review__rulings")
    )


def decisions_changed_since(made: QuerySet[SessionDecision], moment: datetime) -> QuerySet[SessionDecision]:
    """Narrow decisions down to those made since, and those on dialogues that have changed since."""
    return made.filter(Q(review__created_at__gte=moment) | Q(review__dialogue__updated_at__gte=moment))


def _seen_by(actor: User) -> QuerySet[Review]:
    # In a blind stage that has not ended, everybody sees only their own reviews.
    return Review.objects.filter(Q(sealed=False) | Q(person=actor))


def decide_together(
    *, actor: User, session: ReviewSession, people: Sequence[str], note: str, submission: dict[str, Any]
) -> Review:
    """Submit the decision and record who was present, in one transaction. ``submission``: see ``submit_review``.

    ``people``: public ids of members other than the actor. Raises Invalid if there is nobody else, Conflict if the slot
    is not a dispute of the session's round.
    """
    project = session.project
    origin = submission["slot"].stage_run.escalated_from
    here = (session.project_id, session.stage, session.round)
    if origin is None or (origin.project_id, origin.stage, origin.round) != here:
        raise Conflict(_("This item isn’t a dispute of this round. Decide it in its own session, or alone."))
    present = [one for one in _members(project, people) if one.pk != actor.pk]
    if not present:
        raise Invalid(_("Select who else is present. If you decide alone, settle the dispute from My work."))
    note = note.strip()
    if len(note) > MAX_NOTE or "\x00" in note:
        raise Invalid(
            _("The note may have at most %(limit)s characters and no NUL character.") % {"limit": f"{MAX_NOTE:,}"}
        )
    with transaction.atomic():
        review = submit_review(actor=actor, **submission)
        decision, made = SessionDecision.objects.get_or_create(
            review=review, defaults={"session": session, "note": note}
        )
        if made:
            decision.participants.set([actor, *present])
            append_event(
                actor=actor,
                project=project,
                dialogue=review.dialogue,
                kind="review_session.decided",
                after={
                    "review": review.public_id,
                    "stage": session.stage,
                    "round": session.round,
                    "people": sorted(one.public_id for one in (actor, *present)),
                },
                sealed=review.sealed,
            )
    return review


def _members(project: Project, people: Sequence[str]) -> list[User]:
    wanted = set(people)
    found = [one for one in members_of(project) if one.public_id in wanted]
    if len(found) != len(wanted):
        raise Invalid(_("Somebody you selected is no longer a member of this project. Reload the page."))
    if not found:
        raise Invalid(_("Select who is present."))
    return found
