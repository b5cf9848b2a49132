"""What holds a thread of a web process, which has few: one person has some of them, and leaves some to the rest.

Large files that come and large answers that go take as long as the other side likes. Pages of huge documents take
seconds of computing, as often as somebody asks for them.
"""

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from typing import cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from annotator.core.capacity import a_place_of
from annotator.errors import Busy
from annotator.models import User
from annotator.services.accounts.attempts import client_address

#: Of a web process, which has four threads behind the proxy.
OF_ONE_PERSON, OF_ALL = 1, 2
#: Bytes of an answer that the proxy takes at once, however slow its reader is; deploy/Caddyfile has the same number.
AT_ONCE = 4 * 10**6
#: Seconds of computing after which somebody's requests take turns, for so long; and how many then run at once.
LONG, REMEMBERED, TURNS = 2.0, 600.0, 2
#: Requests that compute for at most so many seconds do not count: a hundred small ones at once delay nobody. Of longer
#: ones, so many seconds are forgiven each second; otherwise a day of ordinary work would add up.
UNCOUNTED = 0.25

_SENTENCE = (
    "You are sending or being sent something large already, or several others are. Nothing was changed: wait until "
    "that has arrived, then try again."
)
_DONE = (
    "What you sent was dealt with, but the answer is large, and you are being sent something large already, or several "
    "others are. Wait until that has arrived, then load the page again: it shows what came of it."
)
_WAIT_YOUR_TURN = (
    f"Pages of yours have kept the server computing for seconds, so for now it works on {TURNS} of your requests at "
    "once. Nothing was changed: wait until one has been answered, then try again."
)
_TOO_MANY = (
    "Very many requests of yours are under way at this moment, so this one was not begun. Nothing was changed: wait "
    "until some have been answered, then try again."
)
#: Under what names the web server's worker says how many threads it has, and hears whose a request is
#: (``annotator.config.patient_worker``).
THREADS, PERSON = "assay.threads", "assay.person"
#: Key of a person → until when their requests take turns, in this process.
_computing: dict[int, float] = {}
#: Key of a person → seconds of computing that count, and when it was so many.
_counted: dict[int, tuple[float, float]] = {}


def take_a_turn(request: HttpRequest, person: User) -> None:
    """As long as the request lasts: one person never has all threads of this process. Raises Busy."""
    request.META[PERSON] = person.pk
    # Where no worker of ours says how many there are, each request has one of its own.
    threads = request.META.get(THREADS)
    if threads and not _takes(request, f"person {person.pk}", max(1, threads - 1)):
        raise Busy(_TOO_MANY)
    if _computing.get(person.pk, 0.0) >= time.monotonic() and not _takes(request, f"turn {person.pk}", TURNS):
        raise Busy(_WAIT_YOUR_TURN)


def _takes(request: HttpRequest, name: str, most: int) -> bool:
    taken: bool = request.place.enter_context(a_place_of({name: most}))  # type: ignore[attr-defined]
    return taken


def note_computing(person: User, seconds: float) -> None:
    """Remember whose requests took so much computing: one that is long, or many at once, each a little less."""
    if seconds <= UNCOUNTED:
        return
    now = time.monotonic()
    before, since = _counted.get(person.pk, (0.0, now))
    count = max(0.0, before - UNCOUNTED * (now - since)) + seconds
    _counted[person.pk] = min(count, LONG), now
    if count > LONG:
        for key in [key for key, until in list(_computing.items()) if until < now]:
            _computing.pop(key, None)
        _computing[person.pk] = now + REMEMBERED


def take_a_place(request: HttpRequest, sentence: str = _SENTENCE) -> ExitStack:
    """A place for what is large; closed, it is given back. Raises Busy, which says the sentence."""
    user = getattr(request, "user", None)
    who = user.pk if user is not None and user.is_authenticated else client_address(request)
    place = ExitStack()
    if not place.enter_context(a_place_of({f"slow {who}": OF_ONE_PERSON, "slow": OF_ALL})):
        raise Busy(sentence)
    return place


def take_a_place_for_the_answer(request: HttpRequest, response: HttpResponseBase) -> None:
    """Where it is large; it is given back when all was taken, or nobody waits for it any more. Raises Busy."""
    if not _is_large(response):
        return
    closers: list[Callable[[], None]] = response._resource_closers  # type: ignore[attr-defined]
    try:
        place = take_a_place(request, _SENTENCE if request.method == "GET" else _DONE)
    except Busy:
        # Not by response.close(), with which the request would end.
        for close in closers:
            close()
        raise
    # Also where nobody closes it: another answer may take its place on the way out.
    closers.append(weakref.finalize(response, place.close))


def _is_large(response: HttpResponseBase) -> bool:
    if not response.streaming:
        return len(cast(HttpResponse, response).content) > AT_ONCE
    if "Content-Length" in response.headers:
        return int(response.headers["Content-Length"]) > AT_ONCE
    stream = cast(StreamingHttpResponse, response)
    pieces = iter(cast(Iterator[bytes], stream.streaming_content))
    begun, size = [], 0
    for piece in pieces:
        begun.append(piece)
        size += len(piece)
        if size > AT_ONCE:
            break
    stream.streaming_content = chain(begun, pieces)
    return size > AT_ONCE
