"""Dialogues that continue verified ones: which are stale, and why.

A dialogue is stale if its first tasks or its tools are no longer those that were verified last of the dialogue that it
continues, if that one was rejected, or if the same holds between two dialogues before it. The mark is stored whenever
a head moves or a review ends; the reasons are computed.

A change of a mark locks its row. A row is added while all dialogues before it are locked, so their reviews
end before or after.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison.continuations import first_tasks, past_changes
from annotator.models import Continuation, Dialogue, Revision, User

#: What is read to compare contents.
_LOADED = ("continues", "past", "verified__toolset_revision__toolset")
#: What pages show of a row.
_SHOWN = (
    "tasks", "stale", "verified", "dialogue__status", "past__number", "continues__public_id", "continues__external_id",
    "continues__status",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a dialogue is stale: ``row.continues`` was rejected, or differs from ``mine``, which is the dialogue's newest
    revision or a verified one between the two.
    """

    row: Continuation
    mine: Revision

    @property
    def rejected(self) -> bool:
        return self.row.verified is None

    @property
    def other_tools(self) -> bool:
        verified = self.row.verified
        return verified is not None and verified.toolset_revision_id != self.mine.toolset_revision_id

    @property
    def documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The tasks that they should share: as they are in ``mine``, and as they were verified."""
        mine = self.mine.document()
        verified = mine if self.row.verified is None else self.row.verified.document()
        return first_tasks(mine, self.row.tasks), first_tasks(verified, self.row.tasks)

    def holds(self) -> bool:
        """Return whether there is any difference."""
        verified = self.row.verified
        if verified is None or self.other_tools:
            return True
        return bool(past_changes(self.mine.document(), verified.document(), self.row.tasks))


def lock_with_earlier(dialogue: Dialogue) -> None:
    """Lock a dialogue and all those that it continues, so that their reviews don't end meanwhile."""
    keys = [dialogue.pk]
    while before := Continuation.objects.filter(dialogue=keys[-1]).values_list("continues", flat=True).first():
        keys.append(before)
    rows = Dialogue.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=keys).order_by("pk")
    list(rows.values_list("pk", flat=True))


def add_continuation(*, dialogue: Dialogue, past: Revision, verified: Revision | None, tasks: int) -> Continuation:
    """Store that a new dialogue continues the first ``tasks`` of a verified revision; it may be stale at once.

    ``verified``: what is verified now of that dialogue. The caller has called ``lock_with_earlier`` for it.
    """
    row = Continuation.objects.create(
        dialogue=dialogue, continues_id=past.dialogue_id, past=past, verified=verified, tasks=tasks
    )
    _mark([row.pk])
    row.refresh_from_db()
    return row


def mark_own(dialogue: Dialogue) -> None:
    """Update the mark of a dialogue whose head has moved. The caller has locked the dialogue."""
    _mark(Continuation.objects.filter(dialogue=dialogue).values_list("pk", flat=True))


def follow_reviews(ended: Mapping[int, int | None]) -> None:
    """Update what continues dialogues whose reviews have ended. The caller has locked them.

    ``ended``: key of a dialogue → key of the verified revision; None if it was rejected.
    """
    first = list(Continuation.objects.filter(continues__in=ended.keys()).values_list("pk", "continues"))
    if not first:
        return
    found = [key for key, _continues in first]
    level = found
    while level:
        above = Continuation.objects.filter(pk__in=level).values("dialogue")
        below = Continuation.objects.filter(continues__in=above).exclude(pk__in=found)
        level = list(below.values_list("pk", flat=True))
        found += level
    _lock(found)
    for key, continues in first:
        Continuation.objects.filter(pk=key).update(verified=ended[continues])
    _mark(found)


def _lock(keys: Iterable[int]) -> list[int]:
    rows = Continuation.objects.select_for_update().filter(pk__in=list(keys)).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def _mark(keys: Iterable[int]) -> None:
    # Locked before they are read: after a wait, PostgreSQL reads the locked row again, but not what is joined to it.
    rows = Continuation.objects.filter(pk__in=_lock(keys)).order_by("pk")
    for row in rows.select_related("dialogue__head", *_LOADED):
        stale = any(one.holds() for one in _links(row))
        if stale != row.stale:
            Continuation.objects.filter(pk=row.pk).update(stale=stale)


def _links(row: Continuation | None) -> Iterator[Reason]:
    """Yield what could make a dialogue stale: each pair of neighbours, the dialogue and the one before it first."""
    mine = row.dialogue.head if row is not None else None
    while row is not None and mine is not None:
        yield Reason(row, mine)
        mine = row.verified
        row = _load(row.continues_id)


def continuation_of(dialogue: Dialogue) -> Continuation | None:
    """Return what a dialogue continues; None if it begins by itself."""
    return _load(dialogue.pk)


def _load(dialogue_id: int) -> Continuation | None:
    rows = Continuation.objects.filter(dialogue=dialogue_id)
    return (
        rows.select_related("dialogue__head", *_LOADED).defer("dialogue__search_text", "continues__search_text").first()
    )


def visible_continuation(*, actor: User, dialogue: Dialogue) -> Continuation | None:
    """Return what a dialogue continues, without contents, if the actor may see the dialogue that it continues."""
    rows = Continuation.objects.filter(dialogue=dialogue, continues__in=Dialogue.objects.visible_to(actor))
    return rows.select_related("dialogue", "continues", "past").only(*_SHOWN).first()


def reasons_of(*, actor: User, row: Continuation) -> list[Reason]:
    """Return why a dialogue is stale; without dialogues that the actor may not see. Empty if it is not."""
    found = [one for one in _links(_load(row.dialogue_id)) if one.holds()] if row.stale else []
    shown = Dialogue.objects.visible_to(actor).filter(pk__in=[one.row.continues_id for one in found])
    visible = set(shown.values_list("pk", flat=True))
    return [one for one in found if one.row.continues_id in visible]


def stale_among(dialogues: Iterable[Dialogue]) -> set[int]:
    """Return the keys of those dialogues that are stale."""
    rows = Continuation.objects.filter(dialogue__in=[one.pk for one in dialogues], stale=True)
    return set(rows.values_list("dialogue", flat=True))


def first_reason(dialogue_id: int) -> Reason | None:
    """Return the first reason why a dialogue is stale, also one that the reader may not see; None if it is not."""
    return next((one for one in _links(_load(dialogue_id)) if one.holds()), None)


def continued_by(*, actor: User, dialogue: Dialogue) -> list[Continuation]:
    """Return the dialogues that continue a dialogue and that the actor may see."""
    shown = Dialogue.objects.visible_to(actor).filter(archived_at=None)
    rows = Continuation.objects.filter(continues=dialogue, dialogue__in=shown)
    return list(rows.select_related("dialogue").defer("dialogue__search_text").order_by("pk"))
