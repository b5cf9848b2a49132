"""Corrects figures for people who must not know gold items.

For them, a known answer is the gold item in its place, which has not left the stage. If a figure included the answer
too, it would reveal how many of the waiting items are gold items.
"""

from collections import Counter as Tally
from collections.abc import Collection, Iterable

from django.db.models import Count
from django.db.models.functions import Now

from annotator.models import Project, User
from annotator.models.content import GoldRole
from reviews.models import Claim, ClaimState, GoldItem, ItemHistory, Review, Slot, SlotState, StageRun, StageRunState
from reviews.services.protocols.versions import parse
from reviews.services.statistics.audits import count_audited


def hidden_runs(project: Project, *, public: Collection[int] = ()) -> list[StageRun]:
    """Return the settled runs of answers from the stage of their gold item on, and earlier runs that the item lacks.

    ``public``: keys of answers that are about to become public.
    """
    items = GoldItem.objects.filter(project=project, retired_at=None).exclude(source__in=public)
    stages = dict(items.values_list("source", "stage"))
    by_dialogue: dict[int, list[StageRun]] = {}
    runs = StageRun.objects.filter(cycle__dialogue__in=stages, state=StageRunState.SETTLED).select_related("cycle")
    for run in runs.order_by("pk"):
        by_dialogue.setdefault(run.cycle.dialogue_id, []).append(run)
    out = []
    for dialogue_id, found in by_dialogue.items():
        last = max(run.cycle.number for run in found)
        first = next(
            (run.pk for run in found if run.cycle.number == last and run.stage == stages[dialogue_id]), found[0].pk
        )
        out += [run for run in found if run.cycle.number != last or run.pk >= first]
    return out


def hidden_counts(project: Project, *, viewer: User | None = None) -> Tally[str]:
    """Return what these runs add to the project's counters (stored keys), without the viewer's own reviews."""
    out: Tally[str] = Tally()
    runs = hidden_runs(project)
    for run in runs:
        out[f"outcome:{run.stage}:{run.outcome}"] += 1
        if run.discrepancy_count is not None:
            out[f"compared:{run.stage}"] += 1
            out[f"discrepant:{run.stage}"] += run.discrepancy_count > 0
    if runs:
        slots = Slot.objects.filter(stage_run__in=runs, state=SlotState.DONE).exclude(holder=viewer)
        done = slots.values_list("stage")
        out.update({f"done:{stage}": count for stage, count in done.annotate(Count("id")).order_by()})
        for stage, audited, errors in count_audited(StageRun.objects.filter(pk__in=[run.pk for run in runs])):
            out[f"sampled:{stage}"] += audited
            out[f"sampled_errors:{stage}"] += errors
    return out


def shown_of_gold(project: Project, *, viewer: User | None = None) -> Tally[str]:
    """Return what gold items add to the counters of reviews: as much as an ordinary item each, so that open, claimed
    and done reviews match the dialogues in the stage.

    What the viewer does on them changes the figures, what others do does not: any number of people get an item.
    """
    items = GoldItem.objects.filter(project=project).select_related("stage_run__cycle__protocol")
    live = Claim.objects.filter(project=project, state=ClaimState.LIVE, expires_at__gt=Now(), slot__is_gold=True)
    held = set(live.filter(person=viewer).values_list("slot__stage_run", flat=True))
    runs = items.values("stage_run")
    submitted = set(Review.objects.filter(stage_run__in=runs, person=viewer).values_list("stage_run", flat=True))
    # If the viewer reviewed the known answer there, their review is counted, and one less is left for the item.
    known = Review.objects.filter(person=viewer, dialogue__in=items.filter(retired_at=None).values("source"))
    reviewed = set(known.values_list("dialogue", "stage_run__stage"))
    out: Tally[str] = Tally()
    for item in items:
        done, claimed = int(item.stage_run_id in submitted), int(item.stage_run_id in held)
        if item.live:
            reviewers = parse(item.stage_run.cycle.protocol).stage(item.stage).reviewers
            left = reviewers - done - claimed - ((item.source_id, item.stage) in reviewed)
            out[f"left:{item.stage}"] += left
        out[f"done:{item.stage}"] += done
        out[f"stage:{item.stage}:claimed"] += claimed
    return out


def hidden_item_histories(project: Project, *, public: Collection[int] = ()) -> Tally[tuple[str, str, str, str]]:
    """Return what answers add to the counts of ``statistics.item_history``, under their keys. ``public``: as above."""
    histories = ItemHistory.objects.filter(project=project, dialogue__gold_role=GoldRole.ANSWER).exclude(
        dialogue__in=public
    )
    found: Iterable[list[list[str]]] = histories.values_list("keys", flat=True)
    return Tally((one[0], one[1], one[2], one[3]) for keys in found for one in keys)
