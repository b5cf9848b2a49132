"""Custom fields in a release: the labels in its documents, and the questions in its card."""

import pytest

from annotator.services.custom_fields import set_fields
from benchmark.core.archives.verifying import verify_archive
from benchmark.services.releases.requests import archive_path
from tests.annotator.core.test_custom_fields import FIELDS
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.releases.test_releases import lines, members
from tests.factories import Team, make_document

pytestmark = pytest.mark.django_db


def test_labels_are_published_with_the_questions_that_they_answer(team: Team) -> None:
    fields = [field | {"required": False} for field in FIELDS]
    set_fields(actor=team.administrator, project=team.project, fields=fields, seen=0)
    make_verified(team, "a", document=make_document() | {"labels": {"quality": 4}})
    release = run_release(team)
    files = members(release)
    (record,) = lines(files["dialogues.jsonl"])
    assert record["document"]["labels"] == {"quality": 4}
    card = files["README.md"].decode()
    assert "| `difficulty` | How hard is it? | choice | task | easy, hard |" in card
    assert "| `quality` | Quality | scale | dialogue | 1 to 5 |" in card
    assert verify_archive(archive_path(release)).problems == []
