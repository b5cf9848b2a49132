"""Figures as rows: a mark with its interval on a common axis, and spreads with their quartiles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reviews.charts.svg import LINE, drawing, element, steps_to, text, wrapped

_LEFT, _PLOT, _RIGHT, _ROW = 168.0, 300.0, 150.0, 38.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its interval; ``value`` None where it is undefined, and ``label`` then says so."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, slots=True)
class Span:
    """A spread: lower quartile, median, upper quartile."""

    name: str
    low: float
    middle: float
    high: float
    label: str


def interval_rows(
    name: str, *, rows: Sequence[Interval], title: str, description: str, least: float = 0.0, most: float = 1.0
) -> str:
    """Figures on an axis from ``least`` to ``most``; it grows downwards to -1 where an interval does."""
    if any(value is not None and value < least for row in rows for value in (row.value, row.low)):
        least = -1.0
    ticks = [least + (most - least) * place / 4 for place in range(5)]
    parts, bottom = _frame(len(rows), ticks, lambda tick: f"{tick:g}".replace("-", "−"), least, most)

    def at(value: float) -> float:
        return _LEFT + _PLOT * (min(max(value, least), most) - least) / (most - least)

    for place, row in enumerate(rows):
        y = 14 + _ROW * (place + 0.5)
        parts += _name(row.name, y)
        if row.value is None:
            parts.append(text(row.label, _LEFT + 10, y + 4, "chart-none"))
            continue
        if row.low is not None and row.high is not None:
            low, high = at(row.low), at(row.high)
            parts.append(element("path", "chart-reach series-1", d=f"M{low:.1f} {y - 5:.1f}v10m0-5H{high:.1f}m0-5v10"))
        parts.append(element("circle", "chart-mark series-1", cx=at(row.value), cy=y, r=5.0))
        parts.append(text(row.label, _LEFT + _PLOT + 12, y + 4, "chart-value"))
    return drawing(name, width=_LEFT + _PLOT + _RIGHT, height=bottom, title=title, description=description, parts=parts)


def span_rows(name: str, *, rows: Sequence[Span], unit: str, title: str, description: str) -> str:
    """Quartiles from 0 up, in ``unit``: a bar from the lower to the upper, a stroke at the median."""
    ticks = steps_to(max((row.high for row in rows), default=1.0))
    parts, bottom = _frame(len(rows), ticks, lambda tick: f"{tick:g} {unit}", 0.0, ticks[-1])

    def at(value: float) -> float:
        return _LEFT + _PLOT * value / ticks[-1]

    for place, row in enumerate(rows):
        y = 14 + _ROW * (place + 0.5)
        parts += _name(row.name, y)
        parts.append(
            element(
                "rect",
                "chart-bar series-1",
                x=at(row.low),
                y=y - 8,
                width=max(at(row.high) - at(row.low), 2),
                height=16,
                rx=2,
            )
        )
        parts.append(element("line", "chart-middle", x1=at(row.middle), y1=y - 12, x2=at(row.middle), y2=y + 12))
        parts.append(text(row.label, _LEFT + _PLOT + 12, y + 4, "chart-value"))
    return drawing(name, width=_LEFT + _PLOT + _RIGHT, height=bottom, title=title, description=description, parts=parts)


def _frame(
    rows: int, ticks: Sequence[float], words: Callable[[float], str], least: float, most: float
) -> tuple[list[str], float]:
    bottom = 14 + _ROW * rows
    parts = []
    for tick in ticks:
        x = _LEFT + _PLOT * (tick - least) / (most - least)
        css = "chart-axis" if tick == 0 else "chart-grid"
        parts.append(element("line", css, x1=x, y1=8, x2=x, y2=bottom))
        parts.append(text(words(tick), x, bottom + LINE, "chart-tick", anchor="middle"))
    return parts, bottom + LINE + 8


def _name(name: str, y: float) -> list[str]:
    lines = wrapped(name, _LEFT - 16, 2)
    first = y + 4 - LINE * (len(lines) - 1) / 2
    return [text(line, _LEFT - 12, first + LINE * row, "chart-name", anchor="end") for row, line in enumerate(lines)]
