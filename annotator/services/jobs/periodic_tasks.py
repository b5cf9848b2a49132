"""When a worker last did what beat asks for: how one can tell from elsewhere that beat and the workers are alive."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from annotator.models import PeriodicTask

#: What beat asks for most often of all workers of the ordinary queue; it is done within a moment.
PULSE = "resume-jobs"


def note_run(name: str, outcome: dict[str, Any] | None = None) -> None:
    """A worker has just done it."""
    values = {"ran_at": timezone.now(), "outcome": outcome or {}}
    PeriodicTask.objects.update_or_create(name=name, defaults=values)


def folder_mark() -> str:
    """What tells this process's data folder from every other; made by whoever looks first. Blank where that fails."""
    path = Path(settings.DATA_DIR) / "folder-mark"
    try:
        if not path.exists():
            mine = path.with_name(f"folder-mark.{secrets.token_hex(8)}")
            mine.write_text(secrets.token_hex(16))
            # Appears whole, and only once, however many look at this moment.
            with suppress(FileExistsError):
                os.link(mine, path)
            mine.unlink()
        return path.read_text()
    except OSError:
        return ""
