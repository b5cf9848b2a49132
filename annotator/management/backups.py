"""What the commands about backups share: their arguments, and sentences instead of tracebacks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotator.core.backups.encryption import Keys, read_keys
from annotator.core.backups.errors import BackupError
from annotator.management.base import REFUSED, SentenceCommand, Stop


class BackupCommand(SentenceCommand):
    """A command about the backups in a folder."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder with the backups")
        parser.add_argument(
            "--key-file", type=Path, metavar="FILE",
            help="a file with the keys of encrypted backups, in the format of age (default: BACKUP_KEY_FILE)",
        )  # fmt: skip

    def keys(self, options: dict[str, Any]) -> Keys | None:
        """Return the keys; None: not encrypted. Raises Stop."""
        text = settings.BACKUP_KEY
        if options["key_file"] is not None:
            try:
                text = options["key_file"].read_text()
            except (OSError, UnicodeDecodeError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not text"
                raise Stop(f"The key file {options['key_file']} can't be read: {why}.") from None
        with sentences():
            return read_keys(text) if text or options["key_file"] is not None else None


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what goes wrong with a backup into a refusal with a sentence."""
    try:
        yield
    except BackupError as error:
        raise Stop(str(error), REFUSED) from None
