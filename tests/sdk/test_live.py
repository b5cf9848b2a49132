"""The Python package against the real server."""

from pathlib import Path

import pytest

from annotator.models import Job, JobState
from annotator.services.accounts.tokens import create_token
from annotator.services.jobs import jobs
from tests.conftest import ROOT
from tests.factories import adopt_c3, make_team

EXAMPLES = ROOT / "benchmark" / "core" / "formats" / "examples"

try:
    import assay
except ModuleNotFoundError:
    pytest.skip("NOT TESTED: the Python package: httpx is not installed", allow_module_level=True)


@pytest.mark.django_db(transaction=True)
def test_files_are_imported_and_their_dialogues_read_page_by_page(live_server, settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    team = make_team()
    adopt_c3(team)
    _, secret = create_token(actor=team.administrator, name="sdk", expires_at=None)
    with assay.Client(live_server.url, secret) as client:
        project = client.project(client.projects()[0]["slug"])
        created = []
        for name in ("sharegpt", "otlp"):
            job = project.import_file(EXAMPLES / f"{name}.jsonl", format=name)
            for queued in Job.objects.filter(state=JobState.QUEUED):
                jobs.run(queued.pk)
            created.append(job.wait(timeout=30)["created"])
        assert created == [2, 2]
        rows = list(project.dialogues(size="1"))
        assert len(rows) == 4
        assert project.dialogue(rows[0]["public_id"])["external_id"] == "trains-1"
        with pytest.raises(assay.NotFound):
            client.project("unknown").statistics()
