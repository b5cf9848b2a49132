"""What a person must do before they get work: accept the guideline, then pass the training."""

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.models import Project, User
from annotator.services.acceptance import version_to_accept
from annotator.services.database.compiled import compiled
from reviews.core.protocols import Stage
from reviews.models import Cycle, GoldItem, Slot, SlotState, StageRun, Trainee, TraineeState, TrainingResult
from reviews.services.protocols.versions import parse
from reviews.services.queue.order import new_position
from reviews.services.queue.trainees import (
    Standing,
    finish_if_complete,
    list_training_items,
    lock_trainee,
    read_training,
    standing_of,
    times_seen,
)


class NotReady(Conflict):
    """The person has something to do before they get work, on this page of the project."""

    code = "not_ready"

    def __init__(self, sentence: str, *, page: str) -> None:
        super().__init__(sentence, page=page)
        self.page = page


def require_accepted(*, actor: User, project: Project) -> None:
    """Raise NotReady if the actor has to accept the guideline first."""
    guideline = version_to_accept(actor=actor, project=project)
    if guideline is not None:
        sentence = _("Read version %(number)d of the guideline and accept it first. Then you get work.")
        raise NotReady(sentence % {"number": guideline.number}, page="guideline-acceptance")


def needs_training(*, actor: User, project: Project) -> bool:
    """Return whether the actor gets only training items."""
    if _has_finished(project.pk, actor.pk):
        return False
    standing = standing_of(project=project, person=actor)
    return standing is not None and standing.needs_training


@compiled
def _has_finished(project_id: int, person_id: int) -> QuerySet[Trainee, int]:
    done = [TraineeState.PASSED, TraineeState.EXEMPT]
    return Trainee.objects.filter(project=project_id, person=person_id, state__in=done).values_list("pk", flat=True)


def is_training_slot(slot: Slot) -> bool:
    """Return whether a slot is one of a training item."""
    return slot.is_gold and GoldItem.training.filter(dialogue=slot.dialogue_id).exists()


def require_trained(*, actor: User, slot: Slot) -> None:
    """Raise NotReady if the actor gets only training items, and this slot is none."""
    if not is_training_slot(slot) and needs_training(actor=actor, project=slot.project):
        sentence = _("You get this work after the training. Do the training first.")
        raise NotReady(sentence, page="training")


def next_training_slot(*, actor: User, project: Project) -> Slot | None:
    """Return the actor's next slot of the training, locked and held by them; None if they need no training (any more).

    The caller has locked their membership, so two windows get the same slot. Raises NotReady if they have failed.
    """
    if not needs_training(actor=actor, project=project):
        return None
    trainee = lock_trainee(project, actor)
    finish_if_complete(project=project, person=actor, trainee=trainee)
    if trainee.state == TraineeState.FAILED:
        raise NotReady(failed_words(standing_of(project=project, person=actor)), page="training")
    if trainee.state != TraineeState.TRAINING:
        return None
    # If an item is retired at this moment, the next one comes.
    for item in _left(project, actor, trainee):
        slot = _slot_of(actor, item, trainee.attempt)
        if slot is not None:
            return slot
    return None


def failed_words(standing: Standing | None) -> str:
    """Return what a person who has failed can do, as a sentence."""
    if standing is not None and standing.may_try_again:
        return _("You have not passed the training yet. Start it again on its page.")
    return _("You have not passed the training. Ask an administrator of the project what to do.")


def _left(project: Project, person: User, trainee: Trainee) -> list[GoldItem]:
    """Return the items that are left in the attempt: those that the person has seen least often come first."""
    training = read_training(project)
    done = set(
        TrainingResult.objects.filter(project=project, person=person, attempt=trainee.attempt).values_list(
            "item", flat=True
        )
    )
    items = [
        one
        for one in list_training_items(project)
        if training is not None and one.stage == training.stage and one.pk not in done
    ]
    seen = times_seen(person, items)
    return sorted(items, key=lambda one: seen.get(one.pk, 0))


def _slot_of(actor: User, item: GoldItem, attempt: int) -> Slot | None:
    """Return the actor's slot of an item in their attempt, held by them; None if the item was retired."""
    # Two people who get an item at the same time are numbered one after the other.
    rows = GoldItem.training.select_for_update(no_key=True, of=("self",)).filter(pk=item.pk, retired_at=None)
    found = rows.select_related("stage_run__cycle__protocol", "dialogue__head").first()
    if found is None or found.dialogue.head is None:
        return None
    cycle = found.stage_run.cycle
    stage = parse(cycle.protocol).stage(item.stage)
    run = open_attempt(cycle, stage, attempt=attempt)
    held = Slot.objects.select_for_update(of=("self",)).filter(stage_run=run, claims__person=actor)
    slot = held.filter(state__in=[SlotState.OPEN, SlotState.CLAIMED]).first()
    if slot is not None:
        slot.state, slot.holder = SlotState.CLAIMED, actor
        slot.save(update_fields=["state", "holder"])
        return slot
    return Slot.objects.create(
        stage_run=run,
        index=run.slots.count(),
        project_id=item.project_id,
        dialogue=found.dialogue,
        cycle=cycle,
        protocol_id=cycle.protocol_id,
        stage=item.stage,
        stage_kind=stage.kind,
        round=run.round,
        state=SlotState.CLAIMED,
        position=new_position(),
        is_gold=True,
        revision=found.dialogue.head,
        holder=actor,
    )


def open_attempt(cycle: Cycle, stage: Stage, *, attempt: int) -> StageRun:
    """Return the run of an item for everybody's attempt with this number; it never settles.

    It is blind, whatever the stage is: so each person starts from the same revision.
    """
    run, _created = StageRun.objects.get_or_create(
        cycle=cycle,
        stage=stage.key,
        round=attempt,
        defaults={"project_id": cycle.project_id, "blind": True, "entry_revision_id": cycle.entry_revision_id},
    )
    return run
