"""Starts cycles, for one dialogue or for thousands."""

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.models import Dialogue, Job, Project, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.models.keys import new_public_ids
from annotator.services.database.bulk_insert import allocate_ids, insert_rows
from annotator.services.dialogues.creation import Written
from annotator.services.dialogues.outdated import clear_outdated
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.event_chain import extend_chains, in_portions
from reviews.core.protocols import Protocol
from reviews.models import (
    Claim,
    ClaimState,
    Cycle,
    CycleState,
    ProtocolVersion,
    Review,
    Slot,
    SlotState,
    StageRun,
    StageRunState,
)
from reviews.services.gold.settings import retire_where_variants_come, retire_with
from reviews.services.protocols.versions import parse, require_version
from reviews.services.queue.notifications import notify_restart
from reviews.services.queue.order import new_position
from reviews.services.statistics.counters import write_deltas
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.transitions.moves import CycleContext, end_cycle, open_run
from reviews.services.transitions.sealing import unseal_set_aside
from reviews.services.transitions.transition_log import Journal


@dataclass(slots=True)
class _Entering:
    """The values of a dialogue that enters a cycle."""

    dialogue_id: int
    revision_id: int
    revision_author_id: int | None = None
    owner_id: int | None = None
    number: int = 1
    #: The status under which it is counted now; blank if it is not counted yet.
    status: str = ""


def begin_cycles(
    *,
    actor: User | None,
    project: Project,
    dialogues: Sequence[Dialogue] | Sequence[Written],
    hidden: bool,
) -> int:
    """Start a cycle under the current protocol for each of these dialogues; return how many.

    ``dialogues``: published rows without an active cycle, or what ``write_dialogues`` has just written in this
    transaction. ``hidden``: nobody can claim their slots, and they are not counted, until ``publish_batch``. Runs in
    the caller's transaction or its own. Raises Conflict if the project has no protocol, IntegrityError if a dialogue
    has an active cycle.
    """
    if not dialogues:
        return 0
    version = require_version(project)
    stage = parse(version).stages[0]
    with transaction.atomic():
        entering = _entering(dialogues)
        count = len(entering)
        now = timezone.now()
        cycle_ids, run_ids = allocate_ids(Cycle, count), allocate_ids(StageRun, count)
        insert_rows(
            Cycle,
            ("id", "dialogue_id", "entry_revision_id", "number"),
            [(key, one.dialogue_id, one.revision_id, one.number) for key, one in zip(cycle_ids, entering, strict=True)],
            constants={"project_id": project.pk, "protocol_id": version.pk, "created_at": now},
        )
        insert_rows(
            StageRun,
            ("id", "cycle_id", "entry_revision_id"),
            [
                (run_id, cycle_id, one.revision_id)
                for run_id, cycle_id, one in zip(run_ids, cycle_ids, entering, strict=True)
            ],
            constants={"project_id": project.pk, "stage": stage.key, "blind": stage.blind, "opened_at": now},
        )
        slots = count * stage.reviewers
        public_ids, position = iter(new_public_ids(slots)), new_position()
        insert_rows(
            Slot,
            (
                "public_id", "stage_run_id", "index", "dialogue_id", "cycle_id", "revision_id", "revision_author_id",
                "owner_id", "position",
            ),
            [
                (
                    next(public_ids), run_id, index, one.dialogue_id, cycle_id, one.revision_id,
                    one.revision_author_id, one.owner_id, position + place * stage.reviewers + index,
                )
                for place, (run_id, cycle_id, one) in enumerate(zip(run_ids, cycle_ids, entering, strict=True))
                for index in range(stage.reviewers)
            ],
            constants={
                "project_id": project.pk, "protocol_id": version.pk, "stage": stage.key, "stage_kind": str(stage.kind),
                "state": SlotState.HIDDEN if hidden else SlotState.OPEN, "created_at": now,
            },
        )  # fmt: skip
        extend_chains(
            actor=actor,
            project=project,
            kind="cycle.begun",
            entries={one.dialogue_id: {"cycle": one.number, "protocol": version.number} for one in entering},
        )
        ITEM_HISTORY.enqueue(project.pk, [one.dialogue_id for one in entering if one.number > 1])
        if not hidden:
            _announce(project, stage.key, slots, entering, now)
    return count


