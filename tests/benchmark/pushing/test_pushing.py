"""Releases are sent to stand-ins on localhost, compared there, and never changed."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmark.core.archives.errata import Erratum, Severity
from benchmark.core.files.limits import SourceError
from benchmark.core.pushing import folder, git_place, target
from benchmark.core.pushing.git_place import GitPlace
from benchmark.core.pushing.pushing import plan, unpack
from benchmark.core.pushing.target import PushedRelease, PushError, SentFile
from benchmark.management.commands.push_release import Command
from tests.benchmark.archives.release_archives import released, write_release
from tests.benchmark.pushing.stand_ins import TOKEN, Bucket, GitHost, Handler, Hub, Server
from tests.conftest import ROOT
from tests.factories import make_document

# The library of the Hub calls its HTTP client in an old way.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")


class Ran(NamedTuple):
    code: object
    out: str
    err: str

    @property
    def last(self) -> dict[str, Any]:
        return json.loads(self.out.splitlines()[-1])  # type: ignore[no-any-return]

    def counts(self) -> tuple[int, int, int]:
        return self.last["sent"], self.last["skipped"], self.last["verified"]


Push = Callable[..., Ran]


@pytest.fixture
def push(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Push:
    """Run the command in this process, with short pauses; no output may contain the token."""
    monkeypatch.setattr(target, "WAITS", (0.0, 0.0, 0.0))
    for name in ("HF_TOKEN", "GIT_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, TOKEN)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    def run(*arguments: object) -> Ran:
        code: object = 0
        capsys.readouterr()
        try:
            Command().run_from_argv(["manage.py", "push_release", *map(str, arguments)])
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr()
        assert TOKEN not in said.out + said.err
        assert "Traceback" not in said.err
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def serve() -> Iterator[Callable[[type[Handler]], Server]]:
    servers = []

    def start(handler: type[Handler]) -> Server:
        server = Server(handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def bucket(serve: Callable[[type[Handler]], Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    pytest.importorskip("boto3")
    server = serve(Bucket)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
    return server


@pytest.fixture
def hub(serve: Callable[[type[Handler]], Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    server = serve(Hub)
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    return server


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write_release(tmp_path / "one.zip", "1.0", [released("a", make_document())])


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The same version with other content."""
    return write_release(tmp_path / "two.zip", "1.0", [released("b", make_document())])


def errata(archive: Path, *reasons: str) -> list[bytes]:
    """The lines of an errata log about the first item of a release."""
    with zipfile.ZipFile(archive) as opened:
        item = json.loads(opened.read("release-1.0/items.jsonl").splitlines()[0])["id"]
    lines, previous = [], ""
    for number, reason in enumerate(reasons, 1):
        one = Erratum(
            number=number, release="1.0", archive_sha256=hashlib.sha256(archive.read_bytes()).hexdigest(), item=item,
            severity=Severity.MINOR, reason=reason, date="2026-05-31", previous_sha256=previous,
        )  # fmt: skip
        previous = one.sha256
        lines.append(one.line() + b"\n")
    return lines


