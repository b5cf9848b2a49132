"""``manage.py verify_release ARCHIVE``"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.wording import counted
from benchmark.core.archives.verifying import verify_archive
from benchmark.management.base import REFUSED, PipelineCommand, Stop


class Command(PipelineCommand):
    help = "Check the archive of a release offline; needs no database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, metavar="ARCHIVE")

    def handle(self, *args: Any, **options: Any) -> None:
        archive: Path = options["archive"]
        if not archive.is_file():
            raise Stop(f"{archive} is not a file. Give the path of a release's archive.")
        report = verify_archive(archive)
        for problem in report.problems:
            self.say(problem)
        if report.ok:
            self.say(
                f"Verified: {counted(report.items, 'dialogue')} in {counted(report.files, 'file')}, "
                "complete and unchanged."
            )
        self.tell(asdict(report))
        if not report.ok:
            raise SystemExit(REFUSED)
