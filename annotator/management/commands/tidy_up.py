"""``manage.py tidy_up``"""

import json
from typing import Any

from annotator.management.base import SentenceCommand
from annotator.services.jobs.retention import tidy_up


class Command(SentenceCommand):
    help = (
        "Remove now what the retention settings let go, as beat does every six hours. Last line: a JSON object that "
        "says how many of what."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(tidy_up(), ensure_ascii=False))
