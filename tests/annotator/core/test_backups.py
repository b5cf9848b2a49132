"""Backups without a database: encryption, manifests, what is kept, and a folder whose content is damaged."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.backups.encryption import decrypt, encrypt, new_key, read_keys
from annotator.core.backups.errors import BackupError, Damaged
from annotator.core.backups.folder import Backups, Nowhere
from annotator.core.backups.manifest import File, Manifest, Stored, as_text, is_sealed, read_manifest, sealed
from annotator.core.backups.retention import Keep, kept

KEYS = read_keys(new_key())
SECRET = "a secret key of the installation"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday


def encrypted(content: bytes) -> bytes:
    out = io.BytesIO()
    encrypt(io.BytesIO(content), out, KEYS)
    return out.getvalue()


def decrypted(content: bytes, keys: Any = KEYS) -> bytes:
    out = io.BytesIO()
    decrypt(io.BytesIO(content), out, keys)
    return out.getvalue()


# Pieces of the format have 65,536 bytes.
SIZES = st.sampled_from([0, 1, 65_535, 65_536, 65_537, 131_072, 200_000])


@given(SIZES, st.integers(0, 10**6))
def test_what_is_encrypted_comes_back_unless_one_byte_differs(size: int, place: int) -> None:
    content = bytes(number % 251 for number in range(size))
    stored = encrypted(content)
    assert decrypted(stored) == content
    # The length of the header is random.
    at = place * (len(stored) - 1) // 10**6
    for damaged in (stored[:at], stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :], stored + b"x"):
        with pytest.raises(BackupError):
            decrypted(damaged)


def test_keys_are_for_reading_or_only_for_writing() -> None:
    secret = new_key()
    public = secret.splitlines()[0].rpartition(" ")[2]
    both, writing = read_keys(secret), read_keys(f"# of the safe\n\n{public}\n")
    assert both.names == writing.names == [public]
    assert both.mark == writing.mark != KEYS.mark
    with pytest.raises(BackupError, match="only public keys"):
        decrypted(encrypted(b"x"), writing)
    with pytest.raises(BackupError, match="another key"):
        decrypted(encrypted(b"x"), both)
    for text, sentence in [
        ("", "has no key"), ("hello", "Line 1 .* is not a key"), (f"{secret}age1q\n", "Line 3 .* not a valid key"),
    ]:  # fmt: skip
        with pytest.raises(BackupError, match=sentence):
            read_keys(text)


def test_the_error_of_a_stream_stays_the_same() -> None:
    class Full(io.RawIOBase):
        def write(self, _piece: Any) -> int:
            raise OSError(28, "No space left on device")

    for act in (
        lambda: encrypt(io.BytesIO(b"x"), Full(), KEYS),
        lambda: decrypt(io.BytesIO(encrypted(b"x")), Full(), KEYS),
    ):
        with pytest.raises(OSError, match="No space left"):
            act()


def test_the_newest_of_each_day_week_and_month_is_kept() -> None:
    def days(*numbers: int) -> set[datetime]:
        return {NOON - timedelta(days=number) for number in numbers}

    every_day = days(*range(100))
    twice = every_day | {at - timedelta(hours=3) for at in every_day}
    # Weeks end on Sundays: 1 and 8 days ago. Months end on 28 February (2 days ago) and 31 January (30).
    assert kept(twice, Keep(daily=3, weekly=3, monthly=3)) == days(0, 1, 2, 8, 30)
    assert kept(twice, Keep(weekly=2)) == days(0, 1)
    assert kept(twice, Keep()) == twice
    assert kept([], Keep(daily=1)) == set()
    # Days without a backup do not count.
    assert kept(days(5, 9, 20), Keep(daily=2)) == days(5, 9)


@given(st.sets(st.integers(0, 500), min_size=1), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_keeping_twice_keeps_the_same(numbers: set[int], daily: int, weekly: int, monthly: int) -> None:
    times = {NOON - timedelta(hours=7 * number) for number in numbers}
    keep = Keep(daily, weekly, monthly)
    once = kept(times, keep)
    assert kept(once, keep) == once
    assert max(times) in once <= times


def manifest_of(stored: Stored, *files: File, name: str = "assay-1") -> Manifest:
    return Manifest(
        name=name, version="0.1.0", started_at=NOON.isoformat(), finished_at=NOON.isoformat(), database="sqlite",
        database_version="3.40", migrations=["annotator.0001_initial"], rows={"a": 1}, recipients=KEYS.names,
        dump=stored, files=list(files),
    )  # fmt: skip


def test_a_manifest_is_read_as_written_and_its_seal_breaks() -> None:
    part = Stored("objects/aa/aa", 1, "0" * 64, 2, "1" * 64)
    manifest = sealed(manifest_of(part, File("imports/x", 5, part)), SECRET)
    assert read_manifest(as_text(manifest), "assay-1") == manifest
    assert is_sealed(manifest, SECRET)
    assert not is_sealed(manifest, SECRET + "!")
    said = json.loads(as_text(manifest))
    for change in ({"rows": {"a": 2}}, {"files": []}, {"version": "9"}, {"dump": said["dump"] | {"bytes": 3}}):
        assert not is_sealed(read_manifest(json.dumps(said | change), "assay-1"), SECRET)
    for wrong, sentence in [
        ("{", "can't be read"), ("[]", "can't be read"), ("{}", "can't be read"), ("null", "can't be read"),
        (json.dumps(said | {"format": 2}), "has format 2"), (json.dumps(said | {"files": [1]}), "can't be read"),
        (json.dumps(said | {"started_at": "noon"}), "can't be read"), (json.dumps(said | {"name": "b"}), "belongs to"),
    ]:  # fmt: skip
        with pytest.raises(BackupError, match=sentence):
            read_manifest(wrong, "assay-1")


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "encrypted"])
def test_a_folder_keeps_each_content_once_and_finds_damage(tmp_path: Path, keys: Any) -> None:
    backups = Backups(tmp_path / "backups")
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    for path, content in ((one, b"content"), (same, b"content"), (other, b"other")):
        path.write_bytes(content)
    known: dict[str, Stored] = {}

    def store(path: Path) -> File:
        content = backups.store_object(path, keys, known)
        known[content.place] = content
        return File(path.name, 1, content)

    with backups.locked():
        for name in ("assay-1", "assay-2"):
            (backups.path / name).mkdir()
            dump = backups.store(f"{name}/database", io.BytesIO(name.encode()), None)
            stored = [store(one), store(same)]
            if name == "assay-1":
                stored.append(store(other))
            backups.finish(manifest_of(dump, *stored, name=name))
        with pytest.raises(BackupError, match="Another program writes"), backups.locked():
            pass
    first, second = backups.manifests()
    assert len([path for path in (backups.path / "objects").rglob("*") if path.is_file()]) == 2
    assert oct((backups.path / first.dump.place).stat().st_mode & 0o777) == oct(0o600)
    out = io.BytesIO()
    backups.read(first.files[2].content, out, keys)
    assert out.getvalue() == b"other"
    # Removing the first backup, an unfinished one and what a killed program has left.
    (backups.path / "assay-3").mkdir()
    (backups.path / "objects" / "new.part").write_bytes(b"half")
    backups.clear({first.name})
    assert sorted(path.name for path in backups.path.iterdir()) == [".lock", "assay-2", "objects"]
    assert [backups.has(part) for _, part in second.parts] == [True] * 3
    assert not backups.has(first.files[2].content)
    with pytest.raises(Damaged, match="is missing"):
        backups.read(first.files[2].content, Nowhere(), keys)
    with pytest.raises(BackupError, match="There are: assay-2"):
        backups.manifest("assay-1")
    # One byte differs.
    path = backups.path / second.files[0].content.place
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for look in (
        lambda: backups.read(second.files[0].content, Nowhere(), keys),
        lambda: backups.check(second.files[0].content),
    ):
        with pytest.raises(Damaged):
            look()
