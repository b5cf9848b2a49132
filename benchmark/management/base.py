"""What the commands that import and release share: one machine-readable line at the end, and jobs run here."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson

from annotator.management.base import DONE, NOTHING_DONE, REFUSED, SentenceCommand, Stop
from annotator.models import Job
from annotator.services.jobs import jobs

__all__ = ["DONE", "NOTHING_DONE", "REFUSED", "PipelineCommand", "Stop"]

#: A job that another process has in hand is taken over when nothing was heard of that process for so long.
SILENCE = timedelta(seconds=10)
_LOOK_AGAIN = 0.5


class PipelineCommand(SentenceCommand):
    """A command whose last line on standard output is JSON; words go to standard error."""

    def tell(self, result: dict[str, Any]) -> None:
        """The machine-readable last line."""
        self.stdout.write(orjson.dumps(result).decode())

    def run_here(self, job: Job, *, progress: Callable[[Job], str]) -> Job:
        """Run a job in this process to its end, or watch it where another process is at it and lives."""
        watched = (0, 0, "")
        quiet_since = time.monotonic()
        told = ""
        while True:
            try:
                job = jobs.run(job.pk, heartbeat_timeout=SILENCE)
            except KeyboardInterrupt:
                self.say("Interrupted; taking back what was written.")
                jobs.cancel_job(actor=None, job=job)
                return jobs.run(job.pk, heartbeat_timeout=timedelta(0))
            if job.ended:
                return job
            seen = (job.attempt, job.progress_done, job.progress_note)
            if seen != watched:
                watched, quiet_since = seen, time.monotonic()
            line = progress(job)
            if line != told and time.monotonic() - quiet_since < _LOOK_AGAIN:
                told = line
                self.say(f"Another process is at it: {line}")
            time.sleep(_LOOK_AGAIN)
