"""Changes as short texts and lists: calls on one line, dependencies one by one, moved items with their places."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.schema.indenting import flat, indented

#: Characters of one value, and of all values of a call, on one line.
MAX_VALUE, MAX_CALL = 40, 120
#: What a text on one line may not contain without quotes, because a reader would see another value or two values.
_NEEDS_QUOTES = frozenset(',()[]{}"“”')
_WORDS = frozenset({"true", "false", "null"})


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """One dependency that differs: on which step, and its kinds before and after; None if there is none."""

    needs: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Move:
    """An item of a list that moved, with its places before and after, counted from 1."""

    id: str
    before: int
    after: int


def shortened_text(text: str, most: int = MAX_VALUE) -> str:
    """Return a text on one line with at most ``most`` characters; an ellipsis stands for the rest."""
    # Only the start is needed, however long the text is.
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1].rstrip()}…"


def short_value(value: Any, most: int = MAX_VALUE) -> str:
    """Return a value on one line, in which a reader can tell its type.

    A text has quotes only where it would look like another value, such as "12". Numbers keep their spelling.
    """
    if not isinstance(value, str):
        return shortened_text(flat(value), most)
    if _is_plain(value):
        return shortened_text(value, most)
    quoted = flat(value[: most + 1])[1:-1]
    return f'"{quoted}"' if len(quoted) <= most else f'"{quoted[: most - 1]}…"'


def call_text(name: str, arguments: Any) -> str:
    """Return a call on one line: get_stock(FA-3018, LEJ)."""
    values = list(arguments.values()) if isinstance(arguments, dict) else [arguments]
    shown: list[str] = []
    room = MAX_CALL
    for value in values:
        text = short_value(value)
        room -= len(text) + 2
        if room < 0 and shown:
            shown.append("…")
            break
        shown.append(text)
    return f"{name}({', '.join(shown)})"


def compared_texts(before: Any, after: Any) -> tuple[str, str]:
    """Return two different values as different texts: texts as they are, other values as JSON."""
    if isinstance(before, str) and isinstance(after, str):
        return before, after
    mixed = isinstance(before, str) or isinstance(after, str)
    return tuple(flat(one) if mixed and isinstance(one, str) else indented(one) for one in (before, after))  # type: ignore[return-value]


def edge_changes(before: Sequence[Any] | None, after: Sequence[Any] | None) -> list[EdgeChange]:
    """Return the dependencies that differ, first those that were there before. None: not annotated.

    A step that is named twice is compared by all of its kinds.
    """
    old, new = _kinds(before or ()), _kinds(after or ())
    return [
        EdgeChange(needs, old.get(needs), new.get(needs))
        for needs in {**old, **new}
        if old.get(needs) != new.get(needs)
    ]


def moves(before: Sequence[str], after: Sequence[str]) -> list[Move]:
    """Return the smallest number of items that moved, in their new order, with their places in both lists.

    Items that only one list has did not move. An item whose place has the same number in both lists is left out.
    """
    old = {key: index for index, key in enumerate(before, 1)}
    common = [(key, index) for index, key in enumerate(after, 1) if key in old]
    stay = _longest_rising([old[key] for key, _ in common])
    return [
        Move(key, old[key], index)
        for number, (key, index) in enumerate(common)
        if number not in stay and old[key] != index
    ]


def _is_plain(text: str) -> bool:
    """Return whether a text without quotes is read as this text."""
    if not text or text != text.strip() or not text.isprintable() or text.lower() in _WORDS:
        return False
    return not (_NEEDS_QUOTES & set(text[: 4 * MAX_VALUE]) or _is_number(text))


def _is_number(text: str) -> bool:
    if len(text) > MAX_VALUE:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def _kinds(dependencies: Iterable[Any]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for one in dependencies:
        found.setdefault(one["id"], []).append(one["kind"])
    return {key: " + ".join(sorted(set(kinds))) for key, kinds in found.items()}


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """Return the indexes of a longest rising subsequence of different numbers, in O(n log n)."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, number in enumerate(numbers):
        spot = bisect_left(ends, number)
        before.append(at[spot - 1] if spot else -1)
        if spot == len(ends):
            ends.append(number)
            at.append(index)
        else:
            ends[spot], at[spot] = number, index
    out: set[int] = set()
    index = at[-1] if at else -1
    while index >= 0:
        out.add(index)
        index = before[index]
    return out
