"""Stages with rounds: the current round, its results, and whether it was the last one.

A round is a draw of such a stage. It is in progress until every drawn item is settled, including disputes. The rounds
end after a round without errors, once every item in the pool was seen without a dispute. An *error* is an item that was
changed or rejected, in the round itself or in the settlement of its dispute; a *dispute* is an item on which its
reviewers disagreed. Counted as it happens under ``round:<what>:<stage>:<number>``; see
``reviews.services.statistics.counters``.
"""

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.models import Dialogue, Membership, Project, User
from annotator.models.content import GoldRole
from annotator.services.history.events import append_event
from reviews.core.agreement import Figure, wilson
from reviews.core.protocols import Outcome, Stage
from reviews.core.protocols.pairing import History, Look, pair_up, share_out
from reviews.core.protocols.random_draws import ROUNDS
from reviews.models import Draw, Review, Slot, SlotState, StageRun, StageRunState
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue.absence import absent_people
from reviews.services.statistics.audits import round_findings
from reviews.services.statistics.counters import stored_counters
from reviews.services.statistics.hidden_gold import hidden_runs
from reviews.services.transitions.moves import CycleContext

_WRONG = (Outcome.PASS_WITH_FIX, Outcome.REJECTED)


class Found(NamedTuple):
    """The findings of a round."""

    #: Drawn items that were reviewed.
    seen: int
    errors: int
    disputes: int


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """One round of one stage. ``accuracy`` is WildToolBench's "accuracy by iteration", estimated from the round."""

    stage: str
    title: str
    number: int
    #: None while it is in progress.
    ended_at: datetime | None
    #: All items of the stage, how many of them had not been seen without a dispute, and how many were drawn.
    population: int
    unseen: int
    drawn: int
    #: Drawn items reviewed so far, and how many of them had an error or a dispute.
    seen: int
    errors: int
    disputes: int
    #: Disputes that are not settled yet.
    open_disputes: int
    #: Errors per decided item, with Wilson's interval. Open disputes are not decided yet.
    error_rate: Figure
    #: The share of decided items in which nothing was changed.
    accuracy: Figure
    #: (pseudonym, pseudonym, number of items assigned to the two)
    pairs: list[tuple[str, str, int]] = field(default_factory=list)
    #: Whether everything moved on after this round.
    last: bool = False


@dataclass(frozen=True, slots=True)
class OpenDispute:
    """An item on which the reviewers of a round disagreed and that is not settled."""

    dialogue: Dialogue
    #: The run of the round, and the number of places that differ (different verdicts count as one).
    run: StageRun
    discrepancies: int
    #: Where to settle it: claim this slot and rule as on any escalated item. None if nobody can claim it yet.
    slot: Slot | None
    #: The submitted reviews, in the order of their slots.
    reviews: list[Review]
    #: Why the actor can't settle it, as a sentence; blank if they can.
    refusal: str = ""


def read_rounds(project: Project, *, hide_answers: bool = False) -> list[RoundFigures]:
    """Return every round of the project by stage, in order. Reads counters and draws, never items.

    ``hide_answers``: leave the known answers of gold items out of the findings, for people who must think that these
    wait in an earlier stage; sizes of samples and populations stay the same.

    Only the round in progress can have open disputes.
    """
    draws = list(Draw.objects.filter(project=project, algorithm=ROUNDS).order_by("stage", "number"))
    if not draws:
        return []
    titles = stage_titles(project)
    places = {key: place for place, key in enumerate(titles)}
    counts = Tally(stored_counters(project))
    if hide_answers:
        hidden = [run.pk for run in hidden_runs(project)]
        counts.subtract(round_findings(StageRun.objects.filter(pk__in=hidden)))
    ended = {(draw.stage, draw.number - 1) for draw in draws if draw.closing}
    waiting = _open_by_round(project)
    out = []
    for draw in sorted(draws, key=lambda draw: (places.get(draw.stage, 99), draw.number)):
        if draw.closing:
            continue
        seen, errors, disputes = _found_in(draw, counts)
        still_open = waiting.get((draw.stage, draw.number), 0)
        # A dispute may have opened between the two statements.
        decided = max(errors, seen - still_open)
        none = _("No item of this round is decided yet.") if seen else _("No item of this round has been reviewed yet.")
        out.append(
            RoundFigures(
                stage=draw.stage,
                title=titles.get(draw.stage, draw.stage),
                number=draw.number,
                ended_at=draw.round_ended_at,
                population=draw.population_size,
                unseen=draw.strata.get("unseen", [0])[0],
                drawn=draw.sample_size,
                seen=seen,
                errors=errors,
                disputes=disputes,
                open_disputes=still_open,
                error_rate=wilson("Error rate", errors, decided, none=none),
                accuracy=wilson("Accuracy", decided - errors, decided, none=none),
                pairs=[(one, other, int(items)) for one, other, items in draw.pairs],
                last=(draw.stage, draw.number) in ended,
            )
        )
    return out


