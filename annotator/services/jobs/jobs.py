"""Long work as job rows. The broker merely wakes workers; what is to be done, and how far it has got, is in the row.

A job kind registers a runner with ``job_kind``. The runner gets a ``Running`` and commits its work in chunks:

    with running.chunk() as chunk:        # one transaction, fenced by the attempt number
        ...write rows...
        chunk.advance(done=1000, checkpoint={"records": 1000})

A worker that lost its job (another attempt has taken it up, or somebody cancelled) finds out at the next chunk, whose
transaction is then rolled back, so nothing is ever written twice.

An outage of the database ends an attempt, not the job: the next one goes on, as after a worker that was killed. So a
runner takes nothing back for an outage, and whatever takes several transactions to take back says in the checkpoint,
with the first of them, that it has begun.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from celery import shared_task
from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from annotator.errors import Conflict, DomainError, Hidden
from annotator.models import Job, JobCancellation, JobState, NoticeKind, Project, User
from annotator.services.history.events import append_event
from annotator.services.jobs.outages import DATABASE, outage
from annotator.services.notices.notices import notify

#: A job whose heartbeat is older than this is taken up by the next worker that looks.
HEARTBEAT_TIMEOUT = timedelta(seconds=30)
#: A job that has been taken up this often without an end is failed instead of tried for ever.
MAX_ATTEMPTS = 8

#: How long Redis is waited for: a frozen one takes connections and is silent. The broker made of files ignores these.
_SHORT_TIMEOUTS = {"socket_timeout": 2, "socket_connect_timeout": 2, "max_retries": 0, "retry_on_timeout": False}

_LOG = logging.getLogger(__name__)

Runner = Callable[["Running"], dict[str, Any]]


@dataclass(frozen=True)
class JobKind:
    name: str
    title: str
    run: Runner
    #: Called, in a transaction of its own, when a job of this kind is cancelled or fails for good.
    discard: Callable[[Job], None] | None
    #: Whether whoever asked for a job is not told of its end, only where the program fails at it: it follows from
    #: another job, or they look at its page.
    quiet: Callable[[Job], bool]
    #: Works on data, or runs code, that nobody vouches for and that may be slow or hang: these have workers of their
    #: own, and of these one person has one running, the rest wait their turn.
    untrusted: bool


_KINDS: dict[str, JobKind] = {}


def job_kind(
    name: str,
    title: str,
    *,
    discard: Callable[[Job], None] | None = None,
    quiet: bool | Callable[[Job], bool] = False,
    untrusted: bool = False,
) -> Callable[[Runner], Runner]:
    """Register a runner: it returns the job's result. A DomainError it raises fails the job with that sentence."""

    def register(run: Runner) -> Runner:
        silent = quiet if callable(quiet) else lambda job: quiet
        _KINDS[name] = JobKind(name, title, run, discard, silent, untrusted)
        return run

    return register


def kind_title(name: str) -> str:
    """What people call jobs of this kind."""
    return _KINDS[name].title if name in _KINDS else name


class Lost(Exception):
    """This worker no longer holds the job."""


class Cancelled(Exception):
    """Somebody asked for the job to stop."""


@dataclass
class Chunk:
    """What one committed chunk changes in the job's row."""

    done: int | None = None
    total: int | None = None
    note: str | None = None
    checkpoint: dict[str, Any] | None = None

    def advance(
        self,
        *,
        done: int | None = None,
        total: int | None = None,
        note: str | None = None,
        checkpoint: dict[str, Any] | None = None,
    ) -> None:
        """Set the progress that becomes true when this chunk commits."""
        self.done = self.done if done is None else done
        self.total = self.total if total is None else total
        self.note = self.note if note is None else note
        self.checkpoint = self.checkpoint if checkpoint is None else checkpoint


