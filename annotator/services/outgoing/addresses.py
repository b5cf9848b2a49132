"""Which addresses that people enter Assay may send requests to; names are resolved and checked when connecting."""

from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from annotator.services.outgoing.guarded_http import is_public


def is_listed(host: str, hosts: Collection[str]) -> bool:
    """Return whether a setting of the operator lists a host, or has ``*``."""
    return "*" in hosts or host.lower() in hosts


def may_be_public(host: str) -> bool:
    """Return False for an address that is not public, and for this machine."""
    try:
        return is_public(host)
    except ValueError:
        return host.lower() != "localhost"


def split_url(url: str) -> SplitResult | None:
    """Return the parts of an http or https address with a host; None for anything else."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return None
    return parts if host and parts.scheme in ("http", "https") else None
