"""Beat goes on sending when the clock was wrong for a while."""

from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from celery.beat import PersistentScheduler
from django.conf import settings

from annotator.config.beat import Scheduler
from annotator.config.celery import app as assay


@pytest.mark.parametrize("restarted", [False, True])
def test_beat_does_not_wait_for_hours_that_a_wrong_clock_has_counted(tmp_path: Path, restarted: bool) -> None:
    app = Celery("clock", broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {name: {"task": name, "schedule": 5.0} for name in ("one", "two")}
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
    app.close()


def test_beat_is_started_with_this_schedule() -> None:
    assert assay.conf.beat_scheduler == settings.CELERY_BEAT_SCHEDULER == f"{Scheduler.__module__}:Scheduler"


def test_what_waited_while_no_worker_was_there_is_thrown_away_and_holds_no_job_up() -> None:
    assay.loader.import_default_modules()
    for entry in assay.conf.beat_schedule.values():
        assert entry["task"] in assay.tasks
        assert entry["options"] == {"expires": max(300, entry["schedule"]), "priority": 9}
