"""``manage.py verify_history [--project SLUG]``"""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.models import Event, Project
from annotator.services.checkpoints import broken_checkpoints
from annotator.services.events import broken_chains


class Command(BaseCommand):
    help = "Check that no event of a project (of every project) was removed or altered. Last line: a JSON summary."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", metavar="SLUG", help="this project alone")

    def handle(self, *args: Any, **options: Any) -> None:
        projects = Project.objects.order_by("slug")
        if options["project"] is not None:
            projects = projects.filter(slug=options["project"])
            if not projects.exists():
                raise CommandError(f"There is no project {options['project']}.", returncode=2)
        problems = [problem for project in projects for problem in _problems(project)]
        for problem in problems:
            self.stderr.write(problem)
        events = Event.objects.filter(project__in=projects).count()
        self.stdout.write(json.dumps({"ok": not problems, "events": events, "problems": problems}, ensure_ascii=False))
        if problems:
            sys.exit(1)


def _problems(project: Project) -> list[str]:
    chains = [
        f"{project.slug}: the history of dialogue {external_id} does not hold at event {', '.join(map(str, numbers))}."
        for external_id, numbers in broken_chains(project).items()
    ]
    checkpoints = [
        f"{project.slug}: checkpoint {number} does not hold; an event before it was removed, altered or slipped in."
        for number in broken_checkpoints(project)
    ]
    return chains + checkpoints
