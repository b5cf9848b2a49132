"""Moving cycles under way to another version of the project's protocol: an explicit step that keeps what was done.

Adopting a protocol changes nothing of what has begun. ``preview_migration`` says what would become of each item under
the version in force; ``start_migration`` does it, in a job that takes one item a transaction, so that people go on
working meanwhile and a stopped job leaves each item either as it was or moved. Where each goes is decided by
``reviews.core.protocols.version_mapping``.
"""

from collections import Counter as Tally
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from annotator.errors import Conflict
from annotator.models import Job, JobState, Project, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, start_job
from reviews.core.protocols import EntryMode, StageKind
from reviews.core.protocols.version_mapping import Action, Destination, destination
from reviews.models import (
    Claim,
    ClaimState,
    Cycle,
    CycleState,
    DrawItem,
    ProtocolVersion,
    Slot,
    SlotState,
    StageRun,
    StageRunState,
)
from reviews.services.cycles.start import set_aside_runs
from reviews.services.gold.settings import retire_left_behind
from reviews.services.protocols.versions import parse, require_version
from reviews.services.transitions.moves import CycleContext, open_run, pool, verify
from reviews.services.transitions.sealing import unseal_set_aside
from reviews.services.transitions.transition_log import Journal

JOB = "migrate_protocol"

_TAKES_ESCALATIONS = (EntryMode.ALL, EntryMode.ESCALATED_AND_FRACTION)
_UNFINISHED = (StageRunState.OPEN, StageRunState.POOLED, StageRunState.DRAWN)


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """What becomes of the items of one stage of one earlier version."""

    #: Number of the version under which they are now, the stage's key and title there.
    version: int
    stage: str
    title: str
    #: Whether they wait in the stage's pool; whether they were escalated to it.
    waiting: bool
    escalated: bool
    items: int
    action: Action
    #: Key and title of where they then stand; blank where they are verified.
    to: str
    to_title: str
    #: A sentence for whoever decides.
    why: str


@dataclass(frozen=True, slots=True)
class MigrationPreview:
    """What moving a project to the version would do, as things stand now."""

    version: ProtocolVersion
    steps: list[MigrationStep] = field(default_factory=list)
    #: Items on which somebody is at work now and whose stage begins anew: their drafts are kept, their claims end.
    interrupted: int = 0
    #: Items in a draw that is being carried out: they cannot be moved until it is.
    in_draw: int = 0

    @property
    def items(self) -> int:
        """All that would be moved or stay under the new version."""
        return sum(step.items for step in self.steps)

    def count(self, action: str) -> int:
        """Items of one action: ``stay``, ``restart``, ``move`` or ``verify``."""
        return sum(step.items for step in self.steps if step.action == action)


def preview_migration(*, actor: User, project: Project, version: ProtocolVersion | None = None) -> MigrationPreview:
    """What would become of the items under way, stage by stage; changes nothing.

    ``version``: any of the project's, or one that has not been stored yet; without it the one in force. Counts the
    unfinished items once: for a page that an administrator asks for, not for a dashboard. Raises Denied, or Conflict
    where the project has no protocol.
    """
    require_administrator(actor=actor, project=project)
    version = version or require_version(project)
    new = parse(version)
    earlier = {one.pk: one for one in ProtocolVersion.objects.filter(project=project).defer("definition")}
    groups = (
        _under_way(project, version)
        .values_list("cycle__protocol", "stage", "state", "entered_as")
        .annotate(Count("id"))
        .order_by("cycle__protocol", "stage", "state", "entered_as")
    )
    counts: Tally[tuple[int, str, bool, bool]] = Tally()
    in_draw = 0
    for protocol_id, key, state, entered_as, count in groups:
        if state == StageRunState.DRAWN:
            in_draw += count
        else:
            counts[protocol_id, key, state == StageRunState.POOLED, entered_as == "escalated"] += count
    steps, disturbed = [], []
    for (protocol_id, key, waiting, escalated), count in counts.items():
        old = parse(earlier[protocol_id])
        where = destination(old, new, key, waiting=waiting, escalated=escalated)
        title = new.stage(where.stage).title if where.stage else ""
        steps.append(
            MigrationStep(
                version=earlier[protocol_id].number,
                stage=key,
                title=old.stage(key).title,
                waiting=waiting,
                escalated=escalated,
                items=count,
                action=where.action,
                to=where.stage,
                to_title=title,
                why=where.why,
            )
        )
        if where.action is not Action.STAY:
            disturbed.append((protocol_id, key, escalated))
    order = {stage.key: place for one in earlier.values() for place, stage in enumerate(parse(one).stages)}
    steps.sort(key=lambda step: (step.version, order[step.stage], step.waiting, step.escalated))
    return MigrationPreview(version, steps, _interrupted(project, disturbed), in_draw)


