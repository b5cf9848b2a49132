"""Secrets that Assay must be able to read again, encrypted at rest with the server's secret key."""

import base64
import hashlib
import hmac
from collections.abc import Iterator

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class SecretKeyChanged(Exception):
    """The server's secret key has changed since the text was encrypted."""


def encrypt(text: str, *, purpose: bytes) -> str:
    """Return an encrypted text for the database. ``purpose``: makes its key differ from those of other purposes."""
    return _cipher(purpose).encrypt(text.encode()).decode()


def decrypt(stored: str, *, purpose: bytes) -> str:
    """Return the text of ``encrypt``; empty if none is stored. Raises SecretKeyChanged."""
    if not stored:
        return ""
    try:
        return _cipher(purpose).decrypt(stored.encode()).decode()
    except InvalidToken:
        raise SecretKeyChanged from None


def _cipher(purpose: bytes) -> MultiFernet:
    return MultiFernet(list(_ciphers(purpose)))


def _ciphers(purpose: bytes) -> Iterator[Fernet]:
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        # The secret key is long and random, so one keyed hash derives another key from it.
        digest = hmac.digest(str(secret).encode(), purpose, hashlib.sha256)
        yield Fernet(base64.urlsafe_b64encode(digest))
