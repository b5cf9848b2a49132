"""A server and a token."""

from collections.abc import Iterator
from types import TracebackType

import httpx

from assay.http import Http, Row
from assay.project import Project


class Client:
    """A server and a token. Use it as a context manager, or call ``close``.

    ``timeout``: seconds for each step of a request. Raises ValueError for an address that is none, and for plain http
    to another machine, unless ``insecure``.
    """

    def __init__(
        self, url: str, token: str, *, timeout: float = 30.0, insecure: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._http = Http(url, token, timeout=timeout, insecure=insecure, transport=transport)

    def __repr__(self) -> str:
        return f"Client({self._http.base.host!r})"

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_readable(self) -> bool:
        """Whether others in the network can read what is sent: plain http to another machine."""
        return self._http.is_readable

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def projects(self) -> Iterator[Row]:
        """Yield your projects, oldest first."""
        return self._http.pages("projects/")

    def project(self, slug: str) -> Project:
        """Return a project by its slug, which is in the address of its page; no request is sent."""
        return Project(self._http, slug)
