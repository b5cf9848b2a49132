"""Long work as job rows. The row has the parameters and the progress; the broker only wakes workers.

A job kind registers a runner with ``job_kind``. The runner gets a ``Running`` and commits its work in chunks:

    with running.chunk() as chunk:        # one transaction, fenced by the attempt number
        ...write rows...
        chunk.advance(done=1000, checkpoint={"records": 1000})

A worker that lost its job (another attempt runs, or somebody cancelled) learns it at the next chunk, whose transaction
is then rolled back, so nothing is written twice.

An outage of the database ends an attempt, not the job: the next attempt continues, as after a killed worker. So a
runner rolls nothing back after an outage. A rollback that takes several transactions records its start in the
checkpoint with the first of them.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from annotator.core import log_context
from annotator.core.text import Message, message
from annotator.errors import Conflict, DomainError, Hidden
from annotator.models import Job, JobCancellation, JobState, NoticeKind, Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.broker import SHORT_TIMEOUTS
from annotator.services.history.events import append_event
from annotator.services.jobs.outages import DATABASE, full_disk, has_room, outage
from annotator.services.maintenance import maintenance
from annotator.services.notices.notices import notify

#: A job with an older heartbeat is continued by another worker.
HEARTBEAT_TIMEOUT = timedelta(seconds=30)
#: A job fails after this many attempts.
MAX_ATTEMPTS = 8

_LOG = logging.getLogger(__name__)

Runner = Callable[["Running"], dict[str, Any]]


@dataclass(frozen=True)
class JobKind:
    name: str
    title: str
    run: Runner
    #: Called in a transaction of its own when a job of this kind is cancelled or fails.
    discard: Callable[[Job], None] | None
    #: Whether the requester gets no notice of its end, except for unexpected errors: it follows another job, or they
    #: watch its page.
    quiet: Callable[[Job], bool]
    #: Whether it works on untrusted data or code, which may be slow or hang. Such jobs have their own workers and run
    #: one at a time for each person.
    untrusted: bool
    queue: str
    #: Whether a failed job can be started again from its parameters and checkpoint alone, by ``retry_job``.
    repeatable: bool
    #: Whether it writes large files. It does not start while the disk has less than its reserve, and continues later
    #: if the disk fills up while it writes.
    writes_files: bool


_KINDS: dict[str, JobKind] = {}


def job_kind(
    name: str,
    title: str,
    *,
    discard: Callable[[Job], None] | None = None,
    quiet: bool | Callable[[Job], bool] = False,
    untrusted: bool = False,
    queue: str = "",
    repeatable: bool = False,
    writes_files: bool = False,
) -> Callable[[Runner], Runner]:
    """Register a runner, which returns the job's result. A DomainError fails the job with its sentence.

    ``queue``: one of the settings' queues; by default the one for untrusted code, or the first.
    ``repeatable``: see ``JobKind``. A kind whose job is named by other rows has a page of its own to start it again.
    """

    def register(run: Runner) -> Runner:
        silent = quiet if callable(quiet) else lambda job: quiet
        own = queue or ("untrusted" if untrusted else "assay")
        _KINDS[name] = JobKind(name, title, run, discard, silent, untrusted, own, repeatable, writes_files)
        return run

    return register


def kind_title(name: str) -> str:
    """Return the title of a job kind."""
    return _(_KINDS[name].title) if name in _KINDS else name


class Lost(Exception):
    """The job is no longer this worker's."""


class Cancelled(Exception):
    """Somebody cancelled the job."""


@dataclass
class Chunk:
    """Changes of the job's row by one chunk, by field."""

    changes: dict[str, Any] = field(default_factory=dict)

    def advance(
        self,
        *,
        done: int | None = None,
        total: int | None = None,
        note: str | None = None,
        checkpoint: dict[str, Any] | None = None,
    ) -> None:
        """Set the progress that is stored when this chunk commits."""
        changes = {
            "progress_done": done,
            "progress_total": total,
            "progress_note": None if note is None else note[:200],
            "checkpoint": checkpoint,
        }
        self.changes |= {name: value for name, value in changes.items() if value is not None}


