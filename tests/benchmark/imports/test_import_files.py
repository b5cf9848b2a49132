"""Files that cannot be imported, or not as they are: a clear sentence, and nothing half done."""

import errno
import gzip
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.test import Client

from annotator.errors import Denied, Invalid
from annotator.models import Dialogue, Event, Revision, Toolset, ToolsetRevision
from benchmark.models import ImportBatch
from benchmark.services.imports import requests, runner
from benchmark.services.imports.requests import shown_filename
from benchmark.services.stored_files import full_path
from reviews.models import Cycle, Slot
from tests.benchmark.conftest import (
    as_lines,
    as_zip,
    begin_import,
    candidate,
    candidates,
    counters,
    gzipped,
    report_of,
)
from tests.factories import Team

RunImport = Callable[..., ImportBatch]


def nothing_is_left() -> bool:
    """Whether the database holds nothing that an import could have written."""
    tables = (Dialogue, Revision, Toolset, ToolsetRevision, Cycle, Slot)
    return not any(table.objects.exists() for table in tables) and not Event.objects.exclude(dialogue=None).exists()


@pytest.mark.parametrize(
    ("content", "filename"),
    [
        (gzipped(as_lines(candidates(3))), "a.jsonl.gz"),
        (gzipped(as_lines(candidates(1))) + gzipped(as_lines(candidates(2, start=1))), "A.JSONL.GZ"),
        (as_zip({"one.jsonl": as_lines(candidates(2)), "sub/two.jsonl": as_lines(candidates(1, start=2))}), "a.zip"),
        (json.dumps(candidates(3), indent=1).encode(), "a.json"),
        (b"\xef\xbb\xbf" + as_lines(candidates(3)).replace(b"\n", b"\r\n\r\n"), "a.jsonl"),
    ],
    ids=["gzip", "gzip of two parts", "zip", "json list", "byte order mark and Windows lines"],
)
def test_kinds_of_files_that_are_read(run_import: RunImport, content: bytes, filename: str) -> None:
    batch = run_import(content=content, filename=filename)
    assert (batch.job.state, counters(batch)[:2]) == ("done", (3, 3))


def test_a_report_names_the_file_in_the_archive(run_import: RunImport) -> None:
    batch = run_import(
        content=as_zip({"a.jsonl": as_lines(candidates(1)), "b.jsonl": b'{"id": 1,\n', "note.txt": b"hi"}),
        filename="a.zip",
    )
    rejected = [entry for entry in report_of(batch) if entry["severity"] == "error"]
    assert [(entry["file"], entry["line"]) for entry in rejected] == [("b.jsonl", 1)]
    ignored = [entry for entry in report_of(batch) if entry["severity"] == "info"]
    assert [(entry["file"], entry["line"]) for entry in ignored] == [("note.txt", 0)]
    assert counters(batch) == (2, 1, 0, 0, 1, 0)


_PACKED = gzipped(as_lines(candidates(40)))
#: 64 MB of blank lines.
_BLANK = (b" " * 1023 + b"\n") * (64 << 10)
_BOMB = gzip.compress(_BLANK, mtime=0)


