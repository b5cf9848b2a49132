"""What all transitions of claims share: their rows, their locks, and how many a person may have."""

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.errors import Conflict, Hidden
from annotator.models import Project, User
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import database_time, insert
from reviews.core.protocols import Stage
from reviews.models import Claim, ClaimState, Slot, SlotState
from reviews.services.protocols.versions import parse
from reviews.services.queue.pauses import ClaimLimits, read_claim_limits


def lock_slot(slot_id: int) -> Slot:
    """Return the slot's row, locked until the caller's transaction ends."""
    return (
        Slot.objects.select_for_update(of=("self",))
        .select_related("protocol", "stage_run")
        .defer("protocol__definition")
        .get(pk=slot_id)
    )


def stage_of(slot: Slot) -> Stage:
    """Return the slot's stage in the protocol version of its cycle."""
    return parse(slot.protocol).stage(slot.stage)


def own_claim(actor: User, token: str) -> Claim:
    """Return the actor's claim with this token. Raises Hidden."""
    claim = Claim.objects.filter(token=token, person=actor).first()
    if claim is None:
        raise Hidden(_("This claim doesn’t exist."))
    return claim


def new_claim(*, actor: User, slot: Slot, stage: Stage) -> Claim:
    """Write and return a claim on a slot that the caller has locked."""
    # Read after all locks are taken, so that the time is later than whatever they waited for.
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


def extend(claim: Claim, slot: Slot) -> Claim:
    """Let a live claim last for another lease, and return it with its slot."""
    now = database_time()
    claim.slot = slot
    claim.heartbeat_at, claim.expires_at = now, now + claim.lease
    claim.save(update_fields=["heartbeat_at", "expires_at"])
    return claim


def hold(actor: User, slot: Slot) -> None:
    """Say in a locked slot that the actor has claimed it."""
    slot.state, slot.holder = SlotState.CLAIMED, actor
    slot.save(update_fields=["state", "holder"])


def open_slot(slot: Slot) -> None:
    """Open a locked slot at its position."""
    slot.state, slot.holder = SlotState.OPEN, None
    slot.save(update_fields=["state", "holder", "position"])


def resume_own(*, actor: User, project: Project, stages: list[str]) -> Claim | None:
    """Extend and return the claim that the actor has worked on last; None if they have none in these stages."""
    held = Claim.objects.filter(project=project, person=actor, state=ClaimState.LIVE, stage__in=stages)
    own = held.select_for_update(of=("self",)).select_related("slot").order_by("-heartbeat_at", "-pk").first()
    return extend(own, own.slot) if own else None


@compiled
def held_stages(project_id: int, person_id: int) -> QuerySet[Claim, str]:
    """Return the stage of each claim that the person has."""
    live = Claim.objects.filter(project=project_id, person=person_id, state=ClaimState.LIVE)
    return live.values_list("stage", flat=True)


def check_limits(actor: User, project: Project, limits: ClaimLimits, stages: list[str], now: datetime) -> None:
    """Raise Conflict if the actor may not claim anything of these stages now."""
    if limits.bar:
        raise Conflict(limits.bar)
    if stages and all(stage in limits.stages for stage in stages):
        raise Conflict(limits.stages[stages[0]])
    most = limits.most_held
    if most is not None:
        held = Claim.objects.filter(project=project, person=actor, state=ClaimState.LIVE, expires_at__gt=now).count()
        if held >= most:
            sentence = ngettext(
                "You have already claimed %(count)s item, the limit in this project. Submit or release it first.",
                "You have already claimed %(count)s items, the limit in this project. Submit or release one first.",
                most,
            )
            raise Conflict(sentence % {"count": most})


def require_room(*, actor: User, project: Project) -> None:
    """Raise Conflict if the actor has as many claimed items as one person may have. Pauses do not matter here."""
    most = read_claim_limits(actor=actor, project=project).most_held
    if most is not None:
        check_limits(actor, project, ClaimLimits(most_held=most), [], database_time())


def can_skip() -> bool:
    """Return whether the database can leave out rows that somebody else has locked."""
    return bool(connection.features.has_select_for_update_skip_locked)
