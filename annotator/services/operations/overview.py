"""What the page of operators shows: a few statements, none of which reads a whole table."""

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import django
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator import VERSION
from annotator.errors import Hidden
from annotator.models import DailySize, Job, JobState, PeriodicTask, User, Worker
from annotator.services.access.operators import require_operator
from annotator.services.broker import broker_version
from annotator.services.database.figures import (
    SlowStatement,
    TableSize,
    database_bytes,
    database_version,
    largest_tables,
    slow_statements,
)
from annotator.services.jobs.jobs import is_repeatable, kind_title
from annotator.services.operations.queues import Queue, is_alive, queues
from annotator.services.operations.sizes import free_bytes, latest_sizes

#: Failed jobs that are listed, and for how long.
MOST_FAILURES, FAILED_WITHIN = 30, timedelta(days=7)
MOST_WORKERS = 100
#: The name of the periodic task that ``manage.py note_backup`` records, with {target, bytes, encrypted}.
BACKUP = "backup"


@dataclass(frozen=True)
class ShownWorker:
    row: Worker
    is_alive: bool
    #: Whether it runs another version of Assay than this web server.
    differs: bool
    running: list[Job]


@dataclass(frozen=True)
class TaskRun:
    """A periodic task. ``is_late``: beat or the workers have not run it for a long time."""

    name: str
    seconds: int
    ran_at: datetime | None
    is_late: bool


@dataclass(frozen=True)
class Failure:
    job: Job
    title: str
    is_repeatable: bool


@dataclass(frozen=True)
class Backup:
    at: datetime
    outcome: dict[str, Any]
    is_old: bool


@dataclass(frozen=True)
class Operations:
    queues: list[Queue]
    workers: list[ShownWorker]
    failures: list[Failure]
    tasks: list[TaskRun]
    database_bytes: int
    free_bytes: int
    sizes: list[DailySize]
    tables: list[TableSize]
    #: None: the database can't say.
    statements: list[SlowStatement] | None
    backup: Backup | None
    versions: list[tuple[str, str]]


def overview(*, actor: User) -> Operations:
    """Return how the installation is doing. Raises Hidden for all but operators."""
    require_operator(actor)
    workers = list(Worker.objects.order_by("name", "started_at")[:MOST_WORKERS])
    runs = {task.name: task for task in PeriodicTask.objects.all()}
    return Operations(
        queues=queues(workers),
        workers=_workers(workers),
        failures=_failures(),
        tasks=_tasks(runs),
        database_bytes=database_bytes(),
        free_bytes=free_bytes(),
        sizes=latest_sizes(),
        tables=largest_tables(),
        statements=slow_statements(),
        backup=last_backup(runs.get(BACKUP)),
        versions=versions(),
    )


def load_failure(*, actor: User, public_id: str) -> Job:
    """Return a job that has failed. Raises Hidden for all but operators, or if there is none."""
    require_operator(actor)
    job = Job.objects.filter(public_id=public_id).first()
    if job is None:
        raise Hidden(_("This job doesn’t exist."))
    return job


def last_backup(run: PeriodicTask | None) -> Backup | None:
    """Return the last backup; None: there was none."""
    if run is None:
        return None
    age = timezone.now() - run.ran_at
    return Backup(run.ran_at, run.outcome, is_old=age > timedelta(hours=settings.BACKUP_MAX_AGE_HOURS))


def _workers(rows: list[Worker]) -> list[ShownWorker]:
    keys = {key for row in rows if is_alive(row) for key in row.jobs}
    running = {job.pk: job for job in Job.objects.filter(pk__in=keys, state=JobState.RUNNING).defer("parameters")}
    return [
        ShownWorker(
            row,
            is_alive=is_alive(row),
            differs=row.version != VERSION,
            running=[running[key] for key in row.jobs if key in running],
        )
        for row in rows
    ]


def _failures() -> list[Failure]:
    rows = Job.objects.filter(state=JobState.FAILED, ended_at__gte=timezone.now() - FAILED_WITHIN)
    rows = rows.select_related("project", "requester").defer("parameters", "checkpoint", "result")
    return [
        Failure(job, kind_title(job.kind), is_repeatable(job.kind))
        for job in rows.order_by("-ended_at")[:MOST_FAILURES]
    ]


def _tasks(runs: dict[str, PeriodicTask]) -> list[TaskRun]:
    now = timezone.now()
    found = []
    for name, entry in sorted(settings.CELERY_BEAT_SCHEDULE.items()):
        seconds, run = int(str(entry["schedule"]).partition(".")[0]), runs.get(name)
        patience = timedelta(seconds=2 * seconds + settings.WORKER_LAG_SECONDS)
        found.append(TaskRun(name, seconds, run.ran_at if run else None, bool(run and now - run.ran_at > patience)))
    return found


def versions() -> list[tuple[str, str]]:
    """Return (program, version) of what this web server consists of and uses; blank: it does not respond."""
    found: Iterable[tuple[str, str]] = [
        ("Assay", VERSION),
        ("Python", platform.python_version()),
        ("Django", django.get_version()),
        (database_version().partition(" ")[0], database_version().partition(" ")[2]),
    ]
    return [*found, ("Redis", broker_version())] if settings.REDIS_URL else list(found)
