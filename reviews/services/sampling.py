"""The random audit: a population is closed, then a seed is drawn, then the seed says who is looked at.

Drawing records everything in one transaction and takes the members out of the pool. Carrying the draw out (a slot for
whoever was drawn, the end of the protocol for the others) follows at once where it is small, else as a job in chunks;
either way each member's step is one transaction, so a killed worker leaves nothing half done.
"""

import secrets
from collections.abc import Callable

from django.db import transaction
from django.db.models import F, Max, OuterRef, Subquery
from django.utils import timezone

from annotator.errors import Conflict
from annotator.models import Dialogue, Project, Revision, User
from annotator.models.content import DialogueStatus
from annotator.services.access import require_administrator
from annotator.services.bulk import insert_rows
from annotator.services.events import append_event
from annotator.services.jobs import Running, job_kind, start_job
from annotator.services.revisions import lock_dialogue
from reviews.models import Cycle, CycleState, Draw, DrawItem, ProtocolVersion, StageRun, StageRunState
from reviews.protocols import Candidate, EntryMode, Stage, draw_sample, population_hash
from reviews.protocols.drawing import ALGORITHM
from reviews.services.advancing import Passage, forward, open_slots
from reviews.services.chains import extend_chains, in_portions
from reviews.services.counters import write_deltas
from reviews.services.courses import await_courses
from reviews.services.journal import Journal
from reviews.services.protocols import parse

NOT_DRAWN = "not_drawn"
#: A draw with more members than this is carried out by a job.
AT_ONCE = 500
#: Members that one transaction of that job carries out.
CHUNK = 500
JOB = "carry_out_draw"

#: How the projects of ``manage.py simulate_project`` are called, and no other's draw takes its seed from elsewhere.
SIMULATED = "sim-"

_UNFINISHED = (StageRunState.OPEN, StageRunState.POOLED, StageRunState.DRAWN)


def close_population_and_draw(
    *, actor: User | None, project: Project, stage: str | None = None, seed_source: Callable[[str], str] | None = None
) -> Draw | None:
    """Draw the sample from everything that waits in the pool of a stage (without one: of the first that has a pool).

    None when nothing waits. None as actor: the program, because nothing is left upstream. Raises Denied for others than
    administrators.

    ``seed_source``: for simulations, which have to come out the same twice: takes the hash of the closed population,
    gives the seed. The event of the draw says so. Raises ValueError for any project but a simulation's.
    """
    if seed_source is not None and not project.slug.startswith(SIMULATED):
        raise ValueError("only a simulation may say where the seed of its draws comes from")
    if actor is not None:
        require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # Draws of a project wait for one another here; reviewers do not (their rows only refer to the project's key).
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        drawn_stage = _stage_with_pool(project, stage)
        if drawn_stage is None:
            return None
        draw = _close_and_draw(actor, project, drawn_stage, seed_source)
        if draw.population_size <= AT_ONCE:
            carry_out(draw)
        else:
            start_job(actor=actor, project=project, kind=JOB, parameters={"draw": draw.pk})
    draw.refresh_from_db()
    return draw


def recompute_draw(draw: Draw) -> list[str]:
    """Draw again from what was recorded; what does not come out the same, as sentences. Empty for an honest draw."""
    rows = draw.items.values_list("dialogue__external_id", "stratum", "selected")
    population = [Candidate(external_id, stratum) for external_id, stratum, _ in rows]
    drawn, allotments = draw_sample(population, fraction=draw.fraction, seed=draw.seed)
    recorded = {external_id for external_id, _, selected in rows if selected}
    strata = {name: [one.population, one.sample] for name, one in allotments.items()}
    problems = []
    if draw.algorithm != ALGORITHM:
        problems.append(f"It was drawn by version {draw.algorithm} of the algorithm; this program has {ALGORITHM}.")
    if population_hash(population) != draw.population_hash:
        problems.append("The recorded population is not the one whose hash was recorded before the seed was drawn.")
    if drawn != recorded:
        missed, extra = len(drawn - recorded), len(recorded - drawn)
        problems.append(f"The seed draws {missed} that were not looked at, and not {extra} that were.")
    if strata != draw.strata or len(population) != draw.population_size or len(drawn) != draw.sample_size:
        problems.append("The recorded sizes are not those of the population and its sample.")
    return problems


