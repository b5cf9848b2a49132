"""Jobs: taken up by one worker at a time, fenced, cancelled, given up, and repeated after whatever has gone wrong."""

import contextlib
import socket
from datetime import timedelta
from functools import partial

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext, override

from annotator import tasks
from annotator.config.celery import app
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Event, Job, JobState, Notice
from annotator.services.jobs import jobs
from tests.factories import make_user
from tests.languages import add_german
from tests.racing import overlap, race

pytestmark = pytest.mark.django_db


@pytest.fixture
def register(monkeypatch):
    """Register a kind “test” for the length of one test; what it discards is collected in ``register.discarded``."""
    kept = dict(jobs._KINDS)

    def register(run, discard=None, **kind):
        register.discarded = []
        discard = discard or (lambda job: register.discarded.append(job.pk))
        jobs.job_kind("test", "Testing", discard=discard, **kind)(run)

    yield register
    jobs._KINDS.clear()
    jobs._KINDS.update(kept)


@pytest.fixture
def start(team, register):
    """Start a job whose runner is the given function; the job of a transaction that never commits wakes nobody."""

    def start(run=lambda running: {}, discard=None, **parameters):
        register(run, discard)
        return jobs.start_job(
            actor=team.administrator, project=team.project, kind="test", parameters=parameters, wake_worker=False
        )

    start.register = register
    return start


def fresh(job):
    return Job.objects.get(pk=job.pk)


def kinds_of_events(job):
    return list(Event.objects.filter(project=job.project).order_by("pk").values_list("kind", flat=True))


def go_quiet(job, seconds=31):
    """As if the worker's last heartbeat had been that long ago."""
    Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - timedelta(seconds=seconds))


# --- from start to end ------------------------------------------------------------------------------------------------


def test_a_job_runs_to_its_end_and_keeps_its_outcome(start):
    def run(running):
        assert running.job.parameters == {"file": "a"}
        with running.chunk() as chunk:
            chunk.advance(done=2, total=2, note="half", checkpoint={"at": 2})
        assert running.checkpoint == {"at": 2}
        return {"read": 2}

    job = start(run, file="a")
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    ended = jobs.run(job.pk)
    assert (ended.state, ended.attempt, ended.result) == (JobState.DONE, 1, {"read": 2})
    assert (ended.progress_done, ended.progress_total, ended.progress_note) == (2, 2, "half")
    assert ended.started_at <= ended.ended_at
    assert kinds_of_events(job) == ["job.started", "job.done"]
    assert start.register.discarded == []


def test_a_job_that_has_ended_is_not_run_again(start):
    runs = []
    job = start(lambda running: runs.append(1) or {})
    jobs.run(job.pk)
    assert jobs.run(job.pk).state == JobState.DONE
    assert len(runs) == 1


def test_an_unknown_kind_is_refused_at_the_door(team):
    with pytest.raises(ValueError, match="no job kind nonsense"):
        jobs.start_job(actor=None, project=team.project, kind="nonsense", parameters={})


def test_a_kind_this_program_does_not_know_is_left_to_another(team):
    job = Job.objects.create(project=team.project, kind="of the next version")
    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(minutes=1))
    assert jobs.run(job.pk).attempt == 0
    assert jobs.resumable_jobs() == []
    assert jobs.kind_title(job.kind) == "of the next version"


def test_a_long_note_and_an_odd_sentence_are_kept(start):
    def run(running):
        with running.chunk() as chunk:
            chunk.advance(note="x" * 500)
        raise Invalid("The file a\x00b cannot be read.")

    ended = jobs.run(start(run).pk)
    assert ended.progress_note == "x" * 200
    assert ended.error == "The file a�b cannot be read."


def test_what_a_job_stores_as_text_is_english_whoever_started_it(start, settings, tmp_path):
    add_german(settings, tmp_path, {"Nothing to do.": "Nichts zu tun."})

    def run(running):
        return {"text": gettext("Nothing to do.")}

    job = start(run)
    type(job.requester).objects.filter(pk=job.requester_id).update(language="de", chosen_language="de")
    with override("de"):
        assert jobs.run(job.pk).result == {"text": "Nothing to do."}


