"""Celery tasks: they only run what stands in job rows."""

import logging
from typing import Any

from celery import shared_task

from annotator.services import accounts, attempts, checkpoints, digests, jobs, retention, routines

#: Seconds after which a message sent by beat is thrown away unread: the next ones are on their way by then.
WAKE_EXPIRES = 30
#: Seconds between two tries to send a mail about a password, and how often: for a day, as long as somebody may want it.
MAIL_AGAIN, MAIL_TRIES = 300, 288

_LOG = logging.getLogger(__name__)


@shared_task(name="annotator.tasks.run_job")
def run_job(job_id: int) -> None:
    """Run one job, unless somebody else is at it."""
    jobs.run(job_id)


@shared_task(name="annotator.tasks.take_up_stale_jobs")
def take_up_stale_jobs() -> None:
    """Wake workers for jobs that wait or whose worker has gone quiet."""
    for job_id, kind in jobs.stale_jobs():
        jobs.send(job_id, kind, expires=WAKE_EXPIRES)
    routines.note_routine(routines.PULSE, {"folder": routines.folder_mark()})


@shared_task(name="annotator.tasks.write_checkpoints")
def write_checkpoints() -> None:
    """Seal what has happened in every project since the last time."""
    checkpoints.write_checkpoints()


@shared_task(name="annotator.tasks.send_digests")
def send_digests() -> None:
    """Mail everybody whose morning has come what they have not read."""
    digests.send_due_digests()


@shared_task(name="annotator.tasks.forget_old_attempts")
def forget_old_attempts() -> None:
    """Forget tries to sign in that delay nobody any more."""
    attempts.forget_old_attempts()


@shared_task(name="annotator.tasks.tidy_up")
def tidy_up() -> None:
    """Remove what nothing needs any more, and say what that was."""
    retention.tidy_up()


@shared_task(name="annotator.tasks.mail_new_password", bind=True, max_retries=MAIL_TRIES)
def mail_new_password(self: Any, email: str) -> None:
    """Mail what the mail server did not take. Only the address waits; the link is made when it is sent."""
    error = accounts.try_new_password(email)
    if error is None:
        return
    if self.request.retries == MAIL_TRIES:
        _LOG.error("A mail about a password was given up after a day: %s", error)
        return
    raise self.retry(countdown=MAIL_AGAIN)


def mail_new_password_later(email: str) -> None:
    """Have a worker try again."""
    try:
        mail_new_password.apply_async((email,), countdown=MAIL_AGAIN, retry=False)
    except Exception as error:
        _LOG.error("A mail about a password is lost, because no broker took the message for it: %s", error)
