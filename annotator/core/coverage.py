"""The space of tasks: sequences of policies (4^N), what there is of them by status, and what is missing. Pure.

A dialogue with n tasks gives n entries: its first k tasks, of which the last is scored. The k-th entry is in the cell
of the policies of its first k tasks. Cells have one to four tasks: 4 + 16 + 64 + 256 = 340.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from typing import Any

from annotator.core.schema.documents import Policy
from annotator.core.schema.labels import labelled_parts
from annotator.core.search import switches_of_entries

#: Tasks of the longest sequence, as in MMTB's table 1.
MAX_TASKS = 4
LEVELS = range(1, MAX_TASKS + 1)
#: Between the policies of a cell's name.
SIGN = ","
#: Status of a dialogue → where it is counted: “in review” is all work between the first and the last stage.
PLACES = {
    "candidate": "candidate",
    "in_review": "in_review",
    "escalated": "in_review",
    "pooled": "in_review",
    "verified": "verified",
    "rejected": "rejected",
}
#: Place of dialogues in the newest release.
RELEASED = "released"
#: Numbers from here on are counted together.
MAX_CALLS, MAX_TASKS_COUNTED = 10, 5
#: The key of the custom field of dialogues or tasks that says how hard they are.
DIFFICULTY = "difficulty"
#: Between the values of a tally, and its most characters.
_BESIDE, MAX_TALLY = "|", 200
#: Characters of the longest value of a dimension.
MAX_VALUE = 60

#: By place, by value: entries, tasks or dialogues.
Counts = dict[str, Counter[str]]


def every_sequence(length: int) -> list[tuple[str, ...]]:
    """Return all sequences of so many policies, those with the same beginning next to each other."""
    return list(product([policy.value for policy in Policy], repeat=length))


#: The names of all cells, such as “single_tool,chat”: shorter sequences first, then in the order of ``Policy``.
CELLS = tuple(SIGN.join(sequence) for length in LEVELS for sequence in every_sequence(length))


def sequence_of(policies: Iterable[str | None]) -> str:
    """Return the cell of a dialogue's last entry: its first four policies, up to a task without one.

    Blank if the first task has none.
    """
    found: list[str] = []
    for policy in policies:
        if not policy or len(found) == MAX_TASKS:
            break
        found.append(policy)
    return SIGN.join(found)


def cells_of(sequence: str) -> list[str]:
    """Return the cells of a dialogue's entries, one for each task, by the result of ``sequence_of``."""
    policies = sequence.split(SIGN) if sequence else []
    return [SIGN.join(policies[:count]) for count in range(1, len(policies) + 1)]


def beginning(sequence: str, tasks: int) -> str:
    """Return the sequence of a dialogue's first tasks."""
    return SIGN.join(sequence.split(SIGN)[:tasks])


def level_of(cell: str) -> int:
    """Return the number of tasks of a cell."""
    return cell.count(SIGN) + 1


def switches_of(cell: str) -> int:
    """Return the policy transition frequency (PTF) of a cell's entries: changes of policy from task to task."""
    return switches_of_entries(cell.split(SIGN))[-1]


def within(cell: str) -> list[str]:
    """Return the cell and all cells that begin with it: the sequences of the dialogues that have an entry in it."""
    return [one for one in CELLS if one == cell or one.startswith(cell + SIGN)]


def tally_of(values: Iterable[str | None]) -> str:
    """Return how often each value occurs, such as “explicit:2|partial_information:1”; tasks without one don’t count.

    Dialogues whose tasks only differ in their order have the same tally, so few different ones are to be read. Blank
    if it were longer than ``MAX_TALLY``.
    """
    tally = _BESIDE.join(f"{value}:{count}" for value, count in sorted(Counter(filter(None, values)).items()))
    return tally if len(tally) <= MAX_TALLY else ""


def difficulties_of(document: Mapping[str, Any]) -> list[str]:
    """Return the labels “difficulty” of a dialogue and its tasks: options and numbers of at most 60 characters."""
    parts = (part for _, scope, part in labelled_parts(dict(document)) if scope in ("dialogue", "task"))
    found = [part.get("labels", {}).get(DIFFICULTY) for part in parts]
    # No option has this sign; the text of another field may.
    listed = [str(value) for value in found if isinstance(value, int | str) and _BESIDE not in str(value)]
    return [value for value in listed if len(value) <= MAX_VALUE]


def _counted(tally: str) -> dict[str, int]:
    return {value: int(count) for value, _, count in (one.rpartition(":") for one in tally.split(_BESIDE)) if value}


