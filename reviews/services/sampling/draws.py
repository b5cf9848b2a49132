"""Draws random samples for audits and rounds: closes a population, draws a seed, and selects items with it.

A draw is recorded in one transaction, which takes its members out of the pool. Carrying it out opens a slot for drawn
items and moves the others on. Small draws are carried out at once, large ones by a job in chunks. Each member's step is
one transaction, so a killed worker leaves nothing half done.

Items that are not drawn for an audit move on. Items that are not drawn for a round wait for the next one, until a round
finds no error and every item was seen once without a dispute; then the whole pool moves on
(``reviews.services.sampling.rounds``).
"""

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import gettext_noop, message
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, Revision, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.database.bulk_insert import insert_rows
from annotator.services.dialogues.revisions import lock_dialogue, lock_dialogues
from annotator.services.history.event_chain import in_portions
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, start_job
from reviews.core.protocols import Allotment, Candidate, EntryMode, Stage, draw_round, draw_sample, population_hash
from reviews.core.protocols.random_draws import ALGORITHM, ROUNDS, SEEN, UNSEEN
from reviews.models import Draw, DrawItem, ProtocolVersion, StageRun, StageRunState
from reviews.services.protocols.versions import parse
from reviews.services.sampling.not_drawn import settle_as_not_drawn, verify_all, wait_for_next_round
from reviews.services.sampling.rounds import (
    end_last_round,
    is_over,
    is_under_way,
    last_round,
    people_of,
    share_out_round,
)
from reviews.services.statistics.counters import write_deltas
from reviews.services.transitions.moves import NOT_DRAWN, CycleContext, forward, open_slots
from reviews.services.transitions.transition_log import Journal

_LOG = logging.getLogger(__name__)

#: A job carries out draws with more members than this.
AT_ONCE = 500
#: Members that one transaction of that job carries out.
CHUNK = 500
JOB = "carry_out_draw"

#: Prefix of the projects of ``manage.py simulate_project``, the only ones whose draws can take given seeds.
SIMULATED = "sim-"
#: (key of a simulated project, the source of its seeds) while a simulation runs.
_simulation: ContextVar[tuple[int, Callable[[], str]] | None] = ContextVar("simulation", default=None)

_UNFINISHED = (StageRunState.OPEN, StageRunState.POOLED, StageRunState.DRAWN)


