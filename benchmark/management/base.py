"""Shared parts of the import and release commands: a machine-readable last line, and running jobs in this process."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson

from annotator.management.base import DONE, NOTHING_DONE, REFUSED, SentenceCommand, Stop
from annotator.models import Job
from annotator.services.jobs import jobs

__all__ = ["DONE", "NOTHING_DONE", "REFUSED", "PipelineCommand", "Stop"]

#: A job of another process is taken over after this time without a heartbeat.
SILENCE = timedelta(seconds=10)
_LOOK_AGAIN = 0.5


class PipelineCommand(SentenceCommand):
    """A command whose last line on standard output is JSON; text goes to standard error."""

    def tell(self, result: dict[str, Any]) -> None:
        """Print the machine-readable last line."""
        self.stdout.write(orjson.dumps(result).decode())

    def run_here(self, job: Job, *, progress: Callable[[Job], str]) -> Job:
        """Run a job in this process to its end, or watch it if another process is running it."""
        watched = (0, 0, "")
        quiet_since = time.monotonic()
        told = ""
        while True:
            try:
                job = jobs.run(job.pk, heartbeat_timeout=SILENCE)
            except KeyboardInterrupt:
                self.say("Interrupted; rolling back what was written.")
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
                self.say(f"Another process is running this job: {line}")
            time.sleep(_LOOK_AGAIN)