@dataclass
class Running:
    """A job that this worker runs."""

    job: Job
    attempt: int
    checkpoint: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def chunk(self, *, even_if_cancelled: bool = False) -> Iterator[Chunk]:
        """Run one fenced transaction. Raises Lost or Cancelled and rolls back if the job is no longer this worker's.

        ``even_if_cancelled`` is for cleaning up.
        """
        chunk = Chunk()
        with transaction.atomic():
            # The row is locked first: another attempt waits here, then finds a higher number and stops.
            held = Job.objects.select_for_update(no_key=True).filter(
                pk=self.job.pk, attempt=self.attempt, state=JobState.RUNNING
            )
            if held.only("pk").first() is None:
                raise Lost
            if not even_if_cancelled and JobCancellation.objects.filter(job=self.job.pk).exists():
                raise Cancelled
            yield chunk
            Job.objects.filter(pk=self.job.pk).update(heartbeat_at=Now(), **chunk.changes)
        if "checkpoint" in chunk.changes:
            self.checkpoint = self.job.checkpoint = chunk.changes["checkpoint"]

    def beat(self) -> None:
        """Update the heartbeat between chunks. Raises Lost or Cancelled."""
        with self.chunk():
            pass


def start_job(
    *, actor: User | None, project: Project, kind: str, parameters: dict[str, Any], wake_worker: bool = True
) -> Job:
    """Create a job row and wake a worker once the caller's transaction commits.

    Without ``wake_worker``, the caller runs the job; beat finds it in any case.
    """
    if kind not in _KINDS:
        raise ValueError(f"no job kind {kind}")
    job = Job.objects.create(
        project=project,
        requester=actor,
        kind=kind,
        parameters=parameters,
        request_id=log_context.request_id.get() or None,
    )
    append_event(actor=actor, project=project, kind="job.started", after={"job": job.public_id, "kind": kind})
    if wake_worker:
        transaction.on_commit(lambda: wake(job))
    return job


def wake(job: Job) -> None:
    """Wake a worker. If the message is lost, beat finds the row later."""
    send(job.pk, job.kind)


def send(job_id: int, kind: str, *, expires: int | None = None) -> None:
    """Send the message that wakes a worker, once and with short time limits, since people wait for it."""
    try:
        with run_job.app.connection_for_write(transport_options=SHORT_TIMEOUTS) as broker:
            run_job.apply_async((job_id,), queue=queue_of(kind), expires=expires, connection=broker, retry=False)
    except Exception as error:
        # Whatever the broker raises: beat will find the row.
        _LOG.warning("no broker took the message for job %s: %s", job_id, error)


@shared_task(name="annotator.tasks.run_job")  # type: ignore[untyped-decorator]
def run_job(job_id: int) -> None:
    """Run one job unless another worker runs it."""
    run(job_id)


def queue_of(kind: str) -> str:
    """Return the queue whose workers run jobs of this kind."""
    return _KINDS[kind].queue if kind in _KINDS else "assay"


def run(job_id: int, *, heartbeat_timeout: timedelta = HEARTBEAT_TIMEOUT) -> Job:
    """Run a job here to its end. Does nothing if another worker runs it or it has ended.

    ``heartbeat_timeout``: the age of a heartbeat after which the other worker is ignored. Too short a time only wastes
    work, since commits are fenced.
    """
    running = acquire(job_id, heartbeat_timeout=heartbeat_timeout)
    if running is None:
        return Job.objects.get(pk=job_id)
    kind = _KINDS[running.job.kind]
    job, project = running.job.public_id, running.job.project.slug
    with log_context.about(request_id=running.job.request_id or "", job=job, project=project):
        _run(kind, running)
    return Job.objects.get(pk=job_id)


