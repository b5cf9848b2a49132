"""Imports that are stopped, lost, taken over or given up: nothing twice, nothing half."""

import errno
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.checks import similarity
from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Event, Finding, Job, Notice, Revision, Role, Toolset, ToolsetRevision
from annotator.services.custom_fields import set_fields
from annotator.services.database.bulk_insert import update_statistics
from annotator.services.jobs import jobs
from annotator.services.jobs.jobs import run
from annotator.services.toolsets.details import Details, change_details
from benchmark.models import ImportBatch
from benchmark.services.imports import discarding, recognising, runner
from benchmark.services.imports.report import report_path
from benchmark.services.imports.requests import cancel_import, may_repeat, repeat_import
from benchmark.services.imports.runner import ImportRun
from benchmark.services.similarity import search
from benchmark.services.stored_files import full_path
from reviews.models import Cycle, Slot, StageRun
from reviews.services.statistics.counters import recount, stored_counters
from tests.benchmark.conftest import as_lines, as_zip, begin_import, candidate, candidates, counters, fresh, report_of
from tests.factories import Team, broken, changed, give_role, make_document, make_user
from tests.racing import overlap

RunImport = Callable[..., ImportBatch]


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_RECORDS", 2)


def stop_after(monkeypatch: pytest.MonkeyPatch, chunks: int, what: Callable[[], Any]) -> None:
    """Let ``what`` happen once that many chunks are committed."""
    write = ImportRun._write
    done = 0

    def counting(self: ImportRun, *arguments: Any) -> None:
        nonlocal done
        write(self, *arguments)
        done += 1
        if done == chunks:
            what()

    monkeypatch.setattr(ImportRun, "_write", counting)


def kill() -> None:
    raise Killed


def age_heartbeat(batch: ImportBatch) -> None:
    """Nothing has been heard of the import's worker for a while."""
    Job.objects.filter(pk=batch.job_id).update(heartbeat_at=timezone.now() - timedelta(minutes=5))


def rows_of(batch: ImportBatch) -> list[int]:
    """How many rows of each table the project has."""
    project = batch.project
    return [
        table.objects.filter(**{path: project}).count()
        for table, path in (
            (Dialogue, "project"),
            (Revision, "dialogue__project"),
            (Finding, "dialogue__project"),
            (Cycle, "project"),
            (StageRun, "project"),
            (Slot, "project"),
            (ToolsetRevision, "project"),
        )
    ]


