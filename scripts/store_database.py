"""Store backups of the demo as this version makes it, for the tests that upgrade from it to every later version.

    python -m scripts.store_database

Do this once for each version that is released, and commit the two files in ``tests/stored``. Existing files stay.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from annotator import VERSION
from scripts.demo import NOT_INHERITED
from scripts.environment import ROOT, print_line
from scripts.private_services import find_postgresql, private_postgresql

STORED = ROOT / "tests" / "stored"
#: The secret key of the stored installations.
SECRET_KEY = "stored-installation-of-the-test-suite-and-of-nothing-else"  # noqa: S105 - of no real installation


def stored_path(version: str, database: str) -> Path:
    """Return the file with the backup of a version; ``database``: sqlite or postgresql."""
    return STORED / f"{version}-{database}.tar.xz"


def environment(data: Path, url: str = "") -> dict[str, str]:
    """Return the environment variables of an installation. ``url``: its database; blank for SQLite."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    kept = {name: value for name, value in kept.items() if not name.startswith(("PYTEST", "TEST_"))}
    return kept | {
        "ASSAY_MODE": "embedded", "ASSAY_PLAIN_STATIC": "1", "ASSAY_DATA": str(data), "SECRET_KEY": SECRET_KEY,
        "DJANGO_SETTINGS_MODULE": "annotator.config.settings", **({"DATABASE_URL": url} if url else {}),
    }  # fmt: skip


def store(database: str, url: str = "") -> None:
    """Make the demo and store its backup."""
    target = stored_path(VERSION, database)
    if target.exists():
        print_line(f"{target.relative_to(ROOT)} exists and stays as it is.")
        return
    with tempfile.TemporaryDirectory() as scratch:
        variables = environment(Path(scratch) / "data", url)
        for command in (["migrate", "--verbosity=0"], ["load_demo"], ["backup", f"{scratch}/backups"]):
            subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=variables, check=True)
        STORED.mkdir(exist_ok=True)
        with tarfile.open(target, "x:xz") as archive:
            archive.add(f"{scratch}/backups", arcname="backups")
    print_line(f"Stored {target.relative_to(ROOT)} ({target.stat().st_size:,} bytes).")


def main() -> int:
    programs = find_postgresql()
    if programs is None:
        print_line("PostgreSQL is not installed.")
        return 1
    store("sqlite")
    with private_postgresql(programs) as url:
        store("postgresql", url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
