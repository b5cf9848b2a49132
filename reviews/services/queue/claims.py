"""Claims: who is at work on what. Never one slot to two people, on either database.

Locks are taken in one order everywhere: membership, dialogue, slot, claim. Claiming locks no dialogue and writes no
event on its chain (people would queue up behind one another): the claim rows, which are kept, are its history.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Project, Role, User
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import database_time, insert, update
from reviews.core.protocols import Stage
from reviews.models import Claim, ClaimState, Slot, SlotState
from reviews.services.protocols.versions import parse, stage_titles
from reviews.services.queue.eligibility import lock_eligibility, refusal
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
from reviews.services.statements import take_first

#: Overdue claims that one call to claim looks at.
OVERDUE = 8


def claim_next(*, actor: User, project: Project, stage: str | None = None) -> Claim | None:
    """The most urgent slot the actor may take, theirs until the lease runs out; None when nothing waits for them.

    What they hold already comes first (of ``stage``, where one is named), then what somebody let expire, then the
    queues: high priority before normal, then what is reserved for them, then the stages nearest to the end. Raises
    Hidden for an outsider, Invalid for an unknown stage, Denied where the stage takes another role, Conflict where work
    is paused or they hold as much as one may.
    """
    with transaction.atomic():
        roles, now, limited = lock_eligibility(actor=actor, project=project)
        limits = read_claim_limits(actor=actor, project=project) if limited else FREE
        versions = read_versions(project)
        queues = queues_for(roles=roles, versions=versions, stage=stage)
        if not queues:
            _refuse_stage(project, stage)
            return None
        stages = [queue.stage for queue in queues]
        claim = _resume_or_take_over(actor, project, roles, now, stages, limits)
        if claim is not None:
            return claim
        queues = [queue for queue in queues if queue.stage not in limits.stages]
        positions = read_positions(actor=actor, project=project)
        slot = take_first(person=actor, project=project, queues=queues, cursors=positions.cursors)
        if positions.gold:
            slot = replace_with_gold(
                actor=actor, project=project, roles=roles, queues=queues, slot=slot, positions=positions
            )
        if slot is None and positions.cursors:
            slot = take_first(person=actor, project=project, queues=queues, cursors={})
        if slot is None:
            return None
        version = next(version for version in versions if version.pk == slot.protocol_id)
        claim = _new_claim(actor=actor, slot=slot, stage=parse(version).stage(slot.stage))
        move_cursor(actor=actor, slot=slot)
    return claim


def claim_slot(*, actor: User, slot: Slot) -> Claim:
    """Take a certain slot.

    Raises Hidden, Denied with the reason, or Conflict where somebody else has it, work is paused or the actor holds as
    much as one may.
    """
    with transaction.atomic():
        roles, now, limited = lock_eligibility(actor=actor, project=slot.project)
        slot = lock_slot(slot.pk)
        if slot.state == SlotState.HIDDEN:
            raise Hidden("There is no such item.")
        live = Claim.objects.select_for_update().filter(slot=slot, state=ClaimState.LIVE).first()
        if live is not None and live.person_id == actor.pk:
            return _extend(live, slot)
        stage = stage_of(slot)
        reason = refusal(person=actor, roles=roles, slot=slot, stage=stage)
        if reason:
            raise Denied(reason)
        if slot.state in (SlotState.DONE, SlotState.CANCELLED):
            raise Conflict("This item needs no further review here.")
        alone = stage.reviewers == 1 or slot.reserved_for_id is not None
        begun = None if alone else other_started_slot(actor=actor, slot=slot)
        if begun is not None:
            raise Conflict(
                f"You have begun on this item in its place {begun.public_id} and gave that back; claim that one, your "
                "draft is there."
            )
        if live is not None and not _release_if_overdue(live, slot):
            raise Conflict("A colleague is at work on this item; take another one.")
        if limited:
            _check_limits(actor, slot.project, read_claim_limits(actor=actor, project=slot.project), [slot.stage], now)
        _hold(actor, slot)
        return _new_claim(actor=actor, slot=slot, stage=stage)


def heartbeat(*, actor: User, token: str, active_seconds: int | None = 0) -> Claim:
    """Keep a claim alive; ``active_seconds``: worked since the last heartbeat, at most the time that has passed.

    None of whoever has just opened a page: without scripts that is the only sign of life, and it tells no time.
    A lease that ran out goes on where nobody else has taken the item. Raises Hidden for a foreign token, Conflict for a
    claim that is over.
    """
    with transaction.atomic():
        found = _lock_live_claim(token, actor.pk)
        if not found:
            claim = _own_claim(actor, token)
            if claim.state == ClaimState.EXPIRED:
                _revive(actor, claim)
                found = _lock_live_claim(token, actor.pk)
        if not found:
            raise Conflict("You do not hold this item any more. Your draft is kept.")
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
    """Give a slot back; it keeps its place. Does nothing for a claim that is over already. Raises Hidden."""
    _give_back(actor, token, ClaimState.RELEASED)


def skip(*, actor: User, token: str) -> None:
    """Pass a slot over: it goes to the end of its queue. Does nothing for a claim that is over. Raises Hidden."""
    _give_back(actor, token, ClaimState.SKIPPED)


def expire_overdue(*, limit: int = 200) -> int:
    """Reopen slots whose lease has run out; returns how many. Claiming does not wait for this: it only tidies up."""
    overdue = Claim.objects.filter(state=ClaimState.LIVE, expires_at__lte=Now()).order_by("expires_at")
    count = 0
    for claim in overdue[:limit]:
        with transaction.atomic():
            slot = Slot.objects.select_for_update(skip_locked=_can_skip()).filter(pk=claim.slot_id).first()
            if slot is not None and _release_if_overdue(claim, slot):
                _open(slot)
                count += 1
    return count


# --- shared with the other transitions of a slot --------------------------------------------------------------------


def lock_slot(slot_id: int) -> Slot:
    """The slot's row, locked until the caller's transaction ends."""
    return (
        Slot.objects.select_for_update(of=("self",))
        .select_related("protocol", "stage_run")
        .defer("protocol__definition")
        .get(pk=slot_id)
    )


def stage_of(slot: Slot) -> Stage:
    """What the protocol the slot's cycle began under says of its stage."""
    return parse(slot.protocol).stage(slot.stage)


