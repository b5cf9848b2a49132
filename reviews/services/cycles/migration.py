"""Moves active cycles to another version of the project's protocol.

A new version does not change cycles that have started. ``preview_migration`` shows what would happen to each item under
the current version. ``start_migration`` does it in a job, one item per transaction, so people can keep working and a
stopped job leaves no item half moved. ``reviews.core.protocols.version_mapping`` decides where each item goes.
"""

from collections import Counter as Tally
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotator.core.text import gettext_noop
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
    """What happens to the items in one stage of an earlier version."""

    #: The number of their present version; the stage's key and title in it.
    version: int
    stage: str
    title: str
    #: Whether they wait in the stage's pool; whether they were escalated to it.
    waiting: bool
    escalated: bool
    items: int
    action: Action
    #: Key and title of the stage they go to; blank if they are verified.
    to: str
    to_title: str
    #: The reason, as a sentence for the administrator.
    why: str


@dataclass(frozen=True, slots=True)
class MigrationPreview:
    """What would happen if the project moved to the version now."""

    version: ProtocolVersion
    steps: list[MigrationStep] = field(default_factory=list)
    #: Claimed items whose stage restarts. Their drafts are kept, their claims end.
    interrupted: int = 0
    #: Items in a draw that is in progress. They can't be moved until it ends.
    in_draw: int = 0

    @property
    def items(self) -> int:
        """Return the number of items that move to the new version, including those that stay in their stage."""
        return sum(step.items for step in self.steps)

    def count(self, action: str) -> int:
        """Return the number of items with an action: ``stay``, ``restart``, ``move`` or ``verify``."""
        return sum(step.items for step in self.steps if step.action == action)


def preview_migration(*, actor: User, project: Project, version: ProtocolVersion | None = None) -> MigrationPreview:
    """Return what would happen to the active items, stage by stage; change nothing.

    ``version``: any of the project's versions, or one that is not stored yet; by default the current one. Counts all
    unfinished items, so call it when an administrator asks, not on a dashboard. Raises Denied, or Conflict if the
    project has no protocol.
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
    """Move every active cycle to the current version in a job; return the job.

    ``version``: the one that was previewed; raises Conflict if it is no longer the current one. ``reason``: for the
    record, at most 500 characters. The job's result counts items by action; ``skipped`` counts items that ended or
    entered a draw meanwhile. A cancelled job keeps what it has moved, and a new one continues. Raises Denied, or
    Conflict if there is nothing to move, or a draw or another migration is in progress.
    """
    require_administrator(actor=actor, project=project)
    current = require_version(project)
    if version is not None and version.pk != current.pk:
        raise Conflict(
            _(
                "The protocol changed after the preview: version %(current)s is now current, not %(previewed)s. "
                "Preview again."
            )
            % {"current": current.number, "previewed": version.number}
        )
    asked = {"version": current.pk, "reason": reason[:500]}
    running = Job.objects.filter(project=project, kind=JOB, state__in=[JobState.QUEUED, JobState.RUNNING]).first()
    if running is not None:
        if (running.requester, running.parameters) == (actor, asked):
            # A double click.
            return running
        raise Conflict(_("Another job is moving items to a version of the protocol. Wait until it has ended."))
    under_way = _under_way(project, current)
    if under_way.filter(state=StageRunState.DRAWN).exists():
        raise Conflict(_("A draw is in progress. Move the items when it is done."))
    if not under_way.exists():
        message = _("All active items are already under version %(number)s of the protocol.")
        raise Conflict(message % {"number": current.number})
    with transaction.atomic():
        append_event(
            actor=actor,
            project=project,
            kind="protocol.migration_started",
            after={"number": current.number, "reason": reason[:500]},
        )
        retire_left_behind(actor=actor, project=project, version=current)
        return start_job(actor=actor, project=project, kind=JOB, parameters=asked)


@job_kind(JOB, gettext_noop("Move items to the current protocol"), repeatable=True)
def _run(running: Running) -> dict[str, int]:
    project = running.job.project
    version = ProtocolVersion.objects.get(pk=running.job.parameters["version"])
    left = _under_way(project, version)
    counts: Tally[str] = Tally(running.checkpoint.get("counts", {}))
    last: int = running.checkpoint.get("last", 0)
    total = left.filter(cycle_id__gt=last).count() + counts.total()
    while True:
        # Query again each time, to include runs that were opened under an old version meanwhile.
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
    """Return the unfinished runs of published items whose cycle has another version."""
    runs = StageRun.objects.filter(
        project=project, state__in=_UNFINISHED, cycle__state=CycleState.ACTIVE, cycle__dialogue__published=True
    )
    # A gold item does not move through the protocol.
    runs = runs.exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    return runs.exclude(cycle__protocol=version.pk) if version.pk else runs


def _interrupted(project: Project, disturbed: list[tuple[int, str, bool]]) -> int:
    if not disturbed:
        return 0
    live = Claim.objects.filter(project=project, state=ClaimState.LIVE, expires_at__gt=Now())
    held = live.values_list("slot__protocol", "slot__stage", "slot__stage_run__entered_as")
    return sum((protocol, stage, entered == "escalated") in disturbed for protocol, stage, entered in held)


def _migrate(actor: User | None, cycle_id: int, version: ProtocolVersion, reason: str) -> str:
    """Move one item in the caller's transaction; return the action, or "skipped"."""
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
        _move(context, run, where)
        unseal_set_aside(dialogue, blind)
        dialogue.save(update_fields=["status", "stage", "updated_at"])
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


def _move(context: CycleContext, run: StageRun, where: Destination) -> None:
    revision = run.entry_revision
    if where.action is Action.VERIFY:
        verify(context, revision)
        return
    stage = context.protocol.stage(where.stage)
    if run.entered_as == "escalated" and stage.kind is StageKind.EXPERT and stage.entry.mode in _TAKES_ESCALATIONS:
        open_run(context, stage, revision, entered_as="escalated", escalated_from=run.escalated_from)
    elif where.action is Action.RESTART and not stage.in_rounds and _was_drawn(run):
        again = open_run(context, stage, revision, entered_as=run.entered_as)
        # The item stays in its draw: a change of the protocol must not remove it from the sample.
        DrawItem.objects.filter(stage_run=run).update(stage_run=again)
    elif stage.entry.mode is EntryMode.ALL:
        open_run(context, stage, revision)
    else:
        pool(context, stage, revision)


def _was_drawn(run: StageRun) -> bool:
    """Return whether a draw brought the item to its stage, directly or before a senior reviewer reviewed it."""
    if run.state != StageRunState.OPEN or run.entered_as == "escalated":
        return False
    return StageRun.objects.filter(cycle=run.cycle_id, stage=run.stage, entered_as="sampled").exists()
