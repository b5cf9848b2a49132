"""Counts in words."""

from annotator.core.graph import Count


def counted(count: Count | int, noun: str) -> str:
    """``5 paths``, ``1 path``, ``more than 1,000 paths`` or ``too many paths to count``."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    known = Count(count) if isinstance(count, int) else count
    if known.value == 1:
        return f"1 {noun}"
    if known.value == 0:
        return f"no {noun}"
    words = str(known)
    return f"too many {plural} to count" if words.startswith("too many") else f"{words} {plural}"