def test_who_reads_long_without_a_record_is_heard_of_and_can_be_stopped(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blank lines by the gigabyte: for half a minute of silence each idle worker took the import up again."""
    monkeypatch.setattr(recognising, "BEAT", -1.0)
    beats = 0

    def beaten(self: jobs.Running) -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            jobs.cancel_job(actor=None, job=self.job)
        with self.chunk():
            pass

    monkeypatch.setattr(jobs.Running, "beat", beaten)
    for content, name in ((b"\n" * (1 << 21), "a.jsonl"), (as_zip({"a.jsonl": b"\n" * 99}), "a.zip")):
        beats = 0
        batch = begin_import(team, content, name)
        assert run(batch.job_id).state == "cancelled"
        assert beats == 3


def test_near_duplicates_of_long_dialogues_are_searched_few_at_a_time(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SLICE_CHARACTERS", 3000)
    monkeypatch.setattr(similarity, "MAX_COMPARED", 1000)
    store = search.store_pairs
    slices: list[int] = []

    def counted(project: int, texts: Any, **options: Any) -> Any:
        slices.append(len(texts))
        return store(project, texts, **options)

    monkeypatch.setattr(search, "store_pairs", counted)
    records = candidates(5)
    for number, record in enumerate(records[:2]):
        begin = " ".join(f"word{n}" for n in range(200))
        record["document"]["tasks"][0]["user_message"] = begin + f" {number}" * 1000
    run_import(records)
    job = run(Job.objects.get(kind="near_duplicates").pk)
    assert job.result["compared"] == 5
    assert Finding.objects.filter(check_id="dialogue.near_duplicate", dialogue__external_id="c00001").exists()
    assert slices[:2] == [1, 1]
    assert sum(slices) == 5 > len(slices)


def test_a_killed_import_goes_on_where_its_last_chunk_ended(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [*candidates(3), "{", candidate("bad", document=broken(make_document())), *candidates(4, start=5), "["]
    undisturbed = begin_import(make_other(team), as_lines(records))
    run(undisturbed.job_id)

    batch = begin_import(team, as_lines(records))
    with monkeypatch.context() as patch:
        stop_after(patch, 2, kill)
        with pytest.raises(Killed):
            run(batch.job_id)
    assert fresh(batch).job.state == "running"
    assert not Dialogue.objects.visible_to(team.administrator).exists()
    assert run(batch.job_id).state == "running", "nobody may take it up while its heartbeat is fresh"
    age_heartbeat(batch)
    job = run(batch.job_id)

    batch, undisturbed = fresh(batch), fresh(undisturbed)
    assert (job.state, job.attempt) == ("done", 2)
    assert counters(batch) == counters(undisturbed) == (10, 8, 0, 0, 2, 1)
    assert report_of(batch) == report_of(undisturbed)
    assert batch.notes.count() == undisturbed.notes.count()
    assert rows_of(batch) == rows_of(undisturbed)
    assert stored_counters(team.project) == recount(team.project)


def make_other(team: Team) -> Team:
    """Another team's project, with the same protocol."""
    from tests.factories import adopt_c3, make_team

    other = make_team()
    adopt_c3(other, audit_fraction=0.0)
    return other


def test_a_kill_between_the_last_chunk_and_publishing(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines(candidates(4)))
    with monkeypatch.context() as patch:
        patch.setattr(ImportRun, "_publish", lambda self: kill())
        with pytest.raises(Killed):
            run(batch.job_id)
    age_heartbeat(batch)
    assert run(batch.job_id).state == "done"
    assert counters(fresh(batch)) == (4, 4, 0, 0, 0, 0)
    assert Dialogue.objects.filter(published=True).count() == 4


def test_a_kill_after_publishing_changes_nothing_any_more(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines(candidates(4)))
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "_end", lambda *arguments, **options: kill())
        with pytest.raises(Killed):
            run(batch.job_id)
    events = Event.objects.filter(kind="import.published").count()
    [toolsets] = Event.objects.filter(kind="toolset.imported")
    assert (toolsets.after["count"], len(toolsets.after["toolsets"])) == (1, 1)
    age_heartbeat(batch)
    assert run(batch.job_id).result["created"] == 4
    assert Event.objects.filter(kind="import.published").count() == events == 1


def test_a_worker_that_lost_its_job_writes_nothing_more(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines(candidates(6)))

    def take_over() -> None:
        age_heartbeat(batch)
        monkeypatch.undo()
        monkeypatch.setattr(runner, "CHUNK_RECORDS", 2)
        assert run(batch.job_id).state == "done"

    stop_after(monkeypatch, 1, take_over)
    job = run(batch.job_id)
    assert (job.state, job.attempt) == ("done", 2)
    assert counters(fresh(batch)) == (6, 6, 0, 0, 0, 0)
    assert rows_of(batch)[:2] == [6, 6]


@pytest.mark.parametrize("slice_size", [1, 1000])
def test_a_cancelled_import_takes_everything_back(
    team: Team, monkeypatch: pytest.MonkeyPatch, run_import: RunImport, slice_size: int
) -> None:
    monkeypatch.setattr(discarding, "SLICE", slice_size)
    kept = run_import([candidate("kept"), candidate("old")])
    before = rows_of(kept)
    records = [
        candidate("old", document=changed(make_document("old"))),
        candidate("other tools", tools=[]),
        *candidates(6),
        "{",
    ]
    batch = begin_import(team, as_lines(records), revise=True)
    stop_after(monkeypatch, 3, lambda: cancel_import(actor=team.administrator, batch=fresh(batch)))
    job = run(batch.job_id)

    assert (job.state, job.error) == ("cancelled", "Cancelled. Nothing was saved.")
    assert Event.objects.filter(kind="toolset.imported").count() == 1
    assert rows_of(batch) == before
    assert (fresh(batch).created, fresh(batch).revised) == (0, 0)
    assert stored_counters(team.project) == recount(team.project)
    # The same wish again is answered as done.
    cancel_import(actor=team.administrator, batch=fresh(batch))
    assert fresh(batch).job.state == "cancelled"


