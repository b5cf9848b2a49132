"""What is needed first is handed out first: waiting dialogues that fill gaps get a high priority."""

from collections import Counter

from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotator.core.coverage import PLACES, Gap, expected, first_for_gaps, fold, gaps_of
from annotator.errors import Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from benchmark.services.coverage.counting import counted_dialogues, read_coverage
from reviews.models import AssignmentPlan, PlanAction, Priority, Slot, SlotState
from reviews.services.assignments.plans import MAX_SLOTS, make_plan


def plan_needed_first(*, actor: User, project: Project) -> AssignmentPlan:
    """Preview a high priority for the waiting dialogues that fill the gaps of cells, in the order of import.

    What is being worked on fills gaps first, then what has a high priority already. Nothing is changed until the plan
    is confirmed. Raises Denied, and Invalid if no waiting dialogue fills a gap.
    """
    require_administrator(actor=actor, project=project)
    chosen = [key for key, priority in filling_gaps(project=project, actor=actor) if priority != Priority.HIGH]
    if not chosen:
        raise Invalid(_("No waiting dialogue fills a gap that isn’t handed out first already."))
    return make_plan(
        actor=actor, project=project, action=PlanAction.PRIORITISE, dialogues=chosen[:MAX_SLOTS],
        priority=Priority.HIGH,
    )  # fmt: skip


def filling_gaps(
    *, project: Project, actor: User | None = None, lowest: Priority = Priority.LOW
) -> list[tuple[int, int]]:
    """Return the keys and priorities of the waiting dialogues that fill the gaps of cells, in the order of import.

    Those with a high priority are first. ``lowest``: dialogues with a lower priority are left out.
    """
    slots = Slot.objects.filter(project=project, state=SlotState.OPEN, is_gold=False)
    gaps = _gaps_left(project, actor, slots)
    if not gaps:
        return []
    slots = slots.filter(dialogue__published=True, dialogue__archived_at=None, priority__lte=lowest)
    slots = slots.exclude(dialogue__sequence="")
    found = slots.order_by("priority", "dialogue").values_list("dialogue", "dialogue__sequence", "priority")
    # A dialogue has a slot for each reviewer; the first one counts.
    waiting: dict[int, tuple[str, int]] = {}
    for key, sequence, priority in found.iterator(5000):
        waiting.setdefault(key, (sequence, priority))
    chosen = first_for_gaps(gaps, [(key, sequence) for key, (sequence, _priority) in waiting.items()])
    return [(key, waiting[key][1]) for key in chosen]


def _gaps_left(project: Project, actor: User | None, slots: QuerySet[Slot]) -> list[Gap]:
    """Return the gaps of cells that remain if what is in review and has none of the open slots is verified."""
    found = read_coverage(project=project, actor=actor)
    in_review = [status for status, place in PLACES.items() if place == "in_review"]
    rows = counted_dialogues(project=project, actor=actor).filter(status__in=in_review).exclude(sequence="")
    rows = rows.exclude(Exists(slots.filter(dialogue=OuterRef("pk")))).order_by()
    worked_on = fold("cell", rows.values_list("sequence", "status").annotate(number=Count("*")))
    counts = found.counts | {"candidate": Counter(), "in_review": worked_on["in_review"]}
    return gaps_of(found.values, expected(counts), found.wanted)