@pytest.fixture
def woken(monkeypatch):
    """(number of the job, queue) of every message that is sent."""
    sent = []
    monkeypatch.setattr(tasks.run_job, "apply_async", lambda arguments, queue, **_: sent.append((*arguments, queue)))
    return sent


@pytest.mark.django_db(transaction=True)
def test_workers_are_woken_when_the_transaction_commits_and_not_before(team, register, woken):
    register(lambda running: {})
    with transaction.atomic():
        job = jobs.start_job(actor=None, project=team.project, kind="test", parameters={})
        assert woken == []
    assert woken == [(job.pk, "assay")]


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_loses_nothing(team, register, monkeypatch, caplog):
    def down(arguments, **options):
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks.run_job, "apply_async", down)
    register(lambda running: {})
    job = jobs.start_job(actor=None, project=team.project, kind="test", parameters={})
    assert fresh(job).state == JobState.QUEUED
    assert "no broker took the message" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_redis_that_takes_connections_and_is_silent_holds_nobody_up(team, register, monkeypatch, caplog):
    """A frozen broker: without a limit, starting a job would wait for ever, and so would this test."""
    register(lambda running: {})
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        monkeypatch.setitem(app.conf, "broker_write_url", address)
        monkeypatch.setitem(app.conf, "broker_transport", None)
        job = jobs.start_job(actor=None, project=team.project, kind="test", parameters={})
    assert fresh(job).state == JobState.QUEUED
    assert f"no broker took the message for job {job.pk}: Timeout" in caplog.text
    # It is there, and beat takes it up.
    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(seconds=10))
    assert jobs.resumable_jobs() == [(job.pk, "test")]


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_refusal_fails_the_job_with_its_sentence(start):
    def run(running):
        raise Invalid("Line 3 is not JSON; mend the file.")

    job = start(run)
    ended = jobs.run(job.pk)
    assert (ended.state, ended.error) == (JobState.FAILED, "Line 3 is not JSON; mend the file.")
    assert start.register.discarded == [job.pk]


def test_a_runner_that_raises_in_the_middle_keeps_no_half_chunk(start):
    def run(running):
        with running.chunk() as chunk:
            make_user("kept")
            chunk.advance(done=1, checkpoint={"at": 1})
        with running.chunk() as chunk:
            make_user("lost")
            chunk.advance(done=2, checkpoint={"at": 2})
            raise RuntimeError("boom")

    job = start(run)
    with pytest.raises(RuntimeError):
        jobs.run(job.pk)
    ended = fresh(job)
    assert (ended.state, ended.progress_done, ended.checkpoint) == (JobState.FAILED, 1, {"at": 1})
    assert "An unexpected error occurred and was logged" in ended.error
    assert "boom" not in ended.error
    assert start.register.discarded == [job.pk]
    assert kinds_of_events(job)[-1] == "job.failed"
    users = type(job.requester).objects.values_list("username", flat=True)
    assert "kept" in users
    assert "lost" not in users


def test_an_outage_of_the_database_ends_an_attempt_and_not_the_job(start):
    """Not as often as one likes: after that it is failed, with the outage's name."""

    def run(running):
        with running.chunk() as chunk:
            chunk.advance(done=running.attempt, checkpoint={"at": running.attempt})
        with running.chunk() as chunk:
            chunk.advance(checkpoint={"at": 100})
            raise OperationalError("server closed the connection unexpectedly")

    job = start(run)
    for attempt in range(1, jobs.MAX_ATTEMPTS + 1):
        interrupted = jobs.run(job.pk)
        assert (interrupted.state, interrupted.checkpoint) == (JobState.RUNNING, {"at": attempt})
        assert interrupted.error == (
            "Interrupted: The database doesn’t respond, or the connection was lost. The job will continue."
        )
        assert start.register.discarded == []
        go_quiet(job)
    ended = jobs.run(job.pk)
    assert ended.state == JobState.FAILED
    assert ended.error.startswith("Failed after 8 attempts. Each was interrupted by a stopped worker or an outage.")
    assert "The database doesn’t respond" in ended.error
    assert start.register.discarded == [job.pk]


