"""Maintenance: everything can be read, nothing changes, and afterwards work goes on."""

import json

import pytest
from django.core.management import call_command
from django.test import RequestFactory
from django.urls import ResolverMatch, reverse

from annotator import VERSION
from annotator.models import InstalledVersion, JobState, PeriodicTask, SecurityEvent
from annotator.services.accounts.tokens import create_token
from annotator.services.jobs.jobs import run, start_job
from annotator.services.maintenance import begin_maintenance, end_maintenance, maintenance
from annotator.services.operations.updates import note_version
from annotator.tasks import resume_jobs, write_checkpoints
from annotator.views.maintenance import MaintenanceMiddleware
from reviews.services.queue.claims import claim_next
from tests.access_table import patterns
from tests.factories import adopt_c3, begin, make_dialogues, make_user

pytestmark = [pytest.mark.django_db]
PAGE = "/operator/updates/"
SENTENCE = "Maintenance: everything can be read, but nothing can be changed for now."
#: What may write during maintenance: signing in and out, keeping claims, the theme, and ending it.
WORKING = {
    "account_login", "account_logout", "account_reauthenticate", "api-generation-heartbeat", "api-work-heartbeat",
    "generation-heartbeat", "mfa_authenticate", "mfa_login_webauthn", "mfa_reauthenticate",
    "mfa_reauthenticate_webauthn", "operator-updates-maintenance", "provider-sign-in", "theme", "workspace-heartbeat",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


@pytest.fixture
def operator(client):
    person = make_user("olga", is_staff=True)
    client.force_login(person)
    return person


def test_pages_are_read_and_changes_are_refused_until_it_ends(client, team):
    client.force_login(team.administrator)
    begin_maintenance(actor=None, message="Back at 14:30.")
    page = f"/p/{team.project.slug}/settings/"
    assert f"{SENTENCE} Back at 14:30." in client.get(page).content.decode()
    refused = client.post(page, {"name": "Other"})
    assert (refused.status_code, refused["Retry-After"], refused["Assay-Maintenance"]) == (503, "30", "1")
    assert SENTENCE in refused.content.decode()
    assert client.get("/signed-in/").content.decode().startswith(SENTENCE)
    token = create_token(actor=team.administrator, name="work", expires_at=None)[1]
    answer = client.post(
        reverse("api-import-list", args=[team.project.slug]), headers={"Authorization": f"Token {token}"}
    )
    assert (answer.status_code, answer.json()["error"]) == (503, "maintenance")
    team.project.refresh_from_db()
    assert team.project.name != "Other"
    end_maintenance(actor=None)
    assert client.post(page, {"name": "Other"}).status_code in (200, 302, 422)
    assert SENTENCE not in client.get(page).content.decode()


def test_only_signing_in_claims_and_the_operators_switch_go_on(settings):
    begin_maintenance(actor=None, message="")
    middleware = MaintenanceMiddleware(lambda request: None)
    working = set()
    for pattern in patterns():
        name, view = str(pattern.name), pattern.callback
        request = RequestFactory().post("/")
        request.resolver_match = ResolverMatch(view, (), {}, url_name=name)
        if middleware.process_view(request, view, (), {}) is None:
            working.add(name)
    assert working == WORKING


def test_claims_are_kept(client, team):
    adopt_c3(team)
    begin(team.project, make_dialogues(team.project, 1))
    person = team.annotators[0]
    claim = claim_next(actor=person, project=team.project)
    before = claim.expires_at
    begin_maintenance(actor=None, message="")
    client.force_login(person)
    slot = claim.slot.public_id
    beat = client.post(f"/work/{slot}/heartbeat/", {"active_seconds": "10"})
    assert beat.status_code == 204
    claim.refresh_from_db()
    assert claim.expires_at >= before


def test_jobs_and_periodic_tasks_wait(team):
    job = start_job(actor=team.administrator, project=team.project, kind="history", parameters={})
    begin_maintenance(actor=None, message="")
    write_checkpoints()
    resume_jobs()
    assert PeriodicTask.objects.filter(name="resume-jobs").exists()  # beat and the workers are there
    run(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED
    end_maintenance(actor=None)
    run(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_operators_begin_it_change_its_message_and_end_it(client, operator):
    switch = f"{PAGE}maintenance/"
    assert client.post(switch, {"action": "begin", "message": "Back soon."}).status_code == 302
    began = maintenance()
    assert "End maintenance" in client.get(PAGE).content.decode()
    assert client.post(switch, {"action": "begin", "message": "Back at noon."}).status_code == 302
    assert maintenance() == type(began)(began.since, "Back at noon.")
    refused = client.post(switch, {"action": "begin", "message": "x" * 301})
    assert refused.status_code == 422
    assert "The message has 301 characters; at most 300 are allowed. Shorten it." in refused.content.decode()
    client.post(switch, {"action": "end"})
    client.post(switch, {"action": "end"})
    assert maintenance() is None
    logged = SecurityEvent.objects.filter(kind__startswith="maintenance").order_by("pk")
    assert list(logged.values_list("kind", "actor")) == [
        ("maintenance_began", operator.pk),
        ("maintenance_ended", operator.pk),
    ]


def test_the_command_does_the_same(capsys):
    call_command("maintenance", "on", "--message", "An update until 9.")
    assert maintenance().message == "An update until 9."
    call_command("maintenance", "off")
    said = [json.loads(line)["maintenance"] for line in capsys.readouterr().out.splitlines()]
    assert said[0]["message"] == "An update until 9."
    assert said[1] is None


@pytest.mark.parametrize("content", ["", "not JSON", "[]", '{"since": 1, "message": ""}'])
def test_a_file_that_cannot_be_read_counts_since_somebody_made_it(tmp_path, content):
    (tmp_path / "maintenance").write_text(content)
    assert maintenance().message == ""


def test_operators_see_the_versions_and_everybody_the_changes(client, operator):
    InstalledVersion.objects.create(version="0.0.9")
    note_version()
    note_version()
    assert set(InstalledVersion.objects.values_list("version", flat=True)) == {"0.0.9", VERSION}
    page = client.get(PAGE).content.decode()
    assert "0.0.9" in page
    assert "Running jobs" in page
    client.force_login(make_user("amina"))
    changes = client.get("/changes/").content.decode()
    assert f"This is Assay {VERSION}." in changes
    assert 'href="docs/' not in changes