def start_migration(*, actor: User, project: Project, version: ProtocolVersion | None = None, reason: str = "") -> Job:
    """Move every cycle under way to the version in force, in a job; returns the job, whose page shows how far it is.

    ``version``: the one that was previewed; Conflict where another has come into force since. ``reason``: for the
    record, at most 500 characters. The job's result counts items by action, and ``skipped`` ones that ended or were in
    a draw meanwhile. Cancelling it leaves what has been moved; starting again goes on. Raises Denied, or Conflict where
    there is nothing to move, a draw is being carried out, or a migration is under way.
    """
    require_administrator(actor=actor, project=project)
    current = require_version(project)
    if version is not None and version.pk != current.pk:
        raise Conflict(
            f"Version {current.number} of the protocol is in force, not version {version.number}; preview again."
        )
    asked = {"version": current.pk, "reason": reason[:500]}
    running = Job.objects.filter(project=project, kind=JOB, state__in=[JobState.QUEUED, JobState.RUNNING]).first()
    if running is not None:
        if (running.requester, running.parameters) == (actor, asked):
            # A second click.
            return running
        raise Conflict("Items are being moved to a version of the protocol already; wait until that job has ended.")
    under_way = _under_way(project, current)
    if under_way.filter(state=StageRunState.DRAWN).exists():
        raise Conflict("A draw is being carried out; move the items when it is done.")
    if not under_way.exists():
        raise Conflict(f"Everything under way is under version {current.number} of the protocol already.")
    with transaction.atomic():
        append_event(
            actor=actor,
            project=project,
            kind="protocol.migration_started",
            after={"number": current.number, "reason": reason[:500]},
        )
        retire_left_behind(actor=actor, project=project, version=current)
        return start_job(actor=actor, project=project, kind=JOB, parameters=asked)


@job_kind(JOB, "Moving items to the protocol in force")
def _run(running: Running) -> dict[str, int]:
    project = running.job.project
    version = ProtocolVersion.objects.get(pk=running.job.parameters["version"])
    left = _under_way(project, version)
    counts: Tally[str] = Tally(running.checkpoint.get("counts", {}))
    last: int = running.checkpoint.get("last", 0)
    total = left.filter(cycle_id__gt=last).count() + counts.total()
    while True:
        # Anew each time: what is opened meanwhile under an old version is moved as well.
        portion = list(left.filter(cycle_id__gt=last).order_by("cycle_id").values_list("cycle_id", flat=True)[:200])
        for cycle_id in portion:
            with running.chunk() as chunk:
                action = _migrate(running.job.requester, cycle_id, version, running.job.parameters.get("reason", ""))
                last = cycle_id
                counts[action] += 1
                chunk.advance(
                    done=counts.total(), total=max(total, counts.total()),
                    checkpoint={"last": last, "counts": dict(counts)},
                )  # fmt: skip
        if not portion:
            return dict(counts)