def withdraw(slot: Slot) -> None:
    """End the live claim on a locked slot, whoever holds it; the slot is open afterwards. Tells nobody."""
    Claim.objects.filter(slot=slot, state=ClaimState.LIVE).update(state=ClaimState.WITHDRAWN, ended_at=Now())
    _open(slot)


# --- in detail --------------------------------------------------------------------------------------------------------


def _refuse_stage(project: Project, stage: str | None) -> None:
    if stage is None:
        return
    titles = stage_titles(project)
    if stage not in titles:
        raise Invalid(f"This project has no stage called “{stage}”; it has: {', '.join(titles) or 'none yet'}.")
    raise Denied(f"Your role does not take part in “{titles[stage]}”; an administrator can change that.")


def _check_limits(actor: User, project: Project, limits: ClaimLimits, stages: list[str], now: datetime) -> None:
    """Raises Conflict where nothing of these stages is given to the actor."""
    if limits.bar:
        raise Conflict(limits.bar)
    if all(stage in limits.stages for stage in stages):
        raise Conflict(limits.stages[stages[0]])
    most = limits.most_held
    if most is not None:
        held = Claim.objects.filter(project=project, person=actor, state=ClaimState.LIVE, expires_at__gt=now).count()
        if held >= most:
            many = "an item" if most == 1 else f"{most} items"
            raise Conflict(f"You hold {many} here, as much as one person may; hand one in or give it back first.")


