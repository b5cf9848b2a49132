"""``manage.py load_demo [--public-password]``: create the demo project, once."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.errors import DomainError
from benchmark.demo.project import PASSWORD, is_loaded, load_demo


class Command(BaseCommand):
    help = "Create the demo projects with their people and work. Does nothing if they already exist."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--public-password",
            action="store_true",
            help="run in server mode too; anyone who can reach the server can then sign in as the demo's administrator",
        )

    def handle(self, *args: Any, public_password: bool, **options: Any) -> None:
        if not (settings.EMBEDDED or public_password):
            raise CommandError(
                "The demo's people, including an administrator, sign in with the public password "
                f"“{PASSWORD}”, so load_demo does not run in server mode. If nobody else can reach "
                "this server, add --public-password.",
                returncode=2,
            )
        if is_loaded():
            return
        try:
            load_demo(log=self.stderr.write)
        except DomainError as error:
            raise CommandError(error.sentence) from None
