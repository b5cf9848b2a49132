"""Quotas for the stored files of projects, and jobs that wait for room on the disk."""

import shutil
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from annotator.errors import OverQuota
from annotator.models import Event, JobState
from annotator.services import quotas
from annotator.services.jobs import jobs
from benchmark.models import ImportBatch
from benchmark.services.imports.requests import start_import
from benchmark.services.project_data.export import start_export
from benchmark.services.stored_files import full_path
from tests.api_client import ApiClient, refusal
from tests.factories import Team, make_team, make_user
from tests.racing import race

#: Two of these fit into a quota of 1 MB, three do not.
_FILE = b" " * 400_000


@pytest.fixture
def team(settings: Any, tmp_path: Any) -> Team:
    settings.MEDIA_ROOT = tmp_path
    return make_team()


def _import(team: Team, name: str) -> ImportBatch:
    return start_import(
        actor=team.administrator, project=team.project, filename=name, upload=ContentFile(_FILE), wake_worker=False
    )


@pytest.mark.django_db
def test_an_upload_beyond_the_quota_is_refused_before_it_is_stored(team: Team) -> None:
    operator, page = Client(), "/operator/projects/"
    operator.force_login(make_user("otto", is_staff=True))
    wrong = operator.post(f"{page}{team.project.slug}/quota/", {"quota_mb": "1.5"})
    assert (wrong.status_code, "whole number of MB" in wrong.content.decode()) == (422, True)
    assert operator.post(f"{page}nowhere/quota/", {"quota_mb": "1"}).status_code == 404
    assert operator.post(f"{page}{team.project.slug}/quota/", {"quota_mb": "1"}).status_code == 302
    assert Event.objects.get(kind="project.quota_changed").after == {"quota_mb": 1}
    team.project.refresh_from_db()

    for name in ("a.jsonl", "b.jsonl"):
        _import(team, name)
    assert quotas.storage_of(team.project) == quotas.Storage(800_000, 1_000_000)
    with pytest.raises(OverQuota, match=r"take up 0\.8 MB of the 1\.0 MB .* \(here: 0\.4 MB\)"):
        _import(team, "c.jsonl")
    client = Client()
    client.force_login(team.administrator)
    refused = client.post(
        f"/p/{team.project.slug}/imports/", {"file": ContentFile(_FILE, "c.jsonl"), "native_format": "neutral"}
    )
    assert (refused.status_code, "larger quota" in refused.content.decode()) == (413, True)
    program = ApiClient(team.administrator)
    answer = program.post(f"/api/projects/{team.project.slug}/imports/", {"file": ContentFile(_FILE, "c.jsonl")})
    assert refusal(answer) == (413, "over_quota")
    assert len(list(full_path("imports").iterdir())) == ImportBatch.objects.count() == 2
    # What is shown: 800 kB of 1 MB, in binary units.
    assert "781.2\xa0KB of 976.6\xa0KB" in client.get(f"/p/{team.project.slug}/settings/").content.decode()
    assert "781.2\xa0KB" in operator.get(page).content.decode()
    # A removed file no longer counts.
    ImportBatch.objects.filter(filename="a.jsonl").update(file="")
    _import(team, "c.jsonl")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_uploads_at_once_do_not_exceed_the_quota_together(team: Team) -> None:
    team.project.quota_mb = 1
    team.project.save(update_fields=["quota_mb"])

    def upload(number: int) -> Any:
        def act() -> Any:
            try:
                return _import(team, f"{number}.jsonl")
            except OverQuota as refusal:
                return refusal

        return act

    results = race(*(upload(number) for number in range(4)))
    assert sum(isinstance(one, ImportBatch) for one in results) == 2
    assert quotas.storage_of(team.project).used == 800_000


@pytest.mark.django_db
def test_an_export_waits_until_the_disk_has_room(team: Team, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DISK_RESERVE_MB = 100
    free = [99 << 20]
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free[0]))
    job = start_export(actor=team.administrator, project=team.project)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    assert "Waiting: the server’s disk is too full. The job will start when at least 100 MB are free." in job.error
    free[0] = 200 << 20
    done = jobs.run(job.pk)
    assert (done.state, done.error) == (JobState.DONE, "")
    assert quotas.storage_of(team.project).used == done.result["bytes"]
