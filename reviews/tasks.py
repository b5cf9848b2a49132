"""Celery tasks of work and review. What must be exact happens in the transitions; these keep house."""

from celery import shared_task

from reviews.services.assignments.plans import JOB as _PLANS
from reviews.services.queue.absence import free_slots_of_leavers
from reviews.services.queue.claims import expire_overdue
from reviews.services.queue.order import rewind_cursors as rewind
from reviews.services.sampling.draws import draw_where_upstream_is_done
from reviews.services.statistics.agreement import fold_agreement as fold_agreement_portion
from reviews.services.statistics.alarms import watch_all_discrepancies
from reviews.services.statistics.counters import fold_counters as fold_portion
from reviews.services.statistics.item_history import fold_courses as fold_courses_portion
from reviews.services.statistics.workload import fold_work as fold_work_portion

#: Jobs of these kinds are run by whoever has read this module.
JOBS = (_PLANS,)
#: Portions one run of the task folds; the next run goes on.
MOST_PORTIONS = 50


@shared_task(name="reviews.tasks.tidy_claims")
def tidy_claims() -> None:
    """Reopen what was left lying, and what waits for people who have gone, are paused or away."""
    expire_overdue()
    free_slots_of_leavers()


@shared_task(name="reviews.tasks.fold_counters")
def fold_counters() -> None:
    """Fold the outbox into the counters, and say where reviewers have begun to disagree too often."""
    folded = False
    for _ in range(MOST_PORTIONS):
        if not fold_portion():
            break
        folded = True
    if folded:
        watch_all_discrepancies()


@shared_task(name="reviews.tasks.fold_agreement")
def fold_agreement() -> None:
    """Count the rating patterns of stages that have settled."""
    for _ in range(MOST_PORTIONS):
        if not fold_agreement_portion():
            return


@shared_task(name="reviews.tasks.fold_courses")
def fold_courses() -> None:
    """Count how right the items were along their way, of those that have come to its end."""
    for _ in range(MOST_PORTIONS):
        if not fold_courses_portion():
            return


@shared_task(name="reviews.tasks.fold_work")
def fold_work() -> None:
    """Count who reviewed how much, how long it took and which faults were named."""
    for _ in range(MOST_PORTIONS):
        if not fold_work_portion():
            return


@shared_task(name="reviews.tasks.rewind_cursors")
def rewind_cursors() -> None:
    """Let everybody's next claim look from the beginning once."""
    rewind()


@shared_task(name="reviews.tasks.draw_samples")
def draw_samples() -> None:
    """Draw the audit sample wherever nothing more can come into its population."""
    draw_where_upstream_is_done()