def draw_where_upstream_is_done() -> int:
    """Draw in every project in which items wait and no more can come: nothing is left in an earlier stage."""
    count = 0
    waiting = StageRun.objects.filter(state=StageRunState.POOLED, project__archived_at=None)
    for project_id, key in waiting.values_list("project_id", "stage").distinct().order_by("project_id", "stage"):
        project = Project.objects.get(pk=project_id)
        upstream = _earlier_stages(project, key)
        left = StageRun.objects.filter(project=project, stage__in=upstream, state__in=_UNFINISHED)
        if not left.exists() and close_population_and_draw(actor=None, project=project, stage=key) is not None:
            count += 1
    return count


def carry_out(draw: Draw) -> None:
    """Let every member of a draw go its way, in the caller's transaction."""
    _carry_out(draw, list(draw.items.filter(stage_run__state=StageRunState.DRAWN).order_by("dialogue_id")))
    Draw.objects.filter(pk=draw.pk).update(carried_out_at=timezone.now())


@job_kind(JOB, "Carrying out a draw")
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
    """The stage to draw for, as the newest protocol that has it says."""
    pooled = set(
        StageRun.objects.filter(project=project, state=StageRunState.POOLED).values_list("stage", flat=True).distinct()
    )
    for version in ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number"):
        for stage in parse(version).stages:
            if stage.key in pooled and key in (None, stage.key) and stage.entry.mode is not EntryMode.ALL:
                return stage
    return None


def _close_and_draw(
    actor: User | None, project: Project, stage: Stage, seed_source: Callable[[str], str] | None
) -> Draw:
    runs = StageRun.objects.filter(project=project, stage=stage.key, state=StageRunState.POOLED)
    # One statement decides who is in: what settles a moment later waits for the next draw. The dialogues' rows come
    # first, as everywhere; what left the pool while we waited for them is out.
    list(
        Dialogue.objects.select_for_update(of=("self",))
        .filter(pk__in=runs.values("cycle__dialogue"))
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    members = list(
        runs.order_by("cycle__dialogue__external_id")
        .values_list("pk", "cycle__dialogue_id", "cycle__dialogue__external_id", "cycle__dialogue__owner__pseudonym")
        .select_for_update(of=("self",))
    )
    if not members:
        raise Conflict("Somebody else has just drawn; nothing is waiting for a draw any more.")
    population = [Candidate(external_id, owner or "") for _, _, external_id, owner in members]
    closed = population_hash(population)
    # Only now: whoever could have steered the population cannot have known the seed.
    seed = secrets.token_hex(32) if seed_source is None else seed_source(closed)
    drawn, allotments = draw_sample(population, fraction=stage.entry.fraction, seed=seed)
    last = Draw.objects.filter(project=project, stage=stage.key).aggregate(last=Max("number"))["last"] or 0
    draw = Draw.objects.create(
        project=project,
        stage=stage.key,
        number=last + 1,
        fraction=stage.entry.fraction,
        algorithm=ALGORITHM,
        seed=seed,
        population_hash=closed,
        population_size=len(population),
        sample_size=len(drawn),
        strata={name: [one.population, one.sample] for name, one in allotments.items()},
        actor=actor,
    )
    insert_rows(
        DrawItem,
        ("dialogue_id", "stage_run_id", "stratum", "selected"),
        [(dialogue_id, run_id, owner or "", external in drawn) for run_id, dialogue_id, external, owner in members],
        constants={"draw_id": draw.pk},
    )
    for portion in in_portions([run_id for run_id, *_ in members]):
        StageRun.objects.filter(pk__in=portion).update(state=StageRunState.DRAWN)
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
            **({} if seed_source is None else {"simulated": True}),
        },
    )
    return draw


def _carry_out(draw: Draw, items: list[DrawItem]) -> None:
    """Carry out some members of a draw, in the caller's transaction; their runs are all in state drawn."""
    dialogue_ids = sorted(item.dialogue_id for item in items)
    if not dialogue_ids:
        return
    list(Dialogue.objects.select_for_update(of=("self",)).filter(pk__in=dialogue_ids).order_by("pk").values_list("pk"))
    runs = {
        run.pk: run
        for run in StageRun.objects.filter(pk__in=[item.stage_run_id for item in items], state=StageRunState.DRAWN)
        .select_related("cycle__protocol", "entry_revision")
        .defer("cycle__protocol__definition", "entry_revision__content")
    }
    passed_over: list[StageRun] = []
    for item in items:
        run = runs.get(item.stage_run_id)
        if run is None:
            continue
        if item.selected:
            _open(draw, run)
        elif parse(run.cycle.protocol).following(run.stage) is None:
            passed_over.append(run)
        else:
            _pass_over(draw, run)
    _verify_all(draw, passed_over)