def test_an_import_cancelled_while_it_waits(team: Team) -> None:
    batch = begin_import(team, as_lines(candidates(2)))
    cancel_import(actor=team.administrator, batch=batch)
    assert fresh(batch).job.state == "cancelled"
    assert run(batch.job_id).state == "cancelled"


def test_an_import_cancelled_after_its_worker_was_killed(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines(candidates(6)))
    with monkeypatch.context() as patch:
        stop_after(patch, 2, kill)
        with pytest.raises(Killed):
            run(batch.job_id)
    cancel_import(actor=team.administrator, batch=fresh(batch))
    age_heartbeat(batch)
    assert run(batch.job_id).state == "cancelled"
    assert rows_of(batch) == [0] * 7


def test_an_error_of_the_program_takes_everything_back(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines(candidates(6)))

    def fail() -> None:
        raise RuntimeError("a bug")

    stop_after(monkeypatch, 2, fail)
    with pytest.raises(RuntimeError, match="a bug"):
        run(batch.job_id)
    job = fresh(batch).job
    assert (job.state, "unexpected error" in job.error) == ("failed", True)
    assert rows_of(batch) == [0] * 7


def test_an_import_killed_while_it_takes_back_begins_anew(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some rows are gone by then: continuing from the last chunk would publish the rest as if it were all."""
    monkeypatch.setattr(discarding, "SLICE", 3)
    batch = begin_import(team, as_lines([*candidates(7), "{", *candidates(4, start=7)]))
    discard, discarded = runner.discard_slice, []

    def fail() -> None:
        raise RuntimeError("a bug")

    def discard_once(job: Job) -> bool:
        if discarded:
            kill()
        discarded.append(job.pk)
        return discard(job)

    with monkeypatch.context() as patch:
        stop_after(patch, 4, fail)
        patch.setattr(runner, "discard_slice", discard_once)
        with pytest.raises(Killed):
            run(batch.job_id)
    assert (rows_of(batch)[0], fresh(batch).created) == (4, 0)
    age_heartbeat(batch)

    assert run(batch.job_id).state == "done"
    assert counters(fresh(batch)) == (12, 11, 0, 0, 1, 0)
    assert Dialogue.objects.filter(published=True).count() == Dialogue.objects.count() == 11
    assert [entry["line"] for entry in report_of(batch)] == [8]
    assert fresh(batch).notes.count() == 1


@pytest.mark.postgres
def test_the_database_knows_how_many_rows_an_import_has_written_when_it_publishes_them(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it still believes in the empty tables that an earlier import left, publishing 1,500 records takes minutes."""
    publish, known = runner.publish, []

    def publish_and_look(**given: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT relname, reltuples FROM pg_class WHERE relname = ANY(%s)",
                [[table._meta.db_table for table in (Dialogue, Revision, Cycle, StageRun, Slot)]],
            )
            known.append(dict(cursor.fetchall()))
        return publish(**given)

    update_statistics(*discarding.WRITTEN_IN_BULK)
    monkeypatch.setattr(runner, "publish", publish_and_look)
    run_import(candidates(40))
    assert len(known[0]) == 5
    assert all(count >= 40 for count in known[0].values()), known


def test_an_import_of_which_rows_are_missing_is_not_published(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines(candidates(6)))
    with monkeypatch.context() as patch:
        stop_after(patch, 2, kill)
        with pytest.raises(Killed):
            run(batch.job_id)
    monkeypatch.setattr(discarding, "SLICE", 1)
    discarding.discard_slice(batch.job)
    age_heartbeat(batch)
    job = run(batch.job_id)
    assert job.state == "failed"
    assert "counted 6 new dialogues and 0 revised ones, but 5 and 0 are stored" in job.error
    assert rows_of(batch) == [0] * 7
    assert (fresh(batch).created, may_repeat(fresh(batch))) == (0, "again")


def test_an_outage_of_the_database_in_the_middle_takes_nothing_back(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = begin_import(team, as_lines(candidates(6)))

    def cut() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        stop_after(patch, 2, cut)
        job = run(batch.job_id)
    assert job.state == "running"
    assert job.error.startswith("Interrupted: The database doesn’t respond")
    assert rows_of(batch)[0] == 4
    age_heartbeat(batch)
    job = run(batch.job_id)
    assert (job.state, job.attempt, job.error) == ("done", 2, "")
    assert counters(fresh(batch)) == (6, 6, 0, 0, 0, 0)


def test_a_full_disk_is_named_and_leaves_no_empty_report(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    batch = begin_import(team, as_lines([*candidates(3), "{"]))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            run(batch.job_id)
    job = fresh(batch).job
    assert (job.state, job.error.partition(".")[0]) == ("failed", "The server’s disk is full")
    assert rows_of(batch) == [0] * 7
    assert not report_path(batch).exists()
    again = repeat_import(actor=team.administrator, batch=fresh(batch))
    assert run(again.job_id).state == "done"


def test_an_import_given_up_after_too_many_attempts_leaves_nothing(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_ATTEMPTS", 1)
    batch = begin_import(team, as_lines(candidates(6)))
    with monkeypatch.context() as patch:
        stop_after(patch, 2, kill)
        with pytest.raises(Killed):
            run(batch.job_id)
    age_heartbeat(batch)
    assert run(batch.job_id).state == "failed"
    assert rows_of(batch) == [0] * 7


def test_a_killed_dry_run_begins_anew(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines([*candidates(3), "{", *candidates(5)]), dry_run=True)
    with monkeypatch.context() as patch:
        stop_after(patch, 2, kill)
        with pytest.raises(Killed):
            run(batch.job_id)
    age_heartbeat(batch)
    assert run(batch.job_id).state == "done"
    assert counters(fresh(batch)) == (9, 5, 0, 3, 1, 0)
    assert [entry["line"] for entry in report_of(batch)] == [4, 5, 6, 7]


def test_discarding_leaves_toolsets_that_others_use(
    team: Team, monkeypatch: pytest.MonkeyPatch, run_import: RunImport
) -> None:
    batch = begin_import(team, as_lines([candidate("a"), candidate("b"), candidate("c"), candidate("d")]))
    stop_after(monkeypatch, 1, lambda: cancel_import(actor=team.administrator, batch=fresh(batch)))
    run(batch.job_id)
    assert ToolsetRevision.objects.count() == 0
    run_import([candidate("a")])
    assert ToolsetRevision.objects.count() == 1


@pytest.mark.parametrize("details", [{"tags": ["kept"]}, {"licence": "MIT"}])
def test_discarding_leaves_toolsets_that_a_person_has_described(
    team: Team, monkeypatch: pytest.MonkeyPatch, details: dict[str, Any]
) -> None:
    batch = begin_import(team, as_lines([candidate("a"), candidate("b"), candidate("c"), candidate("d")]))

    def describe_and_cancel() -> None:
        toolset = Toolset.objects.select_related("project").get()
        change_details(actor=team.administrator, toolset=toolset, details=Details("Described", **details))
        cancel_import(actor=team.administrator, batch=fresh(batch))

    stop_after(monkeypatch, 1, describe_and_cancel)
    assert run(batch.job_id).state == "cancelled"
    assert Toolset.objects.get().name == "Described"
    assert ToolsetRevision.objects.count() == 1


def test_a_dry_run_can_be_imported_for_real_and_a_bad_end_repeated(
    team: Team, run_import: RunImport, client: Client
) -> None:
    dry = run_import(candidates(2), dry_run=True)
    assert may_repeat(dry) == "for_real"
    # People who try a file look at its page; a notice would only be a nuisance.
    assert not Notice.objects.exists()
    real = repeat_import(actor=team.administrator, batch=dry)
    assert (real.dry_run, real.sha256, real.filename) == (False, dry.sha256, dry.filename)
    run(real.job_id)
    assert counters(fresh(real)) == counters(dry)

    failed = run_import(content=b"", filename="a.jsonl", dry_run=True)
    assert may_repeat(failed) == "again"
    client.force_login(team.administrator)
    page = client.get(f"/p/{team.project.slug}/imports/{failed.public_id}/").content.decode()
    assert "The file is empty." in page
    assert "Rolling back" not in page  # It has: nothing goes on any more.
    assert repeat_import(actor=team.administrator, batch=failed).dry_run is True

    with pytest.raises(Conflict, match="can’t be repeated"):
        repeat_import(actor=team.administrator, batch=fresh(real))
    with pytest.raises(Denied):
        repeat_import(actor=team.annotator, batch=dry)
    with pytest.raises(Denied):
        cancel_import(actor=team.senior, batch=fresh(real))


def test_a_second_click_starts_no_second_import(team: Team, run_import: RunImport) -> None:
    dry = run_import(candidates(2), dry_run=True)
    real = repeat_import(actor=team.administrator, batch=dry)
    assert repeat_import(actor=team.administrator, batch=dry) == real
    assert [fresh(batch).job.state for batch in ImportBatch.objects.order_by("pk")] == ["done", "queued"]
    assert len([*full_path(real.file).parent.iterdir()]) == ImportBatch.objects.count()
    # A colleague's, one by other rules, and one after that was cancelled are asked for in earnest.
    colleague = give_role(team.project, make_user("second"), Role.ADMINISTRATOR)
    others = [
        repeat_import(actor=colleague, batch=dry),
        begin_import(team, full_path(real.file).read_bytes(), real.filename, revise=True),
    ]
    jobs.acquire(real.job_id)
    cancel_import(actor=team.administrator, batch=fresh(real))
    others.append(repeat_import(actor=team.administrator, batch=dry))
    assert len({real, *others}) == 4


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_start_one_import(team: Team, run_import: RunImport) -> None:
    dry = run_import(candidates(2), dry_run=True)
    first, second = overlap(*[lambda: repeat_import(actor=team.administrator, batch=fresh(dry))] * 2)
    assert first == second


def test_a_file_that_is_removed_while_somebody_repeats_is_named_without_its_place(
    team: Team, run_import: RunImport
) -> None:
    dry = run_import(candidates(1), dry_run=True)
    stored = full_path(dry.file)
    stored.unlink()
    with pytest.raises(Invalid) as refused:
        repeat_import(actor=team.administrator, batch=dry)
    assert dry.filename in refused.value.sentence
    assert "Upload it again" in refused.value.sentence
    assert str(stored.parent) not in refused.value.sentence


def test_progress_is_told_in_records(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin_import(team, as_lines(candidates(8)))
    seen: list[tuple[int, int | None]] = []

    def look() -> None:
        job = fresh(batch).job
        seen.append((job.progress_done, job.progress_total))

    stop_after(monkeypatch, 2, look)
    run(batch.job_id)
    assert seen[0][0] == 4
    assert seen[0][1] is not None
    job = fresh(batch).job
    assert (job.progress_done, job.progress_total, job.progress_note) == (8, 8, "")


def test_a_dry_run_by_which_nothing_would_come_in_offers_nothing_for_real(
    team: Team, run_import: RunImport, client: Client
) -> None:
    client.force_login(team.administrator)
    for content, words in (
        (b'{"id": 1}\n{\n', "Nothing can be imported."),
        (as_lines([candidate("kept")]), "every record is already in the project"),
    ):
        if b"kept" in content:
            run_import(content=content, filename="a.jsonl")
        dry = run_import(content=content, filename="a.jsonl", dry_run=True)
        assert may_repeat(dry) == ""
        page = client.get(reverse("import-detail", args=[team.project.slug, dry.public_id])).content.decode()
        assert words in page
        assert "Import for real" not in page
        with pytest.raises(Conflict):
            repeat_import(actor=team.administrator, batch=dry)


def test_fields_that_change_during_an_import_are_checked_in_its_dialogues(
    team: Team, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = {"key": "note", "title": "Note", "type": "text", "scope": "dialogue", "required": True}

    def require() -> None:
        set_fields(actor=team.administrator, project=team.project, fields=[field], seen=0)

    stop_after(monkeypatch, 1, require)
    run_import(candidates(3))
    assert not Finding.objects.filter(check_id="field.missing").exists()
    jobs.run(Job.objects.get(kind="field_checks").pk)
    assert Finding.objects.filter(check_id="field.missing").count() == 3