def publish_batch(*, job: Job) -> int:
    """Publish the dialogues of an import and open their slots; return how many. Runs in the caller's transaction.

    In a project without a protocol they stay candidates. Dialogues that are already published do not change.
    """
    unpublished = Dialogue.objects.filter(batch=job, published=False)
    retire_where_variants_come(actor=job.requester, project=job.project, coming=unpublished)
    hidden = Slot.objects.filter(state=SlotState.HIDDEN, dialogue__batch=job)
    stages = dict(hidden.values_list("stage").annotate(Count("id")).order_by())
    deltas: Tally[str] = Tally({f"left:{stage}": count for stage, count in stages.items()})
    # Usually one stage; more only if another protocol was adopted during the import.
    for stage in stages:
        begun = unpublished.filter(pk__in=hidden.filter(stage=stage).values("dialogue"))
        deltas["status:in_review"] += begun.update(published=True, status=DialogueStatus.IN_REVIEW, stage=stage)
    hidden.update(state=SlotState.OPEN)
    deltas["status:candidate"] += unpublished.update(published=True)
    write_deltas(project_id=job.project_id, deltas=deltas)
    return deltas["status:in_review"] + deltas["status:candidate"]


def supersede_cycle(
    *,
    actor: User | None,
    dialogue: Dialogue,
    reason: str,
    force: bool = False,
    if_idle: bool = False,
    for_owner: bool = False,
    stage: str = "",
) -> Cycle:
    """Restart the protocol for the dialogue with its current content; keep the records of its earlier cycle.

    Used for a revised import, a correction, or a dialogue that is sent back after its cycle ended. Raises Conflict if
    somebody has claimed or reviewed it in the active cycle, unless ``force``; their drafts and reviews are kept.
    ``if_idle``: allow reviews, but not claims, which are checked under the dialogue's lock. ``for_owner``: if the first
    stage is a self-check, reserve it for the owner. ``stage``: where the cycle starts, one of ``entry_stages``; blank:
    in the first stage.
    """
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        if dialogue.gold_role == GoldRole.GOLD:
            message = _("%(dialogue)s is a gold item and can’t restart the protocol. Retire it instead.")
            raise Conflict(message % {"dialogue": dialogue.external_id})
        if dialogue.gold_role == GoldRole.ANSWER:
            retire_with(actor=actor, dialogue_ids=[dialogue.pk], reason="The known answer is in review again.")
        version = require_version(dialogue.project)
        journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
        active = Cycle.objects.select_for_update().filter(dialogue=dialogue, state=CycleState.ACTIVE).first()
        blind = _abandon(journal, active, reason, force=force, if_idle=if_idle) if active is not None else set()
        last = Cycle.objects.filter(dialogue=dialogue).aggregate(last=Max("number"))["last"] or 0
        if last and active is None:
            ITEM_HISTORY.enqueue(dialogue.project_id, [dialogue.pk])
        head = dialogue.head
        if head is None:
            raise ValueError("a dialogue without content cannot be reviewed")
        cycle = Cycle.objects.create(
            dialogue=dialogue,
            project=dialogue.project,
            protocol=version,
            number=last + 1,
            entry_revision=head,
            reason=reason[:500],
        )
        protocol = parse(version)
        context = CycleContext(journal, cycle, protocol)
        journal.event(
            "cycle.begun",
            after={"cycle": cycle.number, "protocol": version.number, "reason": reason[:500]},
        )
        first = next((one for one in protocol.entry_stages if one.key == stage), protocol.stages[0])
        if stage and first.key != stage:
            raise Conflict(no_stage_message(stage, protocol))
        open_run(context, first, head, for_owner=for_owner)
        unseal_set_aside(dialogue, blind)
        clear_outdated([dialogue.pk])
        dialogue.save(update_fields=["status", "stage", "updated_at"])
        journal.write()
    return cycle


def _entering(dialogues: Sequence[Dialogue] | Sequence[Written]) -> list[_Entering]:
    new = [_Entering(one.dialogue_id, one.revision_id) for one in dialogues if isinstance(one, Written)]
    if new:
        return new
    out = []
    for portion in in_portions(sorted(one.pk for one in dialogues if isinstance(one, Dialogue))):
        rows = Dialogue.objects.select_for_update(of=("self",)).filter(pk__in=portion).order_by("pk")
        for row in rows.values("pk", "head_id", "head__author_id", "owner_id", "status"):
            out.append(_Entering(row["pk"], row["head_id"], row["head__author_id"], row["owner_id"], 1, row["status"]))
        numbers = dict(
            Cycle.objects.filter(dialogue_id__in=portion).values_list("dialogue").annotate(Max("number")).order_by()
        )
        for one in out[-len(portion) :]:
            one.number = numbers.get(one.dialogue_id, 0) + 1
    return out


