"""The address a request came from."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Return the address a request came from; for IPv6 the /64 network, which belongs to one person."""
    address = client_ip(request)
    if address is None:
        return ""
    return str(ipaddress.ip_network((address, 64), strict=False) if address.version == 6 else address)


def client_ip(request: HttpRequest) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the full address a request came from; None if it is unknown.

    ``X-Forwarded-For`` is read from its end, up to the first address that is not a trusted proxy.
    """
    address = _parsed(request.META.get("REMOTE_ADDR", ""))
    for earlier in reversed(request.headers.get("x-forwarded-for", "").split(",")):
        # On a Unix socket, which only the proxy can open, peers have no address.
        if address is not None and not any(address in network for network in settings.TRUSTED_PROXIES):
            break
        if (before := _parsed(earlier)) is None:
            break
        address = before
    return address


def stored_address(request: HttpRequest) -> str:
    """Return the address for columns that store no networks; 0.0.0.0 if it is unknown."""
    return client_address(request).partition("/")[0] or "0.0.0.0"  # noqa: S104 - nothing listens here


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address as proxies write it, with or without a port."""
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
