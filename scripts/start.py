"""Run one of the project's commands: ``python3 scripts/start.py demo``.

Keep the syntax of this file and of `scripts/python_version.py` valid in every Python since 2.7.
"""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from scripts.python_version import use_supported_python

COMMANDS = ("demo", "run_tests", "check", "run")

if __name__ == "__main__":
    use_supported_python()
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit("Usage: python3 scripts/start.py " + "|".join(COMMANDS) + " [options]")
    command = __import__("scripts." + sys.argv[1], fromlist=["main"])
    sys.exit(command.main(sys.argv[2:]))
