"""``manage.py verify_history [--project SLUG]``"""

import json
from typing import Any

from annotator.management.base import REFUSED, ProjectsCommand
from annotator.models import Event
from annotator.services.integrity.history_checks import history_problems


class Command(ProjectsCommand):
    help = (
        "Check that no event of a project (of every project) was removed, changed or slipped in, and no version, "
        "review, outcome or status that events tell of was removed or changed; name what was. Exit 0: none; 1: some; "
        "2: nothing was checked. Last line: a JSON summary."
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
