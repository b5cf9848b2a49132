"""Imports and releases in the hands of a real Celery worker that is killed and replaced; and their memory."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.models import Dialogue, Event, Finding, Job, Revision
from annotator.services.jobs import jobs
from benchmark.core.archives.verifying import verify_archive
from benchmark.models import ImportBatch, Release, ReleaseItem
from benchmark.services.imports.report import read_report, report_path
from benchmark.services.releases.requests import archive_path, start_release
from benchmark.services.stored_files import full_path
from reviews.models import Slot
from tests.benchmark.conftest import as_lines, begin_import, candidate, candidates, counters, fresh, make_verified
from tests.conftest import ROOT, not_tested
from tests.factories import Team, adopt_c3, make_team

pytestmark = [pytest.mark.servers, pytest.mark.slow]

StartWorker = Callable[..., subprocess.Popen[bytes]]
#: Longer than anything here takes on a busy machine; only a hang runs into it.
PATIENCE = 240


@pytest.fixture
def team(transactional_db: None) -> Team:
    team = make_team()
    adopt_c3(team, audit_fraction=0.0)
    return team


def until(ready: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.02)


def kill(worker: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the worker, its children and what they have started."""
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def let_time_pass(job_id: int) -> None:
    """As if half a minute had gone by in silence: the next worker need not wait for it."""
    Job.objects.filter(pk=job_id, state="running").update(heartbeat_at=timezone.now() - timedelta(minutes=5))


def test_an_import_survives_its_worker(team: Team, start_worker: StartWorker) -> None:
    count = 6000
    batch = begin_import(team, as_lines([*candidates(count), "{"]))
    worker = start_worker()
    jobs.wake(batch.job)
    until(lambda: Dialogue.objects.filter(batch=batch.job_id).count() >= 1000, "the first chunks")
    kill(worker)

    written = Dialogue.objects.filter(batch=batch.job_id).count()
    assert 0 < written < count, "it was to be killed in the middle"
    assert not Dialogue.objects.visible_to(team.administrator).exists()
    assert not Slot.objects.exclude(state="hidden").exists()
    let_time_pass(batch.job_id)
    start_worker()
    until(lambda: fresh(batch).job.ended, "the end of the import")

    batch = fresh(batch)
    assert (batch.job.state, batch.job.attempt) == ("done", 2)
    assert counters(batch) == (count + 1, count, 0, 0, 1, 0)
    assert batch.notes.count() == 1
    assert Dialogue.objects.filter(published=True).count() == Dialogue.objects.count() == count
    assert Revision.objects.count() == Slot.objects.filter(state="open").count() == count
    assert Event.objects.filter(kind="dialogue.imported").count() == count
    follow_up = Job.objects.get(kind="near_duplicates")
    until(lambda: Job.objects.get(pk=follow_up.pk).ended, "the search for near-duplicates")
    assert Job.objects.get(pk=follow_up.pk).state == "done"


@pytest.mark.postgres
def test_an_import_survives_the_loss_of_its_connection_and_what_follows_from_it_does_too(
    team: Team, start_worker: StartWorker
) -> None:
    count = 4000
    batch = begin_import(team, as_lines(candidates(count)))
    start_worker()
    jobs.wake(batch.job)
    until(lambda: Dialogue.objects.filter(batch=batch.job_id).count() >= 1000, "the first chunks")
    assert end_connections() > 0
    until(lambda: fresh(batch).job.error.startswith("Interrupted: The database doesn’t respond"), "the interruption")
    assert 0 < Dialogue.objects.filter(batch=batch.job_id, published=False).count() < count
    let_time_pass(batch.job_id)
    jobs.wake(batch.job)
    follow_ups = Job.objects.filter(kind="near_duplicates")
    until(lambda: follow_ups.filter(progress_done__gt=0).exists(), "the search for near-duplicates")
    end_connections()
    until(
        lambda: follow_ups.exclude(error_message=None, state="running").exists(), "the second interruption, or the end"
    )
    follow_up = follow_ups.get()
    let_time_pass(follow_up.pk)
    until(lambda: follow_ups.get().ended, "the end of the search")

    batch = fresh(batch)
    assert (batch.job.state, batch.job.attempt, batch.job.error) == ("done", 2, "")
    assert counters(batch) == (count, count, 0, 0, 0, 0)
    assert Dialogue.objects.filter(published=True).count() == Dialogue.objects.count() == count
    # All are of one template; the first of them repeats none.
    assert follow_ups.get().result == {"compared": count, "near_duplicates": count - 1}


