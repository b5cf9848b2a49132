"""``manage.py export_person USERNAME``"""

from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import SentenceCommand, Stop
from annotator.models import User
from annotator.services.accounts.personal_data import export_person


class Command(SentenceCommand):
    help = "Write what is stored about a person, as JSON lines to standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["username"]).first()
        if person is None:
            raise Stop(f"There is no account with the username “{options['username']}”.")
        for line in export_person(actor=None, person=person):
            self.stdout.write(line, ending="")
