"""Requests with a token: bounded retries, no redirects, errors as sentences."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from assay.errors import KINDS, ApiError

#: Attempts at a request that may be repeated, and the longest pause between two, in seconds.
ATTEMPTS = 4
LONGEST_PAUSE = 60.0
_BUSY = (429, 502, 503, 504)
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Http:
    """The connection to a server. Redirects are refused, so that no other host gets the token."""

    def __init__(
        self, url: str, token: str, *, timeout: float, insecure: bool, transport: httpx.BaseTransport | None
    ) -> None:
        base = httpx.URL(url)
        if base.scheme not in ("http", "https") or not base.host:
            raise ValueError("The address must begin with https:// and name a host.")
        if base.scheme == "http" and base.host not in _LOCAL and not insecure:
            raise ValueError("Over http, others can read the token. Use https, or pass insecure=True.")
        self.base = base
        self._client = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/", headers={"Authorization": f"Bearer {token}"}, timeout=timeout,
            transport=transport, follow_redirects=False,
        )  # fmt: skip

    def close(self) -> None:
        self._client.close()

    def own(self, url: str) -> str:
        """Return an address of this server. Raises ApiError for another host."""
        found = httpx.URL(url)
        # A server behind a proxy may name itself with another scheme or port; the request goes to the known one.
        if found.is_absolute_url and found.host != self.base.host:
            raise ApiError(0, f"The server named an address of another host ({found.host}); it was not opened.")
        return str(self.base.copy_with(raw_path=found.raw_path)) if found.is_absolute_url else url

    def send(self, method: str, path: str, *, repeat: bool | None = None, **options: Any) -> Any:
        """Return the JSON of an answer, None if it is empty. ``repeat``: whether to retry; by default a GET."""
        again = method == "GET" if repeat is None else repeat
        with self.stream(method, path, repeat=again, **options) as answer:
            try:
                content = answer.read()
                return answer.json() if content else None
            except (httpx.TransportError, ValueError):
                sentence = "The answer broke off or is not JSON, so it is not known whether the server acted."
                raise ApiError(0, sentence) from None

    @contextmanager
    def stream(self, method: str, path: str, *, repeat: bool = True, **options: Any) -> Iterator[httpx.Response]:
        """Yield an answer whose body is unread. Raises ApiError."""
        answer = self._answer(method, path, repeat, options)
        try:
            if not answer.is_success:
                answer.read()
                raise error_of(answer)
            yield answer
        finally:
            answer.close()

    def _answer(self, method: str, path: str, repeat: bool, options: dict[str, Any]) -> httpx.Response:
        for attempt in range(1, ATTEMPTS + 1):
            for _name, file in (options.get("files") or {}).values():
                file.seek(0)
            last = attempt == ATTEMPTS or not repeat
            try:
                answer = self._client.send(self._client.build_request(method, path, **options), stream=True)
            except httpx.TransportError as error:
                if last:
                    raise ApiError(0, f"No answer from {self.base.host} ({type(error).__name__}).") from None
                time.sleep(2.0 ** (attempt - 1))
                continue
            if last or answer.status_code not in _BUSY:
                return answer
            answer.close()
            after = answer.headers.get("Retry-After", "")
            time.sleep(min(float(after) if after.isdecimal() else 2.0 ** (attempt - 1), LONGEST_PAUSE))
        raise AssertionError


def error_of(answer: httpx.Response) -> ApiError:
    """Return the error of an answer that was read."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    sentence = str(body.get("sentence") or f"The server answered with status {answer.status_code}.")
    kind = KINDS.get(answer.status_code, ApiError)
    return kind(answer.status_code, sentence, str(body.get("error", "")), body.get("details"))
