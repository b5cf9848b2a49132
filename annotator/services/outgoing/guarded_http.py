"""HTTP to addresses that people enter: only to allowed addresses, with limits on the time and size of each response.

Addresses are checked when connecting, after the name is resolved, so that no name leads into the server's network.
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2

#: Bytes of one response, its headers included.
MAX_RESPONSE = 20 << 20
#: Seconds to connect.
_CONNECT = 20.0


class AddressRefused(Exception):
    """The name leads to an address that must not be reached."""


class ResponseTooLarge(Exception):
    """The response has more bytes than it may."""


class _Limits(threading.local):
    """Limits of the request that this thread is making."""

    until: float | None = None
    bytes: int = 0
    most: int = 0


_LIMITS = _Limits()


@contextmanager
def limited(seconds: float, *, most: int | None = None) -> Iterator[None]:
    """Limit the requests of this thread to ``seconds`` in total, and to ``most`` bytes (default: ``MAX_RESPONSE``)."""
    _LIMITS.until, _LIMITS.bytes = time.monotonic() + seconds, 0
    _LIMITS.most = MAX_RESPONSE if most is None else most
    try:
        yield
    finally:
        _LIMITS.until = None


def guarded_client(is_allowed: Callable[[str], bool], *, connect: float = _CONNECT) -> httpx2.Client:
    """Return a client that connects to public addresses, and to others only if their host is allowed.

    ``connect``: seconds to connect.

    It follows no redirects, and ignores the environment's proxies, which would connect in its place.
    """
    transport = httpx2.HTTPTransport(trust_env=False)
    # httpx2 has no public way to pass this on.
    transport._pool._network_backend = _Backend(is_allowed)
    timeout = httpx2.Timeout(None, connect=connect)
    return httpx2.Client(transport=transport, follow_redirects=False, trust_env=False, timeout=timeout)


class _Backend(httpcore2.SyncBackend):
    def __init__(self, is_allowed: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_allowed = is_allowed

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        if self._is_allowed(host):
            found = [host]
        else:
            try:
                known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                raise httpcore2.ConnectError(str(error)) from error
            # Only checked addresses, so that the name is not resolved again.
            found = list(dict.fromkeys(str(info[4][0]) for info in known))
            if not all(map(is_public, found)):
                raise AddressRefused(host)
        failed: Exception = httpcore2.ConnectError(f"no address of {host}")
        for address in found:
            try:
                return _Stream(super().connect_tcp(address, port, _left(timeout), local_address, socket_options))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                # A name can have addresses that can't be reached from here, such as those of IPv6.
                failed = error
        raise failed


def is_public(address: str) -> bool:
    """Return whether an IP address is reachable from anywhere: not of a private network, this machine, or a cloud's
    own service.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_global and not ip.is_multicast


class _Stream(httpcore2.NetworkStream):
    """A connection that keeps the limits of the thread that uses it."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        found = self._inner.read(max_bytes, _left(timeout))
        _LIMITS.bytes += len(found)
        if _LIMITS.until is not None and _LIMITS.bytes > _LIMITS.most:
            raise ResponseTooLarge
        return found

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _left(timeout: float | None) -> float | None:
    """Return the seconds that an operation may take. Raises ReadTimeout if the request's time is up."""
    if _LIMITS.until is None:
        return timeout
    left = _LIMITS.until - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout
    return left if timeout is None else min(timeout, left)
