"""Errors of single tasks by stage and round: those that running showed, and those that people named.

AsyncTool's tasks are verified in rounds until a round finds no error; this shows how the errors become fewer. What
running showed is stored when a run of a stage is settled (see ``StageRun.found``), because findings are kept for the
newest revision only.
"""

from collections import Counter as Tally
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from annotator.core.checks import all_checks
from annotator.core.checks.of_runs import UNTRIED
from annotator.models import Finding, Project, Revision
from annotator.models.content import GoldRole
from reviews.models import Review, ReviewError, StageRun, Verdict
from reviews.services.protocols.versions import current_protocol, stage_titles

#: The checks of single tasks; what is only not run yet is no error.
_FAMILIES = ("execution.", "task.")
#: A change for which its reviewer named no error type.
UNNAMED = ""


@dataclass(frozen=True, slots=True)
class RoundErrors:
    """How many items of one round had one kind of error. ``by_running``: found by running, not by people."""

    stage: str
    title: str
    round: int
    by_running: bool
    #: The id of a check, or the key of an error type; blank for a change without an error type.
    kind: str
    label: str
    items: int


def found_by_running(revision: Revision) -> list[str]:
    """Return the checks that reported a single task's newest revision: errors and warnings, each once."""
    found = Finding.objects.filter(revision=revision, severity__in=["error", "warning"]).order_by("check_id")
    checks = found.values_list("check_id", flat=True).distinct()
    return [check for check in checks if check.startswith(_FAMILIES) and check not in UNTRIED]


def read_round_errors(project: Project, *, hide_answers: bool = False) -> list[RoundErrors]:
    """Return the errors of single tasks by stage, round and kind; reviews of a blind stage count after it has ended.

    ``hide_answers``: without the known answers of gold items, for people who must not know them.
    """
    # Only settled runs of single tasks have it, and an index finds them in a project with many other runs.
    runs = StageRun.objects.filter(project=project, found__isnull=False)
    if not runs.exists():
        return []
    runs = runs.exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    if hide_answers:
        runs = runs.exclude(cycle__dialogue__gold_role=GoldRole.ANSWER)
    counts: Tally[tuple[str, int, bool, str]] = Tally()
    for stage, number, found in runs.values_list("stage", "round", "found"):
        counts.update((stage, number, True, check) for check in found or ())
    place = ("review__stage_run__stage", "review__stage_run__round")
    named = ReviewError.objects.filter(review__stage_run__in=runs.values("pk"), review__sealed=False)
    each: Any = named.order_by().values_list(*place, "kind").annotate(Count("review__dialogue", distinct=True))
    counts.update({(stage, number, False, kind): items for stage, number, kind, items in each})
    fixes = Review.objects.filter(stage_run__in=runs.values("pk"), sealed=False, verdict=Verdict.FIX, errors=None)
    each = fixes.order_by().values_list("stage_run__stage", "stage_run__round")
    for stage, number, items in each.annotate(Count("dialogue", distinct=True)):
        counts[stage, number, False, UNNAMED] = items
    return _labelled(project, counts.items())


def _labelled(project: Project, counts: Iterable[tuple[tuple[str, int, bool, str], int]]) -> list[RoundErrors]:
    titles, protocol = stage_titles(project), current_protocol(project)
    places = {key: place for place, key in enumerate(titles)}
    labels = {kind.key: kind.label for kind in protocol.taxonomy} if protocol else {}
    labels |= {check.id: check.title for check in all_checks()}
    rows = [
        RoundErrors(stage, titles.get(stage, stage), number, by_running, kind, labels.get(kind, kind), items)
        for (stage, number, by_running, kind), items in counts
    ]
    return sorted(
        rows, key=lambda one: (places.get(one.stage, 99), one.round, not one.by_running, -one.items, one.kind)
    )
