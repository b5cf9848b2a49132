"""Secrets of webhooks and the signatures made with them, as Standard Webhooks has them."""

import base64
import secrets
from datetime import datetime

from standardwebhooks.webhooks import Webhook as Signer

from annotator.models import Webhook
from annotator.services.outgoing.encryption import decrypt, encrypt

_PURPOSE = b"assay.webhook-secrets"
_PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> tuple[str, str]:
    """Return a new secret, which is shown once, and what is stored of it."""
    secret = _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()
    return secret, encrypt(secret, purpose=_PURPOSE)


def signed_headers(webhook: Webhook, message_id: str, body: str, *, now: datetime) -> dict[str, str]:
    """Return the headers of an attempt: id, timestamp, and a signature by each secret in use.

    Raises SecretKeyChanged.
    """
    stored = [webhook.secret, *([webhook.old_secret] if webhook.old_secret_signs(now) else [])]
    signatures = [Signer(decrypt(one, purpose=_PURPOSE)).sign(message_id, now, body) for one in stored]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