@dataclass
class Running:
    """A job in the hands of this worker."""

    job: Job
    attempt: int
    checkpoint: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def chunk(self, *, even_if_cancelled: bool = False) -> Iterator[Chunk]:
        """One fenced transaction. Raises Lost or Cancelled, rolled back, when the job is no longer this worker's.

        ``even_if_cancelled`` is for cleaning up behind oneself.
        """
        chunk = Chunk()
        with transaction.atomic():
            # The row is locked first: a rival attempt waits here, then finds a higher number and stops.
            held = Job.objects.select_for_update(no_key=True).filter(
                pk=self.job.pk, attempt=self.attempt, state=JobState.RUNNING
            )
            if held.only("pk").first() is None:
                raise Lost
            if not even_if_cancelled and JobCancellation.objects.filter(job=self.job.pk).exists():
                raise Cancelled
            yield chunk
            changes: dict[str, Any] = {"heartbeat_at": Now()}
            if chunk.done is not None:
                changes["progress_done"] = chunk.done
            if chunk.total is not None:
                changes["progress_total"] = chunk.total
            if chunk.note is not None:
                changes["progress_note"] = chunk.note[:200]
            if chunk.checkpoint is not None:
                changes["checkpoint"] = chunk.checkpoint
            Job.objects.filter(pk=self.job.pk).update(**changes)
        if chunk.checkpoint is not None:
            self.checkpoint = self.job.checkpoint = chunk.checkpoint

    def beat(self) -> None:
        """Say that the worker lives, between chunks. Raises Lost or Cancelled."""
        with self.chunk():
            pass


def start_job(
    *, actor: User | None, project: Project, kind: str, parameters: dict[str, Any], wake_worker: bool = True
) -> Job:
    """Create a job row and wake a worker once the caller's transaction commits.

    Without ``wake_worker`` the caller runs the job; beat finds it in any case.
    """
    if kind not in _KINDS:
        raise ValueError(f"no job kind {kind}")
    job = Job.objects.create(project=project, requester=actor, kind=kind, parameters=parameters)
    append_event(actor=actor, project=project, kind="job.started", after={"job": job.public_id, "kind": kind})
    if wake_worker:
        transaction.on_commit(lambda: wake(job))
    return job


def wake(job: Job) -> None:
    """Tell the workers that there is work. A lost message costs only time: beat finds the row."""
    send(job.pk, job.kind)


def send(job_id: int, kind: str, *, expires: int | None = None) -> None:
    """Send the message that wakes a worker, once, or give it up after a moment: people wait for this."""
    try:
        with run_job.app.connection_for_write(transport_options=_SHORT_TIMEOUTS) as broker:
            run_job.apply_async((job_id,), queue=queue_of(kind), expires=expires, connection=broker, retry=False)
    except Exception as error:
        # Whatever the broker raises: the row is there, and beat will find it.
        _LOG.warning("no broker took the message for job %s: %s", job_id, error)


@shared_task(name="annotator.tasks.run_job")  # type: ignore[untyped-decorator]
def run_job(job_id: int) -> None:
    """Run one job, unless somebody else is at it."""
    run(job_id)


def queue_of(kind: str) -> str:
    """The queue whose workers run jobs of this kind; both are named in the settings."""
    return "untrusted" if kind in _KINDS and _KINDS[kind].untrusted else "assay"


def run(job_id: int, *, heartbeat_timeout: timedelta = HEARTBEAT_TIMEOUT) -> Job:
    """Take a job up and run it here, to its end. Does nothing where somebody else is at it or it has ended.

    ``heartbeat_timeout``: how long the other one's heartbeat must be silent. Too short a time is no danger (commits
    are fenced), only wasted work.
    """
    running = acquire(job_id, heartbeat_timeout=heartbeat_timeout)
    if running is None:
        return Job.objects.get(pk=job_id)
    kind = _KINDS[running.job.kind]
    try:
        result = kind.run(running)
        _end(running, JobState.DONE, result=result)
    except Lost:
        pass
    except Cancelled:
        # What cannot be taken back was done item by item, and each of them is as it should be.
        kept = "nothing of it was kept" if kind.discard else "what it had done until then stays"
        _end(running, JobState.CANCELLED, error=f"Cancelled; {kept}.")
    except DomainError as error:
        _end(running, JobState.FAILED, error=error.sentence)
    except DATABASE as error:
        _interrupt(running, error)
    except Exception as error:
        _end(running, JobState.FAILED, error=_why(error), unforeseen=True)
        raise
    return Job.objects.get(pk=job_id)


def _why(error: Exception) -> str:
    what = outage(error)
    if what:
        return f"{what}. Tell the operator; when that is mended, start this again."
    return "The program failed at this job, not you. Try again; if it fails again, the server’s log says why."


