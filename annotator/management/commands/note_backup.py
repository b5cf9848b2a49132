"""``manage.py note_backup``: record that a backup was made; the Operations page and the metrics show its age."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotator.services.jobs.periodic_tasks import note_run
from annotator.services.operations.overview import BACKUP


class Command(BaseCommand):
    help = "Record that a backup was made just now. Call it at the end of your backup script."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", help="where the backup is, such as a folder or an address; shown to operators")
        parser.add_argument("--bytes", type=int, default=0, help="its size")
        parser.add_argument("--encrypted", action="store_true", help="it is encrypted")

    def handle(self, *args: Any, **options: Any) -> None:
        outcome = {name: options[name] for name in ("target", "bytes", "encrypted")}
        note_run(BACKUP, outcome | {"target": outcome["target"][:200]})
