"""Backups of an installation on SQLite, by the commands: what they refuse, what is stored again, kills, retention."""

import io
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from annotator.core.backups.encryption import new_key, read_keys
from annotator.core.backups.folder import Backups
from annotator.core.backups.manifest import as_text, read_manifest, sealed
from annotator.core.backups.retention import Keep
from annotator.management.commands.backup import Command
from annotator.models import PeriodicTask, User
from annotator.services.backups import making
from annotator.services.backups.databases import dumped
from annotator.services.backups.making import make_backup
from annotator.services.backups.verifying import backup_problems
from tests.conftest import ROOT
from tests.factories import make_team

# The drill is on PostgreSQL, with its own server: tests/test_backup_drill.py.
pytestmark = [pytest.mark.slow, pytest.mark.any_database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def backups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backups:
    """A folder for backups of an installation with three files, one of them half written."""
    make_team()
    root = Path(settings.MEDIA_ROOT)
    (root / "imports").mkdir(parents=True)
    for name, content in (("imports/one", b"one"), ("imports/two", b"two" * 100_000), ("imports/three.part", b"half")):
        (root / name).write_bytes(content)
    return Backups(tmp_path / "backups")


class Elsewhere:
    """Another installation, empty at first, and its commands."""

    def __init__(self, environment: dict[str, str], data: Path) -> None:
        data.mkdir(mode=0o700)
        self.data, self.database = data, data / "assay.sqlite3"
        self.environment = environment | {"ASSAY_DATA": str(data), "DATABASE_URL": f"sqlite:///{self.database}"}

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        command = [sys.executable, "manage.py", *map(str, arguments)]
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=pipe, stderr=pipe, text=True)

    def run(self, *arguments: object) -> tuple[int, str, str]:
        process = self.start(*arguments)
        said, complained = process.communicate(timeout=120)
        return process.returncode, said, complained

    def people(self) -> set[str]:
        with closing(sqlite3.connect(self.database)) as database:
            return {name for (name,) in database.execute("SELECT username FROM annotator_user")}


@pytest.fixture
def elsewhere(process_environment: dict[str, str], tmp_path: Path) -> Elsewhere:
    return Elsewhere(process_environment, tmp_path / "elsewhere")


def made(backups: Backups, keep: Keep = Keep(), **options: Any) -> Any:  # noqa: B008 - it never changes
    return make_backup(backups.path, options.get("keys"), keep, lambda sentence: None)


def test_an_installation_comes_back_elsewhere(backups: Backups, elsewhere: Elsewhere) -> None:
    summary = made(backups)
    [manifest] = backups.manifests()
    assert [file.name for file in manifest.files] == ["imports/one", "imports/two"]
    assert manifest.rows["annotator_user"] == User.objects.count()
    assert PeriodicTask.objects.get(name="backup").outcome == {
        "target": str(backups.path), "bytes": manifest.bytes, "encrypted": False, "name": manifest.name,
    }  # fmt: skip
    code, said, complained = elsewhere.run("restore", backups.path)
    assert code == 0, complained
    assert json.loads(said.splitlines()[-1]) == {
        "ok": True, "backup": manifest.name, "files": 2, "rows": sum(manifest.rows.values()), "problems": [],
    }  # fmt: skip
    assert (elsewhere.data / "files/imports/two").read_bytes() == b"two" * 100_000
    assert elsewhere.people() == set(User.objects.values_list("username", flat=True))

    # Nothing is replaced unasked; what is asked for is, also a file that the backup has not.
    (elsewhere.data / "files/imports/later").write_bytes(b"later")
    with closing(sqlite3.connect(elsewhere.database)) as database:
        database.execute("UPDATE annotator_user SET username = 'later' WHERE id = (SELECT min(id) FROM annotator_user)")
        database.commit()
    code, _, complained = elsewhere.run("restore", backups.path)
    assert (code, "Add --replace" in complained, "later" in elsewhere.people()) == (1, True, True)
    with closing(sqlite3.connect(elsewhere.database)) as database:
        database.execute("SELECT 1 FROM annotator_user").fetchall()
        code, _, complained = elsewhere.run("restore", backups.path, "--replace")
        assert (code, "Another program uses the database" in complained) == (1, True)
    process = elsewhere.start("restore", backups.path, "--replace")
    assert process.stderr is not None
    while "Restoring the database" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert "later" in elsewhere.people() or elsewhere.people() == _people()
    code, _, complained = elsewhere.run("restore", backups.path, "--replace")
    assert (code, elsewhere.people()) == (0, _people()), complained
    assert sorted(path.name for path in (elsewhere.data / "files/imports").iterdir()) == ["one", "two"]
    assert summary.new_bytes == sum(part.stored_bytes for _, part in manifest.parts)


