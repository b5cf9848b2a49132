"""``manage.py recount_statistics [--project SLUG] [--repair]``"""

import json
import sys
from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import ProjectsCommand
from reviews.services.statistics.all_counts import recount


class Command(ProjectsCommand):
    help = (
        "Compare all stored counts of a project (default: all projects) with its items and reviews: status counts, "
        "agreement, accuracy and workload. Exit code 1 if they differ and are not repaired, 2 for an unknown project. "
        "Last line: a JSON summary."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--repair", action="store_true", help="correct the counts that differ")

    def handle(self, *args: Any, **options: Any) -> None:
        different = 0
        for project in self.projects(options["project"]):
            for one in recount(project, repair=options["repair"]):
                different += 1
                key = ", ".join(str(part) for part in one.key if part)
                self.say(f"{project.slug}: {key} is stored as {one.stored} but should be {one.right}.")
        repaired = different if options["repair"] else 0
        self.stdout.write(json.dumps({"ok": different == repaired, "different": different, "repaired": repaired}))
        if different != repaired:
            sys.exit(1)