def _resume_or_take_over(
    actor: User,
    project: Project,
    roles: frozenset[Role],
    now: datetime,
    stages: list[str],
    limits: ClaimLimits,
) -> Claim | None:
    """What the actor holds, else what somebody let expire. Raises Conflict where nothing new is given to them."""
    found = _own_or_overdue(project.pk, actor.pk, now)
    if not found:
        if limits != FREE:
            _check_limits(actor, project, limits, stages, now)
        return None
    live = Claim.objects.filter(pk__in=found, stage__in=stages, state=ClaimState.LIVE)
    own = live.filter(person=actor).select_for_update(of=("self",)).select_related("slot").order_by("-pk").first()
    if own is not None:
        return _extend(own, own.slot)
    if limits != FREE:
        _check_limits(actor, project, limits, stages, now)
        live = live.exclude(stage__in=limits.stages)
    for claim in live.order_by("expires_at")[:OVERDUE]:
        slot = (
            Slot.objects.select_for_update(skip_locked=_can_skip(), of=("self",))
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
            _hold(actor, slot)
            return _new_claim(actor=actor, slot=slot, stage=stage_of(slot))
    return None


@compiled
def _own_or_overdue(project_id: int, person_id: int, now: datetime) -> QuerySet[Claim, int]:
    live = Claim.objects.filter(project=project_id, state=ClaimState.LIVE)
    return live.filter(Q(person=person_id) | Q(expires_at__lte=now)).values_list("pk", flat=True)


def _new_claim(*, actor: User, slot: Slot, stage: Stage) -> Claim:
    # Asked for when all is locked: what was waited for ended before, on the record too.
    now = database_time()
    lease = timedelta(minutes=stage.lease_minutes)
    claim = Claim(
        slot=slot,
        person=actor,
        project_id=slot.project_id,
        stage=slot.stage,
        lease=lease,
        created_at=now,
        heartbeat_at=now,
        expires_at=now + lease,
    )
    insert([claim])
    return claim


def _extend(claim: Claim, slot: Slot) -> Claim:
    now = database_time()
    claim.slot = slot
    claim.heartbeat_at, claim.expires_at = now, now + claim.lease
    claim.save(update_fields=["heartbeat_at", "expires_at"])
    return claim


def _hold(actor: User, slot: Slot) -> None:
    slot.state, slot.holder = SlotState.CLAIMED, actor
    slot.save(update_fields=["state", "holder"])


def _open(slot: Slot) -> None:
    slot.state, slot.holder = SlotState.OPEN, None
    slot.save(update_fields=["state", "holder", "position"])


def _release_if_overdue(claim: Claim, slot: Slot) -> bool:
    """Compare-and-swap: the claim ends unless its holder was heard of meanwhile. The slot is locked."""
    ended = Claim.objects.filter(pk=claim.pk, slot=slot, state=ClaimState.LIVE, expires_at__lte=Now())
    if not ended.update(state=ClaimState.EXPIRED, ended_at=Now()):
        return False
    notify_lapse(slot, claim.person_id)
    return True


def _own_claim(actor: User, token: str) -> Claim:
    claim = Claim.objects.filter(token=token, person=actor).first()
    if claim is None:
        raise Hidden("There is no such claim of yours.")
    return claim


def _revive(actor: User, claim: Claim) -> None:
    slot = lock_slot(claim.slot_id)
    free = slot.state == SlotState.OPEN and slot.reserved_for_id in (None, actor.pk)
    others = Slot.objects.filter(stage_run_id=slot.stage_run_id, holder=actor).exclude(pk=slot.pk)
    if free and not others.exists():
        _hold(actor, slot)
        Claim.objects.filter(pk=claim.pk).update(state=ClaimState.LIVE, ended_at=None)


def _give_back(actor: User, token: str, state: ClaimState) -> None:
    with transaction.atomic():
        claim = _own_claim(actor, token)
        slot = lock_slot(claim.slot_id)
        if Claim.objects.filter(pk=claim.pk, state=ClaimState.LIVE).update(state=state, ended_at=Now()):
            if state == ClaimState.SKIPPED:
                slot.position = new_position()
            _open(slot)


def _can_skip() -> bool:
    return bool(connection.features.has_select_for_update_skip_locked)
