"""Coverage first: a standing order in which waiting dialogues that fill gaps of cells have a high priority.

A task applies it every minute where counts have changed. It only moves dialogues between normal and high priority, and
takes back only what it has raised itself: what people set to low stays low, what they set to high stays high.
"""

from django.db import transaction
from django.utils import timezone

from annotator.core.schema.canonical import value_hash
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import hold_dialogue
from annotator.services.history.events import append_event
from benchmark.models import CoverageFirst, RaisedDialogue
from benchmark.services.coverage.counting import read_coverage
from benchmark.services.coverage.handing_out import filling_gaps
from reviews.models import Priority
from reviews.services.assignments.changes import prioritise
from reviews.services.statistics.counters import read_counters

#: Dialogues that are raised at a time. There are few out of turn, so that each claim reads them quickly.
MOST_RAISED = 200
#: Shown in the history of a dialogue.
REASON = "Coverage first"


def set_coverage_first(*, actor: User, project: Project, on: bool) -> bool:
    """Switch the order on or off and apply it; return whether anything changed. Raises Denied.

    Switched off, what it has raised gets a normal priority again, at its place in the queue.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        # The task that applies the order locks it before each dialogue, too.
        order = CoverageFirst.objects.select_for_update(no_key=True).filter(project=project).first()
        if (order is not None) == on:
            return False
        kind = "coverage.first_on" if on else "coverage.first_off"
        append_event(actor=actor, project=project, kind=kind, before={}, after={})
        if order is None:
            order = CoverageFirst.objects.create(project=project, changed_by=actor, changed_at=timezone.now())
        else:
            for raised in order.raised.select_related("dialogue__project").order_by("dialogue"):
                _lower(raised)
            order.delete()
    if on:
        apply_to(order)
    return True


def apply_coverage_first() -> int:
    """Set the priorities of every project with this order; return how many dialogues were raised or lowered."""
    changed = 0
    for order in CoverageFirst.objects.filter(project__archived_at=None).select_related("project").order_by("pk"):
        try:
            changed += apply_to(order)
        except Conflict:
            # The project was archived meanwhile; the others go on.
            continue
    return changed


def apply_to(order: CoverageFirst) -> int:
    """Raise the waiting dialogues that fill gaps and lower those that no longer do; return how many.

    Nothing is read slot by slot if no count has changed since the last time.
    """
    project = order.project
    counted = _counts_hash(project)
    if counted == order.counts_hash:
        return 0
    chosen = filling_gaps(project=project, lowest=Priority.NORMAL)[:MOST_RAISED]
    kept = {key for key, _priority in chosen}
    changed = 0
    for raised in order.raised.exclude(dialogue__in=kept).select_related("dialogue__project").order_by("dialogue"):
        with transaction.atomic():
            changed += _lower(raised)
    normal = [key for key, priority in chosen if priority == Priority.NORMAL]
    for dialogue in Dialogue.objects.filter(pk__in=normal).select_related("project").defer("search_text"):
        with transaction.atomic():
            # It may have been switched off since.
            if CoverageFirst.objects.select_for_update(no_key=True).filter(pk=order.pk).first() is None:
                return changed
            if _set(dialogue, Priority.NORMAL, Priority.HIGH):
                RaisedDialogue.objects.get_or_create(order=order, dialogue=dialogue)
                changed += 1
    CoverageFirst.objects.filter(pk=order.pk).update(counts_hash=counted)
    return changed


def set_by_people(dialogue: Dialogue) -> None:
    """Leave a dialogue alone whose priority people have just set. The caller has locked it."""
    RaisedDialogue.objects.filter(order__project=dialogue.project_id, dialogue=dialogue).delete()


def _lower(raised: RaisedDialogue) -> bool:
    # The dialogue first, as where people set its priority.
    hold_dialogue(raised.dialogue_id)
    # If it is lowered by somebody else already, people may have set its priority since.
    deleted, _by_model = RaisedDialogue.objects.filter(pk=raised.pk).delete()
    return deleted > 0 and _set(raised.dialogue, Priority.HIGH, Priority.NORMAL)


def _set(dialogue: Dialogue, earlier: Priority, priority: Priority) -> bool:
    return prioritise(actor=None, dialogue=dialogue, priority=priority, only=earlier, reason=REASON) > 0


def _counts_hash(project: Project) -> str:
    """Return a hash of what the order depends on: entries by cell and status, targets, and slots by state."""
    cells = read_coverage(project=project)
    entries = {place: dict(counts) for place, counts in cells.counts.items()}
    return value_hash([entries, dict(cells.reopened), cells.wanted, read_counters(project)])


def raised_in(project: Project) -> int | None:
    """Return how many dialogues the order has raised; None if it is switched off."""
    order = CoverageFirst.objects.filter(project=project).first()
    return None if order is None else order.raised.count()
