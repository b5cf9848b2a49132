"""``manage.py retire_gold_items [--project SLUG] [--dry-run]``"""

import json
from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import ProjectsCommand
from reviews.models import GoldItem
from reviews.services.gold.settings import retire_all


class Command(ProjectsCommand):
    help = (
        "Retire all gold items of a project (default: all projects), for example after an update that changes how they "
        "are made. Create new ones on the page Gold. Prints a line of JSON for each and a JSON summary."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="list the items without retiring them")

    def handle(self, *args: Any, **options: Any) -> None:
        retired = 0
        for project in self.projects(options["project"]):
            items = GoldItem.objects.filter(project=project, retired_at=None).select_related("source").order_by("pk")
            for item in items:
                line = {"project": project.slug, "stage": item.stage, "dialogue": item.source.external_id}
                self.stdout.write(json.dumps(line | {"item": item.public_id, "planted": item.planted}))
            if not options["dry_run"]:
                retired += retire_all(actor=None, project=project, reason="Retired by the command retire_gold_items.")
        self.say("Create new ones on the page Gold of each project.")
        self.stdout.write(json.dumps({"retired": retired}))
