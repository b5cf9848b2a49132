"""``manage.py graph_report [FILE|-]``"""

from typing import Any

from annotator.core.graph.report import NotAGraph, graph_row
from annotator.management.rows import RowCommand


class Command(RowCommand):
    help = (
        "Count the legal paths of tool graphs, one JSON object a line: names and dependencies in, counts or error out. "
        "A count past the bound is null. Needs no database."
    )
    things = "Graphs"
    nothing = "There is no graph to report on: the input has no lines."
    refusal = NotAGraph

    def answer(self, record: Any) -> dict[str, Any]:
        return graph_row(record)
