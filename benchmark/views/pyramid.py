"""The 4^N pyramid: a block for each sequence of one to four policies, a row for each length."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotator.core.coverage import MAX_TASKS, every_sequence
from annotator.presentation.components.labels import label_of

#: Shades of a share; 0 is for nothing.
SHADES = 5
#: The picture's width, and the height of its rows.
_WIDTH, _HEIGHT, _GAP = 640.0, 34, 6
HEIGHT = MAX_TASKS * (_HEIGHT + _GAP) - _GAP


@dataclass(frozen=True)
class Block:
    """One sequence of policies. ``css``: its shade; ``words``: what it says when pointed at; ``name``: its policies."""

    x: str
    y: int
    width: str
    css: str
    words: str
    name: tuple[str, ...]


def shade(part: int, of: int) -> int:
    """Return the shade of a share: 0 for nothing, ``SHADES`` for all."""
    return -(-min(part, of) * SHADES // of) if of else 0


def words(kind: str, value: str) -> str:
    """Return a label's words, blank for no value."""
    return _(label_of(kind, value).text) if value else ""


def names(sequence: tuple[str, ...]) -> str:
    """Return a sequence of policies in words."""
    return " → ".join(words("policy", policy) for policy in sequence)


def draw(show: Callable[[tuple[str, ...]], tuple[str, str]]) -> list[Block]:
    """Return all blocks. ``show``: a sequence's css and what its block says after its name."""
    blocks = []
    for length in range(1, MAX_TASKS + 1):
        sequences = every_sequence(length)
        width = _WIDTH / len(sequences)
        gap = min(1.0, width / 8)
        for place, sequence in enumerate(sequences):
            css, said = show(sequence)
            x, y = f"{place * width:.3f}", (length - 1) * (_HEIGHT + _GAP)
            blocks.append(Block(x, y, f"{width - gap:.3f}", css, f"{names(sequence)}: {said}", sequence))
    return blocks
