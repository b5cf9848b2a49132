"""Claims: who works on which slot. A slot never has two claims, on either database.

Locks are taken in one order everywhere: membership, dialogue, slot, claim. Claiming locks no dialogue and writes no
event to its chain, because people would wait for one another. The claim rows are kept as its history.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Project, Role, User
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import update
from reviews.models import Claim, ClaimState, Slot, SlotState
from reviews.services.protocols.versions import parse, stage_titles
from reviews.services.queue.abilities import unfit
from reviews.services.queue.claim_rows import (
    can_skip,
    check_limits,
    extend,
    hold,
    lock_slot,
    new_claim,
    open_slot,
    own_claim,
    resume_own,
    stage_of,
)
from reviews.services.queue.eligibility import lock_eligibility, refusal
from reviews.services.queue.first_day import resume_or_train
from reviews.services.queue.gold_claims import replace_with_gold
from reviews.services.queue.notifications import notify_lapse
from reviews.services.queue.order import (
    move_cursor,
    new_position,
    other_started_slot,
    queues_for,
    read_positions,
    read_versions,
)
from reviews.services.queue.pauses import FREE, ClaimLimits, read_claim_limits
from reviews.services.queue.training_claims import require_accepted, require_trained
from reviews.services.statements import take_first

#: Overdue claims that one call of `claim_next` looks at.
OVERDUE = 8


def claim_next(*, actor: User, project: Project, stage: str | None = None) -> Claim | None:
    """Claim the most urgent slot that the actor may take; None if there is none.

    The order: what they have claimed already (in ``stage``, if given), most recently worked on first; expired claims of
    others; then the queues: high priority before normal, slots reserved for them, and the stages nearest to the end.
    What they have skipped comes after everything else, in the order in which they skipped it. Raises Hidden for an
    outsider, Invalid for an unknown stage, Denied for a stage of another role, Conflict if work is paused or they have
    reached the limit of claimed items, and NotReady if they have to accept the guideline or pass the training first.
    Until they have passed, they get only items of the training.
    """
    with transaction.atomic():
        roles, now, limited, prepares = lock_eligibility(actor=actor, project=project)
        limits = read_claim_limits(actor=actor, project=project) if limited else FREE
        versions = read_versions(project)
        queues = queues_for(roles=roles, versions=versions, stage=stage)
        if not queues:
            _refuse_stage(project, stage)
            return None
        stages = [queue.stage for queue in queues]
        if prepares and (claim := resume_or_train(actor=actor, project=project, stages=stages, limits=limits)):
            return claim
        claim = _resume_or_take_over(actor, project, roles, now, stages, limits)
        if claim is not None:
            return claim
        queues = [queue for queue in queues if queue.stage not in limits.stages]
        positions = read_positions(actor=actor, project=project)
        take = partial(take_first, person=actor, project=project, queues=queues, abilities=limits.abilities)
        slot = take(cursors=positions.cursors)
        if positions.gold:
            slot = replace_with_gold(
                actor=actor,
                project=project,
                roles=roles,
                queues=queues,
                slot=slot,
                positions=positions,
                abilities=limits.abilities,
            )
        if slot is None:
            slot = take(cursors={}, skipped=True)
        if slot is None:
            return None
        version = next(version for version in versions if version.pk == slot.protocol_id)
        claim = new_claim(actor=actor, slot=slot, stage=parse(version).stage(slot.stage))
        move_cursor(actor=actor, slot=slot)
    return claim


def claim_slot(*, actor: User, slot: Slot) -> Claim:
    """Claim a given slot.

    Raises Hidden, Denied with the reason, or Conflict if somebody else has claimed it, work is paused or the actor has
    reached the limit of claimed items, and NotReady as ``claim_next`` does.
    """
    with transaction.atomic():
        roles, now, limited, prepares = lock_eligibility(actor=actor, project=slot.project)
        slot = lock_slot(slot.pk)
        if slot.state == SlotState.HIDDEN:
            raise Hidden(_("This item doesn’t exist."))
        live = Claim.objects.select_for_update().filter(slot=slot, state=ClaimState.LIVE).first()
        if live is not None and live.person_id == actor.pk:
            return extend(live, slot)
        if prepares:
            require_accepted(actor=actor, project=slot.project)
            require_trained(actor=actor, slot=slot)
        stage = stage_of(slot)
        reason = refusal(person=actor, roles=roles, slot=slot, stage=stage)
        if reason:
            raise Denied(reason)
        if slot.state in (SlotState.DONE, SlotState.CANCELLED):
            raise Conflict(_("This item needs no further review in this stage."))
        alone = stage.reviewers == 1 or slot.reserved_for_id is not None
        begun = None if alone else other_started_slot(actor=actor, slot=slot)
        if begun is not None:
            raise Conflict(
                _("You started this item in slot %(slot)s and released it. Claim that slot again; it has your draft.")
                % {"slot": begun.public_id}
            )
        if live is not None and not _release_if_overdue(live, slot):
            raise Conflict(_("A colleague is working on this item. Claim another one."))
        if limited:
            limits = read_claim_limits(actor=actor, project=slot.project)
            check_limits(actor, slot.project, limits, [slot.stage], now)
            not_theirs = {} if slot.reserved_for_id == actor.pk else unfit(limits.abilities, [slot.dialogue_id])
            if not_theirs:
                raise Denied(not_theirs[slot.dialogue_id])
        hold(actor, slot)
        return new_claim(actor=actor, slot=slot, stage=stage)


def heartbeat(*, actor: User, token: str, active_seconds: int | None = 0) -> Claim:
    """Extend a claim. ``active_seconds``: active work since the last heartbeat, at most the time that has passed.

    None when a page was opened: without JavaScript that is the only heartbeat, and it has no measured time. An expired
    claim continues if nobody else has claimed the item. Raises Hidden for somebody else's token, Conflict for a claim
    that has ended.
    """
    with transaction.atomic():
        found = _lock_live_claim(token, actor.pk)
        if not found:
            claim = own_claim(actor, token)
            if claim.state == ClaimState.EXPIRED:
                _revive(actor, claim)
                found = _lock_live_claim(token, actor.pk)
        if not found:
            raise Conflict(_("Your claim on this item has ended. Your draft is kept."))
        held: Claim = found[0]
        now: datetime = found[0].now
        if active_seconds is not None:
            passed = max(0, round((now - held.heartbeat_at).total_seconds()))
            held.active_seconds += max(0, min(active_seconds, passed))
            held.heartbeat_at = now
        held.expires_at = now + held.lease
        update(held, "active_seconds", "heartbeat_at", "expires_at")
    return held


@compiled
def _lock_live_claim(token: str, person_id: int) -> QuerySet[Any]:
    live = Claim.objects.select_for_update().filter(token=token, person=person_id, state=ClaimState.LIVE)
    return live.annotate(now=Now())


def release(*, actor: User, token: str) -> None:
    """Release a claim; the slot keeps its position. Does nothing if the claim has ended. Raises Hidden."""
    _give_back(actor, token, ClaimState.RELEASED)


def skip(*, actor: User, token: str) -> None:
    """Release a claim and move the slot to the end of its queue. Does nothing if the claim has ended. Raises Hidden."""
    _give_back(actor, token, ClaimState.SKIPPED)


def expire_overdue(*, limit: int = 200) -> int:
    """Reopen slots whose claim has expired and return their number. This only tidies up; claiming does not need it."""
    overdue = Claim.objects.filter(state=ClaimState.LIVE, expires_at__lte=Now(), project__archived_at=None)
    overdue = overdue.order_by("expires_at")
    count = 0
    for claim in overdue[:limit]:
        with transaction.atomic():
            slot = Slot.objects.select_for_update(skip_locked=can_skip()).filter(pk=claim.slot_id).first()
            if slot is not None and _release_if_overdue(claim, slot):
                open_slot(slot)
                count += 1
    return count


def count_claims(project: Project) -> int:
    """Return how many items of a project are claimed."""
    return Claim.objects.filter(project=project, state=ClaimState.LIVE).count()


def extend_claims(project: Project, pause: timedelta) -> None:
    """Give the live claims of a project the time back in which it was archived. In the caller's transaction."""
    live = Claim.objects.filter(project=project, state=ClaimState.LIVE)
    live.update(expires_at=F("expires_at") + pause)


