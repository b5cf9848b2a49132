"""Charts as SVG text: drawn on the server, coloured by the style sheet. Pure: no Django here.

What comes out holds classes and presentation attributes of place alone (the content policy forbids styles), all text
escaped. Each chart has a title and a description; the numbers themselves belong in a table beside it.
"""

from reviews.core.charts.bars import Bar, Panel, bar_panels, row_bars
from reviews.core.charts.curves import Line, Mark, curve
from reviews.core.charts.intervals import Interval, Span, interval_rows, span_rows

__all__ = [
    "Bar",
    "Interval",
    "Line",
    "Mark",
    "Panel",
    "Span",
    "bar_panels",
    "curve",
    "interval_rows",
    "row_bars",
    "span_rows",
]
