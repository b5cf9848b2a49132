"""How much is stored, and how it grows: one row a day."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, timedelta

from django.conf import settings
from django.utils import timezone

from annotator.models import DailySize, Dialogue
from annotator.services.database.figures import database_bytes

#: Days that the page shows.
SHOWN_DAYS = 30


def note_sizes() -> DailySize:
    """Write today's row, once a day and again when asked."""
    values = {
        "database_bytes": database_bytes(),
        "file_bytes": sum(_sizes(str(settings.DATA_DIR))),
        "free_bytes": free_bytes(),
        "dialogues": Dialogue.objects.count(),
    }
    today = timezone.now().astimezone(UTC).date()
    return DailySize.objects.update_or_create(date=today, defaults=values)[0]


def has_todays_sizes() -> bool:
    """Return whether today's row is written."""
    return DailySize.objects.filter(date=timezone.now().astimezone(UTC).date()).exists()


def latest_sizes() -> list[DailySize]:
    """Return the rows of the last days, oldest first."""
    since = timezone.now().astimezone(UTC).date() - timedelta(days=SHOWN_DAYS)
    return list(DailySize.objects.filter(date__gt=since).order_by("date"))


def free_bytes() -> int:
    """Return the free space of the data folder's disk; 0 if the folder is missing."""
    try:
        return shutil.disk_usage(settings.DATA_DIR).free
    except OSError:
        return 0


def _sizes(folder: str) -> Iterator[int]:
    """Yield the size of each file below a folder; what disappears meanwhile is left out."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
