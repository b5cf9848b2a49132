"""``manage.py recount_statistics [--project SLUG] [--repair]``"""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.models import Project
from reviews.services.courses import recount_courses
from reviews.services.workload import recount_work


class Command(BaseCommand):
    help = (
        "Compare the stored counts of accuracy and of the work done in a project (in every project) with what all its "
        "items and reviews say. Exit code 1 where they differ and are not repaired. Last line: a JSON summary."
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
            for count in (recount_courses, recount_work):
                for one in count(project, repair=options["repair"]):
                    different += 1
                    self.stderr.write(
                        f"{project.slug}: {', '.join(part for part in one.key if part)} is counted {one.stored} times; "
                        f"it is right {one.right} times."
                    )
        repaired = different if options["repair"] else 0
        self.stdout.write(json.dumps({"ok": different == repaired, "different": different, "repaired": repaired}))
        if different != repaired:
            sys.exit(1)
