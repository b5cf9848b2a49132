"""Verified toolsets in a release: in the neutral format, without entries, and imported again as they were."""

import json
import zipfile

import pytest

from annotator.models import Dialogue
from annotator.services.jobs import jobs
from benchmark.core.archives.verifying import verify_archive
from benchmark.models import LeftOutDialogue
from benchmark.services.releases.requests import archive_path
from tests.annotator.toolset_documents import described_toolset
from tests.benchmark.conftest import as_lines, begin_import, counters, fresh, make_verified, run_release
from tests.factories import Team, adopt_c3, make_team, make_toolset

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_a_toolset_is_released_without_entries_and_read_again(team: Team) -> None:
    make_verified(team, "ferries", described_toolset(), toolset=make_toolset(team.project, [], "none"))
    make_verified(team, "weather")
    release = run_release(team)
    assert release.frozen["counts"]["dialogues"] == 2
    assert release.frozen["counts"]["entries"] == 1
    path = archive_path(release)
    assert verify_archive(path).problems == []
    with zipfile.ZipFile(path) as archive:
        names = {name.rpartition("/")[2]: name for name in archive.namelist()}
        lines = archive.read(next(names[name] for name in names if name.startswith("dialogues"))).splitlines()
        rows = [json.loads(line) for line in lines]
    (record,) = [row for row in rows if row["id"] == "ferries"]
    assert record["document"] == described_toolset()
    other = make_team(annotators=3, seniors=1)
    adopt_c3(other)
    batch = begin_import(other, as_lines([record]))
    jobs.run(batch.job_id)
    assert counters(fresh(batch))[:2] == (1, 1)
    assert Dialogue.objects.get(project=other.project).head.document() == described_toolset()


def test_other_formats_leave_toolsets_out(team: Team) -> None:
    make_verified(team, "ferries", described_toolset(), toolset=make_toolset(team.project, [], "none"))
    make_verified(team, "weather")
    release = run_release(team, native_format="openai")
    (left_out,) = LeftOutDialogue.objects.filter(release=release)
    assert left_out.reason.startswith("The format openai cannot represent toolsets.")
