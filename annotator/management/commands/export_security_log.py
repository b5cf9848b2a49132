"""``manage.py export_security_log``: write the security log as JSON lines."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.services.database.filters import UnknownFilter
from annotator.services.security_log import FILTERS, export_events, read_filters


class Command(BaseCommand):
    help = "Write the security log as JSON lines to standard output, oldest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--kind", help="only events of this kind, such as signed_in")
        parser.add_argument("--person", help="only events about the account with this username")
        parser.add_argument("--address", help="only events from this address")
        parser.add_argument("--since", help="from this day (UTC), such as 2026-05-31")
        parser.add_argument("--until", help="up to and including this day (UTC)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            filters = read_filters({name: options[name] or "" for name in FILTERS})
        except UnknownFilter as error:
            raise CommandError(error.sentence) from None
        for line in export_events(actor=None, filters=filters):
            sys.stdout.buffer.write(line)
