"""Shapes of a drawing, line breaks in labels, round steps for axes."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Height of a line of text, and the approximate width of a letter, in units of the drawing (pixels at normal size).
LINE = 15.0
LETTER = 6.6


def number(value: float) -> str:
    """Return a coordinate with at most two decimal places."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))


@dataclass(frozen=True, slots=True)
class Shape:
    """A line, rect, circle, path or text; ``at``: its coordinates under their SVG names."""

    kind: str
    css: str
    at: Mapping[str, str]
    text: str = ""
    #: Alignment of a text: start, middle or end.
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole drawing. ``name`` makes its ids, so it is unique on a page; letters, digits and hyphens only.

    Without ``width`` it takes the full width, and x coordinates are shares of it in per cent (``share``), except for a
    margin.
    """

    name: str
    title: str
    description: str
    height: str
    shapes: Sequence[Shape]
    width: str = ""


def element(kind: str, css: str, **places: float | str) -> Shape:
    """Return a shape; ``places``: coordinates, or texts such as a path."""
    return Shape(kind, css, {name: at if isinstance(at, str) else number(at) for name, at in places.items()})


def text(content: str, x: float | str, y: float, css: str, *, anchor: str = "start") -> Shape:
    """Return a line of text on its base line."""
    return Shape("text", css, element("text", css, x=x, y=y).at, content, anchor)


def drawing(name: str, *, width: float, height: float, title: str, description: str, parts: Sequence[Shape]) -> Drawing:
    """Return a drawing of this size."""
    return Drawing(name, title, description, number(height), parts, number(width))


def fluid(name: str, *, height: float, title: str, description: str, parts: Sequence[Shape]) -> Drawing:
    """Return a drawing that takes the full width."""
    return Drawing(name, title, description, number(height), parts)


def share(part: float) -> str:
    """Return a position or width in a drawing of full width: 0 to 1 as per cent."""
    return f"{number(100 * part)}%"


def text_width(content: str) -> float:
    """Return the approximate width of a text."""
    return sum(LETTER * (1.9 if unicodedata.east_asian_width(letter) in "WF" else 1) for letter in content)


def wrapped(content: str, width: float, most: int = 3) -> list[str]:
    """Split a text into at most ``most`` lines of about this width; cut off the last one if necessary."""
    lines = [""]
    for word in content.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [cut(line, width) for line in lines]


def cut(content: str, width: float) -> str:
    """Return a text no wider than this, with an ellipsis if it was cut off."""
    if text_width(content) <= width + LETTER:
        return content
    while content and text_width(f"{content}…") > width + LETTER:
        content = content[:-1]
    return f"{content.rstrip()}…"


def steps_to(largest: float, about: int = 4) -> list[float]:
    """Return round whole steps from 0 to at least ``largest``: 0, 20, 40, …; [0, 1] if it is at most 1."""
    if largest <= 1:
        return [0.0, 1.0]
    rough = largest / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    step = max(1, math.ceil(step))
    return [float(step * place) for place in range(math.ceil(largest / step) + 1)]
