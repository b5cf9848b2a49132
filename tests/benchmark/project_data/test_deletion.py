"""A deletion leaves nothing of a project but a row that says so, and everything of all others."""

import itertools
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, connections, transaction
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Job, Notice, Project, ProjectDeletion, Role, User
from annotator.services.access.permissions import load_project
from annotator.services.archiving import archive_project, restore_project
from annotator.services.history.events import append_event
from annotator.services.integrity.checkpoints import write_checkpoint, write_checkpoints
from annotator.services.integrity.history_checks import history_problems
from annotator.services.jobs.jobs import run
from benchmark.models import ErrataLink, Erratum, SharedBoard
from benchmark.services.project_data import deletion as deleting
from benchmark.services.project_data.deletion import (
    GRACE_DAYS,
    cancel_deletion,
    delete_due_projects,
    plan_deletion,
)
from benchmark.services.project_data.export import export_path, start_export
from benchmark.services.project_data.tables import project_tables
from tests.access_project import make_access_project, store_files
from tests.api_client import ApiClient, refusal
from tests.factories import Team, adopt_c3, begin, claim_and_submit, give_role, make_dialogue, make_team, make_user

pytestmark = pytest.mark.django_db


def closed(team: Team) -> Team:
    """Archive a team's project without public links, and export it."""
    SharedBoard.objects.filter(release__project=team.project).delete()
    ErrataLink.objects.filter(release__project=team.project).delete()
    Job.objects.filter(project=team.project).exclude(state="done").update(state="done", ended_at=timezone.now())
    team.project = archive_project(actor=team.administrator, project=team.project)
    run(start_export(actor=team.administrator, project=team.project).pk)
    return team


def planned(team: Team, *, due: bool = True) -> ProjectDeletion:
    deletion = plan_deletion(actor=team.administrator, project=team.project, name=team.project.name)
    if due:
        ProjectDeletion.objects.filter(pk=deletion.pk).update(due_at=timezone.now() - timedelta(minutes=1))
    return deletion


def counts(project_id: int) -> dict[str, int]:
    return {table.label: table.rows(project_id).count() for table in project_tables()}


def test_it_needs_an_archive_no_links_an_export_and_the_name() -> None:
    access = make_access_project()
    team = access.team
    ask = {"actor": team.administrator, "project": team.project}
    with pytest.raises(Conflict, match="Archive the project first"):
        plan_deletion(**ask, name=team.project.name)
    Job.objects.exclude(state="done").update(state="done", ended_at=timezone.now())
    archive_project(**ask)
    with pytest.raises(Conflict, match=r"Public links are open for these releases: 1\.0"):
        plan_deletion(**ask, name=team.project.name)
    restore_project(**ask)
    SharedBoard.objects.all().delete()
    ErrataLink.objects.all().delete()
    run(start_export(**ask).pk)
    archive_project(**ask)
    with pytest.raises(Conflict, match="no export since"):
        plan_deletion(**ask, name=team.project.name)
    run(start_export(**ask).pk)
    with pytest.raises(Invalid, match="Type the name"):
        plan_deletion(**ask, name="something else")
    with pytest.raises(Denied):
        plan_deletion(actor=team.senior, project=team.project, name=team.project.name)
    deletion = plan_deletion(**ask, name=team.project.name)
    assert plan_deletion(**ask, name=team.project.name) == deletion
    assert deletion.due_at - deletion.created_at == timedelta(days=GRACE_DAYS)


def test_its_name_is_compared_as_people_see_it_and_other_administrators_are_notified() -> None:
    team = make_team()
    other = give_role(team.project, make_user("other"), Role.ADMINISTRATOR)
    # An accent as a character of its own, and two spaces, which a page shows as one.
    Project.objects.update(name="Caf\u0065\u0301  au lait")
    ask = {"actor": team.administrator, "project": closed(team).project}
    for wrong in ("", "Cafe au lait", "caf\u00e9 au lait", "Caf\u00e9 aulait"):
        with pytest.raises(Invalid, match="Type the name"):
            plan_deletion(**ask, name=wrong)
    plan_deletion(**ask, name=" Caf\u00e9 au lait ")
    notice = Notice.objects.get(kind="alarm")
    assert (notice.person, notice.target) == (other, f"/p/{team.project.slug}/archive/")
    assert "has planned the deletion of the project" in notice.text


def test_it_can_be_cancelled_until_it_starts() -> None:
    team = closed(make_team())
    planned(team, due=False)
    assert delete_due_projects() == 0
    with pytest.raises(Conflict, match="Cancel it first"):
        restore_project(actor=team.administrator, project=team.project)
    with pytest.raises(Denied):
        cancel_deletion(actor=team.senior, project=team.project)
    cancel_deletion(actor=team.administrator, project=team.project)
    cancel_deletion(actor=team.administrator, project=team.project)
    # A task that listed it before.
    late = ProjectDeletion(pk=0, project_key=team.project.pk)
    assert deleting._go_on(late, 1) == 0
    assert not ProjectDeletion.objects.exists()
    assert restore_project(actor=team.administrator, project=team.project).archived_at is None
    kinds = set(Event.objects.filter(project=team.project).values_list("kind", flat=True))
    assert {"project.deletion_planned", "project.deletion_cancelled"} <= kinds


