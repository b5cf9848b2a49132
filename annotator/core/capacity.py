"""Places in one web process for what holds one of its few threads for long: no more at once than there are."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_taken: Counter[str] = Counter()
_lock = threading.Lock()


@contextmanager
def a_place_of(places: Mapping[str, int]) -> Iterator[bool]:
    """Take a place of so many under each name, in this process, as long as it lasts. False: one of them has no more."""
    with _lock:
        free = all(_taken[name] < most for name, most in places.items())
        if free:
            _taken.update(places.keys())
    try:
        yield free
    finally:
        if free:
            with _lock:
                _taken.subtract(places.keys())
                for name in places:
                    if not _taken[name]:
                        del _taken[name]
