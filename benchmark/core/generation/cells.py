"""Cells: the sequences of policies that a benchmark covers, and how each task of one builds on those before it."""

import random
from collections.abc import Sequence
from itertools import product

from annotator.core.schema.documents import Information, Policy

POLICIES: tuple[str, ...] = tuple(one.value for one in Policy)
#: Instead of a policy: the task gets the one that fits what was done.
ANY = "any"
#: The ways in which a task after the first hides what it needs.
HIDING: tuple[str, ...] = tuple(one.value for one in Information if one is not Information.EXPLICIT)
#: Tasks of the longest cells.
MAX_TASKS = 4
FAR_RELATION: str = Information.LONG_RANGE_DEPENDENCY.value
#: Tasks that come before the first long-range dependency (rule of C3-Bench).
FAR = 2
#: Characters of the id of what is continued, in the name of a generation.
_KEPT_ID = 150


def all_cells(most: int = MAX_TASKS) -> list[tuple[str, ...]]:
    """Return all sequences of up to ``most`` policies, shortest first: 4 + 16 + 64 + 256 = 340."""
    return [cell for length in range(1, most + 1) for cell in product(POLICIES, repeat=length)]


def draw_relations(policies: Sequence[str], seed: int) -> tuple[tuple[str, ...], ...]:
    """Return the information type of each task, drawn evenly: explicit first, then those that can be there."""
    draw = random.Random(f"{seed}:relations")  # noqa: S311 - no secret
    found: list[tuple[str, ...]] = [(Information.EXPLICIT.value,)]
    for place in range(1, len(policies)):
        near = [one for one in HIDING if place >= FAR or one != FAR_RELATION]
        found.append((draw.choice(near),))
    return tuple(found)


def cell_name(policies: Sequence[str]) -> str:
    """Return a cell as the first letters of its policies with a hyphen between them, such as ``s-m-cl-ch``."""
    return "-".join(_LETTERS[one] for one in policies)


def default_name(policies: Sequence[str], language: str, seed: int) -> str:
    """Return the name of a generation that was given none, such as ``s-ch-en-1``."""
    return f"{cell_name(policies)}-{language}-{seed}"


def continued_name(past: str, policies: Sequence[str], seed: int) -> str:
    """Return the same for one that continues a dialogue, such as ``trip-ch-1``. ``past``: the id of that dialogue;
    ``policies``: of the new tasks.
    """
    return f"{past[:_KEPT_ID]}-{cell_name(policies)}-{seed}"


_LETTERS = {"single_tool": "s", "multi_tool": "m", "clarify": "cl", "chat": "ch", ANY: "any"}
