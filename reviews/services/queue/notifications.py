"""Notices about work: disputes for senior reviewers, assignments, and items that are no longer reserved."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from django.urls import reverse
from django.utils import timezone

from annotator.core.text import Message, counted_message, message
from annotator.models import Dialogue, Notice, NoticeKind, Project, User
from annotator.services.notices.notices import members_with, notify
from reviews.core.protocols import AuthorRule, Stage
from reviews.models import AssignmentPlan, CoAuthor, CycleState, PlanAction, Slot, StageRun, StageRunState

#: How many waiting disputes are tried for people who may not settle the first of them.
WAITING = 20

#: Person → their postponed notice about a lost item.
_LATER: ContextVar[dict[int, Callable[[], object]] | None] = ContextVar("later", default=None)


@contextmanager
def notify_losses_last() -> Iterator[None]:
    """Postpone notices about lost items to the end of the block, when a transaction has locked all its items.

    A person has one such notice at a time, so another transaction that writes it waits for this one, which must not
    wait for an item that the other has locked. A nested block is for a savepoint: after a rollback it sends nothing.
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
    for _person, tell in sorted(later.items()):
        tell()


def notify_experts(*, dialogue: Dialogue, stage: Stage, people: Iterable[int] | None = None) -> set[int]:
    """Notify the senior reviewers who may settle a dispute (of these ``people``, or of all), unless they have an unread
    notice of another one. Return the people who may.
    """
    project = dialogue.project
    able = set(_experts(project, stage) if people is None else people)
    if stage.eligible.author is AuthorRule.NOT_AUTHOR:
        able.discard(dialogue.owner_id)
    able.difference_update(CoAuthor.objects.filter(dialogue=dialogue).values_list("person_id", flat=True))
    if stage.eligible.not_earlier_reviewers:
        slots = Slot.objects.filter(cycle__dialogue=dialogue, cycle__state=CycleState.ACTIVE, holder__in=able)
        able.difference_update(slots.values_list("holder_id", flat=True))
    notify(
        actor=None,
        project=project,
        people=sorted(able),
        kind=NoticeKind.ESCALATION,
        text=message(
            "%(stage)s: the dispute about %(dialogue)s is waiting for a senior reviewer. Others may be waiting too.",
            stage=stage.title,
            dialogue=dialogue.external_id,
        ),
        target=dialogue.get_absolute_url(),
        dialogue=dialogue,
        key=_escalation_key(project, stage),
    )
    return able


def pass_escalation_on(*, dialogue: Dialogue, stage: Stage) -> None:
    """Mark unread notices of a dispute that is settled as read, and notify each of these people of the oldest waiting
    one that they may settle.

    The run of the settled dispute is not open any more.
    """
    project = dialogue.project
    unread = Notice.objects.unread().filter(
        person__in=_experts(project, stage), key=_escalation_key(project, stage), dialogue=dialogue
    )
    people = set(unread.values_list("person_id", flat=True))
    if not people:
        return
    unread.update(read_at=timezone.now())
    waiting = StageRun.objects.filter(
        project=project, stage=stage.key, state=StageRunState.OPEN, escalated_from__isnull=False
    )
    waiting = waiting.select_related("cycle__dialogue").defer("cycle__dialogue__search_text").order_by("pk")
    for following in waiting[:WAITING]:
        following.cycle.dialogue.project = project
        people -= notify_experts(dialogue=following.cycle.dialogue, stage=stage, people=people)
        if not people:
            return


def _experts(project: Project, stage: Stage) -> list[int]:
    return sorted({person for role in stage.eligible.roles for person in members_with(project, role)})


def _escalation_key(project: Project, stage: Stage) -> str:
    return f"escalation:{project.pk}:{stage.key}"


def notify_return(*, actor: User | None, dialogue: Dialogue, stage: Stage) -> None:
    """Notify the owner that a dialogue came back; only once if Assay sends back many."""
    text = message("%(stage)s: %(dialogue)s was sent back to you.", stage=stage.title, dialogue=dialogue.external_id)
    if actor is None:
        text = message("%(stage)s: at least one dialogue was sent back to you.", stage=stage.title)
    notify(
        actor=actor,
        project=dialogue.project,
        people=[dialogue.owner_id],
        kind=NoticeKind.ASSIGNMENT,
        text=text,
        target=reverse("home") if actor is None else dialogue.get_absolute_url(),
        dialogue=None if actor is None else dialogue,
        key=f"returned:{dialogue.project_id}:{stage.key}" if actor is None else "",
    )


def notify_assignment(*, actor: User, dialogue: Dialogue, person: User, words: Message) -> None:
    """Notify a person of an assignment."""
    notify(
        actor=actor,
        project=dialogue.project,
        people=[person.pk],
        kind=NoticeKind.ASSIGNMENT,
        text=words,
        target=dialogue.get_absolute_url(),
        dialogue=dialogue,
    )


def notify_loss(
    *, actor: User | None, project: Project, people: Iterable[int | None], words: Message, target: str
) -> None:
    """Notify people that an item is no longer theirs; only once until they have read the notice."""
    tell = partial(
        notify,
        actor=actor,
        project=project,
        kind=NoticeKind.ASSIGNMENT,
        text=message("%(loss)s Other items may have been affected since then.", loss=words),
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
    """Notify a person that their claim expired."""
    notify_loss(
        actor=None,
        project=slot.project,
        people=[person],
        words=message(
            "Your claim on %(dialogue)s expired. Open it again to continue, unless a colleague has claimed it. "
            "Your draft is kept.",
            dialogue=slot.dialogue.external_id,
        ),
        target=reverse("workspace", args=[slot.public_id]),
    )


def notify_withdrawal(*, actor: User, dialogue: Dialogue, people: Iterable[int | None]) -> None:
    """Notify people that an item was assigned to others."""
    notify_loss(
        actor=actor,
        project=dialogue.project,
        people=people,
        words=message("%(dialogue)s is no longer assigned to you. Your draft is kept.", dialogue=dialogue.external_id),
        target=dialogue.get_absolute_url(),
    )


def notify_restart(*, actor: User | None, dialogue: Dialogue, people: Iterable[int | None]) -> None:
    """Notify people that an item they had claimed was restarted or has moved on."""
    notify_loss(
        actor=actor,
        project=dialogue.project,
        people=people,
        words=message(
            "%(dialogue)s is no longer assigned to you because its review was restarted or has moved on. "
            "Your draft is kept.",
            dialogue=dialogue.external_id,
        ),
        target=dialogue.get_absolute_url(),
    )


def notify_plan(*, plan: AssignmentPlan, given: Mapping[int, int], missed: Mapping[str, int] | None = None) -> None:
    """Send each person one notice about all their items: ``given`` minus ``missed`` (keys as texts)."""
    for person, planned in sorted(given.items()):
        count = planned - (missed or {}).get(str(person), 0)
        if count:
            if plan.action == PlanAction.HAND_OVER:
                text = counted_message(
                    "You now own %(count)s more dialogue.", "You now own %(count)s more dialogues.", count
                )
            else:
                text = counted_message(
                    "%(count)s dialogue is now assigned to you.",
                    "%(count)s dialogues are now assigned to you.",
                    count,
                )
            notify(
                actor=plan.confirmed_by,
                project=plan.project,
                people=[person],
                kind=NoticeKind.ASSIGNMENT,
                text=message("%(news)s %(reason)s", news=text, reason=plan.parameters["reason"][:300]),
                target=reverse("home"),
            )
