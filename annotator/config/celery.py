"""The Celery application. Its messages only wake workers; the work is described in job rows."""

import os
import sys
from importlib import import_module
from typing import Any

from celery import Celery
from celery.signals import (
    before_task_publish,
    task_prerun,
    task_success,
    worker_init,
    worker_process_init,
    worker_ready,
    worker_shutdown,
)
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from annotator.core import log_context

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")

app = Celery("assay")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_configure.connect
def read_settings(**_: Any) -> None:
    """If a setting is wrong, exit with the message alone, without Celery's traceback."""
    try:
        settings.INSTALLED_APPS  # noqa: B018 - reads them all
    except ImproperlyConfigured as mistake:
        sys.exit(str(mistake))


@worker_init.connect
def limit_jobs(**_: Any) -> None:
    """Set time limits before the first connection is opened and before the worker forks."""
    if settings.DATABASES["default"]["ENGINE"] == "annotator.config.postgresql":
        import_module("annotator.config.postgresql.limits").limit_jobs(settings.DATABASES["default"])


@worker_ready.connect
def report_worker(sender: Any, **_: Any) -> None:
    """Let the worker report itself from now on. ``sender``: Celery's consumer."""
    queues = [queue.name for queue in sender.task_consumer.queues]
    import_module("annotator.services.operations.workers").start_reporting(sender.hostname, queues)


@worker_shutdown.connect
def stop_report(**_: Any) -> None:
    """Remove the worker from those that run."""
    import_module("annotator.services.operations.workers").stop_reporting()


@task_success.connect
def note_periodic_task(sender: Any, **_: Any) -> None:
    """Record when a task of beat last ran. ``sender``: the task."""
    import_module("annotator.services.jobs.periodic_tasks").note_pass(sender.name)


@worker_process_init.connect
def report_errors(**_: Any) -> None:
    """Send errors and traces of a process that runs tasks, if the settings say where to."""
    import_module("annotator.config.reporting").start_reporting()


@before_task_publish.connect
def send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Send the id of the request with each message, so that the worker's log names it."""
    if headers is not None and log_context.request_id.get():
        headers["request_id"] = log_context.request_id.get()


@task_prerun.connect
def take_request_id(task: Any, **_: Any) -> None:
    """Name the request in what the task logs."""
    log_context.request_id.set(task.request.get("request_id") or "")
