"""Garbage collection between requests, so that no request waits for it."""

import gc

from django.core.signals import request_finished

#: Objects that are left since the last collection. A page leaves up to five thousand; collecting them takes 1 ms.
#: Without this, each twentieth request or so was interrupted for 10 to 20 ms (`gc.set_threshold` in this package).
MANY = 2_000


def collect(**_signal: object) -> None:
    """Collect the objects of the last requests, and older ones as often as the thresholds say."""
    objects, young, old = gc.get_count()
    if objects < MANY:
        return
    _, rounds, all_rounds = gc.get_threshold()
    gc.collect(2 if old > all_rounds else 1 if young > rounds else 0)


def collect_between_requests() -> None:
    """Collect garbage after each answer has been sent."""
    request_finished.connect(collect)
