"""Celery's beat, for machines whose clock may be corrected and whose disk or broker may fail for a while."""

import logging
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from celery.beat import PersistentScheduler, ScheduleEntry
from django.conf import settings

#: A last run that is further in the future than this was recorded while the clock was wrong.
CLOCK_TOLERANCE = timedelta(minutes=1)

_LOG = logging.getLogger(__name__)


class Scheduler(PersistentScheduler):
    """Celery's scheduler, but it survives wrong clocks and broken files, and logs one line for each failed message.

    Celery's own skips entries whose last run is in the future, which happens on machines that start with a wrong clock;
    exits if it cannot read or write its file; and logs a traceback for each message that it cannot send. In embedded
    mode nothing restarts it.
    """

    def setup_schedule(self) -> None:
        """Read the file of last runs. Start a new one if it is broken, for example after a power cut.

        Celery does this too, but not for every error: it exits if the file is empty.
        """
        try:
            super().setup_schedule()
        except Exception as error:
            _LOG.warning("beat could not read %s and starts a new file: %r", self.schedule_filename, error)
            with suppress(Exception):
                self._store.close()
            self._remove_db()
            super().setup_schedule()

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Run one round of the loop. Return the seconds until the next."""
        # Health checks look at the time of this file. Without it, beat itself still works.
        with suppress(OSError):
            Path(settings.BEAT_PULSE).touch()
        now = self.app.now()
        in_future = [entry for entry in self.schedule.values() if entry.last_run_at > now + CLOCK_TOLERANCE]
        for entry in in_future:
            entry.last_run_at = now
        if in_future:
            # Celery rebuilds the heap, which is ordered by the wrong times.
            self._heap = None
        return float(super().tick(*arguments, **options))

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        """Send one message. A lost message only costs time, because the next one is due soon."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:
            _LOG.warning("beat could not send a message to the broker: %s", error)

    def sync(self) -> None:
        """Write the file of last runs. If that fails, try again next time."""
        try:
            super().sync()
        except OSError as error:
            _LOG.warning("beat could not write %s: %s", self.schedule_filename, error)
