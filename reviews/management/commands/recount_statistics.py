"""``manage.py recount_statistics [--project SLUG] [--repair]``"""

import json
import sys
from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import ProjectsCommand
from reviews.services.statistics.all_counts import recount


class Command(ProjectsCommand):
    help = (
        "Compare all stored counts of a project (of every project) with what its items and reviews say: where items "
        "stand, agreement, accuracy and the work done. Exit code 1 where they differ and are not repaired, 2 for an "
        "unknown project. Last line: a JSON summary."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--repair", action="store_true", help="put right what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        different = 0
        for project in self.projects(options["project"]):
            for one in recount(project, repair=options["repair"]):
                different += 1
                key = ", ".join(str(part) for part in one.key if part)
                self.say(f"{project.slug}: {key} is counted {one.stored} times; it is right {one.right} times.")
        repaired = different if options["repair"] else 0
        self.stdout.write(json.dumps({"ok": different == repaired, "different": different, "repaired": repaired}))
        if different != repaired:
            sys.exit(1)