def _people() -> set[str]:
    return set(User.objects.values_list("username", flat=True))


def test_a_file_is_stored_once_and_again_for_another_key(backups: Backups) -> None:
    root = Path(settings.MEDIA_ROOT)
    first = made(backups)
    (root / "imports/copy").write_bytes(b"one")
    (root / "imports/two").unlink()
    (root / "imports/four").write_bytes(b"four")
    second = made(backups)
    assert second.new_bytes == len(b"four") + second.manifest.dump.stored_bytes
    assert [file.name for file in second.manifest.files] == ["imports/copy", "imports/four", "imports/one"]
    # A lost object is stored again; what an earlier backup has of a file is not overwritten.
    (backups.path / second.manifest.files[1].content.place).unlink()
    assert made(backups).new_bytes == second.new_bytes
    keys = [read_keys(new_key()) for _ in range(2)]
    for each in keys:
        summary = made(backups, keys=each)
        assert all(part.place.endswith(".age") for _, part in summary.manifest.parts)
        assert list(backup_problems(backups, summary.manifest, each)) == []
        assert made(backups, keys=each).new_bytes < summary.new_bytes
    # Public keys alone can write, and compare what is stored.
    public = read_keys("\n".join(keys[0].names))
    summary = made(backups, keys=public)
    assert list(backup_problems(backups, summary.manifest, public)) == []
    for manifest in backups.manifests():
        assert list(backup_problems(backups, manifest, keys[manifest.recipients == keys[1].names])) == []
    # Only the newest of today stays, and what it needs.
    last = made(backups, keep=Keep(daily=1))
    assert [one.name for one in backups.manifests()] == [last.manifest.name]
    assert first.manifest.name in last.removed
    stored = {
        path.relative_to(backups.path).as_posix() for path in (backups.path / "objects").rglob("*") if path.is_file()
    }
    assert stored == {file.content.place for file in last.manifest.files}


