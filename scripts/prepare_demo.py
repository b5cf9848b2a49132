"""Bring the demo's database, static files and demo project up to date, in one Django process.

Runs in the project's environment. Each step looks first whether there is anything to do. Writes who can sign in
to ``sign-ins.txt`` in the data folder.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import django


def main() -> None:
    """Migrate, collect static files when they changed, load the demo project."""
    data = Path(os.environ["ASSAY_DATA"])
    unfinished = data / "unfinished"
    if unfinished.exists():
        remove_half_made(data)
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import CommandError, call_command

    loaded = data / "sign-ins.txt"
    try:
        django.setup()
        if not loaded.exists():
            unfinished.touch()
        call_command("migrate", interactive=False, verbosity=1)
        collect_static_files(data)
        call_command("load_demo")
    except (CommandError, ImproperlyConfigured) as error:
        sys.exit(str(error))
    loaded.write_text(sign_ins())
    unfinished.unlink(missing_ok=True)


def remove_half_made(data: Path) -> None:
    """Delete what a first start left that was stopped before the demo was whole; nobody can have worked in it."""
    print("The first start was interrupted; making the demo anew.")
    for entry in data.iterdir():
        if entry.name == "logs":
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def sign_ins() -> str:
    """Return who can sign in and what they do there, one person a line."""
    from annotator.services.accounts.accounts import demo_people
    from benchmark.demo.project import PASSWORD

    people = demo_people()
    width = max((len(person.username) for person in people), default=0)
    lines = [f"  {person.username:<{width}}  {person.demo_note}" for person in people]
    return "\n".join([f"Sign in with a button, or by name with the password {PASSWORD}:", *lines, ""])


def collect_static_files(data: Path) -> None:
    """Collect the static files unless the same ones were collected before."""
    from django.conf import settings
    from django.contrib.staticfiles.finders import get_finders
    from django.core.management import call_command

    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{storage.path(path)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    stamp = data / "static.sha256"
    current = stamp.exists() and stamp.read_text() == digest.hexdigest()
    if not current or not (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        call_command("collectstatic", interactive=False, clear=True, verbosity=1)
        stamp.write_text(digest.hexdigest())


if __name__ == "__main__":
    main()