def _open(draw: Draw, run: StageRun) -> None:
    passage = _passage(draw, run)
    stage = passage.protocol.stage(run.stage)
    run.state, run.entered_as = StageRunState.OPEN, "sampled"
    run.save(update_fields=["state", "entered_as"])
    passage.place(DialogueStatus.IN_REVIEW, run.stage)
    open_slots(passage, run, stage, run.entry_revision)
    passage.journal.event("draw.selected", after={"draw": draw.public_id, "stage": run.stage, "round": run.round})
    passage.dialogue.save(update_fields=["status", "stage"])
    passage.journal.write()


def _pass_over(draw: Draw, run: StageRun) -> None:
    passage = _passage(draw, run)
    _settle_as_not_drawn([run])
    passage.journal.count(f"outcome:{run.stage}:{NOT_DRAWN}")
    passage.journal.event("draw.passed_over", after={"draw": draw.public_id, "stage": run.stage, "round": run.round})
    revision = Revision.objects.get(pk=run.entry_revision_id)
    forward(passage, run, revision)
    passage.dialogue.save(update_fields=["status", "stage"])
    passage.journal.write()


def _passage(draw: Draw, run: StageRun) -> Passage:
    dialogue = lock_dialogue(run.cycle.dialogue_id)
    journal = Journal(actor=draw.actor, project=dialogue.project, dialogue=dialogue)
    return Passage(journal, run.cycle, parse(run.cycle.protocol))


def _verify_all(draw: Draw, runs: list[StageRun]) -> None:
    """What is left of the last stage's pool is verified, thousands at a time: nothing else follows for them."""
    if not runs:
        return
    _settle_as_not_drawn(runs)
    for portion in in_portions([run.pk for run in runs]):
        entry = StageRun.objects.filter(pk__in=portion, cycle=OuterRef("pk")).values("entry_revision")[:1]
        Cycle.objects.filter(stage_runs__in=portion).update(
            state=CycleState.VERIFIED, ended_at=timezone.now(), exit_revision=Subquery(entry)
        )
    for portion in in_portions([run.cycle.dialogue_id for run in runs]):
        Dialogue.objects.filter(pk__in=portion).update(
            status=DialogueStatus.VERIFIED, stage="", updated_at=timezone.now()
        )
    await_courses(dialogue_ids=[run.cycle.dialogue_id for run in runs], project_id=draw.project_id)
    by_stage: dict[str, int] = {}
    for run in runs:
        key = f"outcome:{run.stage}:{NOT_DRAWN}"
        by_stage[key] = by_stage.get(key, 0) + 1
    moved = {f"status:{DialogueStatus.POOLED}": -len(runs), f"status:{DialogueStatus.VERIFIED}": len(runs)}
    write_deltas(project_id=draw.project_id, deltas={**by_stage, **moved})
    extend_chains(
        actor=draw.actor,
        project=draw.project,
        kind="cycle.verified",
        entries={
            run.cycle.dialogue_id: {
                "cycle": run.cycle.number,
                "content_hash": run.entry_revision.content_hash,
                "draw": draw.public_id,
            }
            for run in runs
        },
    )


def _settle_as_not_drawn(runs: list[StageRun]) -> None:
    for portion in in_portions([run.pk for run in runs]):
        StageRun.objects.filter(pk__in=portion).update(
            state=StageRunState.SETTLED,
            outcome=NOT_DRAWN,
            exit_revision=F("entry_revision"),
            settled_at=timezone.now(),
        )


def _earlier_stages(project: Project, key: str) -> list[str]:
    """The stages before one, in any version of the project's protocol that has it."""
    out: set[str] = set()
    for version in ProtocolVersion.objects.filter(project=project).defer("definition"):
        keys = [stage.key for stage in parse(version).stages]
        if key in keys:
            out.update(keys[: keys.index(key)])
    return sorted(out)
