"""The project's virtual environment: made when missing, filled from the lock file, left alone when it is current."""

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

Say = Callable[[str], None]


class Stop(Exception):
    """Ends a command with a sentence that says what is wrong and what to do."""


def tell(sentence: str) -> None:
    """Print a line for the person at the terminal, at once; there may be no terminal any more."""
    with contextlib.suppress(OSError):
        print(sentence, flush=True)


class Environment:
    """A virtual environment of the project in `root`; `.venv` beside the lock file."""

    def __init__(self, root: Path = ROOT, say: Say = tell) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        self.say = say

    def prepare(self, *, development: bool) -> Path:
        """Bring the environment up to date with the lock file and return its Python.

        Costs a few milliseconds when nothing changed since the last time. Raises `Stop` with a sentence otherwise.
        """
        fingerprint = self.fingerprint()
        if self.is_usable() and self._is_current(fingerprint, development=development):
            return self.python
        self._require_writable()
        if not self.is_usable():
            self._create()
        self._install(development=development)
        # A development environment holds everything the application needs, so it satisfies both.
        for name in ("application", "development") if development else ("application",):
            self._stamp(name).write_text(fingerprint)
        return self.python

    def is_usable(self) -> bool:
        """Tell whether the environment's Python runs and is new enough (a moved or half-made environment is not)."""
        version = version_of(str(self.python)) if self.python.exists() else None
        return version is not None and is_supported(version)

    def fingerprint(self) -> str:
        """Return a hash of what decides which packages are installed."""
        digest = hashlib.sha256()
        for name in ("uv.lock", "pyproject.toml"):
            file = self.root / name
            if not file.is_file():
                raise Stop(f"{file} is missing: run this in a complete checkout.")
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
            raise Stop(f"{place} cannot be written to: use a checkout that belongs to you.")

    def _create(self) -> None:
        uv = self._system_uv()
        if self.folder.exists():
            self.say(f"{self.folder} does not work any more (moved, or its Python is gone); making it anew.")
        self.say("Making the virtual environment .venv …")
        if uv is not None:
            command = [uv, "venv", "--clear", "--quiet", "--python", sys.executable, str(self.folder)]
        else:
            require_venv_module()
            command = [sys.executable, "-m", "venv", "--clear", str(self.folder)]
        outcome = run_quietly(command, cwd=self.root)
        if outcome.returncode != 0:
            raise Stop(f"{last_lines(outcome)}\nThe virtual environment {self.folder} could not be made (see above).")

    def _system_uv(self) -> str | None:
        uv = shutil.which("uv")
        return uv if uv is not None and is_new_enough_uv(uv) else None

    def _uv(self) -> str:
        found = self._system_uv()
        if found is not None:
            return found
        own = self.folder / "bin" / "uv"
        # Started through Python's own path: a script's first line breaks in folders with spaces, this binary does not.
        if own.exists() and is_new_enough_uv(str(own)):
            return str(own)
        self.say("Installing uv, the package installer, into .venv …")
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
        self.say("Installing the packages of uv.lock (the first time this takes up to a minute) …")
        command = [uv, "sync", "--frozen", "--inexact", "--compile-bytecode", "--no-progress"]
        if not development:
            command.append("--no-dev")
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
    """Raise `Stop` when this Python cannot make virtual environments (Debian ships that part separately)."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        major, minor = sys.version_info[:2]
        raise Stop(
            f"{sys.executable} cannot make a virtual environment: its venv module is not installed. "
            f"On Debian and Ubuntu: apt-get install python3-venv (or python{major}.{minor}-venv), then run this again."
        )


def is_new_enough_uv(executable: str) -> bool:
    """Tell whether a uv executable runs and is not older than `OLDEST_UV`."""
    try:
        answer = run_quietly([executable, "--version"])
    except OSError:
        return False
    found = re.match(r"uv (\d+)\.(\d+)", answer.stdout)
    return answer.returncode == 0 and found is not None and (int(found[1]), int(found[2])) >= OLDEST_UV


def download_sentence(what: str) -> str:
    """Return what to do when something could not be downloaded."""
    return (
        f"Installing {what} failed (see above). The first start downloads packages: check the network connection, "
        "set HTTPS_PROXY where one is needed, and run this again; what was downloaded so far is kept."
    )


def run_quietly(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with its output kept, as text."""
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, errors="replace", check=False
    )


def last_lines(outcome: subprocess.CompletedProcess[str], count: int = 8) -> str:
    """Return the last lines a failed command printed, indented."""
    lines = (outcome.stdout + outcome.stderr).strip().splitlines()
    return "\n".join(f"    {line}" for line in lines[-count:]) or "    (it printed nothing)"


__all__ = ["MINIMUM", "ROOT", "Environment", "Stop", "tell"]
