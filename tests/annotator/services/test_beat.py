"""Beat goes on sending when the clock was wrong for a while, and whatever became of its file."""

import errno
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.beat import PersistentScheduler
from django.conf import settings

from annotator.config.beat import Scheduler
from annotator.config.celery import app as assay


@pytest.fixture
def app() -> Celery:
    app = Celery("clock", broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {name: {"task": name, "schedule": 5.0} for name in ("one", "two")}
    return app


@pytest.mark.parametrize("restarted", [False, True])
def test_beat_does_not_wait_for_hours_that_a_wrong_clock_has_counted(
    app: Celery, tmp_path: Path, restarted: bool
) -> None:
    beat = Scheduler(app, schedule_filename=str(tmp_path / "schedule"))
    for entry in beat.schedule.values():
        entry.last_run_at = app.now() + timedelta(hours=8)
    assert PersistentScheduler.tick(beat) == beat.max_interval  # what Celery's own would go on doing for eight hours
    if restarted:
        beat.close()
        beat = Scheduler(app, schedule_filename=str(tmp_path / "schedule"))
    assert 0 < beat.tick() <= 5
    assert all(entry.last_run_at <= app.now() for entry in beat.schedule.values())
    beat.close()


def test_a_full_disk_neither_ends_beat_nor_fills_the_log(
    app: Celery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    beat = Scheduler(app, schedule_filename=str(tmp_path / "schedule"))
    with monkeypatch.context() as patch:
        patch.setattr(beat._store, "sync", full)
        patch.setattr(beat, "send_task", full)
        patch.setattr(Scheduler, "producer", None)
        beat.apply_entry(beat.schedule["one"])  # which is also the moment to write the file
    assert len(caplog.text.splitlines()) == 2
    assert caplog.text.count("No space left on device") == 2
    beat.close()


@pytest.mark.parametrize("kept", [0, 600])
def test_beat_starts_although_a_power_cut_has_left_half_its_file(app: Celery, tmp_path: Path, kept: int) -> None:
    Scheduler(app, schedule_filename=str(tmp_path / "schedule")).close()
    largest = max(tmp_path.iterdir(), key=lambda file: file.stat().st_size)
    os.truncate(largest, kept)
    for _ in range(2):
        beat = Scheduler(app, schedule_filename=str(tmp_path / "schedule"))
        assert {"one", "two"} <= beat.schedule.keys()
        beat.close()


def test_beat_is_started_with_this_schedule() -> None:
    assert assay.conf.beat_scheduler == settings.CELERY_BEAT_SCHEDULER == f"{Scheduler.__module__}:Scheduler"


def test_what_waited_while_no_worker_was_there_is_thrown_away_and_holds_no_job_up() -> None:
    assay.loader.import_default_modules()
    for entry in assay.conf.beat_schedule.values():
        assert entry["task"] in assay.tasks
        assert entry["options"] == {"expires": max(300, entry["schedule"]), "priority": 9}
