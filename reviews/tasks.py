"""Celery tasks of work and review. What must be exact happens in the transitions; these keep house."""

from celery import shared_task

from reviews.services.assignments.plans import JOB as _PLANS
from reviews.services.queue.absence import release_slots_of_former_members
from reviews.services.queue.claims import expire_overdue
from reviews.services.queue.order import rewind_cursors as rewind
from reviews.services.sampling.draws import draw_where_upstream_is_done
from reviews.services.statistics.alarms import watch_all_discrepancies
from reviews.services.statistics.all_counts import fold

#: Jobs of these kinds are run by whoever has read this module.
JOBS = (_PLANS,)
#: Portions one run of the task folds; the next run goes on.
MAX_PORTIONS = 50


@shared_task(name="reviews.tasks.tidy_claims")
def tidy_claims() -> None:
    """Reopen what was left lying, and what waits for people who have gone, are paused or away."""
    expire_overdue()
    release_slots_of_former_members()


@shared_task(name="reviews.tasks.fold_counts")
def fold_counts() -> None:
    """Count what people did, and say where reviewers have begun to disagree too often."""
    if fold():
        for _ in range(1, MAX_PORTIONS):
            if not fold():
                break
        watch_all_discrepancies()


@shared_task(name="reviews.tasks.rewind_cursors")
def rewind_cursors() -> None:
    """Let everybody's next claim look from the beginning once."""
    rewind()


@shared_task(name="reviews.tasks.draw_samples")
def draw_samples() -> None:
    """Draw the audit sample wherever nothing more can come into its population."""
    draw_where_upstream_is_done()
