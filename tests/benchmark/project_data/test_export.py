"""An export has every row and every file of one project, and no secret."""

import hashlib
import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.apps import apps
from django.db.models import CharField, FileField, Model, TextField
from django.test import Client

from annotator.errors import Conflict, Denied, Hidden
from annotator.models import Event, Job, Project, Revision, Webhook
from annotator.services.archiving import archive_project, restore_project
from annotator.services.jobs.jobs import Lost, Running, run
from benchmark.services.inference.endpoints import add_endpoint
from benchmark.services.project_data import export as exporting
from benchmark.services.project_data.export import (
    LEFT_OUT,
    complete_export,
    export_since_archived,
    load_export,
    start_export,
)
from benchmark.services.project_data.tables import FILE_COLUMNS, project_tables
from tests.access_project import AccessProject, access, module_access
from tests.api_client import ApiClient
from tests.factories import Team, make_dialogue, make_dialogues, make_team

__all__ = ["access", "module_access"]

pytestmark = pytest.mark.django_db

#: Tables of people, and of results that all projects share.
OF_NO_PROJECT = {
    "annotator.apitoken", "annotator.attemptcount", "annotator.cacheentry", "annotator.dailysize",
    "annotator.digest", "annotator.execution", "annotator.installedversion",
    "annotator.noticesettings", "annotator.periodictask", "annotator.projectdeletion", "annotator.trialrows",
    "annotator.securityevent", "annotator.user",
    "annotator.user_groups", "annotator.user_user_permissions", "annotator.validatortrial", "annotator.worker",
}  # fmt: skip
#: Names of columns that may have a secret, or the name of a file.
_MAYBE_SECRET = re.compile(r"secret|token|passw|credential|private|signature|salt|hint|url|[._]key$")
_MAYBE_FILE = re.compile(r"file$|path$|archive$|upload$|folder$")
#: Columns of these names that have neither: keys of counters, metadata, notices and replays, the checked address of an
#: endpoint, names of uploaded files.
_NO_SECRETS = {
    "annotator.dialoguemetadata.key", "annotator.notice.key", "annotator.replay.key", "benchmark.endpoint.base_url",
    "reviews.counter.key", "reviews.counterdelta.key", "reviews.workloadcount.key",
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


def texts() -> set[str]:
    """The columns of text of all project tables, such as ``annotator.project.name``."""
    return {
        f"{table.label}.{field.name}"
        for table in project_tables()
        for field in table.model._meta.concrete_fields
        if isinstance(field, CharField | TextField)
    }


@pytest.mark.any_database
def test_a_column_that_may_have_a_secret_or_a_file_is_known() -> None:
    """A new one belongs to LEFT_OUT or FILE_COLUMNS, or to the columns here that have neither."""
    left_out = {f"{label}.{name}" for label, names in LEFT_OUT.items() for name in names}
    assert {name for name in texts() if _MAYBE_SECRET.search(name)} - left_out == _NO_SECRETS
    assert left_out <= texts()
    assert {name for name in texts() if _MAYBE_FILE.search(name)} == {f"{label}.{name}" for label, name in FILE_COLUMNS}
    assert not [f for table in project_tables() for f in table.model._meta.fields if isinstance(f, FileField)]


@pytest.mark.any_database
def test_every_row_belongs_to_one_project_by_keys_that_are_never_empty(access: AccessProject) -> None:
    for table in project_tables():
        model: type[Model] = table.model
        for name in [] if table.path == "pk" else table.path.split("__"):
            field: Any = model._meta.get_field(name)
            assert not field.null, f"{table.label}.{table.path} leaves out rows without {name}"
            model = field.related_model
        rows = [table.rows(pk).count() for pk in Project.objects.values_list("pk", flat=True)]
        assert sum(rows) == table.model._base_manager.count(), table.label


@pytest.mark.any_database
def test_it_has_all_rows_files_and_checksums_and_no_secret(access: AccessProject) -> None:
    team = access.team
    key = "sk-of-the-endpoint"
    add_endpoint(
        actor=team.administrator, project=team.project, name="Ours", base_url="https://models.example.org/v1", key=key
    )
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
    # The address of a webhook often has a secret. Encrypted texts begin with the version of their format.
    for secret in (key, "gAAAAA", *Webhook.objects.values_list("url", flat=True)):
        assert secret not in everything
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


def test_rows_are_read_in_portions_of_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    team = make_team()
    make_dialogues(team.project, 7)
    rows = Revision.objects.filter(dialogue__project=team.project).order_by("pk")
    long = rows[3]
    Revision.objects.create(
        dialogue=long.dialogue, parent=long, number=2, toolset_revision=long.toolset_revision, content="é" * 50_000
    )
    keys = list(rows.values_list("pk", flat=True))
    size = len(long.content)
    monkeypatch.setattr(exporting, "_ROWS", 3)
    monkeypatch.setattr(exporting, "_LENGTH", 2 * size + 10)
    portions = list(exporting._portions(rows, ["content", "message"]))
    assert [[key for key in keys if first <= key <= last] for first, last in portions] == [
        keys[0:2], keys[2:3], keys[3:5], keys[5:6], keys[6:7], keys[7:8],
    ]  # fmt: skip
    archive = exported(team)
    assert [row["id"] for row in lines(archive, "tables/annotator.revision.jsonl")] == keys


def test_what_a_killed_export_left_is_removed_and_a_slow_one_replaces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    team = make_team()
    job = start_export(actor=team.administrator, project=team.project)
    Job.objects.filter(pk=job.pk).update(state="running", attempt=1)
    slow = exporting._Export.write

    def overtaken(self: Any) -> dict[str, int]:
        """Another worker takes the job over and ends it while this one sleeps."""
        monkeypatch.setattr(exporting._Export, "write", slow)
        counts = slow(self)
        Job.objects.filter(pk=job.pk).update(attempt=2)
        exporting._run(Running(job=Job.objects.select_related("project").get(pk=job.pk), attempt=2))
        return counts

    monkeypatch.setattr(exporting._Export, "write", overtaken)
    with pytest.raises(Lost):
        exporting._run(Running(job=Job.objects.select_related("project").get(pk=job.pk), attempt=1))
    assert [path.name for path in exporting.export_path(job).parent.iterdir()] == [f"{job.public_id}.zip"]


def test_an_export_of_a_project_that_is_restored_meanwhile_does_not_say_that_it_is_archived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    team = make_team()
    archive_project(actor=team.administrator, project=team.project)
    people = exporting._Export._people

    def restored(self: Any) -> Any:
        restore_project(actor=team.administrator, project=team.project)
        return people(self)

    assert json.loads(exported(team).read("manifest.json"))["archived_at"] is not None
    monkeypatch.setattr(exporting._Export, "_people", restored)
    assert json.loads(exported(team).read("manifest.json"))["archived_at"] is None
