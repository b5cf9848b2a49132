"""Limits on how many threads of a web process do the same kind of slow work at the same time."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_running: Counter[str] = Counter()
_lock = threading.Lock()


@contextmanager
def limited(limits: Mapping[str, int]) -> Iterator[bool]:
    """Count the block as running under each name; yield False without counting it if one of the limits is reached."""
    with _lock:
        free = all(_running[name] < most for name, most in limits.items())
        if free:
            _running.update(limits.keys())
    try:
        yield free
    finally:
        if free:
            with _lock:
                _running.subtract(limits.keys())
                for name in limits:
                    if not _running[name]:
                        del _running[name]