def _run(kind: JobKind, running: Running) -> None:
    try:
        # What a job stores and what it writes to files, such as releases, is the same whoever started it.
        with override(settings.LANGUAGE_CODE):
            result = kind.run(running)
        _end(running, JobState.DONE, result=result)
    except Lost:
        pass
    except Cancelled:
        # Without a rollback, the work was done item by item, and each finished item is complete.
        nothing, parts = message("Cancelled. Nothing was saved."), message("Cancelled. Finished parts were saved.")
        _end(running, JobState.CANCELLED, error=nothing if kind.discard else parts)
    except DomainError as error:
        _end(running, JobState.FAILED, error=error.message)
    except DATABASE as error:
        _interrupt(running, error)
    except Exception as error:
        if kind.writes_files and full_disk(error):
            _interrupt(running, error)
            return
        _end(running, JobState.FAILED, error=_why(error), unforeseen=True)
        raise


def _why(error: Exception) -> Message:
    what = outage(error)
    if what:
        return message(
            "%(outage)s. Contact the operator of this server and start the job again later.", outage=message(what)
        )
    return message(
        "An unexpected error occurred and was logged. Try again. If it happens again, contact the operator of this "
        "server."
    )


def _interrupt(running: Running, error: Exception) -> None:
    """Leave the job as a killed worker does: another attempt starts when the heartbeat is old. Its page says why."""
    _LOG.warning("job %s was interrupted and will be continued: %s", running.job.public_id, error)
    if not connection.in_atomic_block:
        # The connection may be broken; the next statement opens another one.
        connection.close()
    mine = Job.objects.filter(pk=running.job.pk, attempt=running.attempt, state=JobState.RUNNING)
    try:
        why = message("Interrupted: %(outage)s. The job will continue.", outage=message(outage(error)))
        mine.update(error_message=why)
    except DatabaseError:
        _LOG.warning(
            "the database is still unavailable; could not record this on the page of job %s", running.job.public_id
        )


def acquire(job_id: int, *, heartbeat_timeout: timedelta = HEARTBEAT_TIMEOUT) -> Running | None:
    """Become the job's worker by compare-and-swap on its row. None if it is taken, has ended, or must wait its turn.

    Jobs of unknown kinds are left to other workers, which may be of a newer version. None starts in maintenance.
    """
    if maintenance() is not None:
        return None
    with transaction.atomic():
        may_start = _has_room_for(job_id) and _may_start(job_id, heartbeat_timeout)
        running = _claim(job_id, heartbeat_timeout) if may_start else None
    if running is not None and running.attempt > MAX_ATTEMPTS:
        why = message(
            "Failed after %(count)s attempts. Each was interrupted by a stopped worker or an outage.",
            count=MAX_ATTEMPTS,
        )
        if running.job.error_message is not None:
            why = message("%(failure)s Last message: %(last)s", failure=why, last=running.job.error_message)
        _end(running, JobState.FAILED, error=why, unforeseen=True)
        return None
    return running


def _claim(job_id: int, heartbeat_timeout: timedelta = HEARTBEAT_TIMEOUT) -> Running | None:
    now = timezone.now()
    free = Q(state=JobState.QUEUED) | (Q(state=JobState.RUNNING) & _heartbeat_expired(heartbeat_timeout))
    with transaction.atomic():
        # Skip a locked row: its worker is active or frozen, and waiting for it could take forever.
        rows = Job.objects.select_for_update(no_key=True, skip_locked=True).filter(free, kind__in=list(_KINDS))
        if rows.filter(pk=job_id).only("pk").first() is None:
            return None
        # It has waited (``_has_room_for``).
        Job.objects.filter(pk=job_id, state=JobState.QUEUED).exclude(error_message=None).update(error_message=None)
        Job.objects.filter(pk=job_id).update(state=JobState.RUNNING, attempt=F("attempt") + 1, heartbeat_at=Now())
        job = Job.objects.select_related("project", "requester").get(pk=job_id)
        if job.started_at is None:
            Job.objects.filter(pk=job_id).update(started_at=now)
            job.started_at = now
    return Running(job=job, attempt=job.attempt, checkpoint=dict(job.checkpoint))


