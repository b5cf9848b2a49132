"""The project's virtual environment: created if missing, and updated if the lock file changed."""

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scripts.python_version import MINIMUM, is_supported, version_of

ROOT = Path(__file__).resolve().parent.parent
OLDEST_UV = (0, 6)

Printer = Callable[[str], None]


class Stop(Exception):
    """Stops a command. The message says what is wrong and what to do."""


def print_line(line: str) -> None:
    """Print a line immediately. Does nothing if the terminal is closed."""
    with contextlib.suppress(OSError):
        print(line, flush=True)


class Environment:
    """The virtual environment `.venv` of the project in `root`."""

    def __init__(self, root: Path = ROOT, printer: Printer = print_line) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        self.print = printer

    def prepare(self, *, development: bool) -> Path:
        """Install what the lock file lists and return the environment's Python.

        Takes a few milliseconds if nothing changed. Raises `Stop` if it fails.
        """
        fingerprint = self.fingerprint()
        if self.is_usable() and self._is_current(fingerprint, development=development):
            return self.python
        self._require_writable()
        if not self.is_usable():
            self._create()
        self._install(development=development)
        # A development environment contains everything that the application needs.
        for name in ("application", "development") if development else ("application",):
            self._stamp(name).write_text(fingerprint)
        return self.python

    def is_usable(self) -> bool:
        """Return whether the environment's Python runs and is new enough. It does not run if the folder was moved."""
        version = version_of(str(self.python)) if self.python.exists() else None
        return version is not None and is_supported(version)

    def fingerprint(self) -> str:
        """Return a hash of the files that determine which packages are installed."""
        digest = hashlib.sha256()
        for name in ("uv.lock", "pyproject.toml"):
            file = self.root / name
            if not file.is_file():
                raise Stop(f"{file} is missing. Run this in a complete checkout.")
            digest.update(file.read_bytes())
        digest.update(str(self.folder).encode())
        return digest.hexdigest()

    def _stamp(self, name: str) -> Path:
        return self.folder / f"assay-{name}.sha256"

    def _is_current(self, fingerprint: str, *, development: bool) -> bool:
        stamp = self._stamp("development" if development else "application")
        return stamp.is_file() and stamp.read_text() == fingerprint

    def _require_writable(self) -> None:
        place = self.folder if self.folder.exists() else self.root
        if not os.access(place, os.W_OK):
            raise Stop(f"Can't write to {place}. Use a checkout that belongs to you.")

    def _create(self) -> None:
        uv = self._system_uv()
        if self.folder.exists():
            self.print(f"{self.folder} no longer works: it was moved, or its Python was removed.")
        self.print("Creating the virtual environment .venv …")
        if uv is not None:
            command = [uv, "venv", "--clear", "--quiet", "--python", sys.executable, str(self.folder)]
        else:
            require_venv_module()
            command = [sys.executable, "-m", "venv", "--clear", str(self.folder)]
        outcome = run_quietly(command, cwd=self.root)
        if outcome.returncode != 0:
            raise Stop(
                f"{last_lines(outcome)}\nThe virtual environment {self.folder} could not be created (see above)."
            )

    def _system_uv(self) -> str | None:
        uv = shutil.which("uv")
        return uv if uv is not None and is_new_enough_uv(uv) else None

    def _uv(self) -> str:
        found = self._system_uv()
        if found is not None:
            return found
        own = self.folder / "bin" / "uv"
        # uv is a binary; a script would not start in a folder with spaces.
        if own.exists() and is_new_enough_uv(str(own)):
            return str(own)
        self.print("Installing uv, the package installer, into .venv …")
        if run_quietly([self.python, "-m", "pip", "--version"]).returncode != 0:
            run_quietly([self.python, "-m", "ensurepip", "--upgrade"])
        outcome = run_quietly(
            [
                self.python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--retries",
                "2",
                "--timeout",
                "20",
                f"uv>={'.'.join(map(str, OLDEST_UV))}",
            ],
            cwd=self.root,
        )
        if outcome.returncode != 0:
            raise Stop(f"{last_lines(outcome)}\n{download_sentence('uv')}")
        return str(own)

    def _install(self, *, development: bool) -> None:
        uv = self._uv()
        self.print("Installing packages (takes up to a minute the first time) …")
        command = [uv, "sync", "--frozen", "--inexact", "--compile-bytecode", "--no-progress"]
        # The libraries that scores need; development has them anyway.
        command += [] if development else ["--no-dev", "--extra", "scoring"]
        variables = {
            **os.environ,
            "UV_PROJECT_ENVIRONMENT": str(self.folder),
            "UV_PYTHON": str(self.python),
            "UV_PYTHON_DOWNLOADS": "never",
        }
        variables.pop("VIRTUAL_ENV", None)
        outcome = run_quietly(command, cwd=self.root, env=variables)
        if outcome.returncode != 0:
            raise Stop(f"{last_lines(outcome)}\n{download_sentence('the packages')}")


def require_venv_module() -> None:
    """Raise `Stop` if this Python lacks the venv module, which Debian packages separately."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        major, minor = sys.version_info[:2]
        raise Stop(
            f"{sys.executable} can't create a virtual environment: its venv module is not installed. On Debian and "
            f"Ubuntu: apt-get install python3-venv (or python{major}.{minor}-venv). Then run this command again."
        )


def is_new_enough_uv(executable: str) -> bool:
    """Return whether a uv executable runs and is `OLDEST_UV` or newer."""
    try:
        answer = run_quietly([executable, "--version"])
    except OSError:
        return False
    found = re.match(r"uv (\d+)\.(\d+)", answer.stdout)
    return answer.returncode == 0 and found is not None and (int(found[1]), int(found[2])) >= OLDEST_UV


def download_sentence(what: str) -> str:
    """Return the message for a failed download."""
    return (
        f"Installing {what} failed (see above). The first start downloads packages. Check the network connection, "
        "set HTTPS_PROXY if you need a proxy, and run this command again. It keeps what was downloaded."
    )


def run_quietly(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and capture its output as text."""
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, errors="replace", check=False
    )


def last_lines(outcome: subprocess.CompletedProcess[str], count: int = 8) -> str:
    """Return the last lines that a failed command printed, indented."""
    lines = (outcome.stdout + outcome.stderr).strip().splitlines()
    return "\n".join(f"    {line}" for line in lines[-count:]) or "    (it printed nothing)"


__all__ = ["MINIMUM", "ROOT", "Environment", "Stop", "print_line"]
