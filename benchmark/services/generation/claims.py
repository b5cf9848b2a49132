"""Claims on generations: one person at a time chooses, edits, rejects, writes and goes back.

Locks are taken in one order everywhere: membership, generation, claim.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Denied
from annotator.models import Project, Role, User
from annotator.services.abilities import abilities_of
from annotator.services.access.permissions import require_role
from annotator.services.database.statements import database_time
from benchmark.core.generation.kinds import Kind
from benchmark.models import Generation, GenerationClaim, GenerationStatus, Sampling
from benchmark.services.generation.notices import generation_url, tell_waiting
from benchmark.services.generation.permissions import CONTRIBUTORS
from benchmark.services.generation.reading import lock_generation, visible_generations
from reviews.core.protocols import Stage
from reviews.models import ClaimState
from reviews.services.queue.claim_rows import can_skip
from reviews.services.queue.eligibility import lock_eligibility
from reviews.services.queue.notifications import notify_loss
from reviews.services.queue.pauses import read_claim_limits
from reviews.services.queue.training_claims import require_accepted

#: How long a claim lasts without a heartbeat: as a review claim, unless its stage says otherwise.
LEASE = timedelta(minutes=Stage.model_fields["lease_minutes"].default)
#: Waiting generations that are tried for a claim: more than people who claim at the same time.
DEPTH = 16


def claim_next(*, actor: User, project: Project, kinds: Collection[str] = tuple(Kind)) -> GenerationClaim | None:
    """Claim the generation that has waited longest, or return the actor's own claim; None if none waits for them.

    ``kinds``: of generations. Raises Denied and Hidden, Conflict if work is paused, and NotReady if they have to accept
    the guideline first.
    """
    with transaction.atomic():
        lock_contributor(actor=actor, project=project)
        own = _own_claims(actor, project).filter(
            generation__status=GenerationStatus.WAITING, generation__kind__in=kinds
        )
        if (held := own.select_for_update(of=("self",)).order_by("-pk").first()) is not None:
            return _extend(held)
        _require_free(actor, project)
        waiting = waiting_for(actor=actor, project=project).filter(kind__in=kinds)
        for key in list(waiting.values_list("pk", flat=True)[:DEPTH]):
            rows = Generation.objects.select_for_update(skip_locked=can_skip(), no_key=True, of=("self",))
            found = rows.filter(pk=key, status=GenerationStatus.WAITING).defer("state", "setup").first()
            if found is None:
                continue
            # Somebody may have claimed it since the list was read.
            live = live_claim(found)
            if live is None or _expire(live):
                return _new_claim(actor, found)
    return None


def claim_generation(*, actor: User, generation: Generation, take_over: bool = False) -> GenerationClaim:
    """Claim a generation, or extend the actor's claim. ``take_over``: an administrator ends a colleague's claim.

    Raises as ``claim_next``, and Conflict for one that has ended, or that a colleague has claimed.
    """
    with transaction.atomic():
        roles = lock_contributor(actor=actor, project=generation.project)
        generation = lock_generation(generation.pk)
        require_open(generation)
        live = live_claim(generation)
        if take_over and live is not None and live.person_id != actor.pk:
            _require_administrator(roles)
            _withdraw(actor, live)
        return hold(actor=actor, generation=generation)


def hold(*, actor: User, generation: Generation) -> GenerationClaim:
    """Return the actor's claim on a locked generation: extended, or new if it is free.

    In the caller's transaction, which has locked the contributor and the generation. Raises Conflict and NotReady.
    """
    live = live_claim(generation)
    if live is not None and live.person_id == actor.pk:
        return _extend(live)
    if live is not None and not _expire(live):
        raise Conflict(
            _("%(person)s has claimed this generation. Ask them to give it back, or wait until the claim ends.")
            % {"person": live.person}
        )
    _require_free(actor, generation.project)
    return _new_claim(actor, generation)


def heartbeat(*, actor: User, generation: Generation) -> GenerationClaim:
    """Extend the actor's claim. An expired one continues while the generation is unclaimed.

    Raises Conflict for a claim that has ended.
    """
    with transaction.atomic():
        lock_contributor(actor=actor, project=generation.project)
        generation = lock_generation(generation.pk)
        latest = GenerationClaim.objects.select_for_update(of=("self",)).filter(generation=generation, person=actor)
        claim = latest.order_by("-pk").first()
        if claim is not None and claim.state == ClaimState.LIVE:
            return _extend(claim)
        renewable = claim is not None and claim.state == ClaimState.EXPIRED and live_claim(generation) is None
        if claim is None or not renewable or _has_ended(generation):
            raise Conflict(_("Your claim on this generation has ended. Copy what you have typed before you reload."))
        claim.state, claim.ended_at = ClaimState.LIVE, None
        claim.save(update_fields=["state", "ended_at"])
        return _extend(claim)


def release_claim(*, actor: User, generation: Generation) -> None:
    """Give a claim back; an administrator also releases a colleague's. Does nothing if there is none. Raises Denied."""
    with transaction.atomic():
        roles = lock_contributor(actor=actor, project=generation.project)
        generation = lock_generation(generation.pk)
        live = live_claim(generation)
        if live is None:
            return
        if live.person_id == actor.pk:
            end_claim(generation, ClaimState.RELEASED)
        else:
            _require_administrator(roles)
            _withdraw(actor, live)
        if generation.status == GenerationStatus.WAITING:
            tell_waiting(generation, but=live.person_id)


def end_claim(generation: Generation, state: ClaimState = ClaimState.SUBMITTED) -> None:
    """End the live claim on a locked generation, if there is one."""
    generation.claims.filter(state=ClaimState.LIVE).update(state=state, ended_at=Now())


