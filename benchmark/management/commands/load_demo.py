"""``manage.py load_demo [--public-password]``: the demo project, made once."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.errors import DomainError
from benchmark.demo.project import PASSWORD, is_loaded, load_demo


class Command(BaseCommand):
    help = "Make the demo project with its people and their work. Does nothing where it is there already."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--public-password",
            action="store_true",
            help="in server mode, too: whoever reaches the server can sign in as the demo's administrator",
        )

    def handle(self, *args: Any, public_password: bool, **options: Any) -> None:
        if not (settings.EMBEDDED or public_password):
            raise CommandError(
                f"The demo's people, an administrator among them, sign in with “{PASSWORD}”, which everybody can read "
                "in the program: load_demo is refused in server mode. If nobody else reaches this server, add "
                "--public-password.",
                returncode=2,
            )
        if is_loaded():
            return
        try:
            load_demo(say=self.stderr.write)
        except DomainError as error:
            raise CommandError(error.sentence) from None
