"""Limits on slow requests, so that one person never takes all threads of a web process.

A large upload or answer takes as long as the other side's connection. A page of a huge document takes seconds of
computing.
"""

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from typing import cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotator.core.concurrency import limited
from annotator.errors import Busy
from annotator.models import User
from annotator.services.client_address import client_address

#: Per web process, which has four threads behind the proxy.
MAX_TRANSFERS_OF_ONE, MAX_TRANSFERS = 1, 2
#: Bytes of an answer that the proxy buffers for a slow reader; deploy/Caddyfile has the same number.
BUFFERED = 4 * 10**6
#: Seconds of computing after which a person's requests take turns, for how long, and how many run then.
MAX_COMPUTING, SLOWED_FOR, MAX_SLOWED = 2.0, 600.0, 2
#: Requests of up to this many seconds do not count: even a hundred of them cause no delay. The count of longer ones
#: shrinks by this much each second; otherwise a day of ordinary work would add up.
FREE_COMPUTING = 0.25

_SENTENCE = gettext_noop(
    "Too many large uploads or downloads are running (yours or other people’s). Nothing was changed. Wait until one is "
    "complete and try again."
)
_DONE = gettext_noop(
    "Your request was processed, but its result is large and too many large uploads or downloads are running. Wait a "
    "moment, then reload the page to see the result."
)
_WAIT_YOUR_TURN = gettext_noop(
    "Your recent requests used a lot of computing time, so the server now runs only a few at a time. "
    "Nothing was changed. Wait until one has finished and try again."
)
_TOO_MANY = gettext_noop(
    "Too many of your requests are running, so this one wasn’t started. Nothing was changed. Wait until some have "
    "finished and try again."
)
#: The names under which the web server's worker states its number of threads and learns whose a request is
#: (``annotator.config.buffering_worker``).
THREADS, PERSON = "assay.threads", "assay.person"
#: Key of a person → until when their requests take turns, in this process.
_computing: dict[int, float] = {}
#: Key of a person → seconds of computing that count, and when they were counted.
_counted: dict[int, tuple[float, float]] = {}


def admit_request(request: HttpRequest, person: User) -> None:
    """Let the request run, unless its person would then have all threads of this process. Raises Busy.

    One that was admitted already counts once: a list as a file reads its pages with the request that asked for it.
    """
    if request.META.get(PERSON) == person.pk:
        return
    request.META[PERSON] = person.pk
    # Servers other than ours do not state their number of threads.
    threads = request.META.get(THREADS)
    if threads and not _admit(request, f"person {person.pk}", max(1, threads - 1)):
        raise Busy(_(_TOO_MANY))
    if _computing.get(person.pk, 0.0) >= time.monotonic() and not _admit(request, f"turn {person.pk}", MAX_SLOWED):
        raise Busy(_(_WAIT_YOUR_TURN))


def _admit(request: HttpRequest, name: str, most: int) -> bool:
    taken: bool = request.place.enter_context(limited({name: most}))  # type: ignore[attr-defined]
    return taken


def note_computing(person: User, seconds: float) -> None:
    """Remember people whose requests compute for long: one long request, or many shorter ones in a row."""
    if seconds <= FREE_COMPUTING:
        return
    now = time.monotonic()
    before, since = _counted.get(person.pk, (0.0, now))
    count = max(0.0, before - FREE_COMPUTING * (now - since)) + seconds
    _counted[person.pk] = min(count, MAX_COMPUTING), now
    if count > MAX_COMPUTING:
        for key in [key for key, until in list(_computing.items()) if until < now]:
            _computing.pop(key, None)
        _computing[person.pk] = now + SLOWED_FOR


def admit_transfer(request: HttpRequest, sentence: str = _SENTENCE) -> ExitStack:
    """Let a large upload or response start; close the result when it ends. Raises Busy with the sentence."""
    user = getattr(request, "user", None)
    who = user.pk if user is not None and user.is_authenticated else client_address(request)
    transfer = ExitStack()
    if not transfer.enter_context(limited({f"slow {who}": MAX_TRANSFERS_OF_ONE, "slow": MAX_TRANSFERS})):
        raise Busy(_(sentence))
    return transfer


def admit_large_response(request: HttpRequest, response: HttpResponseBase) -> None:
    """Let a large response start, until it is sent or abandoned. Small ones always may. Raises Busy."""
    if not _is_large(response):
        return
    closers: list[Callable[[], None]] = response._resource_closers  # type: ignore[attr-defined]
    try:
        transfer = admit_transfer(request, _SENTENCE if request.method == "GET" else _DONE)
    except Busy:
        # response.close() would also end the request.
        for close in closers:
            close()
        raise
    # Also ends the transfer if nothing closes the response: a middleware may replace it.
    closers.append(weakref.finalize(response, transfer.close))


def _is_large(response: HttpResponseBase) -> bool:
    if not response.streaming:
        return len(cast(HttpResponse, response).content) > BUFFERED
    if "Content-Length" in response.headers:
        return int(response.headers["Content-Length"]) > BUFFERED
    stream = cast(StreamingHttpResponse, response)
    pieces = iter(cast(Iterator[bytes], stream.streaming_content))
    begun, size = [], 0
    for piece in pieces:
        begun.append(piece)
        size += len(piece)
        if size > BUFFERED:
            break
    stream.streaming_content = chain(begun, pieces)
    return size > BUFFERED
