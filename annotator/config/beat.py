"""Celery's beat, on a machine whose clock may be set back."""

from datetime import timedelta
from typing import Any

from celery.beat import PersistentScheduler

#: What ran last so much later than now ran while the clock was wrong.
ASTRAY = timedelta(minutes=1)


class Scheduler(PersistentScheduler):
    """Celery's own, except that what ran “in the future” is not left alone until that has come.

    Many machines start with a clock that is hours ahead, and beat writes down when it sent what.
    """

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
