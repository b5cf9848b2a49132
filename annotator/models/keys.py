"""Public ids, which URLs and the API show instead of database keys, and hashes of secrets."""

import hashlib
import secrets

_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
_FAIR = 256 // len(_ALPHABET) * len(_ALPHABET)
_LETTER_OF_BYTE = bytes(ord(_ALPHABET[byte % len(_ALPHABET)]) for byte in range(256))
_UNFAIR_BYTES = bytes(range(_FAIR, 256))


def new_public_id() -> str:
    """Return twelve random characters (59 bits), without easily confused ones."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(12))


def new_public_ids(count: int) -> list[str]:
    """Return many public ids; much faster than one call for each character."""
    out: list[str] = []
    while len(out) < count:
        # Drop bytes that would make some characters more likely than others.
        letters = secrets.token_bytes((count - len(out)) * 13 + 16).translate(_LETTER_OF_BYTE, _UNFAIR_BYTES).decode()
        out += (letters[at : at + 12] for at in range(0, len(letters) - 11, 12))
    return out[:count]


def new_pseudonym() -> str:
    """Return a random pseudonym for releases."""
    return "p-" + "".join(secrets.choice(_ALPHABET) for _ in range(8))


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a random secret, which needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