def end_connections() -> int:
    """End every connection to this test's database but this process's own; returns how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.postgres
def test_an_import_whose_worker_is_killed_while_it_takes_back_loses_no_record(
    team: Team, start_worker: StartWorker
) -> None:
    """The report's last line meets an obstacle, which is gone for the next attempt."""
    count, held = 1500, 1200
    batch = begin_import(team, as_lines([*candidates(count), "{"]))
    obstacle = report_path(batch)
    obstacle.mkdir(parents=True)
    worker = start_worker()
    with transaction.atomic():
        # One of the last rows is held from the moment it is there: taking back comes to a halt in its middle.
        jobs.wake(batch.job)
        rows = Dialogue.objects.filter(batch=batch.job_id).order_by("pk")
        until(lambda: rows.count() > held, "the second thousand")
        stay = Dialogue.objects.select_for_update().get(pk=rows.values_list("pk", flat=True)[held])
        until(lambda: "Rolling back" in fresh(batch).job.progress_note, "taking back")
        until(lambda: rows.count() == count - 1000, "the first thousand taken back")
        kill(worker)
    assert Dialogue.objects.filter(pk=stay.pk).exists()
    obstacle.rmdir()
    let_time_pass(batch.job_id)
    start_worker()
    until(lambda: fresh(batch).job.ended, "the end of the import")

    batch = fresh(batch)
    assert (batch.job.state, batch.job.attempt) == ("done", 2)
    assert counters(batch) == (count + 1, count, 0, 0, 1, 0)
    assert Dialogue.objects.filter(published=True).count() == Dialogue.objects.count() == count
    assert not Dialogue.objects.filter(pk=stay.pk).exists()
    assert Event.objects.filter(kind="dialogue.imported").count() == count
    [entry] = [orjson.loads(line) for line in b"".join(read_report(batch)).splitlines()]
    assert entry["line"] == count + 1


