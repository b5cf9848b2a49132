"""Update the demo's database, static files and project, in one Django process of the project's environment.

Skips steps that are already done. Writes ``sign-ins.txt``, a list of the people who can sign in, to the data folder.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import django


def main() -> None:
    """Migrate, collect static files if they changed, and load the demo project."""
    data = Path(os.environ["ASSAY_DATA"])
    unfinished = data / "unfinished"
    if unfinished.exists():
        remove_unfinished(data)
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


def remove_unfinished(data: Path) -> None:
    """Delete what an interrupted first start left. Nobody can have worked in it yet."""
    print("The first start was interrupted. Creating the demo again.")
    for entry in data.iterdir():
        if entry.name == "logs":
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def sign_ins() -> str:
    """Return one line for each person who can sign in."""
    from annotator.services.accounts.accounts import demo_people
    from benchmark.demo.project import PASSWORD

    people = demo_people()
    width = max((len(person.username) for person in people), default=0)
    lines = [f"  {person.username:<{width}}  {person.demo_note}" for person in people]
    return "\n".join([f"Sign in with a button, or with a username and the password {PASSWORD}:", *lines, ""])


def collect_static_files(data: Path) -> None:
    """Collect the static files if they changed."""
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