def close_population_and_draw(*, actor: User | None, project: Project, stage: str | None = None) -> Draw | None:
    """Draw the sample from all items in the pool of a stage (without ``stage``: the first stage with a pool).

    In a stage with rounds this draws the next round, or, after a round without errors in which every item was seen
    without a dispute, the draw that lets the whole pool go on (``Draw.closing``). None if nothing waits. None as actor:
    the program, because nothing is left upstream. Raises Denied for anyone but administrators, Conflict during a round.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # Draws of a project run one after another from here on; reviewers are not held up (their rows only refer to the
        # project's key).
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        drawn_stage = _stage_with_pool(project, stage)
        if drawn_stage is None:
            return None
        closing = False
        if drawn_stage.in_rounds:
            last = end_last_round(actor=actor, project=project, stage=drawn_stage.key)
            if last is not None and is_under_way(last):
                sentence = _(
                    "Round %(number)s of “%(stage)s” is still in progress. You can draw the next round when all its "
                    "items and disputes are settled."
                )
                raise Conflict(sentence % {"number": last.number, "stage": drawn_stage.title})
            closing = is_over(last)
        draw = _close_and_draw(actor, project, drawn_stage, closing=closing)
        if draw.population_size <= AT_ONCE:
            carry_out(draw)
        else:
            start_job(actor=actor, project=project, kind=JOB, parameters={"draw": draw.pk})
    draw.refresh_from_db()
    return draw


@contextmanager
def simulated_seeds(*, project: Project, source: Callable[[], str]) -> Iterator[None]:
    """Within this context and thread, draws of a simulation's project take their seeds from ``source``.

    Simulations must be reproducible. The event of each draw says that it was simulated. Raises ValueError for any other
    project.
    """
    if not project.slug.startswith(SIMULATED):
        raise ValueError("only a simulation may choose the seeds of its draws")
    token = _simulation.set((project.pk, source))
    try:
        yield
    finally:
        _simulation.reset(token)


def drawing_stages(project: Project) -> Iterator[Stage]:
    """Yield the stages with a pool, each from the newest protocol version in which it draws."""
    seen = set()
    for version in ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number"):
        for stage in parse(version).stages:
            if stage.entry.mode is not EntryMode.ALL and stage.key not in seen:
                seen.add(stage.key)
                yield stage


def members_of(draw: Draw) -> list[tuple[Candidate, bool]]:
    """Return the recorded population of a draw, each with whether it was drawn, in the order of the hash."""
    rows = draw.items.values_list("dialogue__external_id", "stratum", "seen", "selected")
    in_rounds = draw.algorithm == ROUNDS
    members = [
        (Candidate(external_id, (SEEN if seen else UNSEEN) if in_rounds else stratum), selected)
        for external_id, stratum, seen, selected in rows.iterator()
    ]
    return sorted(members, key=lambda member: member[0].external_id)


def member_line(draw: Draw, member: Candidate, *, drawn: bool) -> dict[str, Any]:
    """Return a line of ``draws.jsonl`` as described in docs/sampling.md."""
    return {
        "stage": draw.stage, "draw": draw.number, "id": member.external_id, "stratum": member.stratum, "drawn": drawn,
    }  # fmt: skip


def recompute_draw(draw: Draw) -> list[str]:
    """Reproduce a draw from its record and return the differences as sentences; empty for an honest draw."""
    members = members_of(draw)
    population = [one for one, _ in members]
    draw_again = draw_round if draw.algorithm == ROUNDS else draw_sample
    drawn, allotments = draw_again(population, fraction=draw.fraction, seed=draw.seed)
    recorded = {one.external_id for one, selected in members if selected}
    strata = {name: [one.population, one.sample] for name, one in allotments.items()}
    problems = []
    if draw.algorithm not in (ALGORITHM, ROUNDS):
        problems.append(
            _("The draw used version %(version)s of the algorithm. Assay supports versions %(one)s and %(other)s.")
            % {"version": draw.algorithm, "one": ALGORITHM, "other": ROUNDS}
        )
    if population_hash(population) != draw.population_hash:
        problems.append(
            _("The recorded population doesn’t match the hash that was recorded before the seed was drawn.")
        )
    if drawn != recorded:
        missed, extra = len(drawn - recorded), len(recorded - drawn)
        sentence = _(
            "With this seed, the draw selects %(missed)s items that aren’t in the recorded sample, and leaves out "
            "%(extra)s of those that are."
        )
        problems.append(sentence % {"missed": missed, "extra": extra})
    if strata != draw.strata or len(population) != draw.population_size or len(drawn) != draw.sample_size:
        problems.append(_("The recorded sizes don’t match the population and its sample."))
    return problems


def draw_where_upstream_is_done() -> int:
    """Draw in every project in which items wait and no more can come: nothing is left in an earlier stage.

    Return the number of draws. A project that refuses one does not stop the others.
    """
    count = 0
    waiting = StageRun.objects.filter(state=StageRunState.POOLED, project__archived_at=None)
    for project_id, stage in waiting.values_list("project_id", "stage").distinct().order_by("project_id", "stage"):
        try:
            count += _draw_if_upstream_is_done(Project.objects.get(pk=project_id), stage) is not None
        except Conflict as refusal:
            _LOG.info("no draw in stage %s of project %s: %s", stage, project_id, refusal.sentence)
    return count


def _draw_if_upstream_is_done(project: Project, key: str) -> Draw | None:
    stage = _stage_with_pool(project, key)
    if stage is not None and stage.in_rounds:
        return tend_rounds(project_id=project.pk, stage=key)
    left = StageRun.objects.filter(project=project, stage__in=_earlier_stages(project, key), state__in=_UNFINISHED)
    # Gold items never leave their stage.
    if left.exclude(cycle__dialogue__gold_role=GoldRole.GOLD).exists():
        return None
    return close_population_and_draw(actor=None, project=project, stage=key)


def tend_rounds(*, project_id: int, stage: str) -> Draw | None:
    """End the stage's round if all of it is settled, and draw the next one or let the pool move on.

    Called after reviews that may end a round, and regularly by a task. If two calls run at the same time, the second
    has nothing to do.
    """
    last = last_round(project_id, stage)
    if last is not None and is_under_way(last):
        return None
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).get(pk=project_id)
        drawn_stage = _stage_with_pool(project, stage)
        if drawn_stage is not None and not drawn_stage.in_rounds:
            return None
        last = end_last_round(actor=None, project=project, stage=stage)
        if drawn_stage is None or (last is not None and is_under_way(last)) or _more_is_coming(project, stage):
            return None
        try:
            return close_population_and_draw(actor=None, project=project, stage=stage)
        except Conflict:
            # The pool was emptied meanwhile.
            return None


def carry_out(draw: Draw) -> None:
    """Carry out a draw for all its members, in the caller's transaction."""
    _carry_out(draw, list(draw.items.filter(stage_run__state=StageRunState.DRAWN).order_by("dialogue_id")))
    Draw.objects.filter(pk=draw.pk).update(carried_out_at=timezone.now())


