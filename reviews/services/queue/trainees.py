"""Who needs training, how far they are, and what decides that they have passed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils import timezone

from annotator.core.text import message
from annotator.models import Membership, NoticeKind, Project, Role, User
from annotator.services.access.permissions import OVERSEERS
from annotator.services.history.events import append_event
from annotator.services.notices.notices import members_with, notify
from reviews.core.protocols import Stage, StageKind
from reviews.models import (
    GoldItem,
    Trainee,
    TraineeState,
    Training,
    TrainingResult,
)
from reviews.services.protocols.versions import current_protocol, newest_stages, roles_of_members


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


def in_training(project: Project, people: Iterable[User]) -> set[int]:
    """Return the keys of the people who get only training items now."""
    if not Training.objects.filter(project=project, enabled=True).exists():
        return set()
    return {one.person.pk for one in standings(project, people) if one.needs_training}


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
    change_trainee(trainee, state=TraineeState.PASSED if passed else TraineeState.FAILED)
    append_event(
        actor=person,
        project=project,
        kind="training.passed" if passed else "training.failed",
        after={"attempt": trainee.attempt, "right": standing.right, "of": standing.total, "mark": standing.mark},
        sealed=True,
    )
    words: dict[str, str | int] = {
        "person": str(person),
        "right": standing.right,
        "total": standing.total,
        "mark": standing.mark,
    }
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


def change_trainee(trainee: Trainee, **values: Any) -> None:
    """Set fields of a locked row, and the time."""
    for name, value in values.items():
        setattr(trainee, name, value)
    trainee.changed_at = timezone.now()
    trainee.save(update_fields=[*values, "changed_at"])


def times_seen(person: User, items: Sequence[GoldItem]) -> dict[int, int]:
    """Return key of an item → how often the person has submitted it."""
    seen = TrainingResult.objects.filter(person=person, item__in=items).values_list("item").annotate(Count("pk"))
    return dict(seen.order_by())


def training_stages(project: Project) -> list[Stage]:
    """Return the stages of the current protocol in which people can be trained: all but those of disputes."""
    protocol = current_protocol(project)
    return [stage for stage in (protocol.stages if protocol else ()) if stage.kind is not StageKind.EXPERT]


def list_training_items(project: Project) -> list[GoldItem]:
    """Return the items in use, in order, with their dialogues."""
    items = GoldItem.training.filter(project=project, retired_at=None).select_related("dialogue", "source")
    return list(items.defer("dialogue__search_text", "source__search_text").order_by("training_place", "pk"))