def _up_to(most: int) -> Callable[[int], dict[str, int]]:
    return lambda number: {str(number) if number < most else f"{most}+": 1}


def _once(value: str) -> dict[str, int]:
    return {value: 1} if value else {}


#: Dimension → what a dialogue counts for, by its column: {value: number} of its tasks, or one value of the dialogue.
DIMENSIONS: dict[str, Callable[[Any], Mapping[str, int]]] = {
    "cell": lambda sequence: dict.fromkeys(cells_of(sequence), 1),
    "information": _counted,
    "topology": _counted,
    "calls": _up_to(MAX_CALLS),
    "tasks": _up_to(MAX_TASKS_COUNTED),
    "language": _once,
    "category": _once,
    DIFFICULTY: _counted,
}


def fold(dimension: str, rows: Iterable[tuple[Any, str, int]]) -> Counts:
    """Return {place: {value: count}} for all places but the released ones.

    ``rows``: a column's value, a dialogue's status, and how many dialogues have both.
    """
    values_of = DIMENSIONS[dimension]
    found: Counts = {place: Counter() for place in PLACES.values()}
    for column, status, count in rows:
        place = found[PLACES[status]]
        for value, times in values_of(column).items():
            place[value] += count * times
    return found


def by_switches(cells: Mapping[str, int]) -> Counter[str]:
    """Return {PTF: entries} of the entries of some cells."""
    found: Counter[str] = Counter()
    for cell, count in cells.items():
        found[str(switches_of(cell))] += count
    return found


def uniformity(counts: Iterable[int]) -> float:
    """Return how evenly entries are spread over n cells: the normalised entropy −Σ pᵢ·ln pᵢ / ln n, pᵢ = cᵢ / Σ c.

    0 if there is nothing or all is in one cell, 1 if every cell has the same; cells without entries are among the n.
    Rounded to four digits.
    """
    counts = list(counts)
    total = sum(counts)
    if len(counts) < 2 or not total:
        return 0.0
    entropy = sum(count / total * log(total / count) for count in counts if count)
    return round(entropy / log(len(counts)), 4)


@dataclass(frozen=True)
class Spread:
    """The coverage of the cells of a level. ``level``: their number of tasks, 0 for all levels together."""

    level: int
    cells: int
    covered: int
    entries: int
    uniformity: float

    @property
    def percent(self) -> float:
        """Return the share of cells with an entry, in per cent."""
        return 100 * self.covered / self.cells


def spreads_of(cells: Mapping[str, int]) -> list[Spread]:
    """Return the coverage of each level, then of all, by the number of entries in each cell."""
    found = []
    for level in (*LEVELS, 0):
        counts = [cells.get(cell, 0) for cell in CELLS if level in (0, level_of(cell))]
        covered = sum(count > 0 for count in counts)
        found.append(Spread(level, len(counts), covered, sum(counts), uniformity(counts)))
    return found


@dataclass(frozen=True)
class Gap:
    """A value of which there is less than wanted, such as a cell."""

    value: str
    there: int
    wanted: int

    @property
    def missing(self) -> int:
        return self.wanted - self.there


def gaps_of(values: Sequence[str], there: Mapping[str, int], wanted: Mapping[str, int]) -> list[Gap]:
    """Return the values below their target: the largest gap first, then in the order of ``values``."""
    found = [Gap(value, there.get(value, 0), wanted[value]) for value in values if value in wanted]
    return sorted((gap for gap in found if gap.missing > 0), key=lambda gap: -gap.missing)


def reached(counts: Counts, reopened: Counter[str]) -> Counter[str]:
    """Return what counts towards targets: what is verified, or released and in review again (``reopened``)."""
    return counts["verified"] + reopened


def expected(counts: Counts) -> Counter[str]:
    """Return what there will be if all candidates and everything in review are verified."""
    return counts["verified"] + counts["candidate"] + counts["in_review"]


def first_for_gaps(gaps: Iterable[Gap], waiting: Iterable[tuple[int, str]]) -> list[int]:
    """Return the keys of waiting dialogues that fill gaps of cells, in their order.

    ``waiting``: keys with the result of ``sequence_of``. A dialogue is taken if it gives an entry that is still missing
    after those before it.
    """
    missing = Counter({gap.value: gap.missing for gap in gaps})
    found: list[int] = []
    for key, sequence in waiting:
        filled = [cell for cell in cells_of(sequence) if missing[cell] > 0]
        if filled:
            found.append(key)
            missing.subtract(filled)
    return found
