"""Counts in sentences, and valid names."""

import unicodedata


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 dialogue`` or ``1,200 dialogues``. ``plural``: the plural if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def has_unseen(name: str) -> bool:
    """Return whether a name contains line breaks or other invisible characters."""
    return any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in name)
