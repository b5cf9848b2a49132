"""Items that wait, and that nobody in the project may take."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from annotator.core.wording import counted
from annotator.models import Project, Role
from reviews.core.protocols import Stage, StageKind
from reviews.models import Slot, SlotState

#: Of each stage's queue the oldest are looked at: pages ask for this again and again.
LOOKED_AT = 1_000


class Stuck(NamedTuple):
    """How many items nobody can take, and whether there may be more: the queue is longer than what was looked at."""

    items: int
    more: bool


def count_stuck(
    *, project: Project, stages: Iterable[Stage], people: Mapping[int, frozenset[str]]
) -> dict[Stage, Stuck]:
    """Stage → items in it that each of ``people`` (key → roles) has reviewed, wrote or owns.

    Where nobody has the stage's role at all, that is said elsewhere. What is reserved is its person's.
    """
    out = {}
    for stage in stages:
        able = {key for key, held in people.items() if held & set(stage.eligible.roles)}
        if stage.kind is StageKind.SELF_CHECK or not able:
            continue
        waiting = Slot.objects.filter(
            project=project, stage=stage.key, state=SlotState.OPEN, reserved_for=None, is_gold=False
        )
        found = Slot.objects.filter(pk__in=waiting.order_by("position").values("pk")[:LOOKED_AT]).values_list(
            "pk", "stage_run", "round", "confirms", "revision_author", "owner",
            "cycle__slots__holder", "cycle__slots__stage", "cycle__slots__round",
        )  # fmt: skip
        slots, barred = set[int](), dict[int, set[int | None]]()
        for slot, run, number, confirms, author, owner, holder, *held in found:
            slots.add(slot)
            people_of_it = barred.setdefault(run, {author, owner})
            # Who looks at it in this round, or has just approved this version, leaves the next look to others.
            beside = (held[0], held[1]) in {(stage.key, number - back) for back in range(confirms + 1)}
            if beside or stage.eligible.not_earlier_reviewers:
                people_of_it.add(holder)
        if stuck := sum(able <= people_of_it for people_of_it in barred.values()):
            out[stage] = Stuck(stuck, more=len(slots) == LOOKED_AT)
    return out


def stuck_sentence(stage: Stage, stuck: Stuck) -> str:
    """What is wrong, and what to do."""
    words = " or ".join(sorted(Role(role).label.lower() for role in stage.eligible.roles))
    wait, it = ("waits", "it") if stuck.items == 1 else ("wait", "them")
    least = "at least " if stuck.more else ""
    return (
        f"“{stage.title}”: {least}{counted(stuck.items, 'item')} {wait} that nobody can take, because everybody "
        f"with the role {words} has reviewed {it} before, or wrote or owns {it}. Add another {words}."
    )
