"""``manage.py backup FOLDER``: back up the database and the files while people work."""

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, connections
from django.utils import timezone

from annotator.core.backups.encryption import Keys
from annotator.core.backups.errors import BackupError
from annotator.core.backups.folder import Backups
from annotator.core.backups.retention import Keep
from annotator.management.backups import BackupCommand, sentences
from annotator.services.backups.making import Made, make_backup

#: With --every, how long after a failure it is tried again.
AGAIN = timedelta(minutes=15)


class Command(BackupCommand):
    help = (
        "Back up the database and the files, consistent with each other, while people work. Files that an earlier "
        "backup in the folder has are not stored again. Everything is read again after it was written. The last line "
        "is a JSON summary. Exit code 0: done; 1: not done."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        for name, number, period in (("daily", 7, "days"), ("weekly", 5, "weeks"), ("monthly", 12, "months")):
            parser.add_argument(
                f"--keep-{name}", type=int, metavar="N",
                help=f"of the last N {period} with backups, keep the newest backup of each and remove the others, "
                f"such as {number}; without these options, all are kept",
            )  # fmt: skip
        parser.add_argument(
            "--every", type=float, metavar="HOURS",
            help="do not end: make a backup when the newest one is this old, and again a quarter of an hour after a "
            "failure",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        given = [options[f"keep_{name}"] for name in ("daily", "weekly", "monthly")]
        if any(number is not None and number < 0 for number in given):
            raise CommandError("--keep-daily, --keep-weekly and --keep-monthly must be 0 or more.", returncode=2)
        every = options["every"]
        if every is not None and not 0 < every <= 24 * 366:
            raise CommandError("--every must be a number of hours, more than 0 and at most a year.", returncode=2)
        folder, keys = options["folder"], self.keys(options)
        keep = Keep(*(number or 0 for number in given))
        if every is None:
            with sentences():
                self._report(make_backup(folder, keys, keep, self.say), keys)
        while every is not None:
            threading.Event().wait(self._one_if_due(folder, keys, keep, timedelta(hours=every)).total_seconds())

    def _one_if_due(self, folder: Path, keys: Keys | None, keep: Keep, every: timedelta) -> timedelta:
        """Make a backup if the newest is too old; return how long to wait until the next look."""
        try:
            finished = Backups(folder).manifests()
            rest = finished[-1].at + every - timezone.now() if finished else timedelta(0)
            if rest > timedelta(0):
                return rest
            self._report(make_backup(folder, keys, keep, self.say), keys)
            return timedelta(0)
        except (BackupError, DatabaseError, OSError) as error:
            self.say(f"No backup was made. {error} It is tried again in {AGAIN.seconds // 60} minutes.")
            return AGAIN
        finally:
            connections.close_all()

    def _report(self, made: Made, keys: Keys | None) -> None:
        manifest = made.manifest
        summary = {
            "backup": manifest.name, "bytes": manifest.bytes, "new_bytes": made.new_bytes,
            "files": len(manifest.files), "rows": sum(manifest.rows.values()), "encrypted": keys is not None,
            "read_again": keys is None or bool(keys.identities), "removed": made.removed,
            "freed_bytes": made.freed_bytes,
        }  # fmt: skip
        self.stdout.write(json.dumps(summary, ensure_ascii=False))
