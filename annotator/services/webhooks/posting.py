"""One attempt to deliver a message: a POST with limits on time and size, and every failure as a sentence."""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
from django.conf import settings

from annotator.core.text import Message, message
from annotator.services.outgoing.addresses import is_listed
from annotator.services.outgoing.guarded_http import AddressRefused, ResponseTooLarge, guarded_client, limited

#: Seconds to connect, and for a whole attempt.
CONNECT, WHOLE = 5.0, 15.0
#: Bytes of a reply that are kept; a longer reply is not read to its end.
KEPT_REPLY = 2_000
#: Bytes that are read of a response, its headers included.
_READ = 64 << 10
#: Statuses whose Retry-After is respected, and the longest wait.
_PATIENT = frozenset((429, 503))
LONGEST_WAIT = 86_400.0
#: The receiver wants no more messages.
GONE = 410
_NUMBER = re.compile(r"\[Errno -?\d+\] ")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of an attempt. ``error``: None if it is delivered. ``wait``: seconds that the receiver asks for."""

    status: int | None
    milliseconds: int
    reply: str = ""
    error: Message | None = None
    wait: float = 0.0


def is_allowed(host: str) -> bool:
    """Return whether the operator allows a host without a public address, or without https."""
    return is_listed(host, settings.WEBHOOK_HOSTS)


def new_client() -> httpx2.Client:
    """Return a client for several attempts. Close it at the end."""
    return guarded_client(is_allowed, connect=CONNECT)


def post(client: httpx2.Client, url: str, body: str, headers: dict[str, str]) -> Answer:
    """Send a message once. It follows no redirect; the first 2 kB of the reply are read, whatever comes after them."""
    began, status, reply, wait = time.monotonic(), None, b"", 0.0
    error: Message | None = None
    sent = headers | {
        "content-type": "application/json", "accept-encoding": "identity", "user-agent": "Assay webhooks",
    }  # fmt: skip
    try:
        with (
            limited(WHOLE, most=_READ),
            client.stream("POST", url, content=body.encode(), headers=sent) as response,
        ):
            status = response.status_code
            if status in _PATIENT:
                wait = _retry_after(response.headers.get("retry-after", ""))
            # The status is what counts: a reply that is cut off or slow is no failure.
            with suppress(httpx2.HTTPError, ResponseTooLarge):
                for piece in response.iter_raw():
                    reply += piece
                    if len(reply) >= KEPT_REPLY:
                        break
    except Exception as failure:
        # Whatever the library raises: a response can be wrong in any way.
        if status is None:
            error = _explained(failure)
    if status is not None:
        error = _judged(status)
    text = reply[:KEPT_REPLY].decode("utf-8", "replace").replace("\x00", "�")
    return Answer(status, round(1000 * (time.monotonic() - began)), text, error, wait)


def _judged(status: int) -> Message | None:
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return message("The receiver answered with a redirect (%(status)s), which is not followed.", status=status)
    if status == GONE:
        return message("The receiver answered that it wants no more messages (410).")
    return message("The receiver answered with status %(status)s.", status=status)


def _explained(failure: Exception) -> Message:
    if AddressRefused in {type(failure), type(failure.__cause__), type(failure.__context__)}:
        return message(
            "The address is not public, so this server doesn’t connect to it. The server’s operator can allow it: "
            "WEBHOOK_HOSTS."
        )
    if isinstance(failure, httpx2.ConnectTimeout):
        return message("The receiver can’t be reached: no connection within %(seconds)s seconds.", seconds=int(CONNECT))
    if isinstance(failure, httpx2.TimeoutException):
        return message("The receiver didn’t answer within %(seconds)s seconds.", seconds=int(WHOLE))
    if isinstance(failure, ResponseTooLarge):
        return message("The receiver’s answer has headers that are too large.")
    # Of an error of the operating system, its number says nothing that its words do not say.
    words = " ".join(_NUMBER.sub("", str(failure)).split())[:200] or type(failure).__name__
    return message("The receiver can’t be reached: %(reason)s", reason=words)


def _retry_after(text: str) -> float:
    """Return the seconds of a Retry-After header, which has seconds or a date, within reason; 0 for nonsense."""
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), LONGEST_WAIT)
