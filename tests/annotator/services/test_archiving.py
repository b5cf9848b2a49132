"""An archived project keeps everything, shows it to its overseers, and changes nothing until it is restored."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Denied, DomainError, Hidden
from annotator.models import ArchivedProject, Event, Project
from annotator.services.access.permissions import load_project, roles_in
from annotator.services.archiving import archive_project, restore_project
from annotator.services.history.events import append_event
from annotator.services.integrity.checkpoints import write_checkpoint
from annotator.services.integrity.history_checks import history_problems, start_check
from annotator.services.jobs.jobs import run, start_job
from annotator.services.members import accept_invitation, create_invitation
from annotator.services.projects import publish_guideline
from reviews.models import Claim, ClaimState
from reviews.services.queue.claims import claim_next, expire_overdue
from reviews.services.queue.slot_work import load_slot_work
from tests.api_client import ApiClient, refusal
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def archived() -> Team:
    team = make_team()
    adopt_c3(team)
    begin(team.project, [make_dialogue(team.project, external_id=name) for name in ("one", "two")])
    assert claim_next(actor=team.annotator, project=team.project) is not None
    team.project = archive_project(actor=team.administrator, project=team.project)
    return team


def test_only_administrators_archive_and_not_while_jobs_run() -> None:
    team = make_team()
    with pytest.raises(Denied):
        archive_project(actor=team.senior, project=team.project)
    with pytest.raises(Hidden):
        archive_project(actor=team.outsider, project=team.project)
    job = start_check(actor=team.administrator, project=team.project)
    with pytest.raises(Conflict, match="1 job is in progress"):
        archive_project(actor=team.administrator, project=team.project)
    run(job.pk)
    archive_project(actor=team.administrator, project=team.project)
    archive_project(actor=team.administrator, project=team.project)
    assert Event.objects.filter(kind="project.archived").count() == 1


def test_it_is_out_of_lists_and_queues_and_its_overseers_read_it(archived: Team) -> None:
    for person, seen in ((archived.administrator, True), (archived.senior, True), (archived.annotator, False)):
        assert Project.objects.visible_to(person).exists() == seen
        assert bool(roles_in(archived.project, person)) == seen
        client = Client()
        client.force_login(person)
        assert client.get(f"/p/{archived.project.slug}/").status_code == (200 if seen else 403)
        assert f"/p/{archived.project.slug}/next/" not in client.get("/").content.decode()
    with pytest.raises(Denied, match="is archived"):
        load_project(actor=archived.annotator, slug=archived.project.slug)
    with pytest.raises(Hidden):
        load_project(actor=archived.outsider, slug=archived.project.slug)


def test_nothing_begins_in_it_whoever_asks(archived: Team) -> None:
    project, administrator = archived.project, archived.administrator
    claim = Claim.objects.get()
    with pytest.raises(Conflict, match="archived"):
        load_slot_work(actor=archived.annotator, public_id=claim.slot.public_id)
    for change in (
        lambda: append_event(actor=None, project=project, kind="project.changed"),
        lambda: start_job(actor=administrator, project=project, kind="import", parameters={}),
        lambda: publish_guideline(actor=administrator, project=project, text="New", seen=0),
        lambda: claim_next(actor=archived.senior, project=project),
        lambda: claim_next(actor=archived.annotators[1], project=project),
    ):
        with pytest.raises((IntegrityError, DomainError)), transaction.atomic():
            change()
    assert Claim.objects.get() == claim
    # What only looks at it or ends something is written.
    run(start_check(actor=administrator, project=project).pk)
    assert write_checkpoint(project=project, rest=timedelta(0)) is not None
    assert list(history_problems(project)) == []
    # Others are not affected.
    append_event(actor=None, project=make_team().project, kind="project.changed")


def test_restoring_undoes_it_exactly(archived: Team) -> None:
    Claim.objects.update(expires_at=timezone.now() - timedelta(minutes=5))
    assert expire_overdue() == 0
    hours = timedelta(hours=3)
    Project.objects.update(archived_at=timezone.now() - hours)
    before = Claim.objects.get()
    project = restore_project(actor=archived.administrator, project=archived.project)
    assert restore_project(actor=archived.administrator, project=project).archived_at is None
    after = Claim.objects.get()
    assert after.state == ClaimState.LIVE
    assert hours <= after.expires_at - before.expires_at < hours + timedelta(minutes=1)
    assert not ArchivedProject.objects.exists()
    assert load_slot_work(actor=archived.annotator, public_id=after.slot.public_id).claim == after
    assert claim_next(actor=archived.annotators[1], project=project) is not None
    kinds = Event.objects.filter(project=project, dialogue=None).values_list("kind", flat=True)
    assert {"project.archived", "project.restored"} <= set(kinds)


def test_nobody_joins_an_archived_project() -> None:
    team = make_team()
    _invitation, secret = create_invitation(actor=team.administrator, project=team.project, roles=["annotator"])
    archive_project(actor=team.administrator, project=team.project)
    with pytest.raises(Hidden):
        accept_invitation(actor=team.outsider, secret=secret)
    restore_project(actor=team.administrator, project=team.project)
    assert accept_invitation(actor=team.outsider, secret=secret) == team.project


def test_the_database_s_refusal_reaches_people_as_a_sentence(client: Client, archived: Team) -> None:
    api = ApiClient(archived.administrator)
    slug = archived.project.slug
    assert refusal(api.send(f"/api/projects/{slug}/guideline/versions/", {"text": "x", "seen": 0})) == (409, "conflict")
    assert api.send(f"/api/projects/{slug}/restore/").json()["archived_at"] is None
    assert api.send(f"/api/projects/{slug}/archive/").json()["archived_at"] is not None
    client.force_login(archived.administrator)
    page = client.get(f"/p/{slug}/archive/").content.decode()
    assert "1 item is still claimed" in " ".join(page.split())
    assert "can be read" in page
    assert client.post(f"/p/{slug}/archive/", {"do": "restore"}).status_code == 302
    assert client.post(f"/p/{slug}/archive/", {"do": "archive"}).status_code == 302
    assert client.post(f"/p/{slug}/archive/").status_code == 422
