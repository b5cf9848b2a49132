"""Data that is removed after a time, and data that never is."""

import os
from datetime import timedelta
from io import BytesIO

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone

from annotator import tasks
from annotator.models import ApiToken, Draft, DraftStep, Invitation, PeriodicTask
from annotator.services.accounts.tokens import create_token, revoke_token
from annotator.services.dialogues.drafts import edit_draft, open_draft, undo
from annotator.services.jobs import jobs, retention
from annotator.services.members import create_invitation
from benchmark.models import ImportBatch
from benchmark.services.imports.requests import may_repeat, start_import
from benchmark.services.stored_files import full_path
from tests.benchmark.conftest import as_lines, candidate
from tests.factories import make_dialogues

pytestmark = pytest.mark.django_db


def long_ago(days=400):
    return timezone.now() - timedelta(days=days)


def make_draft(team, dialogue, *, closed_at=None):
    draft = open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")
    operation = {"op": "set", "anchor": "/tasks/t1/user_message", "value": "Changed."}
    draft = edit_draft(actor=team.annotator, draft=draft, operation=operation, seen=0).draft
    Draft.objects.filter(pk=draft.pk).update(closed_at=closed_at, updated_at=long_ago())
    DraftStep.objects.filter(draft=draft).update(created_at=long_ago())
    return draft


@pytest.mark.postgres
def test_a_worker_whose_clock_is_ahead_removes_nothing_before_its_time(team, monkeypatch, client):
    """It signed everybody out, and took tokens that would have worked for months and files of imports."""
    client.force_login(team.annotator)
    create_token(actor=team.annotator, name="pipeline", expires_at=timezone.now() + timedelta(days=100))
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=365))
    assert set(retention.tidy_up().values()) == {0}
    assert (Session.objects.count(), ApiToken.objects.count()) == (1, 1)


def test_steps_go_with_time_from_closed_drafts_and_never_from_open_ones(team, settings):
    old, late, still_open = make_dialogues(team.project, 3)
    closed = make_draft(team, old, closed_at=long_ago(31))
    recent = make_draft(team, late, closed_at=long_ago(29))
    open_workspace = make_draft(team, still_open)
    assert retention.tidy_up()["steps of closed drafts"] == 1
    assert set(DraftStep.objects.values_list("draft_id", flat=True)) == {recent.pk, open_workspace.pk}
    assert Draft.objects.get(pk=closed.pk).content == closed.content
    assert undo(actor=team.annotator, draft=open_workspace).draft.version == 2

    settings.KEEP_DAYS = dict.fromkeys(settings.KEEP_DAYS, 0)
    Draft.objects.filter(pk=recent.pk).update(closed_at=long_ago())
    assert "steps of closed drafts" not in retention.tidy_up()
    assert recent.steps.count() == 1


def test_sessions_keys_and_links_that_open_nothing_go_and_the_others_stay(team):
    def session(name, expires):
        Session.objects.create(session_key=name, session_data="", expire_date=expires)

    session("over", timezone.now() - timedelta(seconds=1))
    session("on", timezone.now() + timedelta(days=1))
    kept, revoked, run_out, just_now = (
        create_token(actor=team.annotator, name=name, expires_at=None)[0]
        for name in ("kept", "revoked", "run out", "just now")
    )
    for token in (revoked, just_now):
        revoke_token(actor=team.annotator, public_id=token.public_id)
    ApiToken.objects.filter(pk=revoked.pk).update(revoked_at=long_ago(91))
    ApiToken.objects.filter(pk=run_out.pk).update(expires_at=long_ago(91))
    for days in (0, 400):
        create_invitation(actor=team.administrator, project=team.project, roles=["annotator"], note=f"{days}")
        Invitation.objects.filter(note=f"{days}").update(expires_at=long_ago(days - 30))
    tasks.tidy_up()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["on"]
    assert set(ApiToken.objects.all()) == {kept, just_now}
    assert [one.note for one in Invitation.objects.filter(accepted_at=None)] == ["0"]


def test_an_uploaded_file_goes_when_its_import_has_ended_long_ago_and_its_report_stays(
    team, client, settings, tmp_path
):
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path

    def begin(name):
        return start_import(
            actor=team.administrator,
            project=team.project,
            upload=BytesIO(as_lines([candidate("a"), "{"])),
            filename=name,
            native_format="neutral",
            dry_run=True,
            wake_worker=False,
        )

    old, recent, waits = (begin(f"{name}.jsonl") for name in ("old", "recent", "waits"))
    for batch in (old, recent):
        jobs.run(batch.job_id)
    type(old.job).objects.filter(pk=old.job_id).update(ended_at=long_ago(91))
    type(old.job).objects.filter(pk=waits.job_id).update(created_at=long_ago())
    files = [full_path(batch.file) for batch in (old, recent, waits)]
    orphan, begun = full_path("imports/nobodys.part"), full_path("imports/begun.part")
    # Files that a web server had received when it was killed, and one that it is receiving now.
    left, coming = tmp_path / "tmp1.upload.jsonl", tmp_path / "tmp2.upload.jsonl"
    for file in (orphan, begun, left, coming):
        file.write_bytes(b"half")
    for file in (orphan, left):
        os.utime(file, (long_ago(2).timestamp(),) * 2)
    for file in files:
        os.utime(file, (long_ago().timestamp(),) * 2)

    removed = retention.tidy_up()
    assert (removed["uploaded files of imports"], removed["files of interrupted uploads"]) == (1, 2)
    assert [file.exists() for file in (*files, orphan, begun)] == [False, True, True, False, True]
    assert list(tmp_path.iterdir()) == [coming]
    assert [may_repeat(ImportBatch.objects.get(pk=batch.pk)) for batch in (old, recent)] == ["", "for_real"]
    client.force_login(team.administrator)
    page = client.get(f"/p/{team.project.slug}/imports/{old.public_id}/").content.decode()
    assert "The uploaded file has expired and was removed" in page
    assert "Import for real" not in page
    assert ImportBatch.objects.get(pk=old.pk).notes.count() == 1
    assert full_path(f"imports/{old.public_id}.report.jsonl").exists()


def test_mails_that_are_files_go_with_time(team, settings, tmp_path):
    settings.EMAIL_FILE_PATH = str(tmp_path)
    old, recent, other = (tmp_path / name for name in ("old.log", "recent.log", "notes.txt"))
    for file in (old, recent, other):
        file.write_text("Dear colleague")
    for file in (old, other):
        os.utime(file, (long_ago().timestamp(),) * 2)
    assert retention.tidy_up()["mails kept as files"] == 1
    assert [file.exists() for file in (old, recent, other)] == [False, True, True]


def test_it_is_said_what_was_removed_and_a_rule_that_fails_keeps_none_back(team, monkeypatch, caplog, capsys):
    def fail(before):
        raise OSError("closed to us")

    [dialogue] = make_dialogues(team.project, 1)
    make_draft(team, dialogue, closed_at=long_ago())
    monkeypatch.setitem(retention._RULES, "ended sessions", retention.Rule("ended sessions", "", fail))
    monkeypatch.setattr(retention, "PORTION", 1)
    call_command("tidy_up")
    assert '"steps of closed drafts": 1' in capsys.readouterr().out
    assert "removed: 1 steps of closed drafts" in caplog.text
    assert "could not remove ended sessions" in caplog.text
    outcome = PeriodicTask.objects.get(name=retention.PERIODIC_TASK).outcome
    assert (outcome["removed"]["steps of closed drafts"], outcome["failed"]) == (1, ["ended sessions"])
