"""Counts in sentences."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 dialogue``, ``1,200 dialogues``; ``plural`` where it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
