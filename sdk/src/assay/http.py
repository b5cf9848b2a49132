"""Requests with a token: bounded retries, no redirects, errors as sentences."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from assay.errors import KINDS, ApiError, NoAnswer

Row = dict[str, Any]
#: Attempts at a request, and the longest pause between two, in seconds.
ATTEMPTS = 4
LONGEST_PAUSE = 60.0
#: Seconds in which the server stores a file that it has received.
STORING = 600.0
_TOO_MANY, _UNAVAILABLE = 429, 503
#: It is not known what the server did, so only a request that changes nothing twice may be repeated.
_UNKNOWN = (502, _UNAVAILABLE, 504)
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Http:
    """The connection to a server. Redirects are refused, so that no other host gets the token."""

    def __init__(
        self, url: str, token: str, *, timeout: float, insecure: bool, transport: httpx.BaseTransport | None
    ) -> None:
        try:
            base = httpx.URL(url)
        except httpx.InvalidURL:
            base = httpx.URL("")
        if base.scheme not in ("http", "https") or not base.host:
            raise ValueError(f"“{url}” is not the address of a server. It begins with https:// and a host.")
        self.is_readable = base.scheme == "http" and base.host not in _LOCAL
        if self.is_readable and not insecure:
            raise ValueError("Over http, others can read the token. Use https, or pass insecure=True (--insecure).")
        if not token.isascii() or not token.isprintable() or not token.strip():
            raise ValueError("The token is empty or not the text of a token. Create one under “API tokens”.")
        self.base = base
        self.timeout = timeout
        self._client = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/",
            headers={"Authorization": f"Bearer {token.strip()}", "Accept": "application/json, */*"},
            timeout=timeout, transport=transport, follow_redirects=False,
        )  # fmt: skip

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of an answer. Parameters that are None are left out."""
        return self.send("GET", path, params=_known(params))

    def post(self, path: str, body: Any = None, *, repeat: bool = False) -> Any:
        """Send JSON and return that of the answer, None if it is empty."""
        return self.send("POST", path, repeat=repeat, json={} if body is None else body)

    def pages(self, path: str, **params: Any) -> Iterator[Row]:
        """Yield the rows of a list, page by page."""
        page = self.get(path, **params)
        yield from page["results"]
        while page["next"]:
            page = self.send("GET", self._own(page["next"]))
            yield from page["results"]

    def send(self, method: str, path: str, *, repeat: bool = False, **options: Any) -> Any:
        """Return the JSON of an answer, None if it is empty. ``repeat``: sent twice, it has the effect of once."""
        with self.stream(method, path, repeat=repeat or method == "GET", **options) as answer:
            try:
                content = answer.read()
                return answer.json() if content else None
            except (httpx.TransportError, ValueError):
                sentence = "The answer broke off or is not JSON, so it is not known whether the server acted."
                raise NoAnswer(0, sentence) from None

    @contextmanager
    def stream(self, method: str, path: str, *, repeat: bool = True, **options: Any) -> Iterator[httpx.Response]:
        """Yield an answer whose body is unread. Raises ApiError."""
        answer = self._answer(method, path, repeat, options)
        try:
            if not answer.is_success:
                raise error_of(answer)
            yield answer
        finally:
            answer.close()

    def _own(self, url: str) -> str:
        """Return an address of this server. Raises NoAnswer for another host."""
        found = httpx.URL(url)
        if not found.is_absolute_url:
            return url
        # A server behind a proxy may name itself with another scheme or port; the request goes to the known one.
        if found.host != self.base.host:
            raise NoAnswer(0, f"The server named an address of another host ({found.host}); it was not opened.")
        return str(self.base.copy_with(raw_path=found.raw_path))

    def _answer(self, method: str, path: str, repeat: bool, options: dict[str, Any]) -> httpx.Response:
        for attempt in range(1, ATTEMPTS + 1):
            for _name, file in (options.get("files") or {}).values():
                file.seek(0)
            last = attempt == ATTEMPTS
            try:
                request = self._client.build_request(method, path, **options)
                answer = self._client.send(request, stream=True)
            except httpx.TransportError as error:
                # Without a connection, nothing was sent.
                if last or not (repeat or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)):
                    raise NoAnswer(0, _no_answer(self.base.host, error)) from None
                time.sleep(2.0 ** (attempt - 1))
                continue
            if last or not ((repeat and answer.status_code in _UNKNOWN) or _is_busy(answer)):
                return answer
            answer.close()
            time.sleep(min(_seconds(answer.headers.get("Retry-After", ""), 2.0 ** (attempt - 1)), LONGEST_PAUSE))
        raise AssertionError


def _is_busy(answer: httpx.Response) -> bool:
    """Return whether the server refused before it did anything, so that every request may be repeated."""
    if answer.status_code == _UNAVAILABLE:
        return error_of(answer).code == "busy"
    return answer.status_code == _TOO_MANY


def error_of(answer: httpx.Response) -> ApiError:
    """Return the error of an answer, and read its body."""
    try:
        answer.read()
        body = answer.json()
    except (httpx.TransportError, ValueError):
        body = None
    if not isinstance(body, dict):
        body = {}
    status = answer.status_code
    sentence = f"The server answered with status {status}."
    if answer.is_redirect:
        # The address may hold a secret of another host; its host suffices.
        target = httpx.URL(answer.headers.get("Location", "")).host or "another page"
        sentence = f"The server redirects to {target}. Use the address at which Assay itself answers."
    kind = KINDS.get(status, ApiError)
    return kind(status, str(body.get("sentence") or sentence), str(body.get("error", "")), body.get("details"))


def _no_answer(host: str, error: httpx.TransportError) -> str:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return f"Can't connect to {host}. Check the address, and whether the server is running."
    if isinstance(error, httpx.TimeoutException):
        return f"{host} did not answer in time, so it is not known whether it acted. Look, or pass a longer timeout."
    return f"The connection to {host} broke off ({type(error).__name__}), so it is not known whether it acted."


def _seconds(text: str, otherwise: float) -> float:
    """Return the seconds of a Retry-After header: a number, or a date."""
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return otherwise


def _known(params: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in params.items() if value is not None}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in found.items()}
