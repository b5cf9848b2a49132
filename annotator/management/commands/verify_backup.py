"""``manage.py verify_backup FOLDER``: read backups whole and compare them with their manifests."""

import json
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from annotator.core.backups.folder import Backups
from annotator.core.backups.manifest import Manifest, is_sealed, mark_of
from annotator.management.backups import BackupCommand, sentences
from annotator.management.base import REFUSED
from annotator.services.backups.verifying import backup_problems


class Command(BackupCommand):
    help = (
        "Read a backup whole (default: the newest), decrypt it, compare it with its manifest, and let the database's "
        "program read the dump. Nothing is restored. The last line is a JSON summary. Exit code 0: no problem; 1: some."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--at", default="", metavar="NAME", help="this backup")
        parser.add_argument("--all", action="store_true", help="all backups in the folder")
        parser.add_argument("--quick", action="store_true", help="only whether everything is there, by its size")
        parser.add_argument("--max-age", type=float, metavar="HOURS", help="a problem if the newest backup is older")

    def handle(self, *args: Any, **options: Any) -> None:
        backups = Backups(options["folder"])
        problems = []
        with sentences():
            newest = backups.manifest("")
            manifests = backups.manifests() if options["all"] else [backups.manifest(options["at"])]
            if options["max_age"] is not None and timezone.now() - newest.at > timedelta(hours=options["max_age"]):
                problems.append(f"The newest backup, {newest.name}, is older than {options['max_age']:g} hours.")
            for manifest in manifests:
                found = self._missing(backups, manifest) if options["quick"] else self._all(backups, manifest, options)
                problems += [f"{manifest.name}: {problem}" for problem in found]
        for problem in problems:
            self.say(problem)
        names = [manifest.name for manifest in manifests]
        self.stdout.write(json.dumps({"ok": not problems, "backups": names, "problems": problems}, ensure_ascii=False))
        if problems:
            raise SystemExit(REFUSED)

    def _missing(self, backups: Backups, manifest: Manifest) -> list[str]:
        return [f"{name}: {part.place} is missing." for name, part in manifest.parts if not backups.has(part)]

    def _all(self, backups: Backups, manifest: Manifest, options: dict[str, Any]) -> list[str]:
        found = list(backup_problems(backups, manifest, self.keys(options)))
        if manifest.secret_key == mark_of(settings.SECRET_KEY) and not is_sealed(manifest, settings.SECRET_KEY):
            found.insert(0, "the manifest was changed after it was made.")
        return found
