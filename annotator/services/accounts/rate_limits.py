"""Rate limits for each token, each person, and each address of requests that are not signed in.

Web processes share the counts in Redis. Without Redis (embedded mode), or while it does not respond, each process
counts in its own memory: a limit never refuses because something is out of order.
"""

import logging
import time
from collections.abc import Sequence
from functools import cache

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from annotator.core.rates import Counted, Limited, MemoryCounts, Rate
from annotator.errors import TooMany
from annotator.models import User
from annotator.services.client_address import client_address
from annotator.services.security_log import log_security

_LOG = logging.getLogger(__name__)
#: Seconds to wait for Redis, and to do without it after it did not respond.
PATIENCE, PAUSE = 0.1, 10.0
#: One event in the security log for each name and hour.
_LOGGED = Rate(1, 3600)
_SENTENCES = {
    "token": gettext_noop(
        "This token has sent more than %(count)s requests in %(seconds)s seconds. Nothing was changed. Wait %(left)s "
        "seconds and try again."
    ),
    "person": gettext_noop(
        "You have sent more than %(count)s requests in %(seconds)s seconds. Nothing was changed. Wait %(left)s seconds "
        "and try again."
    ),
    "address": gettext_noop(
        "Your network address has sent more than %(count)s requests in %(seconds)s seconds. Nothing was changed. Wait "
        "%(left)s seconds and try again."
    ),
}


class Counts:
    """Counts in Redis while it responds, otherwise in memory."""

    def __init__(self, url: str) -> None:
        self.memory = MemoryCounts()
        self._paused_until = 0.0
        self._redis = _client(url) if url else None

    def count(self, limits: Sequence[Limited]) -> list[Counted]:
        """Count a request for each limit."""
        now = time.time()
        used = self._in_redis(limits, now) or self.memory.count(limits, now)
        return [limit.counted(count, now) for limit, count in zip(limits, used, strict=True)]

    def _in_redis(self, limits: Sequence[Limited], now: float) -> list[int]:
        if self._redis is None or time.monotonic() < self._paused_until:
            return []
        try:
            # One round trip.
            with self._redis.pipeline(transaction=False) as pipeline:
                for limit in limits:
                    rate = limit.rate
                    key = f"assay.rate.{limit.kind}.{limit.name}.{rate.seconds}.{rate.window(now)}"
                    pipeline.incr(key)
                    pipeline.expire(key, rate.seconds + 1)
                return [int(one) for one in pipeline.execute()[::2]]
        except RedisError as error:
            self._paused_until = time.monotonic() + PAUSE
            _LOG.warning("Redis does not respond, so each process counts its own requests for now: %s", error)
            return []


def _client(url: str) -> Redis:
    # No second try: the request must not wait.
    once = Retry(NoBackoff(), 0)
    return Redis.from_url(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, retry=once)


@cache
def counts() -> Counts:
    """Return the counts of this process."""
    return Counts(settings.REDIS_URL)


def limit_person(request: HttpRequest, person: User, *, token_id: int | None = None) -> None:
    """Count a request of a person, and of the token that it came with. Raises TooMany."""
    limits = [_limited("token", str(token_id))] if token_id is not None else []
    _admit(request, [*limits, _limited("person", str(person.pk))], person)


def limit_address(request: HttpRequest) -> None:
    """Count a request without a person, by its address. Raises TooMany."""
    _admit(request, [_limited("address", client_address(request))], None)


def standings(request: HttpRequest) -> list[Counted]:
    """Return what was counted for a request."""
    return getattr(request, "rate_limits", [])


def _limited(kind: str, name: str) -> Limited | None:
    rate: Rate | None = settings.RATE_LIMITS[kind]
    return None if rate is None else Limited(kind, name, rate)


def _admit(request: HttpRequest, limits: Sequence[Limited | None], person: User | None) -> None:
    asked = [limit for limit in limits if limit is not None]
    if not asked:
        return
    found = counts().count(asked)
    request.rate_limits = found  # type: ignore[attr-defined]
    refused = [one for one in found if not one.admitted]
    if not refused:
        return
    # The limit that is the last to end.
    hit = max(refused, key=lambda one: one.seconds_left)
    if counts().count([Limited(f"logged.{hit.kind}", hit.name, _LOGGED)])[0].admitted:
        log_security(
            "rate_limited", person=person, actor=person, request=request,
            limit=hit.kind, requests=hit.rate.count, seconds=hit.rate.seconds,
        )  # fmt: skip
    words = {"count": f"{hit.rate.count:,}", "seconds": f"{hit.rate.seconds:,}", "left": f"{hit.seconds_left:,}"}
    raise TooMany(_(_SENTENCES[hit.kind]) % words, retry_after=hit.seconds_left)