@pytest.mark.parametrize(
    ("content", "filename", "said"),
    [
        (_PACKED[: len(_PACKED) - 200], "a.jsonl.gz", "cut off"),
        (_PACKED[:300] + b"\0\0\0\0" + _PACKED[304:], "a.jsonl.gz", "damaged"),
        (as_lines(candidates(5))[:-40], "a.jsonl", "cut off in line 5"),
        (as_zip({"a.jsonl": as_lines(candidates(5))})[:-30], "a.zip", "cut off"),
        (b"", "a.jsonl", "empty"),
        (as_lines(candidates(1)), "a.jsonl.gz", "not compressed"),
        (_PACKED, "a.jsonl", "compressed"),
        (b"%PDF-1.7 and so on", "a.jsonl", "PDF"),
        pytest.param(_BOMB, "a.jsonl.gz", "zip bomb", marks=pytest.mark.any_database),
        pytest.param(as_zip({"a.jsonl": _BLANK}), "a.zip", "zip bomb", marks=pytest.mark.any_database),
        (as_zip({"a.txt": b"hello"}), "a.zip", "has no .jsonl"),
        (as_zip({"b.zip": as_zip({"a.jsonl": b"{}"})}), "a.zip", "only other archives"),
        (json.dumps(candidates(2)).encode(), "a.jsonl", "one JSON list"),
        (json.dumps(candidates(2)).encode()[:-60], "a.json", "not JSON"),
    ],
    ids=[
        "truncated gzip", "damaged gzip", "truncated last line", "truncated zip", "empty", "plain under .gz",
        "packed under .jsonl", "PDF", "gzip bomb", "zip bomb", "zip of something else", "zip of zips",
        "list under .jsonl", "truncated list",
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunk", [2, 500])
def test_a_file_that_cannot_be_read_to_its_end(
    run_import: RunImport, monkeypatch: pytest.MonkeyPatch, content: bytes, filename: str, said: str, chunk: int
) -> None:
    monkeypatch.setattr(runner, "CHUNK_RECORDS", chunk)
    batch = run_import(content=content, filename=filename)

    assert batch.job.state == "failed"
    assert said in batch.job.error
    assert batch.job.error.endswith(".")
    assert nothing_is_left()
    assert (batch.created, batch.revised, batch.with_errors) == (0, 0, 0)
    assert report_of(batch)[-1]["message"] == batch.job.error


def test_a_line_in_another_encoding_is_rejected(run_import: RunImport) -> None:
    latin = json.dumps(candidate("latin", city="Orléans"), ensure_ascii=False).encode("latin-1")
    batch = run_import([candidate("a"), latin, candidate("b")])
    assert counters(batch) == (3, 2, 0, 0, 1, 0)
    assert "UTF-8" in report_of(batch)[0]["message"]


def test_a_line_of_100_mb_is_rejected_and_never_held(run_import: RunImport) -> None:
    huge = b'{"id": "huge", "document": "' + b"x" * (100 << 20) + b'"}'
    batch = run_import([candidate("a"), huge, candidate("b")])
    assert counters(batch) == (3, 2, 0, 0, 1, 0)
    (entry,) = report_of(batch)
    assert (entry["line"], "100 MiB" in entry["message"]) == (2, True)


@pytest.mark.parametrize("count", [1, 30])
def test_another_format_than_chosen(run_import: RunImport, count: int) -> None:
    batch = run_import(candidates(count), native_format="wild")
    assert batch.job.state == "failed"
    assert "neutral" in batch.job.error
    assert "wild" in batch.job.error
    assert nothing_is_left()


def test_faulty_records_of_no_known_format_are_only_listed(run_import: RunImport) -> None:
    batch = run_import([{"id": f"x{n}", "what": "else"} for n in range(3)])
    assert (batch.job.state, counters(batch)) == ("done", (3, 0, 0, 0, 3, 0))


def test_the_file_lies_under_a_name_of_ours(team: Team) -> None:
    batch = begin_import(team, b"{}", "../../etc/cron.d/\x00evil\n.jsonl")
    assert batch.filename == "�evil�.jsonl"
    assert batch.file == f"imports/{batch.public_id}"
    assert full_path(batch.file).read_bytes() == b"{}"


def test_names_are_shown_without_their_folders() -> None:
    assert shown_filename(r"C:\Users\ada\a.jsonl") == "a.jsonl"
    assert shown_filename("x" * 300 + ".jsonl") == "x" * 120 + "…" + "x" * 114 + ".jsonl"
    assert shown_filename("/") == "file"


@pytest.mark.parametrize(("filename", "native_format"), [("a.txt", "neutral"), ("a", "neutral"), ("a.jsonl", "xlam")])
def test_what_is_refused_before_it_is_stored(team: Team, filename: str, native_format: str) -> None:
    with pytest.raises(Invalid):
        begin_import(team, b"{}", filename, native_format=native_format)
    assert not full_path("imports").exists()
    assert not ImportBatch.objects.exists()


def test_a_full_disk_is_an_outage_and_no_fault_of_the_file(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    client = Client(raise_request_exception=False)
    client.force_login(team.administrator)
    for path, chosen in (
        (f"/p/{team.project.slug}/imports/", "native_format"),
        (f"/api/projects/{team.project.slug}/imports/", "format"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            answer = client.post(path, {"file": ContentFile(b"{}", "a.jsonl"), chosen: "neutral"})
        assert (answer.status_code, answer["Retry-After"]) == (503, "10")
        assert "disk is full" in answer.content.decode()
    assert list(full_path("imports").iterdir()) == []
    assert not ImportBatch.objects.exists()


def test_no_upload_takes_the_reserve_of_the_disk(
    team: Team, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.DISK_RESERVE_MB = 100
    free = [100 << 20]
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free.pop() if free[1:] else free[0]))
    read: list[int] = []
    monkeypatch.setattr(MemoryFileUploadHandler, "receive_data_chunk", lambda *args: read.append(1))
    client = Client(raise_request_exception=False)
    client.force_login(team.administrator)
    for path, chosen in (
        (f"/p/{team.project.slug}/imports/", "native_format"),
        (f"/api/projects/{team.project.slug}/imports/", "format"),
    ):
        answer = client.post(path, {"file": ContentFile(b"{}", "a.jsonl"), chosen: "neutral"})
        assert (answer.status_code, answer["Retry-After"]) == (503, "10")
        # The disk is not full: this file is too large for it, and waiting would not help.
        assert "too full for this file. It needs 101 MB" in answer.content.decode()
    free[0] -= 1
    assert "disk is full" in client.post(path, {"file": ContentFile(b"{}", "a.jsonl")}).content.decode()
    free[0] += 1
    assert read == []
    # A file of the server's own, which is larger than the room beside the reserve.
    free += [(100 + n) << 20 for n in range(1, 4)]
    large = tmp_path / "a.jsonl"
    large.write_bytes(b"x" * (4 << 20))
    with pytest.raises(OSError, match="Less than 100 MB of disk would be free"):
        requests.start_import(
            actor=team.administrator, project=team.project, path=large, filename="a.jsonl", native_format="neutral"
        )
    assert list(full_path("imports").iterdir()) == []
    assert not ImportBatch.objects.exists()


def test_only_administrators_import(team: Team) -> None:
    for person in (team.annotator, team.senior):
        with pytest.raises(Denied, match="administrator"):
            begin_import(team, b"{}", actor=person)


def test_checksum_and_size_are_of_the_file_itself(team: Team) -> None:
    content = zlib.compress(b"anything")
    batch = begin_import(team, content, "a.jsonl")
    assert batch.bytes == len(content)
    assert batch.sha256 == hashlib.sha256(content).hexdigest()
