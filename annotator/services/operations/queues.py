"""The queues: how many jobs wait and run, how long the oldest has waited, and which workers serve them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db.models import Count, Min
from django.utils import timezone

from annotator.models import Job, JobState, Worker
from annotator.services.jobs.jobs import queue_of
from annotator.services.operations.workers import SILENT


@dataclass
class Queue:
    name: str
    waiting: int = 0
    running: int = 0
    #: Since when the oldest job waits; None: none does.
    oldest: datetime | None = None
    workers: list[Worker] = field(default_factory=list)

    @property
    def is_unserved(self) -> bool:
        """Return whether jobs wait and no worker reports that it serves this queue."""
        return bool(self.waiting and not self.workers)

    @property
    def age(self) -> float:
        """Return the seconds that the oldest job has waited."""
        return max(0.0, (timezone.now() - self.oldest).total_seconds()) if self.oldest else 0.0


def queues(workers: Iterable[Worker]) -> list[Queue]:
    """Return the state of each queue, in one query over the jobs that have not ended. ``workers``: all that report."""
    alive = [worker for worker in workers if is_alive(worker)]
    found = {
        queue.name: Queue(queue.name, workers=[one for one in alive if queue.name in one.queues])
        for queue in settings.CELERY_TASK_QUEUES
    }
    rows = Job.objects.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).values("kind", "state")
    for row in rows.annotate(count=Count("pk"), oldest=Min("created_at")).order_by():
        queue = found[queue_of(row["kind"])]
        if row["state"] == JobState.RUNNING:
            queue.running += row["count"]
        else:
            queue.waiting += row["count"]
            queue.oldest = min(filter(None, (queue.oldest, row["oldest"])))
    return list(found.values())


def is_alive(worker: Worker) -> bool:
    """Return whether the worker has reported recently."""
    return timezone.now() - worker.heartbeat_at < SILENT
