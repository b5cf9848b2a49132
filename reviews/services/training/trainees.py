"""Who needs training, how far they are, and what decides that they have passed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Membership, NoticeKind, Project, Role, User
from annotator.services.access.permissions import OVERSEERS, require_administrator
from annotator.services.history.events import append_event
from annotator.services.notices.notices import members_with, notify
from reviews.core.protocols import Stage
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
from reviews.services.protocols.versions import newest_stages, roles_of_members
from reviews.services.training.items import list_training_items, require_stage

#: More would be a project of its own.
MAX_LENGTH = 50
MAX_ATTEMPTS = 20


@dataclass(frozen=True)
class Standing:
    """How far a person is in their current attempt."""

    person: User
    state: str
    attempt: int
    #: Attempts that they may still begin on their own after this one.
    left: int
    #: Of this attempt: items submitted, of them right, all items, and how many must be right.
    done: int
    right: int
    total: int
    mark: int

    @property
    def needs_training(self) -> bool:
        """Return whether they get only training items now."""
        return self.state in (TraineeState.TRAINING, TraineeState.FAILED)

    @property
    def may_try_again(self) -> bool:
        return self.state == TraineeState.FAILED and self.left > 0


def read_training(project: Project) -> Training | None:
    """Return the settings of the project's training; None if nobody has set it up."""
    return Training.objects.filter(project=project).first()


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


def standings(project: Project, people: Iterable[User] | None = None) -> list[Standing]:
    """Return the standing of the members whom the training concerns, by name. ``people``: only of these."""
    training = read_training(project)
    if training is None:
        return []
    if people is None:
        people = list(Membership.objects.active().filter(project=project).people())
    roles = roles_of_members(project)
    stage = newest_stages(project).get(training.stage)
    concerned = [one for one in people if stage is not None and _concerns(stage, roles.get(one.pk, frozenset()))]
    rows = {one.person_id: one for one in Trainee.objects.filter(project=project, person__in=concerned)}
    live = {item.pk for item in list_training_items(project) if item.stage == training.stage}
    done: dict[tuple[int, int], dict[int, bool]] = {}
    results = TrainingResult.objects.filter(project=project, person__in=concerned)
    for person, attempt, item, right in results.values_list("person", "attempt", "item", "right"):
        done.setdefault((person, attempt), {})[item] = right
    out = [
        _standing(training, one, rows.get(one.pk), live, done.get((one.pk, _attempt(rows.get(one.pk))), {}))
        for one in concerned
    ]
    return sorted(out, key=lambda one: (str(one.person), one.person.pk))


def standing_of(*, project: Project, person: User) -> Standing | None:
    """Return a person's standing in a training that is switched on; None if it doesn't concern them."""
    if not Training.objects.filter(project=project, enabled=True).exists():
        return None
    return next(iter(standings(project, [person])), None)


def lock_trainee(project: Project, person: User) -> Trainee:
    """Return the row of a person in the training, locked. The caller has locked their membership."""
    Trainee.objects.get_or_create(project=project, person=person)
    return Trainee.objects.select_for_update(of=("self",)).get(project=project, person=person)


def finish_if_complete(*, project: Project, person: User, trainee: Trainee) -> None:
    """Let the person pass or fail if no item of their attempt is left, and notify administrators."""
    standing = standing_of(project=project, person=person)
    if standing is None or trainee.state != TraineeState.TRAINING or standing.done < standing.total:
        return
    passed = standing.right >= standing.mark
    _change(trainee, state=TraineeState.PASSED if passed else TraineeState.FAILED)
    append_event(
        actor=person,
        project=project,
        kind="training.passed" if passed else "training.failed",
        after={"attempt": trainee.attempt, "right": standing.right, "of": standing.total, "mark": standing.mark},
        sealed=True,
    )
    words = {"person": str(person), "right": standing.right, "total": standing.total, "mark": standing.mark}
    if passed:
        text = message("%(person)s passed the training with %(right)d of %(total)d items right.", **words)
    else:
        text = message(
            "%(person)s failed the training with %(right)d of %(total)d items right. The pass mark is %(mark)d.",
            **words,
        )
    notify(
        actor=person,
        project=project,
        people=members_with(project, Role.ADMINISTRATOR),
        kind=NoticeKind.ALARM,
        text=text,
        target=reverse("training", args=[project.slug]),
    )


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
        _change(trainee, state=TraineeState.TRAINING, attempt=trainee.attempt + 1)
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
        _change(trainee, state=state, **restart)
        append_event(
            actor=actor,
            project=project,
            kind="training.decided",
            before=before,
            after={"person": person.public_id, "state": state},
            sealed=True,
        )
    return trainee


def _concerns(stage: Stage, roles: frozenset[str]) -> bool:
    """Return whether people with these roles are trained: those who review in the stage and may not see answers."""
    return bool(roles & set(stage.eligible.roles)) and not roles & OVERSEERS


def _standing(training: Training, person: User, row: Trainee | None, live: set[int], done: dict[int, bool]) -> Standing:
    # Fewer items than wanted are left if some were retired.
    total = min(training.length, len(live | done.keys()))
    attempt, first = (row.attempt, row.first_attempt) if row else (1, 1)
    state = row.state if row else TraineeState.TRAINING
    if not total and state == TraineeState.TRAINING:
        # There is nothing to practise.
        state = TraineeState.EXEMPT
    return Standing(
        person=person,
        state=state,
        attempt=attempt - first + 1,
        left=max(0, training.attempts - (attempt - first + 1)),
        done=len(done),
        right=sum(done.values()),
        total=total,
        mark=min(training.pass_mark, total),
    )


def _attempt(row: Trainee | None) -> int:
    return row.attempt if row else 1


def _change(trainee: Trainee, **values: Any) -> None:
    for name, value in values.items():
        setattr(trainee, name, value)
    trainee.changed_at = timezone.now()
    trainee.save(update_fields=[*values, "changed_at"])


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


def times_seen(person: User, items: Sequence[GoldItem]) -> dict[int, int]:
    """Return key of an item → how often the person has submitted it."""
    seen = TrainingResult.objects.filter(person=person, item__in=items).values_list("item").annotate(Count("pk"))
    return dict(seen.order_by())
