"""The decision tree of a task along a model's answer, as a drawing: a column for each round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from benchmark.core.scoring.legal import Level

#: Pixels: a column and a row with their gaps, a box, the line of round numbers.
COLUMN, ROW, WIDTH, HEIGHT, HEAD = 210, 40, 172, 28, 30
#: Characters of a box, and boxes of a column.
_TEXT, _MOST = 20, 12


@dataclass(frozen=True)
class Box:
    """A step in a column: ``made`` (the answer has it), ``open`` (it could have come), or ``wrong`` (the answer has it,
    with a wrong argument, or it fits no path).
    """

    x: int
    y: int
    text: str
    label: str
    kind: str


@dataclass(frozen=True)
class TreeDrawing:
    """``lines``: x1, y1, x2, y2. ``path``: what was made, as the page of the decision tree takes it."""

    width: int
    height: int
    box: tuple[int, int]
    rounds: list[tuple[int, int]]
    boxes: list[Box]
    lines: list[tuple[int, int, int, int]]
    path: str


def draw_tree(
    levels: Sequence[Level], steps: Sequence[Mapping[str, Any]], rounds: Any, *, wrong: int | None = None
) -> TreeDrawing:
    """Draw the levels of a task with these steps. ``rounds``: the answer as JSON. ``wrong``: the round, from 1, with
    the first wrong argument.
    """
    boxes: list[Box] = []
    lines: list[tuple[int, int, int, int]] = []
    before: list[Box] = []
    rows = 1
    for number, level in enumerate(levels):
        x = number * COLUMN + 10
        kind = "wrong" if number + 1 == wrong else "made"
        column = [
            _box(x, row, steps[place], kind if place in level.made else "open")
            for row, place in enumerate(level.ready[:_MOST])
        ]
        if not level.fits:
            column.append(_wrong(x, len(column), rounds[number]))
        rows = max(rows, len(column))
        lines += [
            (one.x + WIDTH, one.y + HEIGHT // 2, other.x, other.y + HEIGHT // 2) for one in before for other in column
        ]
        boxes += column
        before = [one for one in column if one.kind != "open"]
    batches = [[str(steps[place]["id"]) for place in level.made if steps[place]["type"] == "call"] for level in levels]
    return TreeDrawing(
        width=len(levels) * COLUMN,
        height=HEAD + rows * ROW,
        box=(WIDTH, HEIGHT),
        rounds=[(number + 1, number * COLUMN + 10 + WIDTH // 2) for number in range(len(levels))],
        boxes=boxes,
        lines=lines,
        path=";".join(",".join(batch) for batch in batches if batch),
    )


def _box(x: int, row: int, step: Mapping[str, Any], kind: str) -> Box:
    words = {"clarification": _("question"), "answer": _("answer")}
    text = f"{step['id']} {words.get(step['type']) or step['name']}"
    labels = {
        "made": _("%(step)s: in the answer"),
        "wrong": _("%(step)s: in the answer, with a wrong argument"),
        "open": _("%(step)s: possible, and not in this round of the answer"),
    }
    shown = f"✕ {text}" if kind == "wrong" else text
    return Box(x, HEAD + row * ROW, _cut(shown), labels[kind] % {"step": text}, kind)


def _wrong(x: int, row: int, said: Mapping[str, Any]) -> Box:
    names = ", ".join(str(call["name"]) for call in said["calls"])
    text = names or (_("a text") if said["content"] else _("nothing"))
    label = _("%(said)s: fits no path that is left") % {"said": text[:200]}
    return Box(x, HEAD + row * ROW, _cut(f"✕ {text}"), label, "wrong")


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
