"""``manage.py new_backup_key``: print a key with which backups can be encrypted."""

from typing import Any

from annotator.core.backups.encryption import new_key
from annotator.management.base import SentenceCommand


class Command(SentenceCommand):
    help = (
        "Print a new key for backups, in the format of age. Write it to a file that only you can read, and keep a copy "
        "away from this machine: without it, encrypted backups can't be restored."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(new_key(), ending="")