# --- shared with the other transitions of a slot --------------------------------------------------------------------


def withdraw(slot: Slot) -> None:
    """End the live claim on a locked slot and open the slot, without a notice."""
    Claim.objects.filter(slot=slot, state=ClaimState.LIVE).update(state=ClaimState.WITHDRAWN, ended_at=Now())
    open_slot(slot)


# --- in detail --------------------------------------------------------------------------------------------------------


def _refuse_stage(project: Project, stage: str | None) -> None:
    if stage is None:
        return
    titles = stage_titles(project)
    if stage not in titles:
        raise Invalid(
            _("This project has no stage “%(stage)s”. Its stages are: %(stages)s.")
            % {"stage": stage, "stages": ", ".join(titles) or _("none yet")}
        )
    raise Denied(
        _("Your role can’t review in “%(stage)s”. Ask an administrator for another role.") % {"stage": titles[stage]}
    )


def _resume_or_take_over(
    actor: User,
    project: Project,
    roles: frozenset[Role],
    now: datetime,
    stages: list[str],
    limits: ClaimLimits,
) -> Claim | None:
    """Return the actor's own claim, else take over an expired one. Raises Conflict if they may claim nothing new."""
    found = _own_or_overdue(project.pk, actor.pk, now)
    if not found:
        if limits != FREE:
            check_limits(actor, project, limits, stages, now)
        return None
    own = resume_own(actor=actor, project=project, stages=stages)
    if own is not None:
        return own
    live = Claim.objects.filter(pk__in=found, stage__in=stages, state=ClaimState.LIVE)
    if limits != FREE:
        check_limits(actor, project, limits, stages, now)
        live = live.exclude(stage__in=limits.stages)
    skips = Claim.objects.filter(person=actor, project=project, state=ClaimState.SKIPPED)
    live = live.exclude(slot__stage_run__in=skips.values("slot__stage_run"))
    overdue = list(live.select_related("slot").order_by("expires_at")[:OVERDUE])
    not_theirs = unfit(limits.abilities, [claim.slot.dialogue_id for claim in overdue])
    for claim in overdue:
        if claim.slot.dialogue_id in not_theirs:
            continue
        slot = (
            Slot.objects.select_for_update(skip_locked=can_skip(), of=("self",))
            .select_related("protocol", "stage_run")
            .defer("protocol__definition")
            .filter(pk=claim.slot_id, state=SlotState.CLAIMED)
            .first()
        )
        if slot is None or refusal(person=actor, roles=roles, slot=slot, stage=stage_of(slot)):
            continue
        if other_started_slot(actor=actor, slot=slot) is not None:
            continue
        if _release_if_overdue(claim, slot):
            hold(actor, slot)
            return new_claim(actor=actor, slot=slot, stage=stage_of(slot))
    return None


