"""Update the project's environment and run a command in it: ``start.py run python manage.py …``."""

import os
import sys
from collections.abc import Sequence

from scripts.environment import ROOT, Environment, Stop


def main(arguments: Sequence[str]) -> int:
    """Replace this process with the command `arguments`."""
    if not arguments:
        print("Add a command, for example: start.py run python manage.py check", file=sys.stderr)
        return 2
    try:
        python = Environment().prepare(development=True)
    except Stop as stop:
        print(stop, file=sys.stderr, flush=True)
        return 1
    os.chdir(ROOT)
    # As modules: the scripts in .venv/bin contain an absolute path, which is wrong if the folder was moved.
    command = [str(python), *(arguments[1:] if arguments[0] == "python" else ["-m", *arguments])]
    os.execv(command[0], command)  # noqa: S606 - the developer's own command, no shell
