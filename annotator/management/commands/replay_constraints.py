"""``manage.py replay_constraints [FILE|-]``"""

from typing import Any

from annotator.core.constraints.report import NotATrajectory, replay_row
from annotator.management.rows import RowCommand


class Command(RowCommand):
    help = (
        "Replay trajectories against their constraints. Reads and writes one JSON object per line: constraints and "
        "turns in, the violations of each turn or an error out. Needs no database."
    )
    things = "Trajectories"
    nothing = "The input has no lines."
    refusal = NotATrajectory

    def answer(self, record: Any) -> dict[str, Any]:
        return replay_row(record)
