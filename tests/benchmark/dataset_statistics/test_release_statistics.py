"""Statistics of a release: frozen with it, in its page, card, manifest and API, the same whenever it is built."""

from json import loads
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import ToolsetCategory
from benchmark.core.archives.verifying import verify_archive
from benchmark.services.releases.building import build_archive
from benchmark.services.releases.requests import archive_path
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.releases.test_entry_files import members_of
from tests.factories import Team, make_document, make_toolset

pytestmark = pytest.mark.django_db


def test_a_release_has_its_statistics_and_is_built_with_them_again(team: Team, tmp_path: Path) -> None:
    document = make_document(tasks=3)
    document["tasks"][0]["user_message"] = "| find me a *ferry* in Ghent"
    make_verified(team, "a", document=document)
    make_verified(team, "b", document=make_document("two"))
    release = run_release(team)
    path = archive_path(release)
    files = members_of(path)
    found = loads(files["manifest.json"])["statistics"]
    assert (found["dialogues"], found["dialogues_by_tasks"]) == (2, [[1, 1], [3, 1]])
    card = files["README.md"].decode()
    assert "## Dataset statistics" in card
    assert "| English: user's request, characters | 4 |" in card
    assert "requests by form: question 2, command 1, other 1." in card
    assert verify_archive(path).problems == []

    # What changes later changes neither the release nor its archive.
    toolset = make_toolset(team.project).toolset
    toolset.category = ToolsetCategory.objects.create(project=team.project, name="Skies")
    toolset.save()
    release.refresh_from_db()
    build_archive(release, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == path.read_bytes()

    client = Client()
    client.force_login(team.annotator)
    where = [team.project.slug, release.public_id]
    assert reverse("release-statistics", args=where) in client.get(reverse("release-detail", args=where)).text
    assert "Lexical diversity" in client.get(reverse("release-statistics", args=where)).text
    assert client.get(reverse("api-release-statistics", args=where)).json() == {"statistics": found}

    # A release from before there were statistics is built as it was, and its page says why it has none.
    del release.frozen["statistics"]
    release.save()
    build_archive(release, tmp_path / "older.zip")
    older = members_of(tmp_path / "older.zip")
    assert "statistics" not in loads(older["manifest.json"])
    assert "## Dataset statistics" not in older["README.md"].decode()
    assert "No statistics" in client.get(reverse("release-statistics", args=where)).text
