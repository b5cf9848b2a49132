"""Writing SVG: elements, escaped text, labels that are broken into lines, round steps for an axis."""

import math
import unicodedata
from html import escape

#: Height of a line of text, and about how wide a letter is, in units of the drawing (pixels at its natural size).
LINE = 15.0
LETTER = 6.6


def number(value: float) -> str:
    """A coordinate: at most two digits after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))


def element(name: str, css: str = "", **places: float | str) -> str:
    """An element without content; ``places``: coordinates, or texts such as a path."""
    return f"<{name}{_attributes(css, places)}/>"


def text(content: str, x: float | str, y: float, css: str = "", *, anchor: str = "start") -> str:
    """A line of text on its base line; ``anchor`` is start, middle or end."""
    places: dict[str, float | str] = {"x": x, "y": y}
    if anchor != "start":
        places["text_anchor"] = anchor
    return f"<text{_attributes(css, places)}>{escape(content)}</text>"


def drawing(name: str, *, width: float, height: float, title: str, description: str, parts: list[str]) -> str:
    """The whole SVG. ``name`` makes its ids, so it is unique on a page; letters, digits and hyphens only."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    return _whole(name, "chart", size, title, description, parts)


def fluid(name: str, *, height: float, title: str, description: str, parts: list[str]) -> str:
    """The same as wide as there is room: across, the parts are placed in per cent (``share``) of all but a margin."""
    inside = f'<svg class="chart-plot" x="3%" width="94%" height="{number(height)}">{"".join(parts)}</svg>'
    size = f'width="100%" height="{number(height)}"'
    return _whole(name, "chart fluid", size, title, description, [inside])


def share(part: float) -> str:
    """A place or a width across a fluid drawing: 0 to 1 as per cent."""
    return f"{number(100 * part)}%"


def _whole(name: str, css: str, size: str, title: str, description: str, parts: list[str]) -> str:
    ids = f"{name}-title {name}-desc"
    return (
        f'<svg class="{css}" {size} role="img" aria-labelledby="{ids}">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


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


def _attributes(css: str, places: dict[str, float | str]) -> str:
    named = f' class="{escape(css)}"' if css else ""
    return named + "".join(
        f' {name.replace("_", "-")}="{escape(value) if isinstance(value, str) else number(value)}"'
        for name, value in places.items()
    )