def test_an_outage_that_is_over_leaves_no_word_behind(start):
    outages = [OperationalError("database is locked"), InterfaceError("connection already closed")]

    def run(running):
        if outages:
            raise outages.pop()
        return {"all": "well"}

    job = start(run)
    for _ in range(2):
        assert jobs.run(job.pk).state == JobState.RUNNING
        go_quiet(job)
    ended = jobs.run(job.pk)
    assert (ended.state, ended.result, ended.error) == (JobState.DONE, {"all": "well"}, "")


def test_who_asked_for_a_job_is_told_when_the_program_fails_at_what_follows_from_it(team, register):
    def told_of(error):
        register(lambda running: (_ for _ in ()).throw(error), quiet=True)
        job = jobs.start_job(
            actor=team.administrator, project=team.project, kind="test", parameters={}, wake_worker=False
        )
        with contextlib.suppress(RuntimeError):
            jobs.run(job.pk)
        assert fresh(job).state == JobState.FAILED
        return Notice.objects.filter(person=team.administrator, subject=job.public_id).count()

    assert told_of(RuntimeError("boom")) == 1
    assert told_of(Invalid("There is nothing to look at any more.")) == 0


def test_what_cannot_be_taken_back_is_tried_again_and_then_given_up(start, caplog):
    def discard(job):
        raise RuntimeError("the disk is full")

    def run(running):
        raise Invalid("No.")

    job = start(run, discard)
    for _ in range(jobs.MAX_ATTEMPTS):
        with pytest.raises(RuntimeError, match="disk is full"):
            jobs.run(job.pk)
        assert fresh(job).state == JobState.RUNNING
        go_quiet(job)
    ended = jobs.run(job.pk)
    assert (ended.state, ended.attempt) == (JobState.FAILED, jobs.MAX_ATTEMPTS + 1)
    assert "could not roll back" in caplog.text


# --- taking up --------------------------------------------------------------------------------------------------------


def test_a_running_job_is_left_alone_until_its_heart_is_still(start):
    job = start()
    first = jobs.acquire(job.pk)
    assert first.attempt == 1
    assert jobs.acquire(job.pk) is None
    go_quiet(job, 29)
    assert jobs.acquire(job.pk) is None
    go_quiet(job, 32)
    second = jobs.acquire(job.pk)
    assert second.attempt == 2


def test_the_next_attempt_goes_on_where_the_last_chunk_ended(start):
    job = start()
    first = jobs.acquire(job.pk)
    with first.chunk() as chunk:
        chunk.advance(done=10, checkpoint={"records": 10})
    started = fresh(job).started_at
    go_quiet(job)
    second = jobs.acquire(job.pk)
    assert second.checkpoint == {"records": 10}
    assert fresh(job).started_at == started


def test_a_worker_of_an_old_attempt_commits_nothing(start):
    job = start()
    old = jobs.acquire(job.pk)
    go_quiet(job)
    new = jobs.acquire(job.pk)
    with pytest.raises(jobs.Lost), old.chunk():
        make_user("ghost")
    with pytest.raises(jobs.Lost):
        old.beat()
    jobs._end(old, JobState.DONE, result={"from": "the old one"})
    assert fresh(job).state == JobState.RUNNING
    with new.chunk() as chunk:
        chunk.advance(done=1)
    jobs._end(new, JobState.DONE, result={"from": "the new one"})
    assert fresh(job).result == {"from": "the new one"}
    assert not type(job.requester).objects.filter(username="ghost").exists()


def test_a_runner_that_lost_its_job_ends_without_a_trace(start):
    def run(running):
        go_quiet(running.job)
        assert jobs.acquire(running.job.pk).attempt == 2
        with running.chunk() as chunk:
            chunk.advance(done=5)
        return {"never": "kept"}

    job = start(run)
    assert jobs.run(job.pk).state == JobState.RUNNING
    assert (fresh(job).progress_done, fresh(job).result) == (0, {})
    assert start.register.discarded == []


