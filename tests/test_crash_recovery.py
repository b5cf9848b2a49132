"""Confirmed work survives kills of web processes, workers and PostgreSQL's backends, all in the middle of work.

The clients keep their own count: what a server has answered 201 must be there afterwards, once, as it was sent; and of
the files that were imported the test knows every record. A worker is killed while it runs a job, which the database
says, and one in nine while it takes an import back. A few kills here;
``ASSAY_KILLS=100 pytest tests/test_crash_recovery.py`` makes it a hundred.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.models import Dialogue, Job
from annotator.services.accounts.tokens import create_token
from annotator.services.jobs import jobs
from benchmark.models import ImportBatch
from benchmark.services.imports.report import report_path
from reviews.models import Review
from scripts.demo import listening_socket, web_command
from scripts.supervisor import Supervisor
from tests.api_colleagues import Colleague
from tests.benchmark.conftest import as_lines, begin_import, candidates, fresh
from tests.conftest import ROOT, not_tested
from tests.consistency import assert_consistent, claimed_twice
from tests.factories import Team, adopt_c3, begin, make_dialogues, make_team

pytestmark = [
    pytest.mark.servers,
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
]

KILLS = int(os.environ.get("ASSAY_KILLS", "9"))
#: Longer than anything here takes on a busy machine; only a hang runs into it.
PATIENCE = 240
#: One round of kills.
ROUND = ("web", "backend", "taking back", "web", "backend", "worker", "web", "backend", "worker")
#: Records of each import: six chunks, and two pieces when they are taken back.
RECORDS = 1500
#: One of the last of them, which is there before the file has been read to its end.
HELD = 1200


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=4)
    adopt_c3(team, audit_fraction=0.0)
    begin(team.project, make_dialogues(team.project, 400 + 60 * KILLS))
    return team


@pytest.fixture
def web(process_environment: dict[str, str], tmp_path: Path) -> Iterator[tuple[int, int]]:
    """A web server with two processes: its port, and the process that starts another for each that dies."""
    if not Path("/proc/self").exists():
        not_tested("kills of web processes: this system has no /proc")
    with listening_socket("0") as listener, Supervisor() as programs:
        port = listener.getsockname()[1]
        command = web_command(Path(sys.executable), listener.fileno())
        served = programs.start(
            "web server", command, env=process_environment, cwd=ROOT, log=tmp_path / "web.log",
            pass_fds=[listener.fileno()],
        )  # fmt: skip
        assert programs.wait_until_ready(f"http://localhost:{port}/healthz", seconds=PATIENCE)
        yield port, served.process.pid


def until(ready: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.02)


class Workers:
    """One Celery worker at a time, the files it imports, and how it is killed in the middle of them."""

    def __init__(self, team: Team, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.team, self._start = team, start
        self.imports: list[ImportBatch] = []
        self._begin()

    def _begin(self) -> None:
        self._born = timezone.now()
        self._worker = self._start()

    def new_import(self) -> ImportBatch:
        """Ask for the import of records that nobody else has; the line after them is no record."""
        records = candidates(RECORDS, start=RECORDS * len(self.imports))
        batch = begin_import(self.team, as_lines([*records, "{"]))
        self.imports.append(batch)
        jobs.wake(batch.job)
        return batch

    def kill_at_work(self) -> None:
        """Kill it while it runs a job: what it ended at this very moment does not count."""
        while True:
            until(self._is_at_work, "a job in the hands of the worker")
            self.kill()
            if Job.objects.filter(state="running").exists():
                break
            self.go_on()
        self.go_on()

    def _is_at_work(self) -> bool:
        hand_over(Job.objects.exclude(error_message=None))
        if all(fresh(batch).job.ended for batch in self.imports):
            self.new_import()
        return Job.objects.filter(state="running", heartbeat_at__gt=self._born, progress_done__gt=0).exists()

    def kill_taking_back(self) -> None:
        """Its report meets an obstacle, so it takes the import back; killed, the next one finds none."""
        batch = self.new_import()
        obstacle = report_path(batch)
        obstacle.mkdir(parents=True)
        with transaction.atomic():
            # One of the last rows is held from the moment it is there: taking back comes to a halt in its middle.
            rows = Dialogue.objects.filter(batch=batch.job_id)
            one = rows.filter(external_id=f"c{RECORDS * (len(self.imports) - 1) + HELD:05}")

            def is_there() -> bool:
                hand_over(Job.objects.exclude(error_message=None))
                return one.exists()

            until(is_there, "the second thousand")
            one.select_for_update().get()
            until(lambda: rows.count() == RECORDS - 1000, "the first thousand taken back")
            self.kill()
        assert fresh(batch).job.checkpoint["taking_back"]
        obstacle.rmdir()
        self.go_on()

    def kill(self) -> None:
        os.killpg(self._worker.pid, signal.SIGKILL)
        self._worker.wait()

    def go_on(self) -> None:
        """Another worker, to which what was running is handed, as time would do it."""
        self._begin()
        hand_over(Job.objects.all())


def hand_over(waiting: QuerySet[Job]) -> None:
    """As if the time had passed after which others take up what a worker has left, or was interrupted at."""
    long_ago = timezone.now() - timedelta(minutes=5)
    left = waiting.filter(state="running", heartbeat_at__gt=long_ago + timedelta(minutes=4))
    for job in left:
        left.filter(pk=job.pk, attempt=job.attempt).update(heartbeat_at=long_ago, error_message=None)
        jobs.wake(job)


def test_every_acknowledged_write_outlives_kills_under_load(team, web, start_worker) -> None:
    port, master = web
    chance, stop = random.Random(45), threading.Event()
    colleagues = [
        Colleague(one, create_token(actor=one, name="work", expires_at=None)[1], team.project.slug, port)
        for one in team.annotators
    ]
    threads = [threading.Thread(target=one.work, args=(stop,), daemon=True) for one in colleagues]
    workers = Workers(team, start_worker)
    killed: Counter[str] = Counter()

    def count() -> int:
        return sum(len(one.acknowledged) for one in colleagues)

    for thread in threads:
        thread.start()
    try:
        for number in range(KILLS):
            before = count()
            until(lambda before=before: count() >= before + 3, "work between two kills")
            what = ROUND[number % len(ROUND)]
            if what == "web":
                os.kill(chance.choice(children_of(master)), signal.SIGKILL)
            elif what == "backend":
                until(lambda: end_a_backend(chance), "a connection that could be ended")
            elif what == "worker":
                workers.kill_at_work()
            else:
                workers.kill_taking_back()
            killed[what] += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    until(all_ended, "the end of all jobs")
    workers.kill()

    assert killed.total() == KILLS
    assert [surprise for one in colleagues for surprise in one.surprises] == []
    stored = {
        public_id: (person, slot, verdict)
        for public_id, person, slot, verdict in Review.objects.values_list(
            "public_id", "person_id", "slot__public_id", "verdict"
        )
    }
    for one in colleagues:
        assert one.acknowledged
        for public_id, (slot, verdict) in one.acknowledged.items():
            assert stored[public_id] == (one.person.pk, slot, verdict)
    assert len({slot for _, slot, _ in stored.values()}) == len(stored)
    for number, batch in enumerate(map(fresh, workers.imports)):
        sent = {record["id"] for record in candidates(RECORDS, start=RECORDS * number)}
        there = list(Dialogue.objects.filter(batch=batch.job).values_list("external_id", "published"))
        # One that was killed too often says so, and nothing of it is there.
        assert (batch.job.state, batch.created, len(there)) in (("done", RECORDS, RECORDS), ("failed", 0, 0))
        assert set(there) in ({(name, True) for name in sent}, set())
    assert list(claimed_twice(team.project)) == []
    assert_consistent(team.project)
    print(f"{dict(killed)}; {count()} acknowledged; imports {Counter(fresh(one).job.state for one in workers.imports)}")


def children_of(pid: int) -> list[int]:
    """The processes that a process has started; waits until there is one."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    until(lambda: bool(children.read_text().split()), "a web process")
    return [int(child) for child in children.read_text().split()]


def end_a_backend(chance: random.Random) -> bool:
    """End one of the connections that others have to this test's database, as a fault of the network does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "ORDER BY pid"
        )
        pids = [pid for (pid,) in cursor.fetchall()]
        if not pids:
            return False
        cursor.execute("SELECT pg_terminate_backend(%s)", [chance.choice(pids)])
        return bool(cursor.fetchone()[0])


def all_ended() -> bool:
    """Whether every job has ended; those whose worker is gone are handed to the next, as time would."""
    running = Job.objects.filter(state="running")
    running.filter(heartbeat_at__lt=timezone.now() - timedelta(seconds=5)).update(
        heartbeat_at=timezone.now() - timedelta(minutes=5)
    )
    waiting = list(Job.objects.filter(state__in=["queued", "running"]))
    for job in waiting:
        if job.state == "queued" or job.heartbeat_at < timezone.now() - timedelta(minutes=1):
            jobs.run(job.pk)
    return not waiting