def test_nothing_of_it_is_left_and_everything_of_the_others() -> None:
    access = make_access_project()
    store_files()
    team, neighbour = access.team, Project.objects.get(slug=access.neighbour_slug)
    other = make_team("other")
    adopt_c3(other)
    (item,) = begin(other.project, [make_dialogue(other.project)])
    claim_and_submit(other.annotator, item, "approve")
    write_checkpoint(project=other.project, rest=timedelta(0))
    closed(team)
    kept = {project: counts(project) for project in (other.project.pk, neighbour.pk)}
    assert not [label for label, count in counts(team.project.pk).items() if not count and label in _BEHIND]
    people = User.objects.count()
    export = Job.objects.get(project=team.project, kind="project_export")
    export_path(export).with_name(f".{export.public_id}.zip.12ab.part").write_bytes(b"what a killed worker left")
    planned(team)
    assert delete_due_projects() == 1
    assert set(counts(team.project.pk).values()) == {0}
    assert {project: counts(project) for project in kept} == kept
    assert list(history_problems(other.project)) == []
    assert User.objects.count() == people
    row = ProjectDeletion.objects.get()
    assert (row.slug, row.person, row.ended_at is not None) == (access.slug, team.administrator, True)
    assert not [file for file in Path(settings.MEDIA_ROOT).rglob("*") if file.is_file()]
    with pytest.raises(Hidden):
        load_project(actor=team.administrator, slug=access.slug)
    assert delete_due_projects() == 0
    with connection.cursor() as cursor:
        connection.check_constraints()
        cursor.execute("SELECT count(*) FROM annotator_event WHERE project_id = %s", [team.project.pk])
        assert cursor.fetchone() == (0,)


#: Tables of which the project must have rows, so that the test says something.
_BEHIND = {
    "annotator.event", "annotator.revision", "annotator.webhookdelivery", "reviews.review", "reviews.golditem",
    "reviews.claim", "benchmark.score", "benchmark.baselineentry", "benchmark.erratumreport", "benchmark.releaseitem",
}  # fmt: skip


def test_it_goes_on_after_it_was_killed_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    team = closed(make_access_project().team)
    planned(team)
    monkeypatch.setattr(deleting, "PORTION", 2)
    monkeypatch.setattr(deleting, "MAX_PORTIONS", 7)
    sizes = [sum(counts(team.project.pk).values())]
    for _run in itertools.count():
        if delete_due_projects():
            break
        write_checkpoints(rest=timedelta(0))
        sizes.append(sum(counts(team.project.pk).values()))
        assert _run < 500
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 5
    assert set(counts(team.project.pk).values()) == {0}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_killed_processes_delete_everything_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    team = closed(make_access_project().team)
    planned(team)
    monkeypatch.setattr(deleting, "PORTION", 5)
    raw_delete = QuerySet._raw_delete

    def delete_and_die(rows: QuerySet[Any], using: str) -> int:
        # In the transaction: this portion is rolled back.
        left.pop()
        return raw_delete(rows, using) if left else os._exit(9)

    for portions in itertools.count(1, 6):
        left = [1] * portions
        connections.close_all()
        child = os.fork()
        if not child:
            monkeypatch.setattr(QuerySet, "_raw_delete", delete_and_die)
            try:
                delete_due_projects()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            break
        assert ProjectDeletion.objects.get().ended_at is None
    assert portions > 20
    assert ProjectDeletion.objects.get().ended_at is not None
    assert set(counts(team.project.pk).values()) == {0}


def test_it_waits_for_jobs_and_cannot_be_cancelled_once_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    team = closed(make_team())
    planned(team)
    job = start_export(actor=team.administrator, project=team.project)
    assert delete_due_projects() == 0
    assert ProjectDeletion.objects.get().started_at is None
    run(job.pk)
    monkeypatch.setattr(deleting, "MAX_PORTIONS", 1)
    delete_due_projects()
    assert ProjectDeletion.objects.get().started_at is not None
    with pytest.raises((Conflict, Hidden)):
        cancel_deletion(actor=team.administrator, project=team.project)


@pytest.mark.postgres
def test_the_guards_let_only_a_started_deletion_pass() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no guard against deletion")
    one, two = closed(make_team("one")), make_team("two")
    append_event(actor=None, project=two.project, kind="test.happened")
    planned(one)

    def try_to_delete(team: Team) -> None:
        with transaction.atomic():
            Event.objects.filter(project=team.project).delete()

    for team in (one, two):
        with pytest.raises(IntegrityError, match="append-only"):
            try_to_delete(team)
    ProjectDeletion.objects.update(started_at=timezone.now())
    try_to_delete(one)
    with pytest.raises(IntegrityError, match="append-only"):
        try_to_delete(two)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Event.objects.filter(project=two.project).update(kind="test.changed")
    assert not Erratum.objects.exists()


def test_pages_and_programs_plan_and_cancel_it(client: Client) -> None:
    team = closed(make_team())
    api, slug = ApiClient(team.administrator), team.project.slug
    client.force_login(team.administrator)
    page = client.post(f"/p/{slug}/archive/", {"do": "delete", "name": "wrong"})
    assert page.status_code == 422
    assert "Type the name of the project" in page.content.decode()
    assert client.post(f"/p/{slug}/archive/", {"do": "delete", "name": team.project.name}).status_code == 302
    assert "Cancel deletion" in client.get(f"/p/{slug}/archive/").content.decode()
    assert api.get(f"/api/projects/{slug}/deletion/").json()["person"] == team.administrator.public_id
    assert api.delete(f"/api/projects/{slug}/deletion/").status_code == 204
    assert refusal(api.get(f"/api/projects/{slug}/deletion/")) == (404, "not_found")
    assert api.send(f"/api/projects/{slug}/deletion/", {"name": team.project.name}).status_code == 201
    assert client.post(f"/p/{slug}/archive/", {"do": "keep"}).status_code == 302
    assert not ProjectDeletion.objects.exists()
