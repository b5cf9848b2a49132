"""``manage.py graph_report [FILE|-]``"""

from typing import Any

from annotator.core.graph.report import NotAGraph, graph_row
from annotator.management.rows import RowCommand


class Command(RowCommand):
    help = (
        "Count the legal paths of tool graphs. Reads and writes one JSON object per line: names and dependencies in, "
        "counts or an error out. A count over the limit is null. Needs no database."
    )
    things = "Graphs"
    nothing = "The input has no lines."
    refusal = NotAGraph

    def answer(self, record: Any) -> dict[str, Any]:
        return graph_row(record)
