"""Custom fields in a release: the labels in its documents, and the questions in its card."""

import io
from json import loads
from pathlib import Path

import pytest
from pyarrow import parquet

from annotator.services.custom_fields import set_fields
from benchmark.core.archives.verifying import verify_archive
from benchmark.services.releases.building import build_archive
from benchmark.services.releases.requests import archive_path
from tests.annotator.core.test_custom_fields import FIELDS, labelled
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.releases.test_entry_files import members_of, sealed
from tests.benchmark.releases.test_releases import lines
from tests.factories import Team, make_document

pytestmark = pytest.mark.django_db


def test_labels_are_published_with_the_questions_that_they_answer(team: Team, tmp_path: Path) -> None:
    fields = [field | {"required": False} for field in FIELDS]
    set_fields(actor=team.administrator, project=team.project, fields=fields, seen=0)
    span = {"start": 0, "end": 4, "text": "What"}
    document = labelled({"difficulty": "hard", "evidence": [span]}, make_document())
    document["tasks"][0]["steps"][0]["labels"] = {"why": ["long", "vague"]}
    make_verified(team, "a", document=document | {"labels": {"quality": 4}})
    release = run_release(team)
    files = members_of(archive_path(release))
    (record,) = lines(files["dialogues.jsonl"])
    assert record["document"]["labels"] == {"quality": 4}
    card = files["README.md"].decode()
    assert "| `difficulty` | How hard is it? | choice | task | easy, hard |" in card
    assert "| `quality` | Quality | scale | dialogue | 1 to 5 |" in card
    assert verify_archive(archive_path(release)).problems == []
    answers = parquet.read_table(io.BytesIO(files["data/labels/verified.parquet"])).to_pylist()
    found = [(one["place"], one["field"], one["text"], one["number"], one["values"], one["spans"]) for one in answers]
    assert found == [
        ("", "quality", None, 4, None, None),
        ("/tasks/t1", "difficulty", "hard", None, None, None),
        ("/tasks/t1", "evidence", None, None, None, '[{"end":4,"start":0,"text":"What"}]'),
        ("/tasks/t1/steps/s0", "why", None, None, ["long", "vague"], None),
    ]
    [records] = [one for one in loads(files["croissant.json"])["recordSet"] if one["name"] == "labels"]
    [field] = [one for one in records["field"] if one["name"] == "field"]
    assert "difficulty: How hard is it? (easy: Easy, hard: Hard)" in field["description"]
    assert "quality: Quality (1 to 5)" in field["description"]

    # The layout before had no such table, and is built as it was.
    release.frozen["layout"] = 3
    build_archive(release, tmp_path / "old.zip")
    older = members_of(tmp_path / "old.zip")
    assert files.keys() - older.keys() == {"data/labels/verified.parquet"}
    assert b"labels" not in older["croissant.json"]
    assert verify_archive(tmp_path / "old.zip").problems == []
    del files["data/labels/verified.parquet"]
    (problem,) = verify_archive(sealed(tmp_path / "less.zip", files)).problems
    assert "data/labels/verified.parquet is missing, but the documents have rows for it" in problem