def test_a_job_whose_workers_always_die_is_given_up(start):
    job = start()
    for attempt in range(1, jobs.MAX_ATTEMPTS + 1):
        assert jobs.acquire(job.pk).attempt == attempt
        go_quiet(job)
    assert jobs.acquire(job.pk) is None
    ended = fresh(job)
    assert ended.state == JobState.FAILED
    assert ended.error == "Failed after 8 attempts. Each was interrupted by a stopped worker or an outage."
    assert start.register.discarded == [job.pk]


def test_beat_finds_what_waits_and_what_has_gone_quiet(start, monkeypatch):
    waits, quiet, runs, ended = (start() for _ in range(4))
    Job.objects.filter(pk=waits.pk).update(created_at=timezone.now() - timedelta(seconds=10))
    jobs.acquire(quiet.pk)
    go_quiet(quiet)
    jobs.acquire(runs.pk)
    jobs.run(ended.pk)
    assert jobs.resumable_jobs() == [(quiet.pk, "test"), (waits.pk, "test")]
    sent = []
    monkeypatch.setattr(tasks.run_job, "apply_async", lambda arguments, **options: sent.append((arguments, options)))
    tasks.resume_jobs()
    assert [arguments for arguments, _ in sent] == [(quiet.pk,), (waits.pk,)]
    assert [(options["expires"], options["queue"]) for _, options in sent] == [(30, "assay")] * 2


def test_a_clock_that_was_ahead_holds_no_job_back(start):
    ahead = timezone.now() + timedelta(hours=8)
    waits, dead, lives = (start() for _ in range(3))
    Job.objects.filter(pk=waits.pk).update(created_at=ahead)
    for job in (dead, lives):
        jobs.acquire(job.pk)
    Job.objects.filter(pk=dead.pk).update(heartbeat_at=ahead)
    assert jobs.resumable_jobs() == [(dead.pk, "test"), (waits.pk, "test")]
    assert jobs.acquire(dead.pk).attempt == 2
    assert jobs.acquire(lives.pk) is None


def test_the_task_runs_the_job(start):
    job = start(lambda running: {"by": "celery"})
    tasks.run_job(job.pk)
    assert fresh(job).result == {"by": "celery"}


# --- apart, and one at a time: untrusted data and code ---------------------------------------------------------------


@pytest.fixture
def ask(team, register):
    """A person asks for a job of the kind “test”, which works on what strangers sent."""
    register(lambda running: {}, untrusted=True)

    def ask(person):
        return jobs.start_job(actor=person, project=team.project, kind="test", parameters={}, wake_worker=False)

    return ask


def test_of_jobs_with_strangers_data_a_person_has_one_running(ask, team):
    first, second = ask(team.annotator), ask(team.annotator)
    running = jobs.acquire(first.pk)
    assert jobs.acquire(second.pk) is None
    assert (fresh(second).state, fresh(second).attempt) == (JobState.QUEUED, 0)
    # Neither colleagues nor the command line wait for it.
    for person in (team.annotators[1], None, None):
        assert jobs.acquire(ask(person).pk) is not None
    jobs._end(running, JobState.DONE)
    assert jobs.acquire(second.pk).attempt == 1


def test_other_jobs_do_not_wait_for_those_with_strangers_data(ask, start, team):
    jobs.acquire(ask(team.administrator).pk)
    jobs.job_kind("other", "Another")(lambda running: {})
    other = jobs.start_job(
        actor=team.administrator, project=team.project, kind="other", parameters={}, wake_worker=False
    )
    assert jobs.run(other.pk).state == JobState.DONE


