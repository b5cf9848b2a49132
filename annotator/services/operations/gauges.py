"""What a scrape reads from the database, for Prometheus: the same from each web server."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count, DurationField, ExpressionWrapper, F, Sum
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from annotator import VERSION
from annotator.models import Job, PeriodicTask, Worker
from annotator.services.database.figures import database_bytes
from annotator.services.jobs.periodic_tasks import PULSE
from annotator.services.operations.overview import BACKUP
from annotator.services.operations.queues import is_alive, queues
from annotator.services.operations.sizes import free_bytes

#: (values of the labels, value) of a metric.
Samples = list[tuple[tuple[str, ...], float]]
#: Jobs that ended within this time are counted by kind and outcome.
RECENT = timedelta(hours=1)


class DatabaseGauges(Collector):
    """Queues, workers, jobs that ended recently, the last backup, sizes."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges, from a few statements that read no whole table."""
        workers = list(Worker.objects.all()[:1000])
        yield _gauge("assay_info", "The version of Assay.", ["version"], [((VERSION,), 1)])
        yield from _queues(workers)
        yield from _ended_jobs()
        ran = dict(PeriodicTask.objects.filter(name__in=(PULSE, BACKUP)).values_list("name", "ran_at"))
        for name, metric, words in (
            (PULSE, "assay_heartbeat_age_seconds", "Age of the last message of beat that a worker has run."),
            (BACKUP, "assay_backup_age_seconds", "Age of the last backup."),
        ):
            age: Samples = [((), (timezone.now() - ran[name]).total_seconds())] if name in ran else []
            yield _gauge(metric, words, [], age)
        yield _gauge("assay_database_bytes", "Size of the database.", [], [((), database_bytes())])
        yield _gauge("assay_disk_free_bytes", "Free space of the data folder’s disk.", [], [((), free_bytes())])


def _gauge(name: str, words: str, labels: list[str], samples: Samples) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=labels)
    for values, value in samples:
        family.add_metric(list(values), value)
    return family


def _queues(workers: list[Worker]) -> Iterator[GaugeMetricFamily]:
    found = queues(workers)
    jobs: Samples = []
    for queue in found:
        jobs += [((queue.name, "waiting"), queue.waiting), ((queue.name, "running"), queue.running)]
    yield _gauge("assay_jobs", "Jobs that have not ended.", ["queue", "state"], jobs)
    oldest: Samples = [((queue.name,), queue.age) for queue in found]
    yield _gauge("assay_job_oldest_waiting_seconds", "How long the oldest job waits.", ["queue"], oldest)
    serving: Samples = [((queue.name,), len(queue.workers)) for queue in found]
    yield _gauge("assay_workers", "Workers that serve a queue.", ["queue"], serving)
    memory = sum(worker.memory for worker in workers if is_alive(worker))
    yield _gauge("assay_workers_memory_bytes", "Memory of all workers.", [], [((), memory)])


def _ended_jobs() -> Iterator[GaugeMetricFamily]:
    took = ExpressionWrapper(F("ended_at") - F("started_at"), output_field=DurationField())
    ended = Job.objects.filter(ended_at__gte=timezone.now() - RECENT).values_list("kind", "state")
    rows = list(ended.annotate(count=Count("pk"), took=Sum(took)).order_by("kind", "state"))
    counts: Samples = [((kind, state), count) for kind, state, count, _ in rows]
    yield _gauge("assay_jobs_ended_last_hour", "Jobs that ended in the last hour.", ["kind", "state"], counts)
    times: Samples = [((kind, state), took.total_seconds() if took else 0) for kind, state, _, took in rows]
    words = "Time that the jobs of the last hour took, from their first start to their end."
    yield _gauge("assay_jobs_seconds_last_hour", words, ["kind", "state"], times)