def bare(path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    subprocess.run(["git", "-C", str(path), "config", "http.receivepack", "true"], check=True)
    return path


@pytest.mark.parametrize("kind", ["folder", "git", "s3", "hf"])
def test_a_release_is_sent_once_and_never_changed(
    kind: str, push: Push, archive: Path, other: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind in ("s3", "hf"):
        request.getfixturevalue({"s3": "bucket", "hf": "hub"}[kind])
    place = {
        "folder": str(tmp_path / "share"),
        "git": f"git+file://{bare(tmp_path / 'bare.git')}",
        "s3": "s3://releases/trips/1.0",
        "hf": "hf:me/set",
    }[kind]

    dry = push(archive, place, "--dry-run")
    assert (dry.code, dry.counts()) == (0, (0, 0, 0))
    assert len(dry.out.splitlines()) == 4
    first = push(archive, place)
    assert (first.code, first.counts()) == (0, (3, 0, 3)), first.err
    again = push(archive, place)
    assert (again.code, again.counts()) == (0, (0, 3, 3))
    assert "already" in again.err
    refused = push(other, place)
    assert (refused.code, refused.out) == (2, "")
    assert "never changed" in refused.err


@pytest.mark.parametrize("kind", ["folder", "git", "s3", "hf"])
def test_an_errata_log_only_grows_beside_its_release(
    kind: str, push: Push, other: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind in ("s3", "hf"):
        request.getfixturevalue({"s3": "bucket", "hf": "hub"}[kind])
    place = {
        "folder": str(tmp_path / "share"),
        "git": f"git+file://{bare(tmp_path / 'bare.git')}",
        "s3": "s3://releases/trips/1.0",
        "hf": "hf:me/set",
    }[kind]
    archive = write_release(tmp_path / "one.zip", "1.0", [released("a", make_document())], errata=True)
    lines = errata(archive, "City.", "Date.", "Name.")
    log = tmp_path / "log.jsonl"

    def send(content: bytes, *options: str) -> Ran:
        log.write_bytes(content)
        return push(archive, place, "--errata", log, *options)

    dry = send(lines[0], "--dry-run")
    assert json.loads(dry.out.splitlines()[-2]) == {"path": "errata.jsonl", "bytes": len(lines[0]), "send": True}
    # The line break at the end of a file may be missing; others are added after it all the same.
    first = send(lines[0].rstrip(b"\n"))
    assert (first.code, first.counts(), first.last["errata"], first.last["errata_sent"]) == (0, (4, 0, 4), 1, True)
    again = send(lines[0])
    assert (again.code, again.last["sent"], again.last["errata_sent"]) == (0, 0, False), again.err
    grown = send(b"".join(lines))
    assert (grown.code, grown.last["sent"], grown.last["errata"], grown.last["errata_sent"]) == (0, 0, 3, True)
    if kind == "folder":
        assert (tmp_path / "share/errata.jsonl").read_bytes() == b"".join(lines)
    # The release is as it was, with and without a log.
    assert push(archive, place).code == 0
    assert json.loads(send(b"".join(lines), "--dry-run").out.splitlines()[-2])["send"] is False
    forked = [lines[0], *errata(archive, "City.", "Month.")[1:]]
    for content in (b"", lines[0], b"".join(forked)):
        refused = send(content)
        assert (refused.code, refused.out) == (2, "")
        assert "does not continue" in refused.err
    for content, said in ((b"".join(lines[1:]), "lines were removed"), (errata(other, "City.")[0], "Use the log of")):
        refused = send(content)
        assert (refused.code, refused.out) == (2, "")
        assert said in refused.err
    assert "is not a file" in push(archive, place, "--errata", tmp_path / "none").err
    assert send(b"".join(lines)).last["errata_sent"] is False


@pytest.mark.parametrize("kind", ["git", "hf"])
def test_an_errata_log_is_not_put_beside_the_files_of_another_release(
    kind: str, push: Push, archive: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "hf":
        request.getfixturevalue("hub")
    place = "hf:me/set" if kind == "hf" else f"git+file://{bare(tmp_path / 'bare.git')}"
    later = write_release(tmp_path / "later.zip", "1.1", [released("c", make_document())])
    log = tmp_path / "log.jsonl"
    log.write_bytes(errata(archive, "City.")[0])
    assert push(archive, place).code == 0
    assert push(later, place).code == 0
    refused = push(archive, place, "--errata", log)
    assert (refused.code, refused.out) == (2, "")
    assert "does not have the files of release 1.0" in refused.err


def test_a_killed_push_is_continued_and_the_manifest_comes_last(push: Push, bucket: Server, archive: Path) -> None:
    bucket.stop_at = 2
    command = [sys.executable, "manage.py", "push_release", str(archive), "s3://releases/x"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert bucket.stopped.wait(60)
        process.send_signal(signal.SIGKILL)
    assert len(bucket.objects) == 1
    bucket.stop_at = 0
    bucket.seen.clear()
    done = push(archive, "s3://releases/x")
    assert (done.code, done.counts()) == (0, (2, 1, 3))
    assert bucket.sent("PUT")[-1] == "/releases/x/manifest.json"


def test_a_damaged_file_is_named_and_sent_again_by_the_next_run(push: Push, bucket: Server, archive: Path) -> None:
    bucket.damage = "items.jsonl"
    done = push(archive, "s3://releases/x")
    assert done.code == 1
    assert "items.jsonl differs" in done.err
    assert "/releases/x/manifest.json" not in bucket.objects
    bucket.damage = ""
    assert push(archive, "s3://releases/x").code == 0


def test_the_hub_names_a_damaged_file(push: Push, hub: Server, archive: Path) -> None:
    hub.damage = "items.jsonl"
    done = push(archive, "hf:me/set")
    assert done.code == 1
    assert "items.jsonl differs" in done.err


@pytest.mark.parametrize(("kind", "place"), [("bucket", "s3://releases/x"), ("hub", "hf:me/set")])
class TestAnswers:
    def server(self, kind: str, request: pytest.FixtureRequest) -> Server:
        return request.getfixturevalue(kind)  # type: ignore[no-any-return]

    def test_two_errors_of_the_server_are_survived(
        self, kind: str, place: str, push: Push, archive: Path, request: pytest.FixtureRequest
    ) -> None:
        self.server(kind, request).failures = [503, 503]
        assert push(archive, place).code == 0

    def test_a_refused_token_is_a_sentence(
        self, kind: str, place: str, push: Push, archive: Path, request: pytest.FixtureRequest
    ) -> None:
        self.server(kind, request).failures = [403] * 9
        done = push(archive, place)
        assert (done.code, done.out) == (2, "")
        assert "refuses" in done.err

    def test_credentials_do_not_follow_a_redirect_to_another_host(
        self, kind: str, place: str, push: Push, archive: Path, request: pytest.FixtureRequest,
        serve: Callable[[type[Handler]], Server],
    ) -> None:  # fmt: skip
        elsewhere = serve(Bucket)
        self.server(kind, request).redirect = elsewhere.address.replace("127.0.0.1", "localhost")
        assert push(archive, place).code == 2
        assert elsewhere.tokens <= {""}


def test_git_over_http_gets_the_token_from_the_environment_only(
    push: Push, serve: Callable[[type[Handler]], Server], archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(GitHost)
    server.root = tmp_path / "git"
    repository = bare(server.root / "set.git")
    place = f"git+{server.address}/set.git"
    done = push(archive, place)
    assert (done.code, done.counts()) == (0, (3, 0, 3)), done.err
    assert not any(TOKEN.encode() in path.read_bytes() for path in repository.rglob("*") if path.is_file())
    monkeypatch.setenv("GIT_TOKEN", "wrong")
    assert "refuses access" in push(archive, place).err
    assert "no repository" in push(archive, f"git+file://{tmp_path}/none.git").err
    elsewhere = serve(GitHost)
    server.redirect = elsewhere.address
    assert push(archive, place).code == 2
    assert not elsewhere.seen


def test_wrong_use_and_damaged_archives_are_sentences(push: Push, archive: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(archive.read_bytes()[:-40])
    for said, *arguments in (
        ("is not a file", tmp_path / "none.zip", "x"),
        ("damaged, so nothing was sent", damaged, tmp_path / "share"),
        ("contains a user or a token", archive, f"git+https://x:{TOKEN}@host/a"),
        ("does not begin with https", archive, "git+http://host.example/a"),
        ("hf:OWNER/NAME", archive, "hf:name"),
        ("can't send", archive, "ftp://host/a"),
        ("--private", archive, "s3://releases/x", "--private"),
        ("--strict", archive, "x", "--strict"),
    ):
        done = push(*arguments)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
    assert not (tmp_path / "share").exists()


def test_a_release_with_settings_of_git_is_not_sent_there(tmp_path: Path) -> None:
    files = (SentFile(".GIT/config", "0" * 64, 1, tmp_path), SentFile("manifest.json", "0" * 64, 1, tmp_path))
    with pytest.raises(PushError, match="a name that git uses"):
        plan(GitPlace(f"file://{tmp_path}", None), PushedRelease("1.0", files))
    with pytest.raises(PushError, match="can't be a tag"):
        plan(GitPlace(f"file://{tmp_path}", None), PushedRelease("1..0", files))


def test_a_full_disk_is_a_sentence_with_the_file(
    push: Push, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        # Writing to an open file raises an error without its name.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(folder.shutil, "copyfileobj", fill)
    done = push(archive, tmp_path / "share")
    assert done.code == 2
    assert str(tmp_path / "share") in done.err
    assert "None" not in done.err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_failure_of_this_machine_is_a_sentence(
    push: Push, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    place = f"git+file://{bare(tmp_path / 'bare.git')}"

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as copying:
        copying.setattr(git_place.shutil, "copyfile", fail)
        done = push(archive, place)
    assert (done.code, done.out) == (2, "")
    assert "TMPDIR" in done.err
    monkeypatch.setattr(git_place.subprocess, "run", fail)
    done = push(archive, place)
    assert (done.code, done.out) == (2, "")
    assert f"Can't start git: {os.strerror(number)}" in done.err


def test_a_path_that_is_a_file_and_a_folder_is_a_sentence(archive: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(hostile, "w") as made:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("/manifest.json"):
                root, manifest = name.removesuffix("manifest.json"), json.loads(content)
                entry = {"bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest(), "format": "text", "items": 0}
                manifest["files"] += [manifest["files"][0] | entry | {"path": path} for path in ("x", "x/y")]
                content = json.dumps(manifest).encode()
            made.writestr(name, content)
        for path in ("x", "x/y"):
            made.writestr(root + path, b"x")
    (tmp_path / "out").mkdir()
    with pytest.raises(SourceError, match="x/y"):
        unpack(hostile, tmp_path / "out")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_push_that_is_ended_leaves_no_unpacked_files(archive: Path, tmp_path: Path, number: int) -> None:
    temporary, place = tmp_path / "temporary", tmp_path / "share"
    temporary.mkdir()
    place.mkdir()
    # What runs in the background of a shell inherits that Ctrl-C is ignored.
    program = (
        "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from benchmark.core.pushing.folder import Folder; "
        "Folder.compare = lambda *_, **__: (print('waits', flush=True), time.sleep(60)); "
        "from benchmark.management.commands.push_release import Command; "
        "Command().run_from_argv(['manage.py', 'push_release', *sys.argv[1:]])"
    )
    program = "import os, django; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'annotator.config.settings'); " + (
        "django.setup(); " + program
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(archive), str(place)], cwd=ROOT, text=True,
        env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stdout.readline() == "waits\n"
        running.send_signal(number)
        said = running.communicate(timeout=120)[1]
    assert running.returncode == 2
    assert said.splitlines() == ["Interrupted. Run the same command again to continue."]
    assert not list(temporary.iterdir())
