"""Bar charts: panels over time, and rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from reviews.core.charts.svg import Drawing, drawing, element, fluid, share, steps_to, text, text_width

_LEFT = 52.0
_PANEL = 84.0
#: Space between panels, for the name of the next one.
_GAP = 34.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A count and its label."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars of one kind; all panels have the same times."""

    name: str
    counts: Sequence[int]


def bar_panels(name: str, *, times: Sequence[str], panels: Sequence[Panel], title: str, description: str) -> Drawing:
    """Draw panels below one another with the same times and scale, so that heights can be compared."""
    plot = min(max(560.0, 40.0 * len(times)), 1160.0)
    ticks = steps_to(max((count for panel in panels for count in panel.counts), default=1), about=3)
    step = plot / max(len(times), 1)
    width = min(step * 0.7, 36.0)
    parts, top = [], 26.0
    for panel in panels:
        parts.append(text(panel.name, _LEFT, top - 10, "chart-panel"))
        for tick in ticks:
            y = top + _PANEL * (1 - tick / ticks[-1])
            css = "chart-axis" if tick == 0 else "chart-grid"
            parts.append(element("line", css, x1=_LEFT, y1=y, x2=_LEFT + plot, y2=y))
            parts.append(text(f"{tick:,.0f}", _LEFT - 8, y + 4, "chart-tick", anchor="end"))
        for place, count in enumerate(panel.counts):
            if count:
                tall = _PANEL * count / ticks[-1]
                x = _LEFT + step * (place + 0.5) - width / 2
                parts.append(
                    element("rect", "chart-bar series-1", x=x, y=top + _PANEL - tall, width=width, height=tall, rx=1)
                )
        # Label the last and the largest bar if there is room.
        for place in _labelled(panel.counts):
            x, y = _LEFT + step * (place + 0.5), top + _PANEL * (1 - panel.counts[place] / ticks[-1]) - 4
            parts.append(text(f"{panel.counts[place]:,}", x, y, "chart-value", anchor="middle"))
        top += _PANEL + _GAP
    bottom = top - _GAP
    widest = max(map(text_width, times), default=0.0) + 10
    every = max(1, -int(-widest // step))
    for place in range((len(times) - 1) % every, len(times), every):
        parts.append(text(times[place], _LEFT + step * (place + 0.5), bottom + 18, "chart-tick", anchor="middle"))
    return drawing(name, width=_LEFT + plot + 24, height=bottom + 28, title=title, description=description, parts=parts)


def row_bars(name: str, *, rows: Sequence[Bar], title: str, description: str) -> Drawing:
    """Draw rows in the given order over the full width; name and count are above each bar."""
    most = max((row.count for row in rows), default=0) or 1
    parts = []
    for place, row in enumerate(rows):
        y = 38.0 * place
        parts.append(text(row.name, 0, y + 15, "chart-name"))
        parts.append(text(f"{row.count:,}", share(1), y + 15, "chart-value", anchor="end"))
        parts.append(element("rect", "chart-track", x=0, y=y + 21, width=share(1), height=9, rx=2))
        width = share(max(row.count / most, 0.006))
        parts.append(element("rect", "chart-bar series-1", x=0, y=y + 21, width=width, height=9, rx=2))
    return fluid(name, height=38.0 * len(rows) + 2, title=title, description=description, parts=parts)


def _labelled(counts: Sequence[int]) -> list[int]:
    filled = [place for place, count in enumerate(counts) if count]
    if len(filled) <= 1 or len(counts) <= 14:
        return filled
    largest = max(filled, key=lambda place: counts[place])
    return [largest] if abs(filled[-1] - largest) < 3 else [largest, filled[-1]]
