"""Start temporary PostgreSQL and Redis servers for tests and benchmarks, and find browsers and Caddy.

A server uses a temporary folder, accepts only local connections, and stops at the end of its `with` block.
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
CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The first is Chromium without its windows: pages are the same, and tests take a fifth less time."""


def find_chromium() -> Path | None:
    """Return the path in the variable CHROMIUM, or the installed Chromium or Chrome."""
    named = os.environ.get("CHROMIUM")
    for name in (named,) if named else CHROMIUM_NAMES:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    return None


def find_firefox() -> Path | None:
    """Return the path in the variable FIREFOX, or the installed Firefox, of which Debian has the long-term release."""
    named = os.environ.get("FIREFOX")
    for name in (named,) if named else ("firefox-esr", "firefox"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    return None


def find_caddy() -> Path | None:
    """Return the installed Caddy (see `deploy/Caddyfile`)."""
    found = shutil.which("caddy")
    return Path(found) if found is not None else None


def find_postgresql() -> Path | None:
    """Return the folder with the newest PostgreSQL server programs. On Debian, they are not on the PATH."""
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
    """Return the installed Redis server, or Valkey, which is compatible."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    return None


def unprivileged_user() -> pwd.struct_passwd | None:
    """Return the user to run PostgreSQL as if we are root, which PostgreSQL refuses; None if we are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Stop("PostgreSQL can't run as root, and this machine has no user “postgres” or “nobody” to run it as.")


@contextlib.contextmanager
def private_folder(name: str, owner: pwd.struct_passwd | None = None) -> Iterator[Path]:
    """Create a temporary folder with a path short enough for a socket, and delete it at the end."""
    # A socket's path can have 107 characters; the default temporary folder is sometimes longer.
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
    """Run a PostgreSQL server on a Unix socket and return the URL of its database ``assay``.

    Crash safety is off, because the data is temporary.
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
            raise Stop(f"{last_lines(made)}\n{programs / 'initdb'} could not create a temporary PostgreSQL server.")
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_connections": "150",
            "jit": "off",
            "shared_buffers": "256MB",
            "max_wal_size": "4GB",
        }
        command = [str(programs / "postgres"), "-D", str(data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        # While the server starts, its socket exists but refuses connections.
        asked: list[str | Path] = [programs / "pg_isready", "-h", folder, "-U", "assay", "-q"]
        with running_server(command, folder, "PostgreSQL", lambda: run_quietly(asked).returncode == 0, identity):
            created = run_quietly([programs / "createdb", "-h", folder, "-U", "assay", "assay"])
            if created.returncode != 0:
                raise Stop(f"{last_lines(created)}\nThe temporary PostgreSQL server could not create a database.")
            yield f"postgres://assay@/{folder}/assay"


@contextlib.contextmanager
def private_redis(program: Path) -> Iterator[str]:
    """Run a Redis server in memory, on a free port of 127.0.0.1, and return its URL."""
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
        with running_server(command, folder, "Redis", lambda: port_is_open(port), {}):
            yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def running_server(
    command: list[str], folder: Path, name: str, is_ready: Callable[[], bool], identity: dict[str, object]
) -> Iterator[None]:
    """Run a server during a `with` block. Raises `Stop` with the end of its log if it does not start."""
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
                raise Stop(f"{tail}\nThe temporary {name} server did not start.")
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(0.05)
        yield
    finally:
        # SIGINT means a fast shutdown to PostgreSQL: it does not wait for clients. It stops Redis too.
        if server.poll() is None:
            server.send_signal(2)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def port_is_open(port: int) -> bool:
    """Return whether a port of 127.0.0.1 accepts connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