@compiled
def _own_or_overdue(project_id: int, person_id: int, now: datetime) -> QuerySet[Claim, int]:
    live = Claim.objects.filter(project=project_id, state=ClaimState.LIVE)
    return live.filter(Q(person=person_id) | Q(expires_at__lte=now)).values_list("pk", flat=True)


def _release_if_overdue(claim: Claim, slot: Slot) -> bool:
    """End the claim by compare-and-swap unless a heartbeat has extended it. The slot is locked."""
    ended = Claim.objects.filter(pk=claim.pk, slot=slot, state=ClaimState.LIVE, expires_at__lte=Now())
    if not ended.update(state=ClaimState.EXPIRED, ended_at=Now()):
        return False
    notify_lapse(slot, claim.person_id)
    return True


def _revive(actor: User, claim: Claim) -> None:
    slot = lock_slot(claim.slot_id)
    free = slot.state == SlotState.OPEN and slot.reserved_for_id in (None, actor.pk)
    others = Slot.objects.filter(stage_run_id=slot.stage_run_id, holder=actor).exclude(pk=slot.pk)
    if free and not others.exists():
        hold(actor, slot)
        Claim.objects.filter(pk=claim.pk).update(state=ClaimState.LIVE, ended_at=None)


def _give_back(actor: User, token: str, state: ClaimState) -> None:
    with transaction.atomic():
        claim = own_claim(actor, token)
        slot = lock_slot(claim.slot_id)
        if Claim.objects.filter(pk=claim.pk, state=ClaimState.LIVE).update(state=state, ended_at=Now()):
            if state == ClaimState.SKIPPED:
                slot.position = new_position()
            open_slot(slot)
