"""Counts in sentences, and what may stand in a name."""

import unicodedata


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 dialogue``, ``1,200 dialogues``; ``plural`` where it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def has_unseen(name: str) -> bool:
    """Whether a name holds line breaks or other characters that cannot be seen: it stands in one line."""
    return any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in name)
