"""Celery's beat, on a machine whose clock may be set back and whose disk or broker may fail for a while."""

import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any

from celery.beat import PersistentScheduler, ScheduleEntry

#: What ran last so much later than now ran while the clock was wrong.
ASTRAY = timedelta(minutes=1)

_LOG = logging.getLogger(__name__)


class Scheduler(PersistentScheduler):
    """Celery's own, which leaves alone what ran “in the future”, ends when its file cannot be read or written, and logs
    a hundred lines for each message that cannot be sent.

    Many machines start with a clock that is hours ahead, and beat writes down when it sent what. In embedded mode
    nobody starts it again when it has ended.
    """

    def setup_schedule(self) -> None:
        """Read what ran when; where a power cut or a full disk has left half a file, begin a new one.

        Celery does so too, but not for all that can be wrong with it: with an empty one it would end at each start.
        """
        try:
            super().setup_schedule()
        except Exception as error:
            _LOG.warning("beat could not read its file %s, and begins a new one: %r", self.schedule_filename, error)
            with suppress(Exception):
                self._store.close()
            self._remove_db()
            super().setup_schedule()

    def tick(self, *arguments: Any, **options: Any) -> float:
        """One round of the loop; returns the seconds until the next."""
        now = self.app.now()
        astray = [entry for entry in self.schedule.values() if entry.last_run_at > now + ASTRAY]
        for entry in astray:
            entry.last_run_at = now
        if astray:
            # Made anew from the schedule: it, too, is ordered by times of the wrong clock.
            self._heap = None
        return float(super().tick(*arguments, **options))

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        """Send one message. The next one is due soon, so that one is lost costs only time."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:
            _LOG.warning("no broker took the message of beat: %s", error)

    def sync(self) -> None:
        """Write down what ran when; where that cannot be done now, go on, and do it the next time."""
        try:
            super().sync()
        except OSError as error:
            _LOG.warning("beat could not write its file %s: %s", self.schedule_filename, error)
