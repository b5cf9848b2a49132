"""Sets up a training, and decides who needs it."""

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Membership, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from reviews.models import (
    Claim,
    ClaimState,
    GoldItem,
    Review,
    Slot,
    SlotState,
    Trainee,
    TraineeState,
    Training,
    TrainingResult,
)
from reviews.services.queue.trainees import change_trainee, lock_trainee, read_training, standing_of
from reviews.services.training.items import require_stage

#: More would be a project of its own.
MAX_LENGTH = 50
MAX_ATTEMPTS = 20


def change_training(
    *,
    actor: User,
    project: Project,
    stage: str,
    length: int,
    pass_mark: int,
    attempts: int,
    enabled: bool,
    exempt_experienced: bool = True,
) -> Training:
    """Set up the training, and switch it on or off.

    ``exempt_experienced``: when it is switched on, members who have submitted reviews in the project are exempt if they
    are not in it yet. Raises Denied, Invalid with the name of the ``field``.
    """
    require_administrator(actor=actor, project=project)
    require_stage(project, stage)
    _require_between(length, 1, MAX_LENGTH, "length", _("Enter a number of items from 1 to %(most)d."))
    _require_between(pass_mark, 1, length, "pass_mark", _("Enter a pass mark from 1 to the number of items, %(most)d."))
    _require_between(attempts, 1, MAX_ATTEMPTS, "attempts", _("Enter a number of attempts from 1 to %(most)d."))
    after = {"stage": stage, "length": length, "pass_mark": pass_mark, "attempts": attempts, "enabled": enabled}
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        there = GoldItem.training.filter(project=project, stage=stage, retired_at=None).count()
        if enabled and there < length:
            sentence = _("The training has %(there)d items of this stage, but an attempt needs %(length)d. Add items.")
            raise Invalid(sentence % {"there": there, "length": length}, field="length")
        training = read_training(project) or Training(project=project)
        before = {name: getattr(training, name) for name in after} if training.pk else {}
        if before == after:
            return training
        for name, value in after.items():
            setattr(training, name, value)
        training.save()
        append_event(actor=actor, project=project, kind="training.changed", before=before, after=after)
        if enabled and not before.get("enabled") and exempt_experienced:
            _exempt_experienced(actor, project)
    return training


def try_again(*, actor: User, project: Project) -> Trainee:
    """Begin the actor's next attempt. A repeated request changes nothing. Raises Hidden, Conflict."""
    with transaction.atomic():
        _lock_membership(project, actor)
        trainee = lock_trainee(project, actor)
        standing = standing_of(project=project, person=actor)
        if standing is None:
            raise Conflict(_("You need no training in this project."))
        if trainee.state == TraineeState.TRAINING and not standing.done:
            return trainee
        if not standing.may_try_again:
            raise Conflict(_("You can’t start the training again. Ask an administrator of the project."))
        change_trainee(trainee, state=TraineeState.TRAINING, attempt=trainee.attempt + 1)
        append_event(actor=actor, project=project, kind="training.repeated", after={"attempt": trainee.attempt})
    return trainee


def decide_trainee(*, actor: User, project: Project, public_id: str, state: str) -> Trainee:
    """Let a member need training (from the beginning), or be passed or exempt. Training in progress ends.

    Raises Denied, Hidden, or Invalid for an unknown state.
    """
    require_administrator(actor=actor, project=project)
    if state not in (TraineeState.TRAINING, TraineeState.PASSED, TraineeState.EXEMPT):
        raise Invalid(_("Choose “training”, “passed” or “exempt”."), field="state")
    person = User.objects.filter(public_id=public_id, memberships__project=project).first()
    with transaction.atomic():
        if person is None:
            raise Hidden(_("This person isn’t a member of this project."))
        _lock_membership(project, person)
        trainee = lock_trainee(project, person)
        begun = TrainingResult.objects.filter(project=project, person=person, attempt=trainee.attempt).exists()
        if trainee.state == state and not (state == TraineeState.TRAINING and begun):
            return trainee
        _cancel_slots(project, person)
        before = {"person": person.public_id, "state": trainee.state}
        restart = {}
        if state == TraineeState.TRAINING:
            first = trainee.attempt + begun
            restart = {"attempt": first, "first_attempt": first}
        change_trainee(trainee, state=state, **restart)
        append_event(
            actor=actor,
            project=project,
            kind="training.decided",
            before=before,
            after={"person": person.public_id, "state": state},
            sealed=True,
        )
    return trainee


def _lock_membership(project: Project, person: User) -> None:
    """Lock what claiming and submitting lock first. Raises Hidden if the person is no member."""
    held = Membership.objects.live().filter(project=project, user=person).order_by("pk").select_for_update(no_key=True)
    if not list(held.values_list("pk", flat=True)):
        raise Hidden(_("This person isn’t a member of this project."))


def _exempt_experienced(actor: User, project: Project) -> None:
    reviewed = Review.objects.filter(project=project).exclude(dialogue__published=False).values("person")
    members = Membership.objects.active().filter(project=project, user__in=reviewed).people()
    known = Trainee.objects.filter(project=project).values("person")
    new = members.exclude(pk__in=known).order_by("pk")
    people = [Trainee(project=project, person=one, state=TraineeState.EXEMPT) for one in new]
    Trainee.objects.bulk_create(people)
    if people:
        after = {"people": [one.person.public_id for one in people]}
        append_event(actor=actor, project=project, kind="training.exempted", after=after, sealed=True)


def _cancel_slots(project: Project, person: User) -> None:
    """Take the person's open training items back; drafts are kept."""
    runs = Q(dialogue__in=GoldItem.training.filter(project=project).values("dialogue"))
    given = Slot.objects.filter(runs, claims__person=person, state__in=[SlotState.OPEN, SlotState.CLAIMED])
    slots = list(Slot.objects.select_for_update(of=("self",)).filter(pk__in=given.values("pk")).order_by("pk"))
    Claim.objects.filter(slot__in=slots, state=ClaimState.LIVE).update(state=ClaimState.WITHDRAWN, ended_at=Now())
    Slot.objects.filter(pk__in=[one.pk for one in slots]).update(state=SlotState.CANCELLED, holder=None)


def _require_between(value: int, least: int, most: int, field: str, sentence: str) -> None:
    if not least <= value <= most:
        raise Invalid(sentence % {"most": most}, field=field)
