"""Charts as shapes, which ``templates/reviews/statistics/chart.html`` writes as SVG.

The style sheet sets colours. Each chart has a title and a description; a table beside it has the numbers.
"""

from reviews.core.charts.bars import Bar, Panel, bar_panels, row_bars
from reviews.core.charts.curves import Line, Mark, curve
from reviews.core.charts.intervals import Interval, Span, interval_rows, span_rows
from reviews.core.charts.svg import Drawing
