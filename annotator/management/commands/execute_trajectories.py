"""``manage.py execute_trajectories [FILE|-] --toolsets TOOLSETS.jsonl``"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.execution.async_rows import NotASingleTask, execute_row
from annotator.core.sandbox import Sandbox, SandboxUnavailable
from annotator.management.base import Stop
from annotator.management.rows import RowCommand
from annotator.management.single_tasks import read_toolsets


class Command(RowCommand):
    help = (
        "Run the trajectories of single tasks in the sandbox. Reads a single task per line and writes what each call "
        "came to, the hash of the final state, and findings; or an error. Needs no database."
    )
    things = "Single tasks"
    nothing = "The input has no lines."
    refusal = NotASingleTask

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--toolsets",
            required=True,
            metavar="TOOLSETS.jsonl",
            help="toolsets, one per line; their source files are relative to this file",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.toolsets = read_toolsets(Path(options["toolsets"]))
        try:
            with Sandbox() as self.sandbox:
                super().handle(*args, **options)
        except SandboxUnavailable as why:
            raise Stop(str(why)) from None

    def answer(self, record: Any) -> dict[str, Any]:
        return execute_row(
            record, self.toolsets, lambda trajectory, twice: self.sandbox.run_trajectory(trajectory, twice=twice)
        )
