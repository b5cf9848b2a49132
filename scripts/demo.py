"""``make demo``: from a fresh checkout to a running application with a demo project, in one command.

Web server and worker run in this command's own process group, with SQLite and a broker made of plain files.
"""

import argparse
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.environment import ROOT, Environment, Stop, tell
from scripts.supervisor import Supervisor, last_log_lines

HOST = "127.0.0.1"
"""The demo signs people in without a password, so nobody but this machine may reach it."""

READY_SECONDS = 90.0

SIGN_INS = "sign-ins.txt"
"""Who can sign in, written into the data folder when the demo is whole."""

NOT_INHERITED = (
    "ALLOWED_HOSTS",
    "ASSAY_HTTPS",
    "ASSAY_PLAIN_STATIC",
    "CSRF_TRUSTED_ORIGINS",
    "DATABASE_URL",
    "DEBUG",
    "GUNICORN_CMD_ARGS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPATH",
    "REDIS_URL",
    "SECRET_KEY",
    "SECRET_KEY_FILE",
    "STATIC_ROOT",
)
"""Variables that would let the demo write into another installation's database, or start differently or slowly."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo until Ctrl-C and return the exit code."""
    options = read_options(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        with listening_socket(options.port) as listener:
            python = Environment().prepare(development=False)
            return serve(python, listener, options.data)
    except Stop as stop:
        print(stop, file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        tell("\nStopped.")
        return 130


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line: the port and the folder that holds the demo's data."""
    parser = argparse.ArgumentParser(prog="make demo", description="Start Assay with a demo project.")
    parser.add_argument("--port", default="8000", help="port of the web server; 0 takes a free one")
    parser.add_argument(
        "--data", type=Path, default=ROOT / "var" / "demo", help="folder of the demo's database and files"
    )
    return parser.parse_args(arguments)


@contextlib.contextmanager
def listening_socket(wanted: str) -> Iterator[socket.socket]:
    """Hold the port from the first moment on, so that nobody else takes it while packages are installed.

    Raises `Stop` with a sentence that names the port and how to choose another.
    """
    if not wanted.isdigit() or int(wanted) > 65535:
        raise Stop(f"“{wanted}” is not a port: choose a number from 1024 to 65535, for example make demo PORT=8001.")
    port = int(wanted)
    other = f"Choose another one: make demo PORT={port + 1 if 1024 <= port < 65535 else 8001}"
    # Where one program listens on all addresses and another on one of them, some systems allow both: ask first.
    if port and any(answers(family, host, port) for family, host in ((socket.AF_INET, HOST), (socket.AF_INET6, "::1"))):
        raise Stop(f"Port {port} is in use by another program. {other}")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(128)
        except PermissionError:
            raise Stop(f"Port {port} is reserved for the system administrator. {other}") from None
        except OSError:
            raise Stop(f"Port {port} is in use by another program. {other}") from None
        yield listener
    finally:
        listener.close()


def answers(family: int, host: str, port: int) -> bool:
    """Tell whether something accepts connections at an address of this machine."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(1)
            return client.connect_ex((host, port)) == 0
    except OSError:
        return False


def demo_variables(data: Path, url: str) -> dict[str, str]:
    """Return the environment of the demo's programs: embedded mode, its own data, sign-in buttons."""
    variables = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return variables | {
        "ASSAY_MODE": "embedded",
        "ASSAY_DEMO": "1",
        "ASSAY_DATA": str(data),
        "DJANGO_SETTINGS_MODULE": "annotator.config.settings",
        "PYTHONUNBUFFERED": "1",
        "SITE_URL": url,
    }


def serve(python: Path, listener: socket.socket, data: Path) -> int:
    """Prepare the data, start web server and worker, and stay until a signal or the end of one of them."""
    data = data.resolve()
    try:
        data.mkdir(parents=True, exist_ok=True)
        (data / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise Stop(f"{data} cannot be written to ({error.strerror}): use a checkout that belongs to you.") from None
    url = f"http://{HOST}:{listener.getsockname()[1]}"
    variables = demo_variables(data, url)
    with Supervisor() as supervisor:
        if prepare(supervisor, python, variables, data):
            web = web_command(python, listener.fileno())
            log = data / "logs" / "web.log"
            supervisor.start("web server", web, env=variables, cwd=ROOT, log=log, pass_fds=[listener.fileno()])
            # From here on only the web server holds the port: when it ends, so does the answer.
            listener.close()
            if supervisor.wait_until_ready(f"{url}/healthz", seconds=READY_SECONDS):
                # Not earlier: while they start, both would want the same cores.
                start_workers(supervisor, python, variables, data / "logs")
                tell(f"\nAssay is running: {url}/\n\n{(data / SIGN_INS).read_text()}")
                tell(f"Logs are in {data / 'logs'}. Press Ctrl-C to stop.")
                supervisor.watch()
        tell("\nStopping …")
    tell("Stopped. Unfinished background work goes on at the next start.")
    return 0


def prepare(supervisor: Supervisor, python: Path, variables: Mapping[str, str], data: Path) -> bool:
    """Bring database, static files and demo project up to date; False when a signal asked to stop first."""
    first = not (data / SIGN_INS).exists()
    tell(f"Preparing the demo project{' (the first time this takes up to a minute)' if first else ''} …")
    command = [python, ROOT / "scripts" / "prepare_demo.py"]
    preparation = supervisor.start("preparation", command, env=variables, cwd=ROOT, log=data / "logs" / "prepare.log")
    code = supervisor.finish(preparation)
    if code:
        tail = "\n".join(f"    {line}" for line in last_log_lines(preparation.log))
        raise Stop(
            f"{tail}\nThe demo's data could not be prepared; the log is {preparation.log}. "
            "If the data is of an older version, begin anew: make demo-reset"
        )
    return code is not None


def web_command(python: Path, descriptor: int) -> list[str | Path]:
    """Return the command of the web server: gunicorn with threads, on the socket that is held already.

    No proxy stands before it, so its workers take requests in themselves: nobody who dawdles takes a thread.
    """
    return [
        python, "-m", "gunicorn", "annotator.config.wsgi:application",
        "--bind", f"fd://{descriptor}", "--workers", "2", "--threads", "8",
        "--worker-class", "annotator.config.patient_worker.PatientWorker",
        "--preload", "--graceful-timeout", "5", "--access-logfile", "-", "--no-control-socket",
    ]  # fmt: skip


def start_workers(supervisor: Supervisor, python: Path, variables: Mapping[str, str], logs: Path) -> None:
    """Start two Celery workers: one that also beats, and one for untrusted data and code, which may be slow or die."""
    for name, options in (
        ("worker", ["--queues", "assay", "--beat"]),
        ("worker for untrusted code", ["--queues", "untrusted", "--hostname", "untrusted@%h"]),
    ):
        command: list[str | Path] = [
            python, "-m", "celery", "--app", "annotator.config.celery:app", "worker", *options,
            "--concurrency", "2", "--loglevel", "INFO", "--without-gossip", "--without-mingle",
        ]  # fmt: skip
        supervisor.start(name, command, env=variables, cwd=ROOT, log=logs / f"{name.replace(' ', '-')}.log")