def test_what_works_on_strangers_data_or_code_waits_in_a_queue_of_its_own(ask, team, monkeypatch, settings):
    data = {"constrained_cases", "import", "import_preview", "near_duplicates", "release"}
    code = {
        "baseline",
        "execution",
        "play",
        "replay",
        "score_again",
        "score_predictions",
        "toolset_change",
        "validators",
        "validators_of_import",
    }
    assert {kind for kind in jobs._KINDS if jobs.queue_of(kind) == "untrusted"} == {*code, "test"}
    assert {kind for kind in jobs._KINDS if jobs.queue_of(kind) == "imports"} == data
    assert {name for name, kind in jobs._KINDS.items() if kind.untrusted} == {*data, *code, "test"}
    # A hundred of them that wait their turn do not hide from beat what others wait for.
    for _ in range(100):
        ask(team.annotator)
    jobs.job_kind("other", "Another")(lambda running: {})
    other = jobs.start_job(actor=None, project=team.project, kind="other", parameters={}, wake_worker=False)
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    sent = []
    monkeypatch.setattr(tasks.run_job, "apply_async", lambda arguments, queue, **_: sent.append((*arguments, queue)))
    tasks.resume_jobs()
    assert sent[0] == (other.pk, "assay")
    assert [queue for _, queue in sent[1:]] == ["untrusted"] * 100
    assert {queue.name for queue in settings.CELERY_TASK_QUEUES} == {"assay", "imports", "untrusted", "models"}


def test_beat_wakes_what_was_interrupted_though_others_have_a_hundred_that_wait(ask, team):
    """It was not among the hundred that beat wakes, and what its owner asks for later waits for it."""
    for _ in range(100):
        ask(team.annotator)
    interrupted = ask(team.annotators[1])
    jobs.acquire(interrupted.pk)
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    go_quiet(interrupted)
    assert jobs.resumable_jobs()[0] == (interrupted.pk, "test")


def test_the_next_in_turn_is_woken_when_the_one_before_has_ended(ask, team, woken, django_capture_on_commit_callbacks):
    first, second, third = (ask(team.annotator) for _ in range(3))
    ask(team.annotators[1])
    for done, following in ((first, [second.pk]), (second, [third.pk]), (third, [])):
        woken.clear()
        with django_capture_on_commit_callbacks(execute=True):
            assert jobs.run(done.pk).state == JobState.DONE
        assert [number for number, _ in woken] == following


def test_what_waits_for_its_turn_can_be_cancelled_and_what_a_dead_worker_had_begun_goes_first(ask, team):
    first, second, third = (ask(team.annotator) for _ in range(3))
    jobs.acquire(first.pk)
    assert jobs.cancel_job(actor=team.annotator, job=second).error == "Cancelled before it started."
    assert jobs.acquire(third.pk) is None
    go_quiet(first)
    # It waited for as long as its owner asked for others.
    assert jobs.acquire(third.pk) is None
    assert jobs.run(first.pk).state == JobState.DONE
    assert jobs.acquire(third.pk) is not None


def test_of_two_interrupted_jobs_of_one_person_either_goes_first(ask, team):
    first, second = ask(team.annotator), ask(team.annotator)
    jobs.acquire(first.pk)
    Job.objects.filter(pk=second.pk).update(state=JobState.RUNNING)
    for job in (first, second):
        go_quiet(job)
    assert jobs.acquire(second.pk) is not None
    assert jobs.acquire(first.pk) is None


# --- cancelling -------------------------------------------------------------------------------------------------------


def test_a_waiting_job_ends_at_once(start, team):
    job = start()
    cancelled = jobs.cancel_job(actor=team.administrator, job=job)
    assert (cancelled.state, cancelled.error) == (JobState.CANCELLED, "Cancelled before it started.")
    assert start.register.discarded == [job.pk]
    assert kinds_of_events(job) == ["job.started", "job.cancel_requested", "job.cancelled"]