def open_disputes(project: Project, stage: str, round: int, *, actor: User) -> list[OpenDispute]:
    """Return the items of a round on which its reviewers disagreed and that are not settled, oldest first.

    If several senior reviewers settle an item, its slot is the actor's own, else an open one.

    Works for any stage that escalates; in a stage with rounds ``round`` is the number of the draw. The caller has
    checked that the actor may see disputes. To settle one, a senior reviewer reviews it as usual: ``claim_slot`` with
    the dispute's slot, then ``submit_review`` with rulings.
    """
    settlements = list(
        _waiting(project)
        .filter(escalated_from__stage=stage, escalated_from__round=round)
        .select_related("escalated_from__entry_revision", "cycle__dialogue__project")
        .order_by("escalated_from__settled_at", "pk")
    )
    origins = [one.escalated_from_id for one in settlements]
    unfinished = Slot.objects.filter(
        stage_run__in=[one.pk for one in settlements], state__in=[SlotState.OPEN, SlotState.CLAIMED]
    )
    unfinished = unfinished.select_related("protocol").defer("protocol__definition")
    # The last slot of a run is kept.
    in_turn = sorted(unfinished, key=lambda slot: (slot.holder_id == actor.pk, slot.holder_id is None))
    slots = {slot.stage_run_id: slot for slot in in_turn}
    reviews: dict[int, list[Review]] = {}
    for review in (
        Review.objects.filter(stage_run__in=origins, sealed=False)
        .select_related("person", "made_revision", "slot")
        .order_by("stage_run_id", "slot__index")
    ):
        reviews.setdefault(review.stage_run_id, []).append(review)
    out = []
    for one in settlements:
        run = one.escalated_from
        if run is not None:
            out.append(
                OpenDispute(
                    dialogue=one.cycle.dialogue,
                    run=run,
                    discrepancies=run.discrepancy_count or 0,
                    slot=slots.get(one.pk),
                    reviews=reviews.get(run.pk, []),
                )
            )
    return out


# --- as it happens --------------------------------------------------------------------------------------------------


def count_settled(context: CycleContext, run: StageRun, stage: Stage, changed: bool) -> str:
    """Count a settled run for its round; return the key of the stage whose round it may have ended, or blank.

    ``changed``: whether the run changed the content.
    """
    journal = context.journal
    if stage.in_rounds:
        journal.count(f"round:seen:{run.stage}:{run.round}")
        if run.outcome == Outcome.ESCALATE:
            journal.count(f"round:disputes:{run.stage}:{run.round}")
        elif changed or run.outcome in _WRONG:
            journal.count(f"round:errors:{run.stage}:{run.round}")
        return run.stage
    origin = run.escalated_from if run.escalated_from_id is not None else None
    if origin is None or origin.looks is None:
        return ""
    if changed or run.outcome == Outcome.REJECTED:
        journal.count(f"round:errors:{origin.stage}:{origin.round}")
    return origin.stage


def tally_round(draw: Draw) -> Found:
    """Count a round's findings from its items, to decide whether it ends the rounds."""
    runs = StageRun.objects.filter(project=draw.project_id)
    of_round = runs.filter(stage=draw.stage, round=draw.number).exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    settlements = runs.filter(escalated_from__stage=draw.stage, escalated_from__round=draw.number)
    return _found_in(draw, round_findings(of_round) + round_findings(settlements))


def last_round(project_id: int, stage: str) -> Draw | None:
    """Return the newest draw of a stage with rounds, including one that ended them."""
    return Draw.objects.filter(project=project_id, stage=stage, algorithm=ROUNDS).order_by("-number").first()


def is_under_way(draw: Draw) -> bool:
    """Return whether anything drawn, or a dispute about it, is not settled yet."""
    if draw.carried_out_at is None:
        return True
    # Called after each review of a round, so it uses the index of open runs.
    runs = StageRun.objects.filter(project=draw.project_id, state=StageRunState.OPEN)
    # Gold items never leave their stage.
    runs = runs.exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    of_round = runs.filter(stage=draw.stage, round=draw.number)
    dispute = runs.filter(escalated_from__stage=draw.stage, escalated_from__round=draw.number)
    return of_round.exists() or dispute.exists()


def is_over(last: Draw | None) -> bool:
    """Return whether the rounds end: the last one found no error, and all waiting items were seen without a dispute."""
    if last is None or last.closing or last.carried_out_at is None:
        return False
    found = tally_round(last)
    # If all items of a round restarted, nobody reviewed them, so it found nothing.
    if found.errors or not found.seen:
        return False
    unseen = StageRun.objects.filter(project=last.project_id, stage=last.stage, state=StageRunState.POOLED, seen=False)
    return not unseen.exists()


