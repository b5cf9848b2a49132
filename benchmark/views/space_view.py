"""The space of tasks as a run's page shows it: a heat map by policy, place and information, and the 4^N pyramid."""

from collections.abc import Mapping
from typing import Any

from annotator.core.coverage import every_sequence
from benchmark.core.scoring.space import SIGN
from benchmark.views.pyramid import HEIGHT, Block, draw, names, shade, words

#: Columns of the heat map.
MAX_PLACES = 12


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
            words("policy", policy),
            words("information", information),
            [_cell(row.get(place)) for place in places],
        )
        for (policy, information), row in sorted(cells.items())
    ]
    return places, rows


def _cell(counts: list[int] | None) -> tuple[str, str]:
    if counts is None:
        return "", ""
    right, of = counts
    return f"{right}/{of}", f"heat-{shade(right, of)}"


def pyramid(space: Mapping[str, Any]) -> tuple[list[Block], int, int]:
    """Return the blocks of all sequences of one to four policies, the picture's height, and how many occur."""
    counts = space.get("sequences", {})

    def show(sequence: tuple[str, ...]) -> tuple[str, str]:
        right, of = counts.get(SIGN.join(sequence), (0, 0))
        return f"heat-{shade(right, of)}" if of else "absent", f"{right}/{of}"

    return draw(show), HEIGHT, len(counts)


def sequence_rows(space: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Return the sequences that occur, in words, with right and of; the weakest first."""
    rows = [(names(tuple(name.split(SIGN))), right, of) for name, (right, of) in space.get("sequences", {}).items()]
    return sorted(rows, key=lambda row: (row[1] / row[2], -row[2], row[0]))