@job_kind(JOB, gettext_noop("Carry out draw"), repeatable=True)
def _run(running: Running) -> dict[str, int]:
    draw = Draw.objects.select_related("project").get(pk=running.job.parameters["draw"])
    done: int = running.checkpoint.get("done", 0)
    while True:
        with running.chunk() as chunk:
            waiting = draw.items.filter(stage_run__state=StageRunState.DRAWN)
            items = list(waiting.order_by("dialogue_id")[:CHUNK])
            _carry_out(draw, items)
            done += len(items)
            if not items:
                Draw.objects.filter(pk=draw.pk).update(carried_out_at=timezone.now())
            chunk.advance(done=done, total=draw.population_size, checkpoint={"done": done})
        if not items:
            return {"population": draw.population_size, "sample": draw.sample_size}


def _stage_with_pool(project: Project, key: str | None) -> Stage | None:
    """Return the stage to draw for, from the newest protocol version that has it."""
    pooled = set(
        StageRun.objects.filter(project=project, state=StageRunState.POOLED).values_list("stage", flat=True).distinct()
    )
    stages = drawing_stages(project)
    return next((stage for stage in stages if stage.key in pooled and key in (None, stage.key)), None)


def _more_is_coming(project: Project, key: str) -> bool:
    """Return whether items may still enter a stage's pool, from earlier stages or sent back after they settled."""
    upstream = _earlier_stages(project, key)
    runs = StageRun.objects.filter(project=project)
    return (
        runs.filter(stage__in=upstream, state__in=_UNFINISHED).exists()
        or runs.filter(state=StageRunState.OPEN, escalated_from__stage__in=[*upstream, key]).exists()
    )


def _close_and_draw(
    actor: User | None,
    project: Project,
    stage: Stage,
    *,
    closing: bool = False,
) -> Draw:
    runs = StageRun.objects.filter(project=project, stage=stage.key, state=StageRunState.POOLED)
    # One statement decides who is in the population; items that settle later wait for the next draw. Lock the dialogues
    # first, as everywhere; items that leave the pool while we wait are not included.
    lock_dialogues(Dialogue.objects.filter(pk__in=runs.values("cycle__dialogue")))
    members = list(
        runs.order_by("cycle__dialogue__external_id")
        .values_list(
            "pk", "cycle__dialogue_id", "cycle__dialogue__external_id", "cycle__dialogue__owner__pseudonym", "seen"
        )
        .select_for_update(of=("self",))
    )
    if not members:
        raise Conflict(message("Somebody else has just made a draw. No items are waiting for a draw."))
    in_rounds = stage.in_rounds
    population = [
        Candidate(external_id, (SEEN if seen else UNSEEN) if in_rounds else owner or "")
        for _, _, external_id, owner, seen in members
    ]
    closed = population_hash(population)
    # Draw the seed only now, so that nobody who could influence the population knew it.
    simulation = _simulation.get()
    simulated = simulation is not None and simulation[0] == project.pk
    seed = simulation[1]() if simulation is not None and simulated else secrets.token_hex(32)
    fraction = 0.0 if closing else stage.entry.fraction
    drawn: set[str]
    allotments: dict[str, Allotment]
    drawn, allotments = (draw_round if in_rounds else draw_sample)(population, fraction=fraction, seed=seed)
    last = Draw.objects.filter(project=project, stage=stage.key).aggregate(last=Max("number"))["last"] or 0
    pairs: list[tuple[str, str, int]] = []
    pair_of: dict[int, int] = {}
    if in_rounds and drawn:
        chosen = [run_id for run_id, _, external_id, *_ in members if external_id in drawn]
        pairs, pair_of = share_out_round(project=project, stage=stage, draw_number=last + 1, run_ids=chosen, seed=seed)
    draw = Draw.objects.create(
        project=project,
        stage=stage.key,
        number=last + 1,
        fraction=fraction,
        algorithm=ROUNDS if in_rounds else ALGORITHM,
        seed=seed,
        population_hash=closed,
        population_size=len(population),
        sample_size=len(drawn),
        strata={name: [one.population, one.sample] for name, one in allotments.items()},
        pairs=pairs,
        closing=closing,
        actor=actor,
    )
    insert_rows(
        DrawItem,
        ("dialogue_id", "stage_run_id", "stratum", "seen", "selected", "pair"),
        [
            (dialogue_id, run_id, owner or "", seen, external in drawn, pair_of.get(run_id))
            for run_id, dialogue_id, external, owner, seen in members
        ],
        constants={"draw_id": draw.pk},
    )
    for portion in in_portions([run_id for run_id, *_rest in members]):
        # Items that entered the pool during the previous draw may not have known its number.
        number = {"round": draw.number} if in_rounds else {}
        StageRun.objects.filter(pk__in=portion).update(state=StageRunState.DRAWN, **number)
    write_deltas(project_id=project.pk, deltas={f"pooled:{stage.key}": -len(members)})
    append_event(
        actor=actor,
        project=project,
        kind="draw.closed",
        after={
            "draw": draw.public_id,
            "stage": stage.key,
            "number": draw.number,
            "population_hash": closed,
            "population": draw.population_size,
            "sample": draw.sample_size,
            "seed": seed,
            **({"pairs": len(pairs), "closing": closing} if in_rounds else {}),
            **({"simulated": True} if simulated else {}),
        },
    )
    return draw


