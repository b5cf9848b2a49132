"""``manage.py maintenance on|off|show``"""

import json
from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import SentenceCommand
from annotator.services.maintenance import begin_maintenance, end_maintenance, maintenance


class Command(SentenceCommand):
    help = (
        "Begin or end maintenance: everything can be read, and nothing can be changed. Editors keep what people type "
        "and send it afterwards. Jobs do not begin; those that run go on. The last line is a JSON object."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("state", choices=["on", "off", "show"])
        parser.add_argument("--message", default="", help="what people read, such as when it ends")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["state"] == "on":
            begin_maintenance(actor=None, message=options["message"])
        elif options["state"] == "off":
            end_maintenance(actor=None)
        now = maintenance()
        shown = {"since": now.since.isoformat(), "message": now.message} if now else None
        self.stdout.write(json.dumps({"maintenance": shown}, ensure_ascii=False))
