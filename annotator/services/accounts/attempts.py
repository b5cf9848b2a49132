"""Limits on what may not be guessed: signing in, asking for a new password, one's old password.

Counted by name *and* address, in the database: nobody can lock a name for others, nor an address for other names, and
no other server is needed. After ``FREE`` tries each further one has to wait, twice as long as the one before. A try is
counted before it is looked at, so that tries at one moment are not one.
"""

import hashlib
import ipaddress
import math
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from annotator.models import Attempts

FREE = 5
MAX_WAIT = timedelta(minutes=15)
FORGOTTEN = timedelta(days=1)

#: Passwords that one process looks at, at once: of one name from browsers that know it; else of one address and of all.
#: Each takes half a second of computing, and one of the few threads for as long.
OF_ONE_NAME, OF_ONE_ADDRESS, OF_STRANGERS = 2, 1, 2


def count_attempt(*, what: str, name: str, address: str) -> int:
    """Count a try at ``what``. Returns 0, or the seconds until the next one is looked at: then this one is not."""
    now = timezone.now()
    with transaction.atomic():
        # One step: a try that was right may remove the row at this moment.
        row, _ = Attempts.objects.select_for_update().get_or_create(
            key=_key(what, name, address), defaults={"last_at": now, "free_at": now}
        )
        # Later than that was set by a clock that was ahead.
        if now < row.free_at <= now + MAX_WAIT:
            return math.ceil((row.free_at - now).total_seconds())
        row.count = 1 if now - row.last_at > FORGOTTEN else row.count + 1
        row.last_at = now
        if row.count >= FREE:
            row.free_at = now + min(MAX_WAIT, timedelta(seconds=2 ** min(row.count - FREE, 30)))
        row.save()
    return 0


def forget_attempts(*, what: str, name: str, address: str) -> None:
    """The try was right: the next one begins anew."""
    Attempts.objects.filter(key=_key(what, name, address)).delete()


def forget_old_attempts() -> int:
    """Remove what has no effect any more; returns how many rows."""
    return Attempts.objects.filter(last_at__lt=timezone.now() - FORGOTTEN).delete()[0]


def _key(what: str, name: str, address: str) -> str:
    return hashlib.sha256("\0".join((what, name.strip().casefold(), address)).encode()).hexdigest()


def client_address(request: HttpRequest) -> str:
    """The address a request came from; of IPv6 the network, of which one person has all addresses.

    ``X-Forwarded-For`` is believed as far as trusted proxies wrote it: read from its end, up to the first stranger.
    """
    address = _parsed(request.META.get("REMOTE_ADDR", ""))
    for earlier in reversed(request.headers.get("x-forwarded-for", "").split(",")):
        # A server on a socket that is a file has peers without an address: only its proxy can open that.
        if address is not None and not any(address in network for network in settings.TRUSTED_PROXIES):
            break
        if (before := _parsed(earlier)) is None:
            break
        address = before
    if address is None:
        return ""
    return str(ipaddress.ip_network((address, 64), strict=False) if address.version == 6 else address)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address as proxies write it, with a port or without."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