def test_a_release_survives_its_worker(team: Team, start_worker: StartWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        make_verified(team, f"d{n}")
    release = start_release(
        actor=team.administrator, project=team.project, version="1.0", native_format="wild", wake_worker=False
    )
    folder = full_path(f"releases/{release.public_id}")
    stretch_items(release, 3000)
    worker = start_worker()
    jobs.wake(release.job)
    until(lambda: folder.is_dir() and any(folder.iterdir()), "the first bytes of the archive")
    kill(worker)

    release.refresh_from_db()
    assert (release.state, release.archive) == ("freezing", "")
    names = [file.name for file in folder.iterdir()]
    assert "release-1.0.zip" not in names
    assert any(name.endswith(".part") for name in names), "it was to be killed in the middle"
    client = Client()
    page = reverse("release-download", args=[team.project.slug, release.public_id])
    # Annotators see frozen releases only.
    for person, status in ((team.administrator, 409), (team.annotator, 404)):
        client.force_login(person)
        assert client.get(page).status_code == status

    let_time_pass(release.job_id)
    start_worker()
    until(lambda: Job.objects.get(pk=release.job_id).ended, "the end of the release")
    release = Release.objects.select_related("project", "job").get(pk=release.pk)
    assert (release.state, release.job.state, release.job.attempt) == ("frozen", "done", 2)
    assert release.item_count == ReleaseItem.objects.filter(release=release).count() == 3003
    assert verify_archive(archive_path(release)).ok
    assert [file.name for file in folder.iterdir()] == ["release-1.0.zip"]


def stretch_items(release: Release, count: int) -> None:
    """Many more verified dialogues, written directly: a release that takes long enough to be killed in the middle."""
    from reviews.models import Cycle
    from tests.factories import make_dialogues

    version = release.project.protocol_versions.first()
    rows = make_dialogues(release.project, count, status="verified")
    Cycle.objects.bulk_create(
        Cycle(
            dialogue=row,
            project=release.project,
            protocol=version,
            number=1,
            state="verified",
            entry_revision=row.head,
            exit_revision=row.head,
            ended_at=timezone.now(),
        )
        for row in rows
    )


def test_a_worker_checks_for_near_duplicates(team: Team, start_worker: StartWorker) -> None:
    text = "Please find me a quiet hotel near the old harbour of Ghent for two nights from Friday"
    first, second = candidate("first"), candidate("second")
    first["document"]["tasks"][0]["user_message"] = f"{text}."
    second["document"]["tasks"][0]["user_message"] = f"{text}, please."
    start_worker()
    batch = begin_import(team, as_lines([first, second]))
    jobs.wake(batch.job)
    until(lambda: Job.objects.filter(kind="near_duplicates", state="done").exists(), "the follow-up")
    found = Finding.objects.get(check_id="dialogue.near_duplicate")
    assert found.dialogue.external_id == "second"
    assert "“first”" in found.message
    assert Dialogue.objects.get(external_id="second").warning_count == 1


#: Runs an import and prints the most memory of its own that the process held, in kB: without the pages of the
#: database's file, which the kernel maps and takes back as it likes.
MEASURE = """
import json, re, sys, threading
from pathlib import Path
import django
django.setup()
from annotator.models import Project
from annotator.services.jobs import jobs
from benchmark.services.imports.requests import start_import
batch = start_import(
    actor=None, project=Project.objects.get(slug=sys.argv[2]), path=Path(sys.argv[1]), filename="a.jsonl",
    native_format="neutral", wake_worker=False,
)
peak, ended = 0, threading.Event()
def watch():
    global peak
    status = Path("/proc/self/status")
    while status.exists() and not ended.wait(0.02):
        peak = max(peak, int(re.search(r"RssAnon:\\s+(\\d+)", status.read_text())[1]))
watcher = threading.Thread(target=watch)
watcher.start()
job = jobs.run(batch.job_id)
ended.set()
watcher.join()
print(json.dumps([job.state, peak]))
"""


@pytest.mark.any_database
def test_memory_does_not_grow_with_the_file(team: Team, process_environment: dict[str, str], tmp_path: Path) -> None:
    """Three times the records in no more than a quarter more memory."""
    if not Path("/proc/self").exists():
        not_tested("memory of an import: this system has no /proc")
    other = make_team()

    def peak(count: int, slug: str) -> int:
        path = tmp_path / f"{count}.jsonl"
        with path.open("wb") as out:
            out.writelines(big_records(count))
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path), slug],
            cwd=ROOT, env=process_environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        state, kilobytes = orjson.loads(done.stdout.splitlines()[-1])
        assert state == "done"
        return int(kilobytes)

    small, large = peak(3_000, team.project.slug), peak(9_000, other.project.slug)
    assert large < 1.25 * small, f"{small} kB, then {large} kB"


def big_records(count: int) -> Iterator[bytes]:
    record: dict[str, Any] = candidate("x")
    answer = record["document"]["tasks"][0]["steps"][1]
    for n in range(count):
        record["id"] = f"r{n}"
        answer["text"] = f"{n} " + "It is clear and mild in Ghent today. " * 200
        yield orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def test_nobody_is_left_behind_by_a_killed_import(
    team: Team, process_environment: dict[str, str], tmp_path: Path
) -> None:
    """Its helpers end by themselves when their input closes."""
    if not Path("/proc/self").exists():
        not_tested("helpers of a killed import: this system has no /proc")
    path = tmp_path / "a.jsonl"
    path.write_bytes(as_lines(candidates(20_000)))
    process = subprocess.Popen(
        [sys.executable, "-c", MEASURE, str(path), team.project.slug],
        cwd=ROOT, env=process_environment, stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    until(lambda: bool(helpers_of(process.pid)), "helpers")
    helpers = helpers_of(process.pid)
    process.kill()
    process.wait()
    until(lambda: not any(runs(pid) for pid in helpers), "the end of the helpers")
    assert ImportBatch.objects.get().job.state == "running"


def runs(pid: int) -> bool:
    """Whether the process is there and more than a name: in a container nobody may fetch an orphan's exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def helpers_of(pid: int) -> list[int]:
    """Processes that prepare records for the process ``pid``."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = [int(child) for child in children.read_text().split()] if children.exists() else []
    return [
        child
        for child in found
        if b"benchmark.services.imports.processes" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
