"""``manage.py tidy_up``"""

import json
from typing import Any

from annotator.management.base import SentenceCommand
from annotator.services.jobs.retention import tidy_up


class Command(SentenceCommand):
    help = (
        "Apply the retention rules now; beat does this every six hours. The last line is a JSON object with the number "
        "of removed items by kind."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(tidy_up(), ensure_ascii=False))
