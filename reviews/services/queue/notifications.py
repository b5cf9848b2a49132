"""Whom a dialogue's moves concern: experts for whom something waits, people to whom work is given."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from django.urls import reverse

from annotator.models import Dialogue, NoticeKind, Project, Role, User
from annotator.services.notices.notices import members_with, notify
from reviews.core.protocols import Stage
from reviews.models import AssignmentPlan, PlanAction, Slot

#: Person → what tells them of a loss, while these are kept back.
_LATER: ContextVar[dict[int, Callable[[], object]] | None] = ContextVar("later", default=None)


@contextmanager
def notify_losses_last() -> Iterator[None]:
    """For a transaction that takes many items: whom it takes them from is told at its end, when it has locked them all.

    A person has one such notice at a time, so another transaction that tells them waits for this one, which must not
    wait for an item that the other has locked. One inside another is for a savepoint: what is taken back is not told.
    """
    later: dict[int, Callable[[], object]] = {}
    kept = _LATER.get()
    _LATER.set(later)
    try:
        yield
    finally:
        _LATER.set(kept)
    if kept is not None:
        for person, tell in later.items():
            kept.setdefault(person, tell)
        return
    for _, tell in sorted(later.items()):
        tell()


def notify_experts(*, project: Project, stage: Stage) -> None:
    """Something disputed waits. Who has not read that yet is not told of every further item."""
    experts = sorted({person for role in stage.eligible.roles for person in members_with(project, Role(role.value))})
    notify(
        actor=None,
        project=project,
        people=experts,
        kind=NoticeKind.ESCALATION,
        text=f"A disputed dialogue waits for an expert: {stage.title}. There may be more by now.",
        target=reverse("home"),
        key=f"escalation:{project.pk}:{stage.key}",
    )


def notify_return(*, actor: User | None, dialogue: Dialogue, stage: Stage) -> None:
    """A dialogue comes back to its owner. What the program sends back by the hundred is told once."""
    words = "A dialogue came" if actor is None else f"{dialogue.external_id} came"
    notify(
        actor=actor,
        project=dialogue.project,
        people=[dialogue.owner_id],
        kind=NoticeKind.ASSIGNMENT,
        text=f"{words} back to you: {stage.title}.{' There may be more by now.' if actor is None else ''}",
        target=reverse("home") if actor is None else dialogue.get_absolute_url(),
        dialogue=None if actor is None else dialogue,
        key=f"returned:{dialogue.project_id}:{stage.key}" if actor is None else "",
    )


def notify_assignment(*, actor: User, dialogue: Dialogue, person: User, words: str) -> None:
    """An administrator gives somebody work."""
    notify(
        actor=actor,
        project=dialogue.project,
        people=[person.pk],
        kind=NoticeKind.ASSIGNMENT,
        text=words,
        target=dialogue.get_absolute_url(),
        dialogue=dialogue,
    )


def notify_loss(*, actor: User | None, project: Project, people: Iterable[int | None], words: str, target: str) -> None:
    """Something they had is theirs no longer. Who has not read that yet is not told of every further item."""
    tell = partial(
        notify,
        actor=actor,
        project=project,
        kind=NoticeKind.ASSIGNMENT,
        text=f"{words} There may be more by now.",
        target=target,
        key=f"lost:{project.pk}",
    )
    later = _LATER.get()
    if later is None:
        tell(people=people)
        return
    for person in people:
        if person is not None:
            later.setdefault(person, partial(tell, people=[person]))


def notify_lapse(slot: Slot, person: int) -> None:
    """A lease ran out. Its page says how the item stands, and gives it back where nobody has taken it."""
    notify_loss(
        actor=None,
        project=slot.project,
        people=[person],
        words=f"Your time on {slot.dialogue.external_id} ran out: it goes to a colleague, unless you open it again "
        "first. Your draft is kept.",
        target=reverse("workspace", args=[slot.public_id]),
    )


def notify_withdrawal(*, actor: User, dialogue: Dialogue, people: Iterable[int | None]) -> None:
    """Somebody else decided that others go on with it."""
    notify_loss(
        actor=actor,
        project=dialogue.project,
        people=people,
        words=f"{dialogue.external_id} is no longer yours to work on; others go on with it. Your draft is kept.",
        target=dialogue.get_absolute_url(),
    )


def notify_restart(*, actor: User | None, dialogue: Dialogue, people: Iterable[int | None]) -> None:
    """While somebody holds it, the item begins a stage anew, or the protocol; or its stage is gone, and it goes on."""
    notify_loss(
        actor=actor,
        project=dialogue.project,
        people=people,
        words=f"{dialogue.external_id} is no longer yours to work on: its review begins anew, or has moved on. "
        "Your draft is kept.",
        target=dialogue.get_absolute_url(),
    )


def notify_plan(*, plan: AssignmentPlan, given: Mapping[int, int], missed: Mapping[str, int] | None = None) -> None:
    """One notice of many items for each person: ``given``, less the ``missed`` that had moved (keys as texts)."""
    what = "yours" if plan.action == PlanAction.HAND_OVER else "reserved for you"
    for person, planned in sorted(given.items()):
        count = planned - (missed or {}).get(str(person), 0)
        if count:
            words = f"{count:,} {'dialogue is' if count == 1 else 'dialogues are'} {what} now."
            notify(
                actor=plan.actor,
                project=plan.project,
                people=[person],
                kind=NoticeKind.ASSIGNMENT,
                text=f"{words} {plan.parameters['reason'][:300]}".strip(),
                target=reverse("home"),
            )
