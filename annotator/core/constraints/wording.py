"""Numbers and names in words, for sentences and feedback."""

from collections.abc import Sequence

from annotator.core.wording import counted

Bound = int | str


def ranged(low: int, high: Bound, noun: str) -> str:
    """Return ``at most 3 calls``, ``at least 2 calls``, ``between 2 and 4 calls``, ``exactly 1 call``."""
    if not isinstance(high, int):
        return f"at least {counted(low, noun)}" if low else f"any number of {noun}s"
    if low == high:
        return f"exactly {counted(low, noun)}"
    return f"between {low:,} and {counted(high, noun)}" if low else f"at most {counted(high, noun)}"


def named(names: Sequence[str], joint: str = "and") -> str:
    """Return ``a, b and c``; repeated names as ``a (2 times)``."""
    words = [name if names.count(name) == 1 else f"{name} ({names.count(name)} times)" for name in dict.fromkeys(names)]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def above(number: int, high: Bound) -> bool:
    """Return whether a number exceeds a maximum."""
    return isinstance(high, int) and number > high
