"""The errata log of a release: its hash chain, and what the command says about a log that was changed."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.archives.errata import MAX_LINE, Erratum, Severity, verify_errata
from tests.benchmark.archives.release_archives import released, write_release
from tests.factories import make_document


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "release.zip"
    return write_release(path, "1.0", [released(name, make_document(name)) for name in ("a", "b")])


@pytest.fixture(scope="module")
def lines(archive: Path) -> list[bytes]:
    """A log of five errata about the two items."""
    found: list[bytes] = []
    previous = ""
    for number in range(1, 6):
        erratum = Erratum(
            number=number, release="1.0", archive_sha256=hashlib.sha256(archive.read_bytes()).hexdigest(),
            item="ab"[number % 2], place="/tasks/t1", severity=Severity.MAJOR, reason=f"Wrong city {number}: “Zürich”.",
            evidence="", date="2026-05-31", previous_sha256=previous,
        )  # fmt: skip
        previous = erratum.sha256
        found.append(erratum.line())
    return found


def check(archive: Path, content: bytes, **options: Any) -> Any:
    log = archive.with_name("errata.jsonl")
    log.write_bytes(content)
    return verify_errata(log, archive, **options)


def whole(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def test_the_hash_is_what_the_docstring_says(lines: list[bytes]) -> None:
    for line in lines:
        record = json.loads(line)
        stated = record.pop("sha256")
        text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == stated


def test_a_whole_log_is_verified_and_only_the_head_shows_a_cut_end(archive: Path, lines: list[bytes]) -> None:
    head = json.loads(lines[-1])["sha256"]
    report = check(archive, whole(lines), head=head)
    assert (report.errata, report.items, report.head, report.problems) == (5, 2, head, [])
    for kept in range(5):
        assert check(archive, whole(lines[:kept])).problems == []
        (problem,) = check(archive, whole(lines[:kept]), head=head).problems
        assert "lines are missing at its end" in problem
        assert "Download the log again" in problem
    assert check(archive, b"").head == ""


@given(data=st.data())
def test_any_edit_removal_or_swap_is_noticed(archive: Path, lines: list[bytes], data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(("byte", "insert", "remove", "swap", "double")))
    content = whole(lines)
    place = data.draw(st.integers(0, 4))
    changed = list(lines)
    match kind:
        case "byte":
            # The last line break is the end of the file, which may be cut off.
            at = data.draw(st.integers(0, len(content) - 2))
            byte = data.draw(st.integers(0, 255).filter(lambda one: one != content[at]))
            edited = content[:at] + bytes((byte,)) + content[at + 1 :]
        case "insert":
            at = data.draw(st.integers(0, len(content) - 1))
            edited = content[:at] + data.draw(st.sampled_from((b" ", b"\n", b"x", b"\r"))) + content[at:]
        case "remove":
            del changed[data.draw(st.integers(0, 3))]
            edited = whole(changed)
        case "swap":
            other = data.draw(st.integers(0, 4).filter(lambda one: one != place))
            changed[place], changed[other] = changed[other], changed[place]
            edited = whole(changed)
        case _:
            changed.insert(place, changed[place])
            edited = whole(changed)
    report = check(archive, edited)
    assert report.problems
    assert all(("line " in one and "Download the log again" in one) or "Use the log" in one for one in report.problems)


def test_a_line_with_a_new_hash_breaks_the_next_one(archive: Path, lines: list[bytes]) -> None:
    record = json.loads(lines[1])
    del record["sha256"]
    forged = Erratum(**{**record, "reason": "All is well."})
    changed = [lines[0], forged.line(), *lines[2:]]
    (problem,) = check(archive, whole(changed)).problems
    assert "line 3 does not continue the line before it" in problem


def test_logs_of_other_archives_and_hostile_ones_are_refused(archive: Path, lines: list[bytes], tmp_path: Path) -> None:
    other = write_release(tmp_path / "other.zip", "1.1", [released("a", make_document("a"))])
    problems = check(other, whole(lines)).problems
    assert any("this archive is release 1.1" in one for one in problems)
    assert any("line 1: the archive has no item b" in one for one in problems)
    for content, said in (
        (b"x" * (MAX_LINE + 1), "bytes, so it is no erratum"),
        (b"[]\n", "must be a JSON object"),
        (b'{"number": 1}\n', "is no erratum, at /release"),
        (b'{"number": 1, "number": 2}\n', "appears twice"),
        (b"\n", "line 1"),
        (b"x\n" * 300, "The rest was not read."),
    ):
        assert said in " ".join(check(archive, content).problems)
    for log, zipped in ((tmp_path / "none", archive), (archive, tmp_path / "none.zip")):
        assert "Can't read" in verify_errata(log, zipped).problems[0]
