"""Waiting items that nobody in the project can review."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.models import Project
from annotator.presentation.components.labels import words_of
from reviews.core.protocols import Stage, StageKind
from reviews.models import CoAuthor, Slot, SlotState

#: Slots of each stage's queue that are checked, the oldest first, because pages call this often.
LOOKED_AT = 1_000


class Stuck(NamedTuple):
    """The number of items that nobody can review; ``more`` if not all of the queue was checked."""

    items: int
    more: bool


def count_stuck(
    *, project: Project, stages: Iterable[Stage], people: Mapping[int, frozenset[str]]
) -> dict[Stage, Stuck]:
    """Return stage → number of its items that none of ``people`` (key → roles) may claim (see `eligibility.refusal`).

    Stages whose role nobody has, and reserved slots, are not counted.
    """
    out = {}
    for stage in stages:
        able = {key for key, held in people.items() if held & set(stage.eligible.roles)}
        if stage.kind is StageKind.SELF_CHECK or not able:
            continue
        waiting = Slot.objects.filter(
            project=project, stage=stage.key, state=SlotState.OPEN, reserved_for=None, is_gold=False
        )
        checked = Slot.objects.filter(pk__in=waiting.order_by("position").values("pk")[:LOOKED_AT])
        found = checked.values_list(
            "pk", "stage_run", "round", "confirms", "revision_author", "owner",
            "cycle__slots__holder", "cycle__slots__stage", "cycle__slots__round",
        )  # fmt: skip
        slots, barred = set[int](), dict[int, set[int | None]]()
        for slot, run, number, confirms, author, owner, holder, *held in found:
            slots.add(slot)
            people_of_it = barred.setdefault(run, {author, owner})
            # Reviewers of this round, and those of the approvals just before it, may not review it again.
            beside = (held[0], held[1]) in {(stage.key, number - back) for back in range(confirms + 1)}
            if beside or stage.eligible.not_earlier_reviewers:
                people_of_it.add(holder)
        parts = CoAuthor.objects.filter(dialogue__slots__in=checked)
        for run, person in parts.values_list("dialogue__slots__stage_run", "person"):
            barred.get(run, set()).add(person)
        if stuck := sum(able <= people_of_it for people_of_it in barred.values()):
            out[stage] = Stuck(stuck, more=len(slots) == LOOKED_AT)
    return out


def stuck_sentence(stage: Stage, stuck: Stuck) -> str:
    """Return what is wrong, and what to do."""
    words = _(" or ").join(sorted(words_of("role", role).lower() for role in stage.eligible.roles))
    if stuck.more:
        text = _(
            "“%(stage)s”: nobody can review at least %(count)s items, because everybody with the role %(role)s has "
            "reviewed or written them, or owns them. Add another %(role)s."
        )
    else:
        text = ngettext(
            "“%(stage)s”: nobody can review %(count)s item, because everybody with the role %(role)s has reviewed or "
            "written it, or owns it. Add another %(role)s.",
            "“%(stage)s”: nobody can review %(count)s items, because everybody with the role %(role)s has reviewed or "
            "written them, or owns them. Add another %(role)s.",
            stuck.items,
        )
    return text % {"stage": stage.title, "count": f"{stuck.items:,}", "role": words}