def test_a_running_job_ends_at_its_next_chunk_and_takes_back_what_it_wrote(start, team):
    def run(running):
        with running.chunk() as chunk:
            chunk.advance(done=1)
        jobs.cancel_job(actor=team.administrator, job=running.job)
        with running.chunk() as chunk:
            make_user("after")
            chunk.advance(done=2)
        raise AssertionError("a cancelled job went on")

    job = start(run)
    ended = jobs.run(job.pk)
    assert (ended.state, ended.progress_done) == (JobState.CANCELLED, 1)
    assert start.register.discarded == [job.pk]
    assert not type(job.requester).objects.filter(username="after").exists()


def test_a_cancelled_job_says_what_became_of_what_it_did(start, team):
    def run(running):
        jobs.cancel_job(actor=team.administrator, job=running.job)
        with running.chunk():
            raise AssertionError("a cancelled job went on")

    assert jobs.run(start(run).pk).error == "Cancelled. Nothing was saved."
    jobs.job_kind("test", "Testing")(run)
    job = jobs.start_job(actor=team.administrator, project=team.project, kind="test", parameters={}, wake_worker=False)
    assert jobs.run(job.pk).error == "Cancelled. Finished parts were saved."


def test_cleaning_up_goes_on_after_a_cancellation(start, team):
    job = start()
    running = jobs.acquire(job.pk)
    jobs.cancel_job(actor=team.administrator, job=job)
    with running.chunk(even_if_cancelled=True) as chunk:
        chunk.advance(note="taking back")
    assert fresh(job).progress_note == "taking back"


def test_a_cancelled_job_whose_worker_died_is_ended_by_the_next(start, team):
    def run(running):
        running.beat()
        raise AssertionError("a cancelled job went on")

    job = start(run)
    jobs.acquire(job.pk)
    jobs.cancel_job(actor=team.administrator, job=job)
    assert fresh(job).state == JobState.RUNNING
    go_quiet(job)
    assert jobs.run(job.pk).state == JobState.CANCELLED


def test_cancelling_by_a_second_click_is_cancelling(start, team):
    job = start()
    for _ in range(2):
        assert jobs.cancel_job(actor=team.administrator, job=job).state == JobState.CANCELLED
    assert team.project.events.filter(kind="job.cancel_requested").count() == 1


@pytest.mark.parametrize("end", [JobState.DONE, JobState.FAILED])
def test_an_ended_job_is_not_cancelled(start, team, end):
    job = start()
    Job.objects.filter(pk=job.pk).update(state=end)
    with pytest.raises(Conflict, match="has already ended"):
        jobs.cancel_job(actor=team.administrator, job=job)
    assert fresh(job).cancel_requested is False


def test_only_administrators_and_whoever_asked_may_cancel(team, register):
    register(lambda running: {})

    def job_of(person):
        return jobs.start_job(actor=person, project=team.project, kind="test", parameters={}, wake_worker=False)

    job = job_of(team.annotator)
    for person in (team.annotators[1], team.senior, team.outsider):
        with pytest.raises(Hidden):
            jobs.cancel_job(actor=person, job=job)
    assert jobs.cancel_job(actor=team.annotator, job=job).state == JobState.CANCELLED
    assert jobs.cancel_job(actor=team.administrator, job=job_of(team.annotator)).state == JobState.CANCELLED
    assert jobs.cancel_job(actor=None, job=job_of(team.annotator)).state == JobState.CANCELLED


def test_who_sees_a_job(team, register):
    register(lambda running: {})
    job = jobs.start_job(actor=team.annotator, project=team.project, kind="test", parameters={}, wake_worker=False)

    def sees(person):
        return Job.objects.visible_to(person).filter(pk=job.pk).exists()

    assert [sees(person) for person in (team.administrator, team.annotator)] == [True, True]
    assert [sees(person) for person in (team.annotators[1], team.senior, team.outsider)] == [False] * 3
    team.annotator.memberships.update(ended_at=timezone.now())
    team.administrator.is_active = False
    assert [sees(person) for person in (team.administrator, team.annotator)] == [False, False]


