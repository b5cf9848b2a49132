"""Private PostgreSQL and Redis servers for tests and measurements, and where Chromium is.

A server lives in a temporary folder, listens where only this machine reaches it, and ends with its `with` block.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.environment import Stop, last_lines, run_quietly
from scripts.supervisor import end_with_parent, last_log_lines

START_SECONDS = 30.0
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> Path | None:
    """Return the installed Chromium or Chrome; the variable CHROMIUM names another one."""
    named = os.environ.get("CHROMIUM")
    for name in (named,) if named else CHROMIUM_NAMES:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    return None


def find_caddy() -> Path | None:
    """Return the installed Caddy, the proxy of ``deploy/``."""
    found = shutil.which("caddy")
    return Path(found) if found is not None else None


def find_postgresql() -> Path | None:
    """Return the folder of PostgreSQL's server programs, the newest version's; Debian keeps them off the PATH."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        folder = Path(on_path).resolve().parent
        if (folder / "postgres").exists():
            return folder
    installed = [
        folder
        for pattern in (
            "/usr/lib/postgresql/*/bin",
            "/usr/pgsql-*/bin",
            "/opt/homebrew/opt/postgresql*/bin",
            "/usr/local/opt/postgresql*/bin",
        )
        for folder in Path("/").glob(pattern[1:])
        if (folder / "initdb").exists() and (folder / "postgres").exists()
    ]
    return max(installed, key=version_in_path, default=None)


def version_in_path(folder: Path) -> tuple[int, ...]:
    """Return the numbers in a folder's name, so that 15 sorts after 9.6."""
    digits = "".join(character if character.isdigit() else " " for character in str(folder))
    return tuple(int(number) for number in digits.split())


def find_redis() -> Path | None:
    """Return the Redis server (or Valkey, which speaks the same protocol)."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    return None


def unprivileged_user() -> pwd.struct_passwd | None:
    """Return the user that runs PostgreSQL when we are root (it refuses root); None when we are not."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Stop(
        "PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody to run it as."
    )


@contextlib.contextmanager
def private_folder(name: str, owner: pwd.struct_passwd | None = None) -> Iterator[Path]:
    """Give a temporary folder, short enough for a socket's path, deleted at the end."""
    # A socket's path may have 107 characters; some systems' own temporary folders are longer.
    parent = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix=f"assay-{name}-", dir=parent if len(parent) < 60 else "/tmp"))  # noqa: S108
    try:
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def private_postgresql(programs: Path) -> Iterator[str]:
    """Run a PostgreSQL cluster on a Unix socket and give the URL of its database ``assay``.

    It forgets everything in a power cut, on purpose: nothing here outlives the run.
    """
    owner = unprivileged_user()
    identity = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    with private_folder("postgresql", owner) as folder:
        data = folder / "data"
        made = subprocess.run(
            [programs / "initdb", "-D", data, "-U", "assay", "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync"],
            cwd=folder, capture_output=True, text=True, check=False, **identity,  # type: ignore[call-overload]
        )  # fmt: skip
        if made.returncode != 0:
            raise Stop(
                f"{last_lines(made)}\nThe private PostgreSQL cluster could not be made with {programs / 'initdb'}."
            )
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_connections": "150",
            "shared_buffers": "256MB",
            "max_wal_size": "4GB",
        }
        command = [str(programs / "postgres"), "-D", str(data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        # A server that is still starting up has its socket, but takes no one in.
        asked: list[str | Path] = [programs / "pg_isready", "-h", folder, "-U", "assay", "-q"]
        with running_server(command, folder, "PostgreSQL", lambda: run_quietly(asked).returncode == 0, identity):
            created = run_quietly([programs / "createdb", "-h", folder, "-U", "assay", "assay"])
            if created.returncode != 0:
                raise Stop(f"{last_lines(created)}\nThe private PostgreSQL cluster did not accept a new database.")
            yield f"postgres://assay@/{folder}/assay"


@contextlib.contextmanager
def private_redis(program: Path) -> Iterator[str]:
    """Run a Redis server on a free port of 127.0.0.1, nothing kept on disk, and give its URL."""
    with private_folder("redis") as folder:
        port = free_port()
        command = [
            str(program),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(folder),
        ]
        with running_server(command, folder, "Redis", lambda: port_answers(port), {}):
            yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def running_server(
    command: list[str], folder: Path, name: str, is_ready: Callable[[], bool], identity: dict[str, object]
) -> Iterator[None]:
    """Run a server for the length of a `with` block; raises `Stop` with its last words when it does not get ready."""
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent, start_new_session=True, **identity,  # type: ignore[call-overload]
        )  # fmt: skip
    try:
        end = time.monotonic() + START_SECONDS
        while not is_ready():
            if server.poll() is not None or time.monotonic() > end:
                tail = "\n".join(f"    {line}" for line in last_log_lines(log))
                raise Stop(f"{tail}\nThe private {name} server did not start.")
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(0.05)
        yield
    finally:
        # PostgreSQL reads SIGINT as "fast": no waiting for clients that are gone anyway. Redis ends on it as well.
        if server.poll() is None:
            server.send_signal(2)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def port_answers(port: int) -> bool:
    """Tell whether a port of 127.0.0.1 accepts connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
