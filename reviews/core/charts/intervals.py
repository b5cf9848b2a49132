"""Charts of figures in rows: marks with intervals on a common axis, and quartiles.

They take the full width; name and figure are above each row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reviews.core.charts.svg import LINE, Drawing, Shape, element, fluid, share, steps_to, text

_ROW = 42.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its interval; ``value`` is None if it is undefined, and ``label`` then says so."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, slots=True)
class Span:
    """Lower quartile, median and upper quartile."""

    name: str
    low: float
    middle: float
    high: float
    label: str


def interval_rows(name: str, *, rows: Sequence[Interval], title: str, description: str) -> Drawing:
    """Draw figures on an axis from 0 to 1, or from -1 if an interval reaches below."""
    below = any(value is not None and value < 0 for row in rows for value in (row.value, row.low))
    least = -1.0 if below else 0.0
    ticks = [least + (1 - least) * place / 4 for place in range(5)]

    def at(value: float) -> float:
        return (min(max(value, least), 1.0) - least) / (1 - least)

    parts, height = _frame(len(rows), ticks, lambda tick: f"{tick:g}".replace("-", "−"), at)
    for place, row in enumerate(rows):
        y = _ROW * place + 31
        parts += _head(row.name, row.label, y, "chart-none" if row.value is None else "chart-value")
        if row.value is None:
            continue
        if row.low is not None and row.high is not None:
            low, high = share(at(row.low)), share(at(row.high))
            parts.append(element("line", "chart-reach series-1", x1=low, y1=y, x2=high, y2=y))
            parts += [
                element("line", "chart-reach series-1", x1=end, y1=y - 6, x2=end, y2=y + 6) for end in (low, high)
            ]
        parts.append(element("circle", "chart-mark series-1", cx=share(at(row.value)), cy=y, r=4.5))
    return fluid(name, height=height, title=title, description=description, parts=parts)


def span_rows(name: str, *, rows: Sequence[Span], unit: str, title: str, description: str) -> Drawing:
    """Draw quartiles from 0 in ``unit``: a bar from the lower to the upper one, with a line at the median."""
    ticks = steps_to(max((row.high for row in rows), default=1.0))

    def at(value: float) -> float:
        return value / ticks[-1]

    parts, height = _frame(len(rows), ticks, lambda tick: f"{tick:g} {unit}", at)
    for place, row in enumerate(rows):
        y = _ROW * place + 31
        parts += _head(row.name, row.label, y, "chart-value")
        width = share(max(at(row.high) - at(row.low), 0.004))
        parts.append(element("rect", "chart-bar series-1", x=share(at(row.low)), y=y - 7, width=width, height=14, rx=2))
        middle = share(at(row.middle))
        parts.append(element("line", "chart-middle", x1=middle, y1=y - 9, x2=middle, y2=y + 9))
    return fluid(name, height=height, title=title, description=description, parts=parts)


def _frame(
    rows: int, ticks: Sequence[float], words: Callable[[float], str], at: Callable[[float], float]
) -> tuple[list[Shape], float]:
    """Return grid lines with their labels, and the height of the drawing."""
    bottom = _ROW * rows + 4
    parts = [
        element("line", "chart-grid", x1=0, y1=_ROW * row + 31, x2=share(1), y2=_ROW * row + 31) for row in range(rows)
    ]
    for place, tick in enumerate(ticks):
        x = share(at(tick))
        # Drawn row by row, so that no line crosses a name.
        parts += [
            element("line", "chart-axis" if tick == 0 else "chart-grid", x1=x, y1=y - 9, x2=x, y2=y + 9)
            for y in (_ROW * row + 31 for row in range(rows))
        ]
        anchor = "start" if place == 0 else "end" if place == len(ticks) - 1 else "middle"
        parts.append(text(words(tick), x, bottom + LINE, "chart-tick", anchor=anchor))
    return parts, bottom + LINE + 6


def _head(name: str, label: str, y: float, css: str) -> list[Shape]:
    return [text(name, 0, y - 13, "chart-name"), text(label, share(1), y - 13, css, anchor="end")]
