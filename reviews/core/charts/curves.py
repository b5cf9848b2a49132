"""Line charts: shares from 0 to 100 % with intervals at a few named points."""

from collections.abc import Sequence
from dataclasses import dataclass

from reviews.core.charts.svg import LINE, Drawing, Shape, drawing, element, text, text_width, wrapped

#: Marks that distinguish the lines without colour.
_SHAPES = ("disc", "diamond")


@dataclass(frozen=True, slots=True)
class Mark:
    """One point: a share, its interval and its label. None if there is no value."""

    value: float | None
    low: float | None = None
    high: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line through the points. The legend shows ``name`` if there are two lines."""

    name: str
    marks: Sequence[Mark]


def curve(name: str, *, points: Sequence[str], lines: Sequence[Line], title: str, description: str) -> Drawing:
    """Draw at most two lines over ``points`` (the names below the axis). Each line has a mark for each point."""
    step, left, high = (104.0 if len(points) <= 7 else 76.0), 52.0, 220.0
    top, right = (46.0 if len(lines) > 1 else 20.0), 16.0
    plot = step * max(len(points), 2)
    labels = [wrapped(point, step - 8) for point in points]
    height = top + high + 14 + LINE * max(map(len, labels), default=1) + 6
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = top + high * (1 - share)
        parts.append(element("line", "chart-axis" if share == 0 else "chart-grid", x1=left, y1=y, x2=left + plot, y2=y))
        parts.append(text(f"{share:.0%}".replace("%", " %"), left - 8, y + 4, "chart-tick", anchor="end"))
    for place, words in enumerate(labels):
        x = left + step * (place + 0.5)
        parts.append(element("line", "chart-axis", x1=x, y1=top + high, x2=x, y2=top + high + 4))
        parts += [
            text(line, x, top + high + 18 + LINE * row, "chart-name", anchor="middle") for row, line in enumerate(words)
        ]
    if len(lines) > 1:
        parts += _legend(lines, left)
    # The first line is the main one, so it is drawn last, on top.
    for place in reversed(range(len(lines))):
        parts += _line(lines[place], place, len(lines), step, left, top, high)
    return drawing(name, width=left + plot + right, height=height, title=title, description=description, parts=parts)


def _line(line: Line, place: int, count: int, step: float, left: float, top: float, high: float) -> list[Shape]:
    css = f"series-{place + 1}"
    aside = 0.0 if count == 1 else (place - (count - 1) / 2) * 14
    parts: list[Shape] = []
    path: list[str] = []
    for number, mark in enumerate(line.marks):
        if mark.value is None:
            continue
        x, y = left + step * (number + 0.5) + aside, top + high * (1 - mark.value)
        path.append(f"{'L' if path else 'M'}{x:.1f} {y:.1f}")
        if mark.low is not None and mark.high is not None:
            above, below = top + high * (1 - mark.high), top + high * (1 - mark.low)
            parts.append(element("path", f"chart-reach {css}", d=f"M{x - 4:.1f} {above:.1f}h8m-4 0V{below:.1f}m-4 0h8"))
        parts.append(_shape(_SHAPES[place % 2], x, y, css))
        if mark.label and place == 0:
            # Beside the interval, on the side away from the rising line.
            parts.append(text(mark.label, x + 8, y + (17 if mark.value > 0.12 else -8), "chart-value"))
    if len(path) > 1:
        parts.insert(0, element("path", f"chart-line {css}", d="".join(path)))
    return parts


def _legend(lines: Sequence[Line], left: float) -> list[Shape]:
    """Draw the legend above the plot: at their ends, the lines meet and the names would overlap."""
    parts, x = [], left + 8
    for place, line in enumerate(lines):
        css = f"series-{place + 1}"
        parts.append(element("path", f"chart-line {css}", d=f"M{x:.1f} 14h28"))
        parts.append(_shape(_SHAPES[place % 2], x + 14, 14, css))
        parts.append(text(line.name, x + 36, 18, f"chart-series {css}"))
        x += 36 + text_width(line.name) + 28
    return parts


def _shape(kind: str, x: float, y: float, css: str) -> Shape:
    if kind == "diamond":
        return element("path", f"chart-mark {css}", d=f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5-5z")
    return element("circle", f"chart-mark {css}", cx=x, cy=y, r=4.5)