def test_a_file_that_comes_changes_or_goes_meanwhile(backups: Backups, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report of a running import grows; a project can be deleted after the database was read."""
    root = Path(settings.MEDIA_ROOT)

    @contextmanager
    def slowly() -> Iterator[Any]:
        with dumped() as dump:
            (root / "imports/one").unlink()
            (root / "imports/two").write_bytes(b"two and more")
            (root / "imports/new").write_bytes(b"new")
            yield dump

    monkeypatch.setattr(making, "dumped", slowly)
    manifest = made(backups).manifest
    found = {}
    for file in manifest.files:
        out = io.BytesIO()
        backups.read(file.content, out, None)
        found[file.name] = out.getvalue()
    assert found == {"imports/new": b"new", "imports/one": b"one", "imports/two": b"two and more"}


def test_what_a_restore_refuses_before_anything_changes(backups: Backups, manage_here: Any) -> None:
    manifest = made(backups).manifest
    path = backups.path / manifest.name / "manifest.json"
    text = path.read_text()

    def refused(sentence: str, *options: str, **changes: Any) -> None:
        changed = read_manifest(text, manifest.name)
        path.write_text(as_text(sealed(replace(changed, **changes), options[0] if options else settings.SECRET_KEY)))
        said = manage_here("restore", backups.path, "--replace", *options[1:])
        assert (said.returncode, sentence in said.stderr) == (1, True), said.stderr

    refused("made by a newer version of Assay (9.0)", version="9.0", migrations=["annotator.9999_future"])
    refused("is of PostgreSQL, and this installation uses SQLite", database="postgresql")
    refused("The secret key here is not the one", "another secret")
    path.write_text(text.replace('"version": "', '"version": "1'))
    assert "was changed after it was made" in manage_here("restore", backups.path).stderr
    assert "was changed after it was made" in manage_here("verify_backup", backups.path).stderr
    path.write_text("{")
    assert "can't be read. Use another backup." in manage_here("restore", backups.path).stderr
    path.write_text(text)
    assert "Add --replace" in manage_here("restore", backups.path).stderr
    assert "There is no finished backup in" in manage_here("restore", backups.path / "nowhere").stderr
    assert "There are: assay-" in manage_here("restore", backups.path, "--at", "x").stderr

    # A dump that is as it was stored, but no database.
    with (backups.path / manifest.dump.place).open("r+b") as dump:
        dump.write(b"no database")
    said = manage_here("restore", backups.path, "--replace")
    assert "is damaged, so nothing was changed. the database: assay-" in said.stderr
    (backups.path / manifest.files[0].content.place).unlink()
    said = manage_here("verify_backup", backups.path)
    assert json.loads(said.stdout)["problems"] == [
        f"{manifest.name}: the database: {manifest.dump.place} is not as it was stored.",
        f"{manifest.name}: imports/one: {manifest.files[0].content.place} is missing.",
    ]
    said = manage_here("verify_backup", backups.path, "--quick", "--max-age", "1", "--all")
    assert (said.returncode, len(json.loads(said.stdout)["problems"])) == (1, 1)


def test_what_the_commands_say_about_wrong_options(backups: Backups, manage_here: Any, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("hello")
    for options, code, sentence in [
        (["backup"], 2, "The following arguments are required: folder"),
        (["backup", backups.path, "--keep-daily", "-1"], 2, "must be 0 or more"),
        (["backup", backups.path, "--every", "0"], 2, "must be a number of hours"),
        (["backup", Path(settings.MEDIA_ROOT) / "x"], 1, "is among the files to be backed up"),
        (["backup", backups.path, "--key-file", key], 1, "Line 1 of the key file is not a key"),
        (["backup", backups.path, "--key-file", tmp_path], 2, "can't be read: Is a directory"),
        (["verify_backup", backups.path], 1, "There is no finished backup"),
    ]:
        said = manage_here(*options)
        assert (said.returncode, sentence in said.stderr) == (code, True), said.stderr
    said = manage_here("backup", backups.path, "--keep-daily", "7")
    assert (said.returncode, json.loads(said.stdout)["files"]) == (0, 2)


def test_a_killed_backup_is_none_and_the_next_removes_what_it_left(
    backups: Backups, process_environment: dict[str, str]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "backup", str(backups.path)], cwd=ROOT, env=process_environment,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    while "Storing the database" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    [killed] = backups.path.glob("assay-*")
    # It could have been quicker than the signal.
    assert [one.name for one in backups.manifests()] in ([], [killed.name])
    summary = made(backups, keep=Keep(daily=1))
    assert sorted(path.name for path in backups.path.glob("assay-*")) == [summary.manifest.name]
    assert list(backups.path.rglob("*.part")) == []


def test_one_is_made_whenever_the_newest_is_old_enough(backups: Backups, monkeypatch: pytest.MonkeyPatch) -> None:
    command, waits = Command(stdout=io.StringIO(), stderr=io.StringIO()), []

    class Stopped(Exception):
        pass

    def wait(_event: Any, seconds: float) -> None:
        waits.append(round(seconds / 60))
        if len(waits) == 2:
            # From now on it fails.
            (backups.path / ".lock").unlink()
            (backups.path / ".lock").mkdir()
            [manifest] = backups.manifests()
            aged = replace(manifest, started_at=(timezone.now() - timedelta(hours=24)).isoformat())
            (backups.path / manifest.name / "manifest.json").write_text(as_text(aged))
        if len(waits) == 3:
            raise Stopped

    monkeypatch.setattr("threading.Event.wait", wait)
    with pytest.raises(Stopped):
        call_command(command, backups.path, "--every", "24")
    # At once; after a day; and a quarter of an hour after a failure.
    assert waits == [0, 24 * 60, 15]