def _announce(project: Project, stage: str, slots: int, entering: list[_Entering], now: datetime) -> None:
    for portion in in_portions([one.dialogue_id for one in entering]):
        Dialogue.objects.filter(pk__in=portion).update(status=DialogueStatus.IN_REVIEW, stage=stage, updated_at=now)
    deltas = Tally({f"left:{stage}": slots, f"status:{DialogueStatus.IN_REVIEW}": len(entering)})
    deltas.subtract(f"status:{one.status}" for one in entering if one.status)
    write_deltas(project_id=project.pk, deltas=deltas)


def set_aside_runs(journal: Journal, cycle: Cycle) -> set[str]:
    """Cancel the unfinished slots and runs of a cycle and end their claims; keep submitted reviews.

    Returns the keys of the cancelled blind stages, for ``unseal_set_aside`` after the dialogue has moved. The caller
    has locked the dialogue. Raises Conflict if the item is in a draw that is in progress.
    """
    slots = _unfinished_slots(cycle)
    runs = StageRun.objects.filter(cycle=cycle)
    if runs.filter(state=StageRunState.DRAWN).exists():
        message = _("%(dialogue)s is in a draw that is in progress. Try again in a moment.")
        raise Conflict(message % {"dialogue": journal.dialogue.external_id})
    live = Claim.objects.filter(slot__in=slots, state=ClaimState.LIVE)
    notify_restart(actor=journal.actor, dialogue=journal.dialogue, people=live.values_list("person", flat=True))
    live.update(state=ClaimState.WITHDRAWN, ended_at=Now())
    for slot in slots:
        if slot.state != SlotState.HIDDEN:
            journal.count(f"left:{slot.stage}", -1)
    Slot.objects.filter(pk__in=[slot.pk for slot in slots]).update(state=SlotState.CANCELLED, holder=None)
    for stage, pooled in runs.filter(state=StageRunState.POOLED).values_list("stage").annotate(Count("id")).order_by():
        journal.count(f"pooled:{stage}", -pooled)
    unfinished = runs.filter(state__in=[StageRunState.OPEN, StageRunState.POOLED])
    blind = set(unfinished.filter(blind=True).values_list("stage", flat=True))
    unfinished.update(state=StageRunState.CANCELLED)
    return blind


def no_stage_message(stage: str, protocol: Protocol) -> str:
    """Return why a cycle can't start in a stage, and where it can."""
    sentence = _("Items can’t be sent back to the stage “%(stage)s”. Choose one of: %(stages)s.")
    return sentence % {"stage": stage[:40], "stages": ", ".join(one.key for one in protocol.entry_stages)}


def claimed_message(name: str) -> str:
    """Return why a claimed dialogue can't start a new cycle, and what to do."""
    return _(
        "Somebody has claimed %(dialogue)s. Wait until they have submitted it, or open it to everyone on the "
        "Assignments page. Then try again."
    ) % {"dialogue": name}


def reviewed_message(name: str) -> str:
    """Return why a dialogue with reviews in its current cycle can't start a new one, and what to do."""
    return _(
        "%(dialogue)s has reviews in its current cycle, and a new cycle would set them aside. Finish its review "
        "first: its page shows the stage, and the Assignments page shows who has it. If it waits in a pool, draw a "
        "sample on the project’s page. Then try again."
    ) % {"dialogue": name}


def _unfinished_slots(cycle: Cycle) -> list[Slot]:
    unfinished = [SlotState.HIDDEN, SlotState.OPEN, SlotState.CLAIMED]
    return list(Slot.objects.select_for_update().filter(cycle=cycle, state__in=unfinished).order_by("pk"))


def _abandon(journal: Journal, cycle: Cycle, reason: str, *, force: bool, if_idle: bool) -> set[str]:
    dialogue = journal.dialogue
    if not force:
        slots = _unfinished_slots(cycle)
        live = Claim.objects.filter(slot__in=slots, state=ClaimState.LIVE)
        # A person who returns to an overdue item renews the claim, and locks only the claim.
        list(live.select_for_update().order_by("pk").values_list("pk"))
        if live.filter(expires_at__gt=Now()).exists():
            raise Conflict(claimed_message(dialogue.external_id))
        idle = all(slot.state != SlotState.CLAIMED for slot in slots)
        if not (if_idle and idle) and Review.objects.filter(stage_run__cycle=cycle).exists():
            raise Conflict(reviewed_message(dialogue.external_id))
    blind = set_aside_runs(journal, cycle)
    context = CycleContext(journal, cycle, parse(ProtocolVersion.objects.get(pk=cycle.protocol_id)))
    end_cycle(context, CycleState.SUPERSEDED, None, reason)
    journal.event("cycle.superseded", after={"cycle": cycle.number, "reason": reason[:500]})
    return blind