def _has_room_for(job_id: int) -> bool:
    """Return whether the disk has its reserve, if the job writes large files. If not, the job's page says so."""
    # A cancelled job ends as soon as it runs.
    if has_room() or JobCancellation.objects.filter(job=job_id).exists():
        return True
    writers = [name for name, kind in _KINDS.items() if kind.writes_files]
    why = message(
        "Waiting: the server’s disk is too full. The job will start when at least %(reserve)s MB are free. Contact the "
        "operator of this server.",
        reserve=f"{settings.DISK_RESERVE_MB:,}",
    )
    return not Job.objects.filter(pk=job_id, kind__in=writers).exclude(state__in=JOB_ENDED).update(error_message=why)


def _may_start(job_id: int, heartbeat_timeout: timedelta) -> bool:
    """Return whether the requester has no other running job with untrusted data or code.

    True until the transaction ends. ``_end`` of a job wakes the next one. An interrupted job goes first; otherwise it
    would wait as long as its owner keeps adding jobs.
    """
    job = _untrusted_jobs().filter(pk=job_id).only("requester", "state").first()
    if job is None or job.requester_id is None:
        return True
    lock_requester(job.requester_id)
    before = Q(state=JobState.RUNNING)
    if job.state == JobState.RUNNING:
        before &= ~_heartbeat_expired(heartbeat_timeout)
    others = _untrusted_jobs().filter(before, requester=job.requester_id).exclude(pk=job_id)
    # No job waits for one that waits for the disk.
    writers = [name for name, kind in _KINDS.items() if kind.writes_files]
    waits = Q(kind__in=writers, error_message__isnull=False) & _heartbeat_expired(heartbeat_timeout)
    return not others.exclude(waits).exists()


def lock_requester(person: int) -> None:
    """Serialise requests, starts and ends of one person's jobs. Taken before any lock of a job."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=person)


def _untrusted_jobs() -> QuerySet[Job]:
    return Job.objects.filter(kind__in=[name for name, kind in _KINDS.items() if kind.untrusted])


def _heartbeat_expired(heartbeat_timeout: timedelta) -> Q:
    """Match jobs with an old heartbeat, or one in the future, made while the database's clock was wrong."""
    return Q(heartbeat_at__lt=Now() - heartbeat_timeout) | Q(
        heartbeat_at__gt=Now() + max(heartbeat_timeout, HEARTBEAT_TIMEOUT)
    )


def resumable_jobs() -> list[tuple[int, str]]:
    """Return number and kind of waiting jobs and of jobs whose worker has stopped."""
    moment = timedelta(seconds=5)
    waiting = Q(state=JobState.QUEUED) & ~Q(created_at__range=(Now() - moment, Now() + moment))
    quiet = Q(state=JobState.RUNNING) & _heartbeat_expired(HEARTBEAT_TIMEOUT)
    # Interrupted jobs come first ("running" sorts after "queued"): their owners' other jobs wait for them.
    found = (
        Job.objects.filter(waiting | quiet, kind__in=list(_KINDS)).order_by("-state", "id").values_list("id", "kind")
    )
    # A hundred of each queue, so that waiting uploads do not hide other jobs.
    return [job for queue in settings.JOB_QUEUES for job in found.filter(kind__in=_kinds_of(queue))[:100]]


def is_repeatable(kind: str) -> bool:
    """Return whether ``retry_job`` starts failed jobs of this kind again."""
    return kind in _KINDS and _KINDS[kind].repeatable


def unserved_jobs(queue: str, *, before: datetime) -> QuerySet[Job]:
    """Return jobs of a queue that wait since ``before``, if no worker has run one of it since then."""
    jobs = Job.objects.filter(kind__in=_kinds_of(queue))
    served = jobs.filter(heartbeat_at__gt=before)
    return jobs.filter(~Exists(served), state=JobState.QUEUED, created_at__lt=before).order_by("pk")


