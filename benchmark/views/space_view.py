"""The space of tasks as a run's page shows it: a heat map by policy, place and information, and the 4^N pyramid."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotator.presentation.components.labels import label_of
from benchmark.core.scoring.space import MAX_TASKS, SIGN, every_sequence

#: Shades of a share; 0 is for nothing right.
SHADES = 5
#: Columns of the heat map.
MAX_PLACES = 12
#: The pyramid's width, and the height of its rows.
_WIDTH, _HEIGHT, _GAP = 640.0, 34, 6


@dataclass(frozen=True)
class Block:
    """One sequence of policies in the pyramid. ``css``: its shade; ``words``: what it says when pointed at."""

    x: str
    y: int
    width: str
    css: str
    words: str


def show_space(space: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the page shows of the space of a run."""
    places, heat = heat_map(space)
    blocks, height, seen = pyramid(space)
    return {
        "places": places, "heat": heat, "blocks": blocks, "height": height, "seen": seen,
        "sequences": sequence_rows(space), "order": ", ".join(names(one) for one in every_sequence(1)),
    }  # fmt: skip


def heat_map(space: Mapping[str, Any]) -> tuple[list[int], list[tuple[str, str, list[tuple[str, str]]]]]:
    """Return the places of tasks, and rows: policy, information, and by place a text and the css of its shade."""
    cells: dict[tuple[str, str], dict[int, list[int]]] = {}
    for name, counts in space.get("tasks", {}).items():
        policy, place, information = name.split(SIGN)
        if int(place) <= MAX_PLACES:
            cells.setdefault((policy, information), {})[int(place)] = counts
    places = sorted({place for row in cells.values() for place in row})
    rows = [
        (
            _words("policy", policy),
            _words("information", information),
            [_cell(row.get(place)) for place in places],
        )
        for (policy, information), row in sorted(cells.items())
    ]
    return places, rows


def _cell(counts: list[int] | None) -> tuple[str, str]:
    if counts is None:
        return "", ""
    right, of = counts
    return f"{right}/{of}", f"heat-{_shade(right, of)}"


def _shade(right: int, of: int) -> int:
    return -(-right * SHADES // of) if of else 0


def _words(kind: str, value: str) -> str:
    return _(label_of(kind, value).text) if value else ""


def pyramid(space: Mapping[str, Any]) -> tuple[list[Block], int, int]:
    """Return the blocks of all sequences of one to four policies, the picture's height, and how many occur."""
    counts = space.get("sequences", {})
    blocks = []
    for length in range(1, MAX_TASKS + 1):
        sequences = every_sequence(length)
        width = _WIDTH / len(sequences)
        y = (length - 1) * (_HEIGHT + _GAP)
        for place, sequence in enumerate(sequences):
            right, of = counts.get(SIGN.join(sequence), (0, 0))
            css = f"heat-{_shade(right, of)}" if of else "absent"
            gap = min(1.0, width / 8)
            blocks.append(
                Block(f"{place * width:.3f}", y, f"{width - gap:.3f}", css, f"{names(sequence)}: {right}/{of}")
            )
    return blocks, MAX_TASKS * (_HEIGHT + _GAP) - _GAP, len(counts)


def names(sequence: tuple[str, ...]) -> str:
    """Return a sequence of policies in words."""
    return " → ".join(_words("policy", policy) for policy in sequence)


def sequence_rows(space: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Return the sequences that occur, in words, with right and of; the weakest first."""
    rows = [(names(tuple(name.split(SIGN))), right, of) for name, (right, of) in space.get("sequences", {}).items()]
    return sorted(rows, key=lambda row: (row[1] / row[2], -row[2], row[0]))