def _interrupt(running: Running, error: Exception) -> None:
    """Leave the job as a killed worker does; it is taken up again when its heartbeat is old. Its page says why."""
    _LOG.warning("job %s was interrupted, and will be taken up again: %s", running.job.public_id, error)
    if not connection.in_atomic_block:
        # The next statement opens another; whatever is wrong with this one, nothing else is to meet it.
        connection.close()
    mine = Job.objects.filter(pk=running.job.pk, attempt=running.attempt, state=JobState.RUNNING)
    try:
        mine.update(error=f"Interrupted: {outage(error)}. It goes on by itself where it was.")
    except DatabaseError:
        _LOG.warning("the database is still away; the page of job %s does not say so", running.job.public_id)


def acquire(job_id: int, *, heartbeat_timeout: timedelta = HEARTBEAT_TIMEOUT) -> Running | None:
    """Become the job's worker: compare-and-swap on its row. None where it is taken, has ended, or waits its turn.

    A job of a kind that this program does not know is left to a worker (of a newer version, say) that does.
    """
    with transaction.atomic():
        running = _claim(job_id, heartbeat_timeout) if _may_start(job_id, heartbeat_timeout) else None
    if running is not None and running.attempt > MAX_ATTEMPTS:
        last = f" The last that was heard of it: {running.job.error}" if running.job.error else ""
        why = f"Given up after {MAX_ATTEMPTS} attempts, each ended by a stopped worker or an outage.{last}"
        _end(running, JobState.FAILED, error=why, unforeseen=True)
        return None
    return running


def _claim(job_id: int, heartbeat_timeout: timedelta = HEARTBEAT_TIMEOUT) -> Running | None:
    now = timezone.now()
    free = Q(state=JobState.QUEUED) | (Q(state=JobState.RUNNING) & _heartbeat_expired(heartbeat_timeout))
    with transaction.atomic():
        # A row that is locked is somebody's who works on it, or who is frozen: whoever waited for it would be, too.
        rows = Job.objects.select_for_update(no_key=True, skip_locked=True).filter(free, kind__in=list(_KINDS))
        if rows.filter(pk=job_id).only("pk").first() is None:
            return None
        Job.objects.filter(pk=job_id).update(state=JobState.RUNNING, attempt=F("attempt") + 1, heartbeat_at=Now())
        job = Job.objects.select_related("project", "requester").get(pk=job_id)
        if job.started_at is None:
            Job.objects.filter(pk=job_id).update(started_at=now)
            job.started_at = now
    return Running(job=job, attempt=job.attempt, checkpoint=dict(job.checkpoint))


def _may_start(job_id: int, heartbeat_timeout: timedelta) -> bool:
    """Whether no other job with untrusted data or code runs for whoever asked for this one: they wait, not others.

    True until the transaction ends. A job that has to wait is woken by ``_end`` of the one before it. An
    interrupted job goes first; otherwise it would wait as long as its owner keeps adding jobs.
    """
    job = _untrusted_jobs().filter(pk=job_id).only("requester", "state").first()
    if job is None or job.requester_id is None:
        return True
    lock_requester(job.requester_id)
    before = Q(state=JobState.RUNNING)
    if job.state == JobState.RUNNING:
        before &= ~_heartbeat_expired(heartbeat_timeout)
    return not _untrusted_jobs().filter(before, requester=job.requester_id).exclude(pk=job_id).exists()


def lock_requester(person: int) -> None:
    """Whoever asks for, begins or ends jobs of one person looks one after the other; taken before any lock of a job."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=person)


def _untrusted_jobs() -> QuerySet[Job]:
    return Job.objects.filter(kind__in=[name for name, kind in _KINDS.items() if kind.untrusted])


def _heartbeat_expired(heartbeat_timeout: timedelta) -> Q:
    """Whose heartbeat is old. One that is yet to come was made while the database's clock was wrong."""
    return Q(heartbeat_at__lt=Now() - heartbeat_timeout) | Q(
        heartbeat_at__gt=Now() + max(heartbeat_timeout, HEARTBEAT_TIMEOUT)
    )


