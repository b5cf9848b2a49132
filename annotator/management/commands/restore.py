"""``manage.py restore FOLDER``: restore the database and the files of a backup, and check them."""

import io
import json
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from annotator.core.backups.folder import Backups
from annotator.management.backups import BackupCommand, sentences
from annotator.management.base import REFUSED
from annotator.services.backups.restoring import restore_backup
from annotator.services.jobs.periodic_tasks import note_run

#: Commands that compare what was restored with itself, and print a JSON summary with ``ok``.
_CHECKS = ("verify_history", "recount_statistics")


class Command(BackupCommand):
    help = (
        "Restore a backup (default: the newest) into an empty installation, or with --replace over this one. Stop "
        "Assay first. The whole backup is checked before anything changes. Afterwards the database is migrated, and "
        "the numbers of rows, the history, the archives and all counts are checked. The last line is a JSON summary. "
        "Exit code 0: everything is right; 1: nothing was restored, or something differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--at", default="", metavar="NAME", help="this backup")
        parser.add_argument("--replace", action="store_true", help="replace an installation, whose data is lost")
        parser.add_argument(
            "--other-secret-key", action="store_true", help="restore although the secret key here is another one"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        backups = Backups(options["folder"])
        with sentences():
            manifest = backups.manifest(options["at"])
            problems = restore_backup(
                backups, manifest, self.keys(options), replace=options["replace"],
                other_key=options["other_secret_key"], say=self.say,
            )  # fmt: skip
        note_run("restore", {"backup": manifest.name})
        for check in _CHECKS:
            self.say(f"Checking with {check} …")
            problems += self._problems_of(check)
        for problem in problems:
            self.say(problem)
        summary = {
            "ok": not problems, "backup": manifest.name, "files": len(manifest.files),
            "rows": sum(manifest.rows.values()), "problems": problems,
        }  # fmt: skip
        self.stdout.write(json.dumps(summary, ensure_ascii=False))
        if problems:
            raise SystemExit(REFUSED)

    def _problems_of(self, check: str) -> list[str]:
        said, found = io.StringIO(), io.StringIO()
        try:
            call_command(check, stdout=found, stderr=said)
        except SystemExit:
            return said.getvalue().splitlines() or [f"{check} has found problems."]
        return []