def end_last_round(*, actor: User | None, project: Project, stage: str) -> Draw | None:
    """Return the stage's newest draw; if all of it is settled, record its end and findings.

    The caller has locked the project's row, so this happens once.
    """
    draw = last_round(project.pk, stage)
    if draw is None or draw.closing or draw.round_ended_at is not None:
        return draw
    # An undo that brings an item of the round back holds the row until it has committed.
    draw = Draw.objects.select_for_update(no_key=True).get(pk=draw.pk)
    if is_under_way(draw):
        return draw
    tally = tally_round(draw)
    draw.round_ended_at = timezone.now()
    draw.save(update_fields=["round_ended_at"])
    append_event(
        actor=actor,
        project=project,
        kind="round.ended",
        after={
            "draw": draw.public_id, "stage": draw.stage, "round": draw.number, "drawn": draw.sample_size,
            "seen": tally.seen, "errors": tally.errors, "disputes": tally.disputes,
        },
    )  # fmt: skip
    return draw


def share_out_round(
    *, project: Project, stage: Stage, draw_number: int, run_ids: Sequence[int], seed: str
) -> tuple[list[tuple[str, str, int]], dict[int, int]]:
    """Assign the items of a round to pairs: return the pairs with their number of items, and {run id: index of the
    pair}.

    ``run_ids``: the drawn runs. Only for stages with two reviewers; otherwise anyone can claim the slots.
    """
    if stage.reviewers != 2:
        return [], {}
    people = _people(project, stage)
    earlier = Draw.objects.filter(project=project, stage=stage.key, algorithm=ROUNDS, number__lt=draw_number)
    before = earlier.order_by("number").values_list("pairs", flat=True)
    history = History([[(one, other) for one, other, _ in pairs] for pairs in before])
    looks = _looks(stage, run_ids)
    pairs = pair_up(people, history=history, seed=seed)
    shares = share_out(list(looks), pairs, people, history=history, seed=seed)
    used = list(dict.fromkeys(shares.values()))
    places = {pair: place for place, pair in enumerate(used)}
    sizes = [sum(pair == one for pair in shares.values()) for one in used]
    by_run = {looks[look]: places[shares[look.external_id]] for look in looks if look.external_id in shares}
    return [(one, other, size) for (one, other), size in zip(used, sizes, strict=True)], by_run


def _people(project: Project, stage: Stage) -> list[str]:
    members = Membership.objects.active().filter(project=project, role__in=[str(role) for role in stage.eligible.roles])
    there = members.exclude(user__in=list(absent_people(project)))
    return sorted(set(there.values_list("user__pseudonym", flat=True)))


def _looks(stage: Stage, run_ids: Sequence[int]) -> dict[Look, int]:
    """Return {item to review: run id}."""
    runs = StageRun.objects.filter(pk__in=run_ids).values_list(
        "pk", "cycle_id", "cycle__dialogue__external_id", "cycle__dialogue__owner__pseudonym",
        "entry_revision__author__pseudonym",
    )  # fmt: skip
    found = list(runs)
    met: dict[int, set[str]] = {}
    for cycle_id, name in Slot.objects.filter(
        cycle__in=[one[1] for one in found], stage=stage.key, state=SlotState.DONE
    ).values_list("cycle_id", "holder__pseudonym"):
        met.setdefault(cycle_id, set()).add(name)
    return {
        Look(
            external_id,
            barred=frozenset(name for name in (owner, author) if name),
            met=frozenset(met.get(cycle_id, ())),
        ): run_id
        for run_id, cycle_id, external_id, owner, author in found
    }


def people_of(draw: Draw) -> list[tuple[int, ...]]:
    """Return the keys of each pair's members, in the order of the draw's pairs."""
    names = {name for one, other, _ in draw.pairs for name in (one, other)}
    keys = dict(User.objects.filter(pseudonym__in=names).values_list("pseudonym", "pk"))
    return [(keys[one], keys[other]) for one, other, _ in draw.pairs]


def _found_in(draw: Draw, counts: Tally[str]) -> Found:
    seen, errors, disputes = (f"round:{what}:{draw.stage}:{draw.number}" for what in ("seen", "errors", "disputes"))
    return Found(counts[seen], counts[errors], counts[disputes])


def _waiting(project: Project) -> QuerySet[StageRun]:
    return StageRun.objects.filter(project=project, state=StageRunState.OPEN, escalated_from__isnull=False)


def _open_by_round(project: Project) -> dict[tuple[str, int], int]:
    out: dict[tuple[str, int], int] = {}
    waiting = _waiting(project).filter(escalated_from__looks__isnull=False)
    for key in waiting.values_list("escalated_from__stage", "escalated_from__round"):
        out[key] = out.get(key, 0) + 1
    return out
