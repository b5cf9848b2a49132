"""Archives of releases: always the same bytes, and every alteration found offline."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem, canonical, content_hash
from benchmark.core.archives.archive import DeterministicZip
from benchmark.core.archives.manifest import (
    ITEMS,
    MANIFEST,
    SUMS,
    build_manifest,
    dump,
    read_manifest,
    sum_lines,
)
from benchmark.core.archives.message_copies import COPY, as_messages
from benchmark.core.archives.table import OLD_TABLE, TableWriter, label_columns, read_table, table_path
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.files.limits import Limits
from benchmark.core.files.safe_paths import is_safe_path
from benchmark.core.formats import FORMATS
from tests.benchmark.formats.format_records import read, wild_record

CANARY = "assay-canary-0123456789"
Members = dict[str, bytes]
TABLE, WILD_TABLE = table_path("default"), table_path("wild")


def table(config: str, rows: list[dict[str, Any]]) -> bytes:
    pieces: list[bytes] = []
    writer = TableWriter(config, pieces.append)
    for row in rows:
        writer.add(row)
    writer.close()
    return b"".join(pieces)


def dialogues() -> list[Any]:
    records = [{**wild_record(), "id": f"d{number}"} for number in range(3)]
    return [dialogue for record in records for dialogue in read("wild", record)]


def release_members(root: str = "") -> Members:
    """The files of a small release, its manifest last."""
    items = dialogues()

    def lines(records: list[Any]) -> bytes:
        return b"".join(orjson.dumps(record) + b"\n" for record in records)

    wild = [FORMATS["wild"].write([item], full=True, canary=CANARY) for item in items]
    rows = [
        {
            "id": item.external_id, "language": item.language, "variant_group": item.variant_group,
            "kind": "multi_turn", "document": item.text, "tools": orjson.dumps(item.tools).decode(), "canary": CANARY,
        }
        for item in items
    ]  # fmt: skip
    listed = [
        {
            "id": item.external_id,
            "language": item.language,
            "variant_group": item.variant_group,
            "revision_sha256": content_hash(item.text),
            "toolset_sha256": content_hash(canonical({"tools": item.tools})),
            "stages": [{"stage": "cross_check"}],
        }
        for item in items
    ]
    members = {
        "README.md": f"# Data card\n\n{CANARY}\n".encode(),
        "dialogues.jsonl": lines([FORMATS["neutral"].write([item], canary=CANARY) for item in items]),
        ITEMS: lines(listed),
        "wild.jsonl": lines(wild),
        COPY: lines([as_messages(item, CANARY) for item in items]),
        # Earlier releases have this one only, later ones only the other two.
        OLD_TABLE: lines(rows),
        TABLE: table("default", [row | label_columns(item.document) for row, item in zip(rows, items, strict=True)]),
        WILD_TABLE: table("wild", [{"id": one["id"], "record": orjson.dumps(one).decode()} for one in wild]),
    }
    manifest = manifest_of(members)
    return {f"{root}{name}": content for name, content in {**members, MANIFEST: manifest}.items()}


def manifest_of(members: Members) -> bytes:
    """The manifest of these files; their checksums are written again."""
    members[SUMS] = sum_lines((name, hashlib.sha256(members[name]).hexdigest()) for name in members if name != SUMS)
    formats = {"dialogues.jsonl": "neutral", "wild.jsonl": "wild", COPY: "openai"}
    return build_manifest(
        version="1.0",
        project="demo",
        format="wild",
        canary=CANARY,
        schema_versions={"document": 1},
        counts={"items": 3},
        files=[
            {
                "path": name,
                "sha256": hashlib.sha256(content).hexdigest(),
                "bytes": len(content),
                "records": content.count(b"\n") if name.endswith(".jsonl") else None,
                "format": formats.get(name),
            }
            for name, content in members.items()
        ],
        protocol={"name": "c3"},
        samples=[{"seed": 3}],
        agreement={"alpha": 0.8},
    )


def write(path: Path, members: Members) -> Path:
    with DeterministicZip(path) as archive:
        for name, content in members.items():
            archive.add(name, content)
    return path


@pytest.fixture
def good() -> Members:
    return release_members()


@pytest.mark.parametrize("root", ["", "release-1.0/"])
def test_a_whole_release_is_found_whole(tmp_path: Path, root: str) -> None:
    report = verify_archive(write(tmp_path / "a.zip", release_members(root)))
    assert (report.ok, report.files, report.items, report.problems) == (True, 9, 3, [])


def test_the_same_data_gives_the_same_bytes(tmp_path: Path, good: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "first.zip", good)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    old = os.umask(0o077)
    try:
        with DeterministicZip(tmp_path / "second.zip") as archive:
            for name, content in good.items():
                with archive.member(name) as out:
                    for at in range(0, len(content), 1000):
                        out.write(content[at : at + 1000])
    finally:
        os.umask(old)
    assert first.read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_digests_are_known_once_a_member_is_written(tmp_path: Path) -> None:
    with DeterministicZip(tmp_path / "a.zip") as archive:
        with archive.member("a.jsonl") as out:
            out.write(b'{"a": 1}\n')
            out.write(b'{"a": 2}\n')
        written = archive.add("b.txt", b"x\n")
    assert [(file.path, file.bytes, file.records) for file in archive.files] == [("a.jsonl", 18, 2), ("b.txt", 2, None)]
    assert written.sha256 == hashlib.sha256(b"x\n").hexdigest()


def test_any_unpacker_reads_it(tmp_path: Path, good: Members) -> None:
    path = write(tmp_path / "a.zip", good)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == list(good)
        info = archive.infolist()[0]
        assert (info.date_time, info.create_system, info.external_attr >> 16) == ((1980, 1, 1, 0, 0, 0), 3, 0o100644)
    unzip = shutil.which("unzip")
    if unzip:
        subprocess.run([unzip, "-tq", str(path)], check=True, capture_output=True)


def test_nothing_is_visible_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with DeterministicZip(path) as archive:
        archive.add("a", b"x")
        assert not path.exists()
    assert path.exists()


def test_nothing_is_left_of_an_archive_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"the one before")

    def fail() -> None:
        with DeterministicZip(path) as archive:
            archive.add("a", b"x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [item.name for item in tmp_path.iterdir()] == ["a.zip"]
    assert path.read_bytes() == b"the one before"


def test_a_member_is_written_once_and_in_the_archive(tmp_path: Path) -> None:
    with DeterministicZip(tmp_path / "a.zip") as archive:
        archive.add("a", b"x")
        with pytest.raises(ValueError, match="already"):
            archive.add("a", b"y")
        with pytest.raises(ValueError, match="plain relative path"):
            archive.add("../a", b"y")
    with pytest.raises(ValueError, match="not open"):
        archive.add("b", b"y")


@pytest.mark.parametrize("path", ["a", "a/b.txt", "release-1.0/übung.jsonl"])
def test_plain_paths(path: str) -> None:
    assert is_safe_path(path)


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../b", "./a", "a//b", "a/", "C:a", "a\\b", "a\nb", ".", ".."])
def test_paths_that_lead_elsewhere(path: str) -> None:
    assert not is_safe_path(path)


def again(members: Members, *, keep: bool = False) -> Members:
    """The manifest written again, as somebody hiding a change would; ``keep``: but not the list of checksums."""
    sums = members[SUMS]
    members = {name: content for name, content in members.items() if name != MANIFEST}
    content = manifest_of(members)
    if keep:
        digests = [hashlib.sha256(one).hexdigest().encode() for one in (members[SUMS], sums)]
        members[SUMS] = sums
        content = content.replace(*digests)
    return {**members, MANIFEST: content}


def lines_of(name: str, change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Members], Members]:
    return lambda members: again({**members, name: b"".join(change(members[name].splitlines(keepends=True)))})


def replaced(name: str, old: bytes, new: bytes, *, covered: bool = True) -> Callable[[Members], Members]:
    """Change a file, and the manifest with it where that is ``covered``."""

    def change(members: Members) -> Members:
        assert old in members[name]
        members = {**members, name: members[name].replace(old, new)}
        return again(members) if covered and name != MANIFEST else members

    return change


def in_row(path: str, number: int, column: str, change: Callable[[Any], Any]) -> Callable[[Members], Members]:
    """Change a cell of a table; rows count from 1."""
    config = path.split("/")[1]

    def alter(members: Members) -> Members:
        rows = list(read_table(config, io.BytesIO(members[path]), Limits()))
        new = change(rows[number - 1][column])
        assert new != rows[number - 1][column]
        rows[number - 1][column] = new
        return again({**members, path: table(config, rows)})

    return alter


def without(name: str, *, covered: bool = False) -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        members = {key: value for key, value in members.items() if key != name}
        return again(members) if covered else members

    return change


def with_manifest(**changes: Any) -> Callable[[Members], Members]:
    return lambda members: {**members, MANIFEST: dump({**json.loads(members[MANIFEST]), **changes})}


ALTERED: list[tuple[Callable[[Members], Members], str]] = [
    (replaced("README.md", b"Data", b"Date", covered=False), "README.md was changed"),
    (replaced("README.md", b"Data card", b"x", covered=False), "README.md has"),
    (replaced("README.md", CANARY.encode(), b""), "README.md does not contain the canary"),
    (replaced("wild.jsonl", b"Kyoto", b"Osaka", covered=False), "wild.jsonl was changed"),
    (replaced("dialogues.jsonl", b"It is clear.", b"It is cloudy."), "differs from the verified revision"),
    (replaced("dialogues.jsonl", b'"description"', b'"descriptio"'), "the tools of d0 differ from those used"),
    (replaced("dialogues.jsonl", b'"id":"d1"', b'"id":"d9"'), "does not list d9"),
    (replaced("dialogues.jsonl", b'"id":"d1"', b'"id":"d9"'), "lists d1, but no file has its document"),
    (replaced("dialogues.jsonl", b'"id":"d1"', b'"id":"d0"'), "d0 appears twice"),
    (replaced("dialogues.jsonl", b'"kind":"multi_turn"', b'"kind":"song"'), "cannot be read as neutral"),
    (replaced("dialogues.jsonl", CANARY.encode(), b"another-canary"), "does not contain the release's canary"),
    (replaced("wild.jsonl", b',"canary":"' + CANARY.encode() + b'"', b""), "does not contain the release's canary"),
    (replaced("wild.jsonl", b'"Chat"', b'"Song"'), "cannot be read as wild, at /english_task_types/3"),
    (replaced("wild.jsonl", b'{"id":"d2"', b'{"id" "d2"'), "wild.jsonl, line 3: The line is not JSON"),
    (
        replaced("wild.jsonl", b"Kyoto", b"Osaka"),
        "wild.jsonl, line 1 at /english_tasks/0 differs from the document of “d0”: ",
    ),
    (
        replaced("wild.jsonl", b'"english_env_info":"', b'"english_env_info":"x'),
        "at /english_env_info differs from the document of “d0”: it has “x",
    ),
    (
        replaced("wild.jsonl", b'{"id":"d0"', b'{"more":40.0,"id":"d0"'),
        "at /more differs from the document of “d0”: it has “40.0”.",
    ),
    (replaced("wild.jsonl", b'{"id":"d1"', b'{"id":"d2"'), "line 2: the record of “d1” is expected here"),
    (lines_of("wild.jsonl", lambda lines: lines[:1] + lines), "line 2: the record of “d1” is expected here"),
    (lines_of("wild.jsonl", lambda lines: lines + lines[-1:]), "wild.jsonl has more records than there are documents"),
    (lines_of("wild.jsonl", lambda lines: lines[:-1]), "wild.jsonl ends before the record of “d2”"),
    (with_manifest(format="c3"), "names the format c3, but no file has records of it"),
    (
        in_row(TABLE, 2, "document", lambda text: text.replace("It is clear.", "It is cloudy.")),
        "data/default/verified.parquet, row 2 at /document/tasks/0/steps/",
    ),
    (in_row(TABLE, 1, "calls", lambda count: count + 1), "verified.parquet, row 1 at /calls differs from the document"),
    (in_row(TABLE, 3, "policies", lambda words: [*words, None]), "verified.parquet, row 3 at /policies"),
    (in_row(TABLE, 1, "canary", lambda text: "x"), "verified.parquet, row 1: the row does not contain the release's"),
    (in_row(TABLE, 1, "tools", lambda text: f"[{text}"), "verified.parquet, row 1 at /tools differs"),
    (in_row(TABLE, 2, "id", lambda text: "x"), "verified.parquet, row 2: the record of “d1” is expected here"),
    (in_row(WILD_TABLE, 1, "record", lambda text: text.replace("Kyoto", "Osaka")), "row 1 at /english_tasks/0 differs"),
    (in_row(WILD_TABLE, 2, "id", lambda text: "x"), "row 2: its text is not the record with its id"),
    (in_row(WILD_TABLE, 2, "record", lambda text: text.replace(CANARY, "x")), "row 2: the record does not contain the"),
    (lambda members: again({**members, TABLE: members[WILD_TABLE]}), "Its columns or their types are not those"),
    (lambda members: again({**members, TABLE: members[TABLE][:-9]}), "It cannot be read as a Parquet table"),
    (replaced(COPY, b"Kyoto", b"Osaka"), "openai.jsonl, line 1 at /messages/"),
    (lines_of(COPY, lambda lines: lines[1:]), "openai.jsonl, line 1: the record of “d0” is expected here"),
    (replaced(OLD_TABLE, b"It is clear.", b"It is cloudy."), "table.jsonl, line 1 at /document/tasks/0/steps/"),
    (
        replaced(OLD_TABLE, b'"language":"en"', b'"language":"zh"'),
        "table.jsonl, line 1 at /language differs from the document of “d0”: it has “zh”",
    ),
    (replaced(OLD_TABLE, b"description", b"descriptio"), "table.jsonl, line 1 at /tools/0"),
    (lines_of(OLD_TABLE, lambda lines: lines[:-1]), "table.jsonl ends before the record of “d2”"),
    (replaced(ITEMS, b'"language":"en"', b'"language":"zh"'), "the language of d0 differs from items.jsonl"),
    (
        lambda members: again({**members, SUMS: members[SUMS].replace(b"wild", b"tame")}, keep=True),
        "SHA256SUMS and the manifest differ",
    ),
    (replaced(ITEMS, b'"d1"', b'"d0"'), "d0 is listed twice"),
    (replaced(ITEMS, b'"stages"', b'"steps"'), "items.jsonl, line 1 at /stages: This field is required"),
    (without("wild.jsonl"), "wild.jsonl is in the manifest but not in the archive"),
    (without("dialogues.jsonl", covered=True), "no file of neutral documents"),
    (without(ITEMS, covered=True), "has no items.jsonl"),
    (without(MANIFEST), "no manifest.json"),
    (lambda members: {**members, "more.txt": b"x"}, "more.txt is in the archive but not in the manifest"),
    (lambda members: {**members, "other/manifest.json": b"{}"}, "has 2 manifest.json"),
    (with_manifest(counts={"items": 4}), "counts 4 items, but items.jsonl lists 3"),
    (with_manifest(assay_release=2), "manifest.json at /assay_release"),
    (with_manifest(files=[]), "manifest.json at /files"),
    (with_manifest(files=[{"path": "../x"}]), "manifest.json at /files/0/path"),
    (with_manifest(canary=""), "manifest.json at /canary"),
    (replaced(MANIFEST, b'"records": 3', b'"records": 4'), "has 3 records, but the manifest says 4"),
    (replaced(MANIFEST, b'"bytes"', b'"size"'), "manifest.json at /files/0/bytes"),
    (replaced(MANIFEST, b'"wild.jsonl"', b'"README.md"'), "lists README.md 2 times"),
    (lambda members: {**members, MANIFEST: b"{"}, "manifest.json: The record is not complete"),
    (lambda members: {**members, MANIFEST: b"[]"}, "manifest.json: A record must be a JSON object"),
]


@pytest.mark.parametrize(("alter", "words"), ALTERED, ids=[words for _, words in ALTERED])
def test_every_alteration_is_found(
    tmp_path: Path, good: Members, alter: Callable[[Members], Members], words: str
) -> None:
    report = verify_archive(write(tmp_path / "a.zip", alter(good)))
    assert not report.ok
    assert any(words in problem for problem in report.problems), report.problems
    assert all(problem.endswith(".") for problem in report.problems), report.problems


def raw_zip(entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def hostile() -> dict[str, bytes]:
    members = release_members()
    whole = raw_zip(list(members.items()))
    large = {**members, "x.txt": b"0" * (12 << 20)}
    del large[MANIFEST]
    return {
        "is cut off": whole[:-40],
        "not a zip archive": b"not a zip at all",
        "is not a zip archive": b"",
        "more than once": _quietly_doubled(members),
        "not a plain relative path": raw_zip([*members.items(), ("../x", b"")]),
        "/etc/x is not a plain": raw_zip([*members.items(), ("/etc/x", b"")]),
        "zip bomb": raw_zip([*large.items(), (MANIFEST, manifest_of(large))]),
        "unsupported compression method": raw_zip([(name, c) for name, c in members.items()], zipfile.ZIP_LZMA),
        "outside the release's folder": raw_zip([*release_members("r/").items(), ("x", b"")]),
        "no manifest.json": raw_zip([("a/b/manifest.json", b"{}")]),
    }


def _quietly_doubled(members: Members) -> bytes:
    """A second README.md under a name of the same length, renamed in the bytes."""
    return raw_zip([*members.items(), ("READNE.md", b"x")]).replace(b"READNE.md", b"README.md")


@pytest.mark.parametrize("words", list(hostile()))
def test_hostile_archives_give_problems(tmp_path: Path, words: str) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(hostile()[words])
    report = verify_archive(path)
    assert not report.ok
    assert any(words in problem for problem in report.problems), report.problems


def test_an_encrypted_member_is_a_problem(tmp_path: Path, good: Members) -> None:
    content = bytearray(raw_zip(list(good.items())))
    content[content.rfind(b"PK\x01\x02", 0, content.rfind(b"PK\x01\x02")) + 8] |= 1
    path = tmp_path / "a.zip"
    path.write_bytes(bytes(content))
    assert any("encrypted" in problem for problem in verify_archive(path).problems)


def test_a_file_that_does_not_exist_is_a_problem(tmp_path: Path) -> None:
    report = verify_archive(tmp_path / "none.zip")
    assert not report.ok
    assert "No such file" in report.problems[0]
    assert not verify_archive(tmp_path).ok


def test_problems_do_not_grow_without_end(tmp_path: Path, good: Members) -> None:
    members = {**good, "wild.jsonl": b"x\n" * 5000}
    report = verify_archive(write(tmp_path / "a.zip", members))
    assert len(report.problems) == 201
    assert report.problems[-1].startswith("And ")


def test_limits_hold_for_archives(tmp_path: Path, good: Members) -> None:
    report = verify_archive(write(tmp_path / "a.zip", good), limits=Limits(total=1000))
    assert any("larger than 1000 bytes" in problem for problem in report.problems)


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_damage_gives_a_report(tmp_path: Path, at: int, damage: bytes) -> None:
    path = tmp_path / "damaged.zip"
    content = bytearray(WHOLE)
    at %= len(content)
    content[at : at + len(damage)] = damage
    path.write_bytes(bytes(content))
    report = verify_archive(path)
    assert report.ok == (not report.problems)


WHOLE = raw_zip(list(release_members().items()))


def test_a_manifest_is_checked_when_it_is_made(good: Members) -> None:
    content = json.loads(good[MANIFEST])
    assert read_manifest(content).files[0].path == "README.md"
    assert build_manifest(**content) == good[MANIFEST]
    with pytest.raises(SchemaProblem, match="distinct"):
        build_manifest(**{**content, "files": content["files"] * 2})
    with pytest.raises(SchemaProblem, match="/files/0/sha256"):
        build_manifest(**{**content, "files": [{"path": "a", "sha256": "x", "bytes": 1}]})


def test_the_text_of_a_dialogue_is_what_is_hashed() -> None:
    for dialogue in dialogues():
        assert dialogue.text == canonical(dialogue.document)
