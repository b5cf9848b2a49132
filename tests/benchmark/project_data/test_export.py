"""An export has every row and every file of one project, and no secret."""

import hashlib
import io
import json
import zipfile
from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from annotator.errors import Conflict, Denied, Hidden
from annotator.models import Event, Job, Project
from annotator.services.archiving import archive_project
from annotator.services.jobs.jobs import run
from benchmark.services.project_data.export import (
    LEFT_OUT,
    complete_export,
    export_since_archived,
    load_export,
    start_export,
)
from benchmark.services.project_data.tables import project_tables
from tests.access_project import AccessProject, access, module_access
from tests.api_client import ApiClient
from tests.factories import Team, make_dialogue, make_team

__all__ = ["access", "module_access"]

pytestmark = pytest.mark.django_db

#: Tables of people, and of results that all projects share.
OF_NO_PROJECT = {
    "annotator.apitoken", "annotator.attemptcount", "annotator.digest", "annotator.execution",
    "annotator.noticesettings", "annotator.periodictask", "annotator.projectdeletion", "annotator.trialrows",
    "annotator.user",
    "annotator.user_groups", "annotator.user_user_permissions", "annotator.validatortrial",
}  # fmt: skip


def exported(team: Team) -> zipfile.ZipFile:
    run(start_export(actor=team.administrator, project=team.project).pk)
    path, _name, sha256 = load_export(actor=team.administrator, project=team.project)
    raw = path.read_bytes()
    assert hashlib.sha256(raw).hexdigest() == sha256
    return zipfile.ZipFile(io.BytesIO(raw))


def lines(archive: zipfile.ZipFile, name: str) -> list[Any]:
    return [json.loads(line) for line in archive.read(name).splitlines()]


@pytest.mark.any_database
def test_every_table_belongs_to_projects_or_is_known_not_to() -> None:
    labels = {
        model._meta.label_lower
        for name in ("annotator", "reviews", "benchmark")
        for model in apps.get_app_config(name).get_models(include_auto_created=True)
    }
    tables = project_tables()
    assert {table.label for table in tables} | OF_NO_PROJECT == labels
    assert len(tables) == len({table.label for table in tables})
    secret = ("secret", "token", "password", "hint")
    for table in tables:
        for field in table.model._meta.concrete_fields:
            if field.name in secret or "secret_hash" in field.name:
                assert field.name in LEFT_OUT[table.label], (table.label, field.name)


@pytest.mark.any_database
def test_it_has_all_rows_files_and_checksums_and_no_secret(access: AccessProject) -> None:
    team = access.team
    elsewhere = make_dialogue(make_team("other").project, external_id="elsewhere")
    archive = exported(team)
    manifest = json.loads(archive.read("manifest.json"))
    for file in manifest["files"]:
        raw = archive.read(file["path"])
        assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (file["sha256"], file["bytes"])
    listed = {file["path"] for file in manifest["files"]} | {"manifest.json"}
    assert set(archive.namelist()) == listed
    for table in project_tables():
        if table.label == "annotator.apitoken_projects":
            continue
        rows = lines(archive, f"tables/{table.label}.jsonl")
        # The end of the export is an event and a notice of its own.
        later = table.label in ("annotator.event", "annotator.notice")
        assert len(rows) == table.rows(team.project.pk).count() - later, table.label
    everything = "".join(archive.read(name).decode(errors="replace") for name in archive.namelist())
    assert elsewhere.external_id not in everything
    for secret in ("secret", "shared", "shared_errata", "claim"):
        assert access.ids[secret] not in everything
    people = {person["id"]: person for person in lines(archive, "people.jsonl")}
    assert people[team.annotator.pk]["pseudonym"] == team.annotator.pseudonym
    assert "example.org" not in archive.read("people.jsonl").decode()
    (release,) = lines(archive, "tables/benchmark.release.jsonl")
    assert hashlib.sha256(archive.read(f"files/{release['archive']}")).hexdigest() == release["sha256"]
    revisions = lines(archive, "tables/annotator.revision.jsonl")
    assert all(hashlib.sha256(row["content"].encode()).hexdigest() == row["content_hash"] for row in revisions)


def test_only_administrators_start_and_download_it_and_the_newest_is_kept() -> None:
    team = make_team()
    with pytest.raises(Denied):
        start_export(actor=team.senior, project=team.project)
    with pytest.raises(Hidden):
        load_export(actor=team.administrator, project=team.project)
    first = start_export(actor=team.administrator, project=team.project)
    assert start_export(actor=team.administrator, project=team.project) == first
    with pytest.raises(Conflict, match="still being written"):
        load_export(actor=team.administrator, project=team.project)
    run(first.pk)
    archive_project(actor=team.administrator, project=team.project)
    project = Project.objects.get(pk=team.project.pk)
    assert complete_export(project) == first
    # What was exported before the project was archived may lack the last changes.
    assert export_since_archived(project) is None
    second = start_export(actor=team.administrator, project=project)
    run(second.pk)
    assert export_since_archived(project) == second
    assert Event.objects.filter(project=project, kind="job.done").count() == 2
    with pytest.raises(Denied):
        load_export(actor=team.senior, project=project)


def test_pages_and_programs_export_and_download(client: Client) -> None:
    team = make_team()
    slug = team.project.slug
    client.force_login(team.administrator)
    assert client.post(f"/p/{slug}/archive/", {"do": "export"}).status_code == 302
    api = ApiClient(team.administrator)
    assert api.get(f"/api/projects/{slug}/export/").json()["job"]["state"] == "queued"
    run(Job.objects.get(project=team.project).pk)
    assert "Download" in client.get(f"/p/{slug}/archive/").content.decode()
    page = client.get(f"/p/{slug}/export.zip")
    program = api.get(f"/api/projects/{slug}/export/archive/")
    assert b"".join(page.streaming_content) == b"".join(program.streaming_content)
    assert page["ETag"] == program["ETag"]
    assert api.send(f"/api/projects/{slug}/export/").json()["job"]["state"] == "queued"
    client.force_login(team.senior)
    assert client.get(f"/p/{slug}/export.zip").status_code == 403