def resumable_jobs() -> list[tuple[int, str]]:
    """Number and kind of jobs that wait, or whose worker has gone quiet."""
    moment = timedelta(seconds=5)
    waiting = Q(state=JobState.QUEUED) & ~Q(created_at__range=(Now() - moment, Now() + moment))
    quiet = Q(state=JobState.RUNNING) & _heartbeat_expired(HEARTBEAT_TIMEOUT)
    # Those that were interrupted come first ("running" sorts after "queued"): their owners' other jobs wait for them.
    found = (
        Job.objects.filter(waiting | quiet, kind__in=list(_KINDS)).order_by("-state", "id").values_list("id", "kind")
    )
    # Of each queue: a hundred uploads that wait their turn do not hide what others wait for.
    untrusted = Q(kind__in=[name for name, kind in _KINDS.items() if kind.untrusted])
    return [*found.exclude(untrusted)[:100], *found.filter(untrusted)[:100]]


def unserved_jobs(*, before: datetime) -> QuerySet[Job]:
    """Jobs with untrusted data or code that have waited since ``before``, if since then no worker had one in hand."""
    served = _untrusted_jobs().filter(heartbeat_at__gt=before)
    return _untrusted_jobs().filter(~Exists(served), state=JobState.QUEUED, created_at__lt=before).order_by("pk")


def cancel_job(*, actor: User | None, job: Job) -> Job:
    """Ask a job to stop: one that waits ends at once, one that runs at its next chunk. Actor None: the command line.

    For administrators of its project and whoever asked for it. One that was cancelled stays as it is. Raises Hidden, or
    Conflict when it has ended otherwise.
    """
    if actor is not None and not Job.objects.visible_to(actor).filter(pk=job.pk).exists():
        raise Hidden("There is no such job, or it is not yours.")
    job = Job.objects.select_related("project").get(pk=job.pk)
    if job.state == JobState.CANCELLED:
        return job
    if job.ended:
        raise Conflict(f"This job has ended already ({job.get_state_display().lower()}).")
    with transaction.atomic():
        # The job's row is not touched: its worker may have locked it, and be frozen.
        if JobCancellation.objects.get_or_create(job=job)[1]:
            append_event(actor=actor, project=job.project, kind="job.cancel_requested", after={"job": job.public_id})
    if job.state == JobState.QUEUED:
        running = _claim(job.pk)
        if running is not None:
            _end(running, JobState.CANCELLED, error="Cancelled before it began.")
    job.refresh_from_db()
    return job


def _end(
    running: Running,
    state: JobState,
    *,
    result: dict[str, Any] | None = None,
    error: str = "",
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
            error=error.replace("\x00", "�"),
            ended_at=timezone.now(),
            heartbeat_at=Now(),
        )
        append_event(
            actor=None,
            project=running.job.project,
            kind=f"job.{state.value}",
            after={"job": running.job.public_id, "kind": running.job.kind},
        )
        # The command line asks in nobody's name; an address would cost it loading every page there is.
        if running.job.requester_id is not None and (unforeseen or not kind.quiet(running.job)):
            ended = {JobState.DONE: "is done", JobState.FAILED: f"has failed: {error}"}.get(state, "was cancelled")
            notify(
                actor=None,
                project=running.job.project,
                people=[running.job.requester_id],
                kind=NoticeKind.JOB,
                text=f"{kind.title} {ended}{'' if error and state == JobState.FAILED else '.'}",
                target=running.job.get_absolute_url(),
                subject=running.job.public_id,
            )
        if kind.untrusted and person is not None:
            following = _untrusted_jobs().filter(requester=person, state=JobState.QUEUED).order_by("pk").first()
            if following is not None:
                # Behind whatever others have asked for meanwhile.
                transaction.on_commit(partial(wake, following))


def _discard(discard: Callable[[Job], None], running: Running) -> None:
    """Take back what the job has written. Where that fails the job stays unended, and the next attempt tries again.

    After the last attempt it ends all the same: nobody sees what it has written, and the log says why it is there.
    """
    try:
        with transaction.atomic():
            discard(running.job)
    except Exception:
        if running.attempt <= MAX_ATTEMPTS:
            raise
        _LOG.exception("job %s is given up, but what it has written could not be taken back", running.job.public_id)
