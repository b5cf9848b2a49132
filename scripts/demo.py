"""``make demo``: install everything and run Assay with a demo project.

The web server and the workers run in this command's process group and use SQLite and a file-based broker.
"""

import argparse
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.environment import ROOT, Environment, Stop, print_line
from scripts.supervisor import Supervisor, last_log_lines

HOST = "127.0.0.1"
"""The demo signs people in without a password, so only this machine may reach it."""

READY_SECONDS = 90.0

SIGN_INS = "sign-ins.txt"
"""File in the data folder that lists the people who can sign in. It exists once the demo is complete."""

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
"""Variables that could point the demo to another installation's database, or change or slow down its start."""


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
        print_line("\nStopped.")
        return 130


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="make demo", description="Start Assay with demo projects.")
    parser.add_argument("--port", default="8000", help="port of the web server; 0 chooses a free one")
    parser.add_argument(
        "--data", type=Path, default=ROOT / "var" / "demo", help="folder of the demo's database and files"
    )
    return parser.parse_args(arguments)


@contextlib.contextmanager
def listening_socket(wanted: str) -> Iterator[socket.socket]:
    """Listen on the port from the start, so that no other program takes it while packages are installed.

    Raises `Stop` if the port can't be used.
    """
    if not wanted.isdigit() or int(wanted) > 65535:
        raise Stop(f"“{wanted}” is not a port. Choose a number from 1024 to 65535, for example: make demo PORT=8001")
    port = int(wanted)
    other = f"Choose another one: make demo PORT={port + 1 if 1024 <= port < 65535 else 8001}"
    # Some systems let one program listen on all addresses and another on one of them, so connect first.
    if port and any(
        is_listening(family, host, port) for family, host in ((socket.AF_INET, HOST), (socket.AF_INET6, "::1"))
    ):
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


def is_listening(family: int, host: str, port: int) -> bool:
    """Return whether a program accepts connections on this port."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(1)
            return client.connect_ex((host, port)) == 0
    except OSError:
        return False


def demo_variables(data: Path, url: str) -> dict[str, str]:
    """Return the environment variables of the demo's programs: embedded mode, its own data, sign-in buttons."""
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
    """Prepare the data, start the web server and the workers, and wait until a signal arrives or one of them exits."""
    data = data.resolve()
    try:
        data.mkdir(parents=True, exist_ok=True)
        (data / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise Stop(f"Can't write to {data} ({error.strerror}). Use a checkout that belongs to you.") from None
    url = f"http://{HOST}:{listener.getsockname()[1]}"
    variables = demo_variables(data, url)
    with Supervisor() as supervisor:
        if prepare(supervisor, python, variables, data):
            web = web_command(python, listener.fileno())
            log = data / "logs" / "web.log"
            supervisor.start("web server", web, env=variables, cwd=ROOT, log=log, pass_fds=[listener.fileno()])
            # If the web server exits, the port must be closed.
            listener.close()
            if supervisor.wait_until_ready(f"{url}/healthz", seconds=READY_SECONDS):
                # Not earlier: they would compete with the web server for the cores.
                start_workers(supervisor, python, variables, data / "logs")
                model = [python, ROOT / "scripts" / "demo_model.py"]
                supervisor.start("scripted models", model, env=variables, cwd=ROOT, log=data / "logs" / "models.log")
                print_line(f"\nAssay is running: {url}/\n\n{(data / SIGN_INS).read_text()}")
                print_line(f"Logs are in {data / 'logs'}. Press Ctrl-C to stop.")
                supervisor.watch()
        print_line("\nStopping …")
    print_line("Stopped. Unfinished background jobs continue at the next start.")
    return 0


def prepare(supervisor: Supervisor, python: Path, variables: Mapping[str, str], data: Path) -> bool:
    """Update the database, the static files and the demo project. Return False if a signal arrived first."""
    first = not (data / SIGN_INS).exists()
    print_line(f"Preparing the demo{' (takes up to a minute the first time)' if first else ''} …")
    command = [python, ROOT / "scripts" / "prepare_demo.py"]
    preparation = supervisor.start("preparation", command, env=variables, cwd=ROOT, log=data / "logs" / "prepare.log")
    code = supervisor.finish(preparation)
    if code:
        tail = "\n".join(f"    {line}" for line in last_log_lines(preparation.log))
        raise Stop(
            f"{tail}\nThe demo could not be prepared; the log is {preparation.log}. "
            "If its data is from an older version, delete it: make demo-reset"
        )
    return code is not None


def web_command(python: Path, descriptor: int) -> list[str | Path]:
    """Return the command of the web server: gunicorn with threads, on the open socket.

    There is no proxy, so its workers must buffer requests themselves: a slow client must not take a thread.
    """
    return [
        python, "-m", "gunicorn", "annotator.config.wsgi:application",
        "--bind", f"fd://{descriptor}", "--workers", "2", "--threads", "8",
        "--worker-class", "annotator.config.buffering_worker.BufferingWorker",
        "--preload", "--graceful-timeout", "5", "--access-logfile", "-", "--no-control-socket",
    ]  # fmt: skip


def start_workers(supervisor: Supervisor, python: Path, variables: Mapping[str, str], logs: Path) -> None:
    """Start two Celery workers: one that also runs beat, and one for untrusted data and code, which may crash."""
    for name, options in (
        ("worker", ["--queues", "assay,models", "--beat"]),
        ("worker for untrusted code", ["--queues", "imports,untrusted", "--hostname", "untrusted@%h"]),
    ):
        command: list[str | Path] = [
            python, "-m", "celery", "--app", "annotator.config.celery:app", "worker", *options,
            "--concurrency", "2", "--loglevel", "INFO", "--without-gossip", "--without-mingle",
        ]  # fmt: skip
        supervisor.start(name, command, env=variables, cwd=ROOT, log=logs / f"{name.replace(' ', '-')}.log")
