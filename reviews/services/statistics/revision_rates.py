"""Reads how many items were revised, and in how many rounds, in stages that repeat (CCTU, table 3)."""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Collection

from django.db.models import Sum

from annotator.models import Project
from reviews.models import ItemHistoryCount, ProtocolVersion
from reviews.services.protocols.versions import parse
from reviews.services.statistics.accuracy import StageRevisions
from reviews.services.statistics.hidden_gold import hidden_item_histories


def read_revision_rounds(
    project: Project, *, hide_answers: bool = False, public: Collection[int] = ()
) -> list[StageRevisions]:
    """Return the stages that repeat after a change, in order, with revised items by the number of rounds they needed.

    Includes finished items that are counted; a stage that none of them entered has no items, and items that were not
    drawn are apart. A round counts if its reviewer changed the content; changes made in a settlement do not count here.
    ``hide_answers``, ``public``: as for ``read_accuracy``.
    """
    rows = ItemHistoryCount.objects.filter(project=project, axis__in=("revised", "not_drawn"))
    by_stage: dict[str, Tally[int]] = defaultdict(Tally)
    not_drawn: Tally[str] = Tally()

    def add(axis: str, stage: str, rounds: str, count: int) -> None:
        if axis == "revised":
            by_stage[stage][int(rounds)] += count
        elif axis == "not_drawn":
            not_drawn[stage] += count

    for axis, stage, rounds, count in rows.values_list("axis", "point", "value").annotate(Sum("count")).order_by():
        add(axis, stage, rounds, int(count))
    hidden = hidden_item_histories(project, public=public) if hide_answers else {}
    for (axis, stage, _, rounds), count in hidden.items():
        add(axis, stage, rounds, -count)
    out = []
    for stage, title in repeating_stages(project).items():
        rounds_needed = by_stage.get(stage, Tally())
        revised = {rounds: count for rounds, count in sorted(rounds_needed.items()) if rounds and count}
        out.append(StageRevisions(stage, title, revised, rounds_needed.total(), not_drawn[stage]))
    return out


def repeating_stages(project: Project) -> dict[str, str]:
    """Return key → title of the stages that repeat after a change, from the newest protocol version that has each."""
    seen: set[str] = set()
    out: dict[str, str] = {}
    for version in ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number"):
        for stage in parse(version).stages:
            if stage.key not in seen and stage.repeats:
                out[stage.key] = stage.title
            seen.add(stage.key)
    return out
