"""Celery tasks: they only run what stands in job rows."""

from celery import shared_task

from annotator.services import checkpoints, digests, jobs

#: Seconds after which a message sent by beat is thrown away unread: the next ones are on their way by then.
WAKE_EXPIRES = 30


@shared_task(name="annotator.tasks.run_job")
def run_job(job_id: int) -> None:
    """Run one job, unless somebody else is at it."""
    jobs.run(job_id)


@shared_task(name="annotator.tasks.take_up_stale_jobs")
def take_up_stale_jobs() -> None:
    """Wake workers for jobs that wait or whose worker has gone quiet."""
    for job_id in jobs.stale_job_ids():
        run_job.apply_async((job_id,), expires=WAKE_EXPIRES)


@shared_task(name="annotator.tasks.write_checkpoints")
def write_checkpoints() -> None:
    """Seal what has happened in every project since the last time."""
    checkpoints.write_checkpoints()


@shared_task(name="annotator.tasks.send_digests")
def send_digests() -> None:
    """Mail everybody whose morning has come what they have not read."""
    digests.send_due_digests()
