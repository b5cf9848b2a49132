"""Keys of endpoints, encrypted at rest with the server's secret key."""

import base64
import hashlib
import hmac
from collections.abc import Iterator

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.translation import gettext as _

from annotator.errors import Conflict

#: Makes the keys of this purpose differ from those of others.
_PURPOSE = b"assay.endpoint-keys"


def encrypt_key(key: str) -> str:
    """Return an encrypted key for the database."""
    return _cipher().encrypt(key.encode()).decode()


def decrypt_key(stored: str) -> str:
    """Return a key; empty if none is stored. Raises Conflict if the server's secret key has changed since."""
    if not stored:
        return ""
    try:
        return _cipher().decrypt(stored.encode()).decode()
    except InvalidToken:
        raise Conflict(
            _("The endpoint’s key can’t be decrypted, because this server’s secret key has changed. Enter it again.")
        ) from None


def _cipher() -> MultiFernet:
    return MultiFernet(list(_ciphers()))


def _ciphers() -> Iterator[Fernet]:
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        # The secret key is long and random, so one keyed hash derives another key from it.
        digest = hmac.digest(str(secret).encode(), _PURPOSE, hashlib.sha256)
        yield Fernet(base64.urlsafe_b64encode(digest))
