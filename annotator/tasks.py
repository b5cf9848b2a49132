"""Celery tasks: they only run what stands in job rows."""

from celery import shared_task

from annotator.services.accounts import attempts
from annotator.services.accounts.password_mails import mail_new_password
from annotator.services.integrity import checkpoints
from annotator.services.jobs import jobs, periodic_tasks, retention
from annotator.services.jobs.jobs import run_job
from annotator.services.notices import digests

__all__ = [
    "forget_old_attempts",
    "mail_new_password",
    "resume_jobs",
    "run_job",
    "send_digests",
    "tidy_up",
    "write_checkpoints",
]

#: Seconds after which a message sent by beat is thrown away unread: the next ones are on their way by then.
MESSAGE_EXPIRES = 30


@shared_task(name="annotator.tasks.resume_jobs")
def resume_jobs() -> None:
    """Wake workers for jobs that wait or whose worker has gone quiet."""
    for job_id, kind in jobs.resumable_jobs():
        jobs.send(job_id, kind, expires=MESSAGE_EXPIRES)
    periodic_tasks.note_run(periodic_tasks.PULSE, {"folder": periodic_tasks.folder_mark()})


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
