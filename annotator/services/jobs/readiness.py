"""Readiness of database, broker, workers and disk, each checked with a time limit."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from annotator.models import PeriodicTask, Worker
from annotator.services.jobs.jobs import unserved_jobs
from annotator.services.jobs.outages import has_room, outage
from annotator.services.jobs.periodic_tasks import PULSE, folder_mark

#: Seconds for the database and the broker to respond.
PATIENCE = 2
#: The most reports of workers that are read.
MOST_WORKERS = 100


def what_is_missing() -> dict[str, str]:
    """Return {part: sentence about its problem}; empty if the site is ready."""
    parts: dict[str, Callable[[], str]] = {"broker": _broker, "disk": _disk}
    found = _database() | {part: ask() for part, ask in parts.items()}
    return {part: sentence for part, sentence in found.items() if sentence}


def _database() -> dict[str, str]:
    """Check the database on a new connection: an old one may hang, or work while the server refuses new ones."""
    pulse = PeriodicTask.objects.filter(name=PULSE).values_list("ran_at", "outcome")
    late = timezone.now() - timedelta(seconds=settings.WORKER_LAG_SECONDS)
    # Workers of the first queue show that they live by running what beat sends.
    others = [queue.name for queue in settings.CELERY_TASK_QUEUES][1:]
    waiting = [unserved_jobs(name, before=late).values_list("created_at")[:1] for name in others]
    reports = Worker.objects.order_by("-heartbeat_at").values_list("heartbeat_at", "queues")[:MOST_WORKERS]
    try:
        with closing(_new_connection()) as database, database.cursor() as cursor:
            behind = _behind(database)
            if behind:
                # The other queries may need a table or a column that does not exist yet.
                return {"database": behind}
            found = []
            for rows in (pulse, *waiting):
                cursor.execute(*rows.query.sql_with_params())
                found.append(cursor.fetchone())
            cursor.execute(*reports.query.sql_with_params())
            alive = [_json(queues) for at, queues in cursor.fetchall() if _is_recent(_when(database, at))]
            full = _writes(database)
    except DatabaseError as error:
        return {"database": f"{outage(error) or 'The database does not respond'}."}
    heard, *since = (_when(database, row[0]) if row else None for row in found)
    parts = {"database": full, "beat": "", "workers": ""}
    if heard is not None and _is_recent(heard):
        parts["workers"] = _folder(found[0][1])
    elif any(settings.CELERY_TASK_DEFAULT_QUEUE in queues for queues in alive):
        parts["beat"] = _beat(heard)
    else:
        parts["workers"] = _workers(heard)
    # A job may wait for another one of its person, or for the disk: a worker that lives takes it then.
    served = {name for queues in alive for name in queues}
    late_queues = {name: moment for name, moment in zip(others, since, strict=True) if name not in served}
    return parts | {name: _queue(name, moment) for name, moment in late_queues.items()}


def _behind(database: BaseDatabaseWrapper) -> str:
    """Return a sentence about missing migrations."""
    recorder = MigrationRecorder(database)
    applied = set()
    if recorder.has_table():
        rows = recorder.Migration.objects.values_list("app", "name")
        with database.cursor() as cursor:
            cursor.execute(*rows.query.sql_with_params())
            applied = {(app, name) for app, name in cursor.fetchall()}
    missing = [f"{app}.{name}" for app, name in _newest_migrations() if (app, name) not in applied]
    return f"Migrations up to {', '.join(missing)} are missing. Run “manage.py migrate”." if missing else ""


@cache
def _newest_migrations() -> list[tuple[str, str]]:
    """Return the last migration of each application, which is applied last. Cached, since it never changes."""
    return sorted(MigrationLoader(None).graph.leaf_nodes())


def _writes(database: BaseDatabaseWrapper) -> str:
    """Check that the database can write: reading does not show a full disk. (SQLite's disk is checked by ``_disk``.)"""
    if database.vendor != "postgresql":
        return ""
    try:
        database.require_writable()  # type: ignore[attr-defined]
    except DatabaseError:
        return "The database responds but accepts no writes. Check whether its disk is full."
    return ""


def _new_connection() -> BaseDatabaseWrapper:
    database = connections.create_connection(DEFAULT_DB_ALIAS)
    options = dict(database.settings_dict["OPTIONS"])
    if database.vendor == "postgresql":
        options["connect_timeout"] = PATIENCE
        if not settings.DATABASE_POOLER:
            options["options"] = f"-c statement_timeout={PATIENCE}s -c work_mem=64kB"
        options["answer_seconds"] = PATIENCE + 1
    else:
        options["timeout"] = PATIENCE
    database.settings_dict = {**database.settings_dict, "OPTIONS": options}
    return database


def _when(database: BaseDatabaseWrapper, value: datetime | str) -> datetime:
    """Convert a time from the driver; SQLite returns text in UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment, database.timezone)


def _is_recent(moment: datetime) -> bool:
    """Return whether a sign of life counts. A time in the future comes from a wrong clock and shows nothing."""
    return abs(timezone.now() - moment) <= timedelta(seconds=settings.WORKER_LAG_SECONDS)


def _workers(last: datetime | None) -> str:
    if last is None:
        return "No worker has run yet. Check that beat and a worker are running."
    return f"No worker has run since {last:%Y-%m-%d %H:%M} UTC. Check that beat and a worker are running."


def _beat(last: datetime | None) -> str:
    """Return a sentence about beat: workers live, but nothing that it sends reaches them."""
    since = f"since {last:%Y-%m-%d %H:%M} UTC" if last else "yet"
    return f"Workers are running, but no message of beat has arrived {since}. Check that beat is running."


def _folder(outcome: str | dict[str, Any]) -> str:
    """Check that the last worker uses this data folder; otherwise it would not find uploads."""
    theirs = _json(outcome).get("folder")
    ours = folder_mark()
    if not theirs or not ours or theirs == ours:
        return ""
    return "A worker and this web server use different data folders. Set the same ASSAY_DATA for both."


def _queue(name: str, since: datetime | None) -> str:
    """Check another queue. Its workers show nothing during a long job or without work, so look for waiting jobs."""
    if since is None:
        return ""
    return (
        f"A job of the queue “{name}” has been waiting since {since:%Y-%m-%d %H:%M} UTC. Check that a worker of "
        "this queue is running."
    )


def _json(value: Any) -> Any:
    """Return JSON from the driver; SQLite returns text."""
    return json.loads(value) if isinstance(value, str) else value


def _broker() -> str:
    if not settings.REDIS_URL:
        return (
            "" if os.access(Path(settings.BROKER_DIR) / "messages", os.W_OK) else "The broker’s folder is not writable."
        )
    import redis

    try:
        with closing(
            redis.Redis.from_url(settings.REDIS_URL, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE)
        ) as client:
            client.set("assay.readyz", 1, ex=PATIENCE)
    except redis.ResponseError as error:
        return f"Redis responds but accepts no writes: {error}"
    except redis.RedisError:
        return "Redis does not respond."
    return ""


def _disk() -> str:
    if not os.access(settings.DATA_DIR, os.W_OK | os.X_OK):
        return "The data folder does not exist or is not writable."
    return "" if has_room() else f"Less than {settings.DISK_RESERVE_MB} MB of disk space is free."
