"""The shapes of a drawing, labels that are broken into lines, round steps for an axis."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Height of a line of text, and about how wide a letter is, in units of the drawing (pixels at its natural size).
LINE = 15.0
LETTER = 6.6


def number(value: float) -> str:
    """A coordinate: at most two digits after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))


@dataclass(frozen=True, slots=True)
class Shape:
    """A line, rect, circle or path, or a text; ``at``: its coordinates by the names that SVG has for them."""

    kind: str
    css: str
    at: Mapping[str, str]
    text: str = ""
    #: Of a text: where it is on its line: start, middle or end.
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole drawing. ``name`` makes its ids, so it is unique on a page; letters, digits and hyphens only.

    Without a ``width`` it is as wide as there is room: across, its shapes are placed in per cent (``share``) of all but
    a margin.
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
    """Return a drawing as wide as there is room."""
    return Drawing(name, title, description, number(height), parts)


def share(part: float) -> str:
    """A place or a width across a fluid drawing: 0 to 1 as per cent."""
    return f"{number(100 * part)}%"


def text_width(content: str) -> float:
    """About how wide a text is drawn."""
    return sum(LETTER * (1.9 if unicodedata.east_asian_width(letter) in "WF" else 1) for letter in content)


def wrapped(content: str, width: float, most: int = 3) -> list[str]:
    """A text in at most so many lines about so wide; the last one is cut off where it has to be."""
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
    """A text no wider than this; an ellipsis says that something is missing."""
    if text_width(content) <= width + LETTER:
        return content
    while content and text_width(f"{content}…") > width + LETTER:
        content = content[:-1]
    return f"{content.rstrip()}…"


def steps_to(largest: float, about: int = 4) -> list[float]:
    """Round steps from 0 to at least ``largest``: 0, 20, 40, … Whole numbers; [0, 1] where nothing is larger."""
    if largest <= 1:
        return [0.0, 1.0]
    rough = largest / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    step = max(1, math.ceil(step))
    return [float(step * place) for place in range(math.ceil(largest / step) + 1)]
