"""When periodic tasks last ran: shows that beat and the workers are running."""

import math
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from annotator.models import PeriodicTask
from annotator.services.maintenance import maintenance

#: The most frequent task of beat for the ordinary queue; it takes a moment.
PULSE = "resume-jobs"
#: Seconds between two records of the same task by one process.
NOTED_SECONDS = 60.0
#: When this process last recorded a task, by name.
_noted: dict[str, float] = {}


def periodic_task(name: str) -> Callable[[Callable[[], None]], Any]:
    """Register a task of beat that does nothing in maintenance."""

    def register(act: Callable[[], None]) -> Any:
        @wraps(act)
        def run() -> None:
            if maintenance() is None:
                act()

        return shared_task(name=name)(run)

    return register


def note_run(name: str, outcome: dict[str, Any] | None = None) -> None:
    """Record that a worker has just run a task."""
    values = {"ran_at": timezone.now(), "outcome": outcome or {}}
    PeriodicTask.objects.update_or_create(name=name, defaults=values)


def note_pass(task: str) -> None:
    """Record that a worker has run a task of beat, at most once a minute; ``task`` is Celery's name."""
    name = next((name for name, entry in settings.CELERY_BEAT_SCHEDULE.items() if entry["task"] == task), "")
    if not name or _noted.get(name, -math.inf) > time.monotonic() - NOTED_SECONDS:
        return
    _noted[name] = time.monotonic()
    # Its outcome, if it has recorded one, stays.
    PeriodicTask.objects.update_or_create(name=name, defaults={"ran_at": timezone.now()})


def folder_mark() -> str:
    """Return a mark that identifies this process's data folder, created on first use; blank if that fails."""
    path = Path(settings.DATA_DIR) / "folder-mark"
    try:
        if not path.exists():
            mine = path.with_name(f"folder-mark.{secrets.token_hex(8)}")
            mine.write_text(secrets.token_hex(16))
            # A link appears complete and only once, however many processes try.
            with suppress(FileExistsError):
                os.link(mine, path)
            mine.unlink()
        return path.read_text()
    except OSError:
        return ""
