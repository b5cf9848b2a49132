"""What is removed of the reports of workers and of the counters of web servers."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings

from annotator.models import Worker
from annotator.services.jobs.retention import remove_rows, retention


@retention("workers that were killed")
def _workers(now: datetime) -> int:
    return remove_rows(Worker.objects.filter(heartbeat_at__lt=now - timedelta(days=1)))


@retention("counters of web servers that have stopped")
def _counters(now: datetime) -> int:
    """Remove folders in which no process has counted for a week (``annotator.config.settings.monitoring``)."""
    before, count = (now - timedelta(days=7)).timestamp(), 0
    for folder in Path(settings.METRICS_DIR).glob("*"):
        if max(path.stat().st_mtime for path in (folder, *folder.iterdir())) < before:
            shutil.rmtree(folder, ignore_errors=True)
            count += 1
    return count