def _carry_out(draw: Draw, items: list[DrawItem]) -> None:
    """Carry out a draw for some members, in the caller's transaction; their runs have the state drawn."""
    dialogue_ids = sorted(item.dialogue_id for item in items)
    if not dialogue_ids:
        return
    lock_dialogues(Dialogue.objects.filter(pk__in=dialogue_ids))
    runs = {
        run.pk: run
        for run in StageRun.objects.filter(pk__in=[item.stage_run_id for item in items], state=StageRunState.DRAWN)
        .select_related("cycle__protocol", "entry_revision")
        .defer("cycle__protocol__definition", "entry_revision__content")
    }
    pairs = people_of(draw)
    not_drawn: list[StageRun] = []
    waiting: list[StageRun] = []
    for item in items:
        run = runs.get(item.stage_run_id)
        if run is None:
            continue
        protocol = parse(run.cycle.protocol)
        if item.selected:
            _open(draw, run, () if item.pair is None else pairs[item.pair])
        elif draw.algorithm == ROUNDS and not draw.closing:
            waiting.append(run)
        elif protocol.next_taking(run.stage) is None:
            not_drawn.append(run)
        else:
            _skip_run(draw, run)
    wait_for_next_round(draw, waiting)
    verify_all(draw, not_drawn)


def _open(draw: Draw, run: StageRun, people: Sequence[int] = ()) -> None:
    context = _context(draw, run)
    stage = context.protocol.stage(run.stage)
    run.state = StageRunState.OPEN
    if draw.algorithm != ROUNDS:
        run.entered_as = "sampled"
    run.save(update_fields=["state", "entered_as"])
    context.set_status(DialogueStatus.IN_REVIEW, run.stage)
    open_slots(context, run, stage, run.entry_revision, people=people)
    context.journal.event("draw.selected", after={"draw": draw.public_id, "stage": run.stage, "round": run.round})
    context.dialogue.save(update_fields=["status", "stage", "updated_at"])
    context.journal.write()


def _skip_run(draw: Draw, run: StageRun) -> None:
    context = _context(draw, run)
    settle_as_not_drawn([run])
    run.outcome = NOT_DRAWN
    context.journal.count(f"outcome:{run.stage}:{NOT_DRAWN}")
    context.journal.event("draw.not_drawn", after={"draw": draw.public_id, "stage": run.stage, "round": run.round})
    revision = Revision.objects.get(pk=run.entry_revision_id)
    forward(context, run, revision)
    context.dialogue.save(update_fields=["status", "stage", "updated_at"])
    context.journal.write()


def _context(draw: Draw, run: StageRun) -> CycleContext:
    dialogue = lock_dialogue(run.cycle.dialogue_id)
    journal = Journal(actor=draw.actor, project=dialogue.project, dialogue=dialogue)
    return CycleContext(journal, run.cycle, parse(run.cycle.protocol))


def _earlier_stages(project: Project, key: str) -> list[str]:
    """Return the stages before one, in any version of the project's protocol that has it."""
    out: set[str] = set()
    for version in ProtocolVersion.objects.filter(project=project).defer("definition"):
        keys = [stage.key for stage in parse(version).stages]
        if key in keys:
            out.update(keys[: keys.index(key)])
    return sorted(out)