def _kinds_of(queue: str) -> list[str]:
    return [name for name, kind in _KINDS.items() if kind.queue == queue]


def cancel_job(*, actor: User | None, job: Job) -> Job:
    """Cancel a job: a waiting one ends now, a running one at its next chunk. Actor None: the command line.

    For administrators of its project and its requester. A cancelled job stays as it is. Raises Hidden, or Conflict if
    it has ended otherwise.
    """
    if actor is not None and not Job.objects.visible_to(actor).filter(pk=job.pk).exists():
        raise Hidden(_("This job doesn’t exist, or you can’t see it."))
    job = Job.objects.select_related("project").get(pk=job.pk)
    if job.state == JobState.CANCELLED:
        return job
    if job.ended:
        raise Conflict(_("This job has already ended (%(state)s).") % {"state": job.get_state_display().lower()})
    with transaction.atomic():
        # Not in the job's row: its worker may have locked it and be frozen.
        if JobCancellation.objects.get_or_create(job=job)[1]:
            append_event(actor=actor, project=job.project, kind="job.cancel_requested", after={"job": job.public_id})
    if job.state == JobState.QUEUED:
        running = _claim(job.pk)
        if running is not None:
            _end(running, JobState.CANCELLED, error=message("Cancelled before it started."))
    job.refresh_from_db()
    return job


def _end(
    running: Running,
    state: JobState,
    *,
    result: dict[str, Any] | None = None,
    error: Message | None = None,
    unforeseen: bool = False,
) -> None:
    kind, person = _KINDS[running.job.kind], running.job.requester_id
    with transaction.atomic():
        if kind.untrusted and person is not None:
            lock_requester(person)
        mine = Job.objects.select_for_update(no_key=True).filter(
            pk=running.job.pk, attempt=running.attempt, state=JobState.RUNNING
        )
        if mine.only("pk").first() is None:
            return
        if state != JobState.DONE and kind.discard is not None:
            _discard(kind.discard, running)
        Job.objects.filter(pk=running.job.pk).update(
            state=state,
            result=result or {},
            error_message=error,
            ended_at=timezone.now(),
            heartbeat_at=Now(),
        )
        append_event(
            actor=None,
            project=running.job.project,
            kind=f"job.{state.value}",
            after={"job": running.job.public_id, "kind": running.job.kind},
        )
        # Jobs of the command line have no requester; an address would cost it loading all URLs.
        if running.job.requester_id is not None and (unforeseen or not kind.quiet(running.job)):
            job = message(kind.title)
            sentences = {
                JobState.DONE: message("%(job)s finished.", job=job),
                JobState.FAILED: message("%(job)s failed: %(error)s", job=job, error=error or ""),
            }
            notify(
                actor=None,
                project=running.job.project,
                people=[running.job.requester_id],
                kind=NoticeKind.JOB,
                text=sentences.get(state) or message("%(job)s was cancelled.", job=job),
                target=running.job.get_absolute_url(),
                subject=running.job.public_id,
            )
        if kind.untrusted and person is not None:
            following = _untrusted_jobs().filter(requester=person, state=JobState.QUEUED).order_by("pk").first()
            if following is not None:
                # Queued behind the jobs of others.
                transaction.on_commit(partial(wake, following))


def _discard(discard: Callable[[Job], None], running: Running) -> None:
    """Roll back what the job has written. If that fails, the job does not end, and the next attempt tries again.

    After the last attempt it ends anyway: what it has written is not visible, and the log has the reason.
    """
    try:
        with transaction.atomic():
            discard(running.job)
    except Exception:
        if running.attempt <= MAX_ATTEMPTS:
            raise
        _LOG.exception("gave up on job %s, but could not roll back what it has written", running.job.public_id)
