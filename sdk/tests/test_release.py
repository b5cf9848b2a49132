"""Releases are read without trusting them."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import lines

RECORDS = [{"id": "d1", "tools": [{"name": "f"}]}, {"id": "d2", "n": 1.0}]
CONTENT = b"".join(json.dumps(one).encode() + b"\n" for one in RECORDS)


def entry(content: bytes, path: str = "dialogues.jsonl", **changes: Any) -> dict[str, Any]:
    return {"path": path, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)} | changes


def archive(path: Path, files: dict[str, bytes], *entries: dict[str, Any], root: str = "release-1.0/") -> Path:
    manifest = {"version": "1.0", "counts": {"items": 2}, "files": list(entries)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(f"{root}manifest.json", json.dumps(manifest))
        for name, content in files.items():
            made.writestr(root + name, content)
    return path


def test_a_release_is_compared_and_its_records_are_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"dialogues.jsonl": CONTENT}, entry(CONTENT))
    release = assay.load_release(path)
    assert (release.version, len(release), list(release), release.verify()) == ("1.0", 2, RECORDS, 1)
    assert isinstance(list(release)[1]["n"], float)
    with pytest.raises(assay.ReleaseError, match=r"has no openai\.jsonl\. It has dialogues\.jsonl\."):
        next(release.messages())
    with zipfile.ZipFile(path) as packed:
        packed.extractall(tmp_path / "unpacked")
    assert list(assay.load_release(tmp_path / "unpacked" / "release-1.0")) == RECORDS


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"bytes": len(CONTENT) - 1}, {"bytes": len(CONTENT) + 1}])
def test_a_changed_file_is_found_at_once_or_at_its_end(tmp_path: Path, change: dict[str, Any]) -> None:
    path = archive(tmp_path / "a.zip", {"dialogues.jsonl": CONTENT}, entry(CONTENT, **change))
    with pytest.raises(assay.ReleaseError, match="differs from its SHA-256"):
        assay.load_release(path)
    release = assay.load_release(path, verify=False)
    with pytest.raises(assay.ReleaseError, match="differs from its SHA-256"):
        list(release)


def test_a_bomb_is_read_no_further_than_its_size_in_the_manifest(tmp_path: Path) -> None:
    bomb = b"\n" * (64 << 20)
    path = archive(tmp_path / "a.zip", {"dialogues.jsonl": bomb}, entry(bomb, bytes=10))
    assert path.stat().st_size < 1 << 20
    pieces: list[bytes] = []
    release = assay.load_release(path, verify=False)
    with pytest.raises(assay.ReleaseError, match="differs"):
        pieces.extend(release._content("dialogues.jsonl"))
    assert sum(map(len, pieces)) <= 11


def test_a_line_has_a_bound_and_a_bad_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    with pytest.raises(assay.ReleaseError, match="is longer than"):
        list(lines.parse_lines([b"1" * 60, b"1" * 60], "x.jsonl"))
    for bad in (b"{", b"[1]", b"[" * 50):
        with pytest.raises(assay.ReleaseError, match=r"Line 3 of x\.jsonl is not a JSON object\."):
            list(lines.parse_lines([b"{}", b"\n\n" + bad], "x.jsonl"))
    assert list(lines.parse_lines([b'{"a"', b": 1}\r\n", b'{"a": 2}'], "x")) == [{"a": 1}, {"a": 2}]


def test_paths_do_not_leave_the_release(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(CONTENT)
    for name in ("../secret", "/etc/passwd", "..\\secret"):
        path = archive(tmp_path / "a.zip", {}, entry(CONTENT, name))
        with pytest.raises(assay.ReleaseError, match="leaves the release"):
            assay.load_release(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"files": [entry(CONTENT, "link")]}))
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(assay.ReleaseError, match="is a link out of the release"):
        assay.load_release(folder)


def test_what_is_no_release_is_refused_with_a_sentence(tmp_path: Path) -> None:
    cases = {
        "no zip": b"no zip",
        "no manifest": archive(tmp_path / "b.zip", {}, root="deeper/still/").read_bytes(),
    }
    for content in cases.values():
        (tmp_path / "a.zip").write_bytes(content)
        with pytest.raises(assay.ReleaseError, match=r"Download it again|no manifest\.json"):
            assay.load_release(tmp_path / "a.zip")
    for manifest in ("[]", "{", '{"files": [{"path": "x"}]}', '{"files": [{"path": 1, "sha256": "", "bytes": -1}]}'):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
            made.writestr("r/manifest.json", manifest)
        with pytest.raises(assay.ReleaseError, match="is not the manifest"):
            assay.load_release(tmp_path / "a.zip")
    with pytest.raises(assay.ReleaseError, match="There is no file"):
        assay.load_release(tmp_path / "nowhere.zip")
    damaged = archive(tmp_path / "a.zip", {"dialogues.jsonl": CONTENT * 50}, entry(CONTENT * 50)).read_bytes()
    middle = damaged.index(b"dialogues.jsonl") + 40
    (tmp_path / "a.zip").write_bytes(damaged[:middle] + b"\0\1\2\3" + damaged[middle + 4 :])
    with pytest.raises(assay.ReleaseError, match=r"damaged|differs"):
        assay.load_release(tmp_path / "a.zip")