def live_claim(generation: Generation) -> GenerationClaim | None:
    """Return the claim on a generation with its person, also an expired one that is not replaced."""
    live = live_claims().filter(generation=generation).select_related("generation__project")
    return live.defer("generation__state", "generation__setup").first()


def waiting_for(*, actor: User, project: Project) -> QuerySet[Generation]:
    """Return the generations that the actor could claim next, the one that has waited longest first."""
    held = GenerationClaim.objects.filter(
        Q(person=actor) | Q(expires_at__gt=Now()), generation=OuterRef("pk"), state=ClaimState.LIVE
    )
    rows = visible_generations(actor=actor, project=project).filter(
        ~Exists(held), ~Q(query__sampling__in=Sampling.objects.in_progress()), status=GenerationStatus.WAITING
    )
    languages = abilities_of(project, actor).languages
    if languages:
        rows = rows.filter(language__in=languages)
    return rows.order_by("updated_at", "pk")


def claims_of(*, actor: User, project: Project) -> list[GenerationClaim]:
    """Return the actor's live claims on generations, with these, the newest first."""
    held = _own_claims(actor, project).select_related("generation")
    return list(held.defer("generation__state", "generation__setup").order_by("-pk"))


def _own_claims(actor: User, project: Project) -> QuerySet[GenerationClaim]:
    shown = visible_generations(actor=actor, project=project)
    return live_claims().filter(project=project, person=actor, generation__in=shown)


def live_claims() -> QuerySet[GenerationClaim]:
    """Return the claims that have not ended, with their people."""
    return GenerationClaim.objects.filter(state=ClaimState.LIVE).select_related("person")


def holders(generations: Iterable[Generation]) -> dict[int, User]:
    """Return generation (key) → the person who has claimed it, without claims whose time is over."""
    live = live_claims().filter(generation__in=list(generations), expires_at__gt=Now())
    return {one.generation_id: one.person for one in live}


def lock_contributor(*, actor: User, project: Project) -> frozenset[Role]:
    """Lock the actor's membership and return their roles. Raises Hidden, and Denied unless they may act."""
    roles = lock_eligibility(actor=actor, project=project).roles
    require_role(actor=actor, project=project, roles=CONTRIBUTORS)
    return roles


def require_open(generation: Generation) -> None:
    """Raise Conflict if a generation has ended."""
    if _has_ended(generation):
        raise Conflict(_("The generation has ended, so nothing in it can change."))


def expire_overdue(*, limit: int = 200) -> int:
    """End claims whose time is over and return how many. This only tidies up; claiming does not need it."""
    overdue = GenerationClaim.objects.filter(
        state=ClaimState.LIVE, expires_at__lte=Now(), project__archived_at=None
    ).order_by("expires_at")
    count = 0
    for key in list(overdue.values_list("generation_id", flat=True)[:limit]):
        with transaction.atomic():
            rows = Generation.objects.select_for_update(skip_locked=can_skip(), no_key=True, of=("self",))
            generation = rows.filter(pk=key).select_related("project").defer("state", "setup").first()
            live = live_claim(generation) if generation is not None else None
            if generation is None or live is None or not _expire(live):
                continue
            count += 1
            if generation.status == GenerationStatus.WAITING:
                tell_waiting(generation, but=live.person_id)
    return count


def _has_ended(generation: Generation) -> bool:
    return generation.status in (GenerationStatus.DONE, GenerationStatus.FAILED)


def _require_free(actor: User, project: Project) -> None:
    """Raise Conflict if work is paused, and NotReady if the actor has to accept the guideline first."""
    if bar := read_claim_limits(actor=actor, project=project).bar:
        raise Conflict(bar)
    require_accepted(actor=actor, project=project)


def _require_administrator(roles: frozenset[Role]) -> None:
    if Role.ADMINISTRATOR not in roles:
        raise Denied(_("Only administrators can end a colleague’s claim."))


def _new_claim(actor: User, generation: Generation) -> GenerationClaim:
    # Read after all locks are taken, so that the time is later than whatever they waited for.
    now: datetime = database_time()
    return GenerationClaim.objects.create(
        generation=generation, person=actor, project_id=generation.project_id, created_at=now, expires_at=now + LEASE
    )


def _extend(claim: GenerationClaim) -> GenerationClaim:
    claim.expires_at = database_time() + LEASE
    claim.save(update_fields=["expires_at"])
    return claim


def _expire(claim: GenerationClaim) -> bool:
    """End the claim by compare-and-swap unless a heartbeat has extended it. The generation is locked."""
    ended = GenerationClaim.objects.filter(pk=claim.pk, state=ClaimState.LIVE, expires_at__lte=Now())
    if not ended.update(state=ClaimState.EXPIRED, ended_at=Now()):
        return False
    generation = claim.generation
    words = message(
        "Your claim on %(generation)s expired. Open it again to continue, unless a colleague has claimed it.",
        generation=generation.name,
    )
    notify_loss(
        actor=None, project=generation.project, people=[claim.person_id], words=words, target=generation_url(generation)
    )
    return True


def _withdraw(actor: User, claim: GenerationClaim) -> None:
    """End a colleague's claim on a locked generation, and tell them."""
    generation = claim.generation
    end_claim(generation, ClaimState.WITHDRAWN)
    notify_loss(
        actor=actor,
        project=generation.project,
        people=[claim.person_id],
        words=message("An administrator has ended your claim on %(generation)s.", generation=generation.name),
        target=generation_url(generation),
    )