# --- two connections --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_one_of_many_workers_gets_the_job(start):
    job = start()
    taken = race(*[lambda: jobs.acquire(job.pk)] * 6)
    assert [running.attempt for running in taken if running is not None] == [1]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_one_persons_jobs_that_run_code_only_one_is_taken_up(ask, team):
    mine, theirs = [ask(team.annotator) for _ in range(4)], ask(team.annotators[1])
    taken = race(*[partial(jobs.acquire, job.pk) for job in (*mine, theirs)])
    assert [running is not None for running in taken[:4]].count(True) == 1
    assert taken[4].attempt == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_job_that_is_looked_at_while_the_one_before_it_ends_is_taken_up(ask, team):
    first, second = ask(team.annotator), ask(team.annotator)
    running = jobs.acquire(first.pk)
    _, taken = overlap(lambda: jobs._end(running, JobState.DONE), lambda: jobs.acquire(second.pk))
    assert taken.attempt == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_nobody_waits_for_a_worker_in_the_middle_of_a_chunk(start, team):
    """It may be frozen there. Other workers leave its job alone, and nothing of theirs is locked."""
    job = start()
    start.register(lambda running: {}, untrusted=True)
    running = jobs.acquire(job.pk)
    go_quiet(job)

    def rival():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1s'")
        return jobs.acquire(job.pk)

    with running.chunk() as part:
        assert race(rival) == [None]
        part.advance(done=1)
    # Once it has committed, its heartbeat is fresh.
    assert jobs.acquire(job.pk) is None
    assert (fresh(job).attempt, fresh(job).progress_done) == (1, 1)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_loses_its_job_at_this_moment_commits_nothing(start):
    job = start()
    running = jobs.acquire(job.pk)
    go_quiet(job)

    def chunk():
        with running.chunk() as part:
            make_user("ghost")
            part.advance(done=1)

    new, old = overlap(lambda: jobs.acquire(job.pk), chunk)
    assert new.attempt == 2
    assert isinstance(old, jobs.Lost)
    assert fresh(job).progress_done == 0
    assert not type(job.requester).objects.filter(username="ghost").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_cancelling_a_job_that_a_worker_takes_up_at_this_moment(start, team):
    def run(running):
        running.beat()
        raise AssertionError("a cancelled job went on")

    job = start(run)
    running, cancelled = overlap(
        lambda: jobs.acquire(job.pk), lambda: jobs.cancel_job(actor=team.administrator, job=job)
    )
    assert running.attempt == 1
    assert cancelled.cancel_requested
    with pytest.raises(jobs.Cancelled):
        running.beat()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_job_that_ends_at_this_moment_is_not_cancelled(start, team):
    job = start()
    running = jobs.acquire(job.pk)
    overlap(
        lambda: jobs._end(running, JobState.DONE, result={"all": "well"}),
        lambda: jobs.cancel_job(actor=team.administrator, job=job),
    )
    assert (fresh(job).state, fresh(job).result) == (JobState.DONE, {"all": "well"})
    assert start.register.discarded == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_wish_to_cancel_does_not_wait_for_a_worker_that_is_frozen_in_a_chunk(start, team):
    job = start()
    running = jobs.acquire(job.pk)

    def cancel():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1s'")
        return jobs.cancel_job(actor=team.administrator, job=job)

    with running.chunk() as part:
        twice = [*race(cancel), *race(cancel)]
        assert [(asked.state, asked.cancel_requested) for asked in twice] == [(JobState.RUNNING, True)] * 2
        part.advance(done=1)
    assert kinds_of_events(job).count("job.cancel_requested") == 1
    with pytest.raises(jobs.Cancelled):
        running.beat()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_rows_that_name_a_job_can_be_written_during_a_chunk(start):
    """The chunk locks the row but not its key: an import's own rows refer to it from other connections too."""
    job = start()
    running = jobs.acquire(job.pk)
    with running.chunk():
        assert race(lambda: _lock_key_of(job)) == [job.pk]


def _lock_key_of(job):
    """Lock like PostgreSQL for a foreign key, but fail at once instead of waiting."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT id FROM annotator_job WHERE id = %s FOR KEY SHARE NOWAIT", [job.pk])
        return cursor.fetchone()[0]
