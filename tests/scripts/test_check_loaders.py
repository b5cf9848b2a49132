"""``make loaders``: what a library read is compared with the files of the release."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from scripts import check_loaders
from scripts.check_loaders import LOADERS, Row, Stop


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A release of two dialogues, of which one has answers to custom fields, with what the check reads of it."""
    span = {"start": 0, "end": 2, "text": "on"}
    task = {"id": "t1", "labels": {"words": [span]}, "steps": [{"id": "s0", "type": "answer", "labels": {"main": "x"}}]}
    documents = [{"labels": {"quality": 4}, "tasks": [task]}, {"tasks": []}]
    files = {
        "dialogues.jsonl": [
            {"id": name, "language": "en", "document": document, "canary": "c"}
            for name, document in zip("ab", documents, strict=True)
        ],
        "items.jsonl": [{"id": name, "revision_sha256": sha256(name)} for name in "ab"],
        "wild.jsonl": [{"id": name, "text": "one\u2028two"} for name in "ab"],
    }
    manifest = {
        "project": "p", "version": "1", "format": "wild",
        "files": [{"path": "wild.jsonl", "format": "wild"}, {"path": "items.jsonl", "format": None}],
    }  # fmt: skip
    path = tmp_path / "release.zip"
    with zipfile.ZipFile(path, "w") as out:
        for name, rows in files.items():
            out.writestr(f"r/{name}", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        out.writestr("r/manifest.json", json.dumps(manifest))
        out.writestr("r/data/default/verified.parquet", b"")
    return path


def test_every_row_is_compared(archive: Path, tmp_path: Path) -> None:
    (release,) = check_loaders.unpack([archive], tmp_path / "out")
    manifest = json.loads((release / "manifest.json").read_text())
    records = [json.dumps({"id": name, "text": "one\u2028two"}, ensure_ascii=False) for name in "ab"]
    entry = {"id": "a#0", "task": 0, "reference": [{"action": {}}]}
    (release / "entries.jsonl").write_text(f"{json.dumps(entry)}\n")
    entries = [["a#0", sha256('{"id": "a#0", "reference": [{"action": {}}], "task": 0}')]]
    default = [[name, sha256(name)] for name in "ab"]
    wild = [[name, sha256(record)] for name, record in zip("ab", records, strict=True)]
    rows = [
        ("", "dialogue", "quality", {"number": 4}),
        ("/tasks/t1", "task", "words", {"spans": [{"start": 0, "end": 2, "text": "on"}]}),
        ("/tasks/t1/steps/s0", "answer", "main", {"text": "x"}),
    ]
    blank = {"id": "a", "language": "en", "canary": "c", "text": None, "number": None, "values": None, "spans": None}
    labels = [
        ["a", sha256(json.dumps(blank | {"place": place, "scope": scope, "field": field} | value, sort_keys=True))]
        for place, scope, field, value in rows
    ]

    def differs(**tables: list[list[str]]) -> str:
        whole = {"default": default, "wild": wild, "entries": entries, "labels": labels}
        return check_loaders._compare(whole | tables, release, manifest, LOADERS[0])

    assert differs() == ""
    words = "has the tables ['default', 'entries', 'extra', 'labels', 'wild'] instead of"
    assert differs(extra=[]) == f"{words} ['default', 'entries', 'labels', 'wild']"
    assert differs(default=default[:1]) == "default: 1 rows instead of 2"
    assert differs(wild=[wild[0], ["b", sha256("x")]]).startswith("wild: row 2 has b, with other content")
    assert differs(entries=default[:1]).startswith("entries: row 1 has a, with other")
    assert differs(labels=[labels[0], labels[2], labels[1]]).startswith("labels: row 2 has a, with other")


def test_a_problem_is_shown_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row("polars", "1.0", "p 1", 4, ""), Row("pandas", "", "p 1", 0, "KeyError: 'id'")]
    assert check_loaders.report(rows) == 1
    last, failed = capsys.readouterr().out.splitlines()[1:]
    assert (last.split()[-1], failed.endswith("KeyError: 'id'")) == ("ok", True)


def test_without_a_network_or_a_release_the_check_says_so(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\necho 'error: Failed to fetch: https://registry.example/polars' >&2\nexit 2\n")
    uv.chmod(0o755)
    monkeypatch.setattr(check_loaders.sys, "executable", str(uv.with_name("python")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(Stop, match=r"could not be installed\. There is no network"):
        check_loaders.install(LOADERS[0])
    with pytest.raises(Stop, match=r"Can't read .*: No such file"):
        check_loaders.unpack([tmp_path / "gone.zip"], tmp_path / "out")
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("manifest.json", "{}")
    with pytest.raises(Stop, match="is not a release with tables"):
        check_loaders.unpack([archive], tmp_path / "old")
