"""``manage.py recount_accuracy [--project SLUG] [--repair]``"""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.models import Project
from reviews.services.courses import recount_courses


class Command(BaseCommand):
    help = (
        "Compare the stored counts of accuracy of a project (of every project) with what all its items say. "
        "Exit code 1 where they differ and are not repaired. Last line: a JSON summary."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", metavar="SLUG", help="this project alone")
        parser.add_argument("--repair", action="store_true", help="put right what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        projects = Project.objects.order_by("slug")
        if options["project"] is not None:
            projects = projects.filter(slug=options["project"])
            if not projects.exists():
                raise CommandError(f"There is no project {options['project']}.", returncode=2)
        different = 0
        for project in projects:
            for one in recount_courses(project, repair=options["repair"]):
                different += 1
                axis, point, stratum, value = one.key
                whose = f", items of {stratum}" if stratum else ""
                self.stderr.write(
                    f"{project.slug}: {axis} {point}{whose}: {value} is counted {one.stored} times; "
                    f"the items say {one.right}."
                )
        repaired = different if options["repair"] else 0
        self.stdout.write(json.dumps({"ok": different == repaired, "different": different, "repaired": repaired}))
        if different != repaired:
            sys.exit(1)
