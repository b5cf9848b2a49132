"""``manage.py load_demo``: the demo project, made once."""

from typing import Any

from django.core.management.base import BaseCommand

from benchmark.services.demo import is_loaded, load_demo


class Command(BaseCommand):
    help = "Make the demo project with its people and their work. Does nothing where it is there already."

    def handle(self, *args: Any, **options: Any) -> None:
        if is_loaded():
            return
        load_demo(say=self.stderr.write)
