"""``manage.py compare_runs DIR_A DIR_B [--slice NAME] [--run-a RUN] [--run-b RUN]``"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.management.base import Stop
from benchmark.core.scoring.comparing import compare_entries, read_entries
from benchmark.core.scoring.records import Unreadable
from benchmark.management.base import PipelineCommand

_KEYS = ("n", "a", "b", "difference", "low", "high", "p")


class Command(PipelineCommand):
    help = (
        "Compare two runs that score_release has scored, entry by entry: the difference b − a with the interval of a "
        "paired cluster bootstrap, and McNemar’s exact test. Needs no database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("a", type=Path, metavar="DIR_A")
        parser.add_argument("b", type=Path, metavar="DIR_B")
        parser.add_argument(
            "--slice", metavar="NAME", help="policy=multi_tool: only these entries; policy: also each cell by itself"
        )
        parser.add_argument("--run-a", metavar="RUN", help="the run in DIR_A, if it has several")
        parser.add_argument("--run-b", metavar="RUN", help="the run in DIR_B, if it has several")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            a = read_entries(options["a"], options["run_a"])
            b = read_entries(options["b"], options["run_b"])
            found = compare_entries(a, b, options["slice"])
        except Unreadable as error:
            raise Stop(str(error)) from None
        for cell, one in found.get("cells", {}).items():
            self.tell({"cell": cell} | {key: one[key] for key in (*_KEYS, "p_holm")})
        self.say(
            f"Of {found['n']:,} entries, {found['only_a']:,} are right in the first run only, "
            f"{found['only_b']:,} in the second only."
        )
        self.tell({key: found[key] for key in _KEYS})
