"""What the commands have in common that compare stored counts with a recount."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import ProjectsCommand
from annotator.models import Project


class RecountCommand(ProjectsCommand):
    """Compares project by project. Exit code 1 where counts differ and are not repaired, 2 for an unknown project.

    Last line: a JSON summary. ``differences`` says what differs, a sentence each.
    """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--repair", action="store_true", help="put right what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        different = 0
        for project in self.projects(options["project"]):
            for sentence in self.differences(project, repair=options["repair"]):
                different += 1
                self.say(f"{project.slug}: {sentence}")
        repaired = different if options["repair"] else 0
        self.stdout.write(json.dumps({"ok": different == repaired, "different": different, "repaired": repaired}))
        if different != repaired:
            sys.exit(1)

    def differences(self, project: Project, *, repair: bool) -> Iterable[str]:
        """What differs in a project, put right where ``repair``."""
        raise NotImplementedError
