"""``manage.py verify_history [--project SLUG]``"""

import json
from typing import Any

from annotator.management.base import REFUSED, ProjectsCommand
from annotator.models import Event
from annotator.services.integrity.history_checks import history_problems


class Command(ProjectsCommand):
    help = (
        "Check that no event of a project (default: all projects) was removed, changed or inserted, that what the "
        "events record (revisions, reviews, outcomes, status) was not removed or changed, and that release archives "
        "are as they were frozen. Lists all problems. Exit code 0: none; 1: some; 2: nothing was checked. The last "
        "line is a JSON summary."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        projects = self.projects(options["project"])
        problems = []
        for project in projects:
            for problem in history_problems(project):
                problems.append(f"{project.slug}: {problem}.")
                self.say(problems[-1])
        events = Event.objects.filter(project__in=projects).count()
        self.stdout.write(json.dumps({"ok": not problems, "events": events, "problems": problems}, ensure_ascii=False))
        if problems:
            raise SystemExit(REFUSED)
