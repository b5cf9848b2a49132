"""Run a command in the project's environment, made or brought up to date first: ``start.py run python manage.py …``."""

import os
import sys
from collections.abc import Sequence

from scripts.environment import ROOT, Environment, Stop


def main(arguments: Sequence[str]) -> int:
    """Replace this process by `arguments`, whose first word is a program of the environment."""
    if not arguments:
        print("Name a program of the environment: start.py run python manage.py check", file=sys.stderr)
        return 2
    try:
        python = Environment().prepare(development=True)
    except Stop as stop:
        print(stop, file=sys.stderr, flush=True)
        return 1
    os.chdir(ROOT)
    # Modules rather than the scripts beside Python: those carry an absolute first line that breaks in a moved folder.
    command = [str(python), *(arguments[1:] if arguments[0] == "python" else ["-m", *arguments])]
    os.execv(command[0], command)  # noqa: S606 - the person's own command, no shell
