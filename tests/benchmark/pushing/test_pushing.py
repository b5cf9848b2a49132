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

from benchmark.core.files.limits import SourceError
from benchmark.core.pushing import folder, target
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
    program = (
        "import sys, time; from benchmark.core.pushing.folder import Folder; "
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
        said = running.communicate(timeout=20)[1]
    assert running.returncode == 2
    assert said.splitlines() == ["Interrupted. Run the same command again to continue."]
    assert not list(temporary.iterdir())
