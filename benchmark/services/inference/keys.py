"""Keys of endpoints, encrypted at rest."""

from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.services.outgoing.encryption import SecretKeyChanged, decrypt, encrypt

_PURPOSE = b"assay.endpoint-keys"


def encrypt_key(key: str) -> str:
    """Return an encrypted key for the database."""
    return encrypt(key, purpose=_PURPOSE)


def decrypt_key(stored: str) -> str:
    """Return a key; empty if none is stored. Raises Conflict if the server's secret key has changed since."""
    try:
        return decrypt(stored, purpose=_PURPOSE)
    except SecretKeyChanged:
        raise Conflict(
            _("The endpoint’s key can’t be decrypted, because this server’s secret key has changed. Enter it again.")
        ) from None
