"""Celery tasks for review work. Transitions do everything that must be exact; tasks clean up."""

from annotator.services.jobs.periodic_tasks import periodic_task
from reviews.services.assignments.plans import JOB as _PLANS
from reviews.services.queue.absence import release_slots_of_former_members
from reviews.services.queue.claims import expire_overdue
from reviews.services.queue.order import rewind_cursors as rewind
from reviews.services.sampling.draws import draw_where_upstream_is_done
from reviews.services.statistics.alarms import watch_all_discrepancies
from reviews.services.statistics.all_counts import fold
from reviews.services.submission.take_back import forget_forms
from reviews.services.toolset_review.waiting import verify_all_waiting

#: Importing this module registers the jobs of these kinds.
JOBS = (_PLANS,)
#: Portions that one run of the task counts; the next run continues.
MAX_PORTIONS = 50


@periodic_task("reviews.tasks.tidy_claims")
def tidy_claims() -> None:
    """Reopen expired claims, and slots reserved for people who have left, are paused or away; delete old forms."""
    expire_overdue()
    forget_forms()
    release_slots_of_former_members()


@periodic_task("reviews.tasks.fold_counts")
def fold_counts() -> None:
    """Count finished work, and notify about stages in which reviewers disagree too often."""
    if fold():
        for _ in range(1, MAX_PORTIONS):
            if not fold():
                break
        watch_all_discrepancies()


@periodic_task("reviews.tasks.rewind_cursors")
def rewind_cursors() -> None:
    """Let each person's next claim search its queues from the start once."""
    rewind()


@periodic_task("reviews.tasks.draw_samples")
def draw_samples() -> None:
    """Draw a sample wherever no more items can enter the population."""
    draw_where_upstream_is_done()


@periodic_task("reviews.tasks.verify_waiting")
def verify_waiting() -> None:
    """Verify dialogues that waited for their toolset."""
    verify_all_waiting()