def _under_way(project: Project, version: ProtocolVersion) -> QuerySet[StageRun]:
    """The unfinished runs of published items whose cycle is under another version."""
    runs = StageRun.objects.filter(
        project=project, state__in=_UNFINISHED, cycle__state=CycleState.ACTIVE, cycle__dialogue__published=True
    )
    # A gold item goes nowhere, whatever the protocol says.
    runs = runs.exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    return runs.exclude(cycle__protocol=version.pk) if version.pk else runs


def _interrupted(project: Project, disturbed: list[tuple[int, str, bool]]) -> int:
    if not disturbed:
        return 0
    live = Claim.objects.filter(project=project, state=ClaimState.LIVE, expires_at__gt=Now())
    held = live.values_list("slot__protocol", "slot__stage", "slot__stage_run__entered_as")
    return sum((protocol, stage, entered == "escalated") in disturbed for protocol, stage, entered in held)


def _migrate(actor: User | None, cycle_id: int, version: ProtocolVersion, reason: str) -> str:
    """Move one item, in the caller's transaction; returns the action, or "skipped"."""
    cycle = Cycle.objects.select_related("protocol").defer("protocol__definition").get(pk=cycle_id)
    dialogue = lock_dialogue(cycle.dialogue_id)
    cycle.refresh_from_db(fields=["state", "protocol"])
    if cycle.state != CycleState.ACTIVE or cycle.protocol_id == version.pk:
        return "skipped"
    run = (
        StageRun.objects.select_related("entry_revision", "escalated_from")
        .filter(cycle=cycle, state__in=_UNFINISHED)
        .order_by("-pk")
        .first()
    )
    if run is None or run.state == StageRunState.DRAWN:
        return "skipped"
    earlier = cycle.protocol
    old, new = parse(earlier), parse(version)
    where = destination(
        old, new, run.stage, waiting=run.state == StageRunState.POOLED, escalated=run.entered_as == "escalated"
    )
    slots = Slot.objects.select_for_update().filter(stage_run=run, state__in=[SlotState.OPEN, SlotState.CLAIMED])
    priority = next((slot.priority for slot in slots.order_by("pk")), None)
    journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
    cycle.protocol = version
    cycle.save(update_fields=["protocol"])
    if where.action is Action.STAY:
        slots.update(protocol=version)
    else:
        blind = set_aside_runs(journal, cycle)
        context = CycleContext(journal, cycle, new) if priority is None else CycleContext(journal, cycle, new, priority)
        _place(context, run, where)
        unseal_set_aside(dialogue, blind)
        dialogue.save(update_fields=["status", "stage"])
    journal.event(
        "cycle.migrated",
        before={"protocol": earlier.number, "stage": run.stage},
        after={
            "protocol": version.number, "stage": where.stage, "action": where.action.value, "why": where.why,
            "reason": reason,
        },
    )  # fmt: skip
    journal.write()
    return where.action.value


def _place(context: CycleContext, run: StageRun, where: Destination) -> None:
    revision = run.entry_revision
    if where.action is Action.VERIFY:
        verify(context, revision)
        return
    stage = context.protocol.stage(where.stage)
    if run.entered_as == "escalated" and stage.kind is StageKind.EXPERT and stage.entry.mode in _TAKES_ESCALATIONS:
        open_run(context, stage, revision, entered_as="escalated", escalated_from=run.escalated_from)
    elif where.action is Action.RESTART and not stage.in_rounds and _was_drawn(run):
        again = open_run(context, stage, revision, entered_as=run.entered_as)
        # It is still that draw's: nobody can leave a sample by a change of the protocol.
        DrawItem.objects.filter(stage_run=run).update(stage_run=again)
    elif stage.entry.mode is EntryMode.ALL:
        open_run(context, stage, revision)
    else:
        pool(context, stage, revision)


def _was_drawn(run: StageRun) -> bool:
    """Whether an item under way came to the stage by a draw, or is what an expert made of one that did."""
    if run.state != StageRunState.OPEN or run.entered_as == "escalated":
        return False
    return StageRun.objects.filter(cycle=run.cycle_id, stage=run.stage, entered_as="sampled").exists()
