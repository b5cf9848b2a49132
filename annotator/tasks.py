"""Celery tasks. They only start jobs; the work is in job rows."""

from celery import shared_task

from annotator.services import guests
from annotator.services.accounts import attempts
from annotator.services.accounts.mails import mail_again
from annotator.services.accounts.password_mails import mail_new_password
from annotator.services.integrity import checkpoints
from annotator.services.jobs import jobs, periodic_tasks, retention
from annotator.services.jobs.jobs import run_job
from annotator.services.jobs.periodic_tasks import periodic_task
from annotator.services.notices import digests
from annotator.services.operations import sizes
from annotator.services.webhooks import sending

__all__ = [
    "forget_old_attempts",
    "mail_again",
    "mail_new_password",
    "note_sizes",
    "resume_jobs",
    "run_job",
    "send_digests",
    "send_webhooks",
    "tidy_up",
    "write_checkpoints",
]

#: Seconds after which a message from beat expires; the next one follows by then.
MESSAGE_EXPIRES = 30


@shared_task(name="annotator.tasks.resume_jobs")
def resume_jobs() -> None:
    """Wake workers for waiting jobs and for jobs whose worker has stopped."""
    for job_id, kind in jobs.resumable_jobs():
        jobs.send(job_id, kind, expires=MESSAGE_EXPIRES)
    periodic_tasks.note_run(periodic_tasks.PULSE, {"folder": periodic_tasks.folder_mark()})


@periodic_task("annotator.tasks.write_checkpoints")
def write_checkpoints() -> None:
    """Write a checkpoint for every project with new events."""
    checkpoints.write_checkpoints()


@periodic_task("annotator.tasks.send_digests")
def send_digests() -> None:
    """Send the daily mails that are due."""
    digests.send_due_digests()


@periodic_task("annotator.tasks.send_webhooks")
def send_webhooks() -> None:
    """Send the messages to webhooks that are due."""
    sending.send_due()


@periodic_task("annotator.tasks.forget_old_attempts")
def forget_old_attempts() -> None:
    """Remove counted attempts without effect."""
    attempts.forget_old_attempts()


@periodic_task("annotator.tasks.end_guests")
def end_guests() -> None:
    """End the roles of guests whose time is over."""
    guests.end_expired_roles()


@periodic_task("annotator.tasks.note_sizes")
def note_sizes() -> None:
    """Write how much is stored, once a day."""
    if not sizes.has_todays_sizes():
        sizes.note_sizes()


@periodic_task("annotator.tasks.tidy_up")
def tidy_up() -> None:
    """Apply the retention rules."""
    retention.tidy_up()
