"""An id for a gold item that looks like the ids around it."""

import random
import re
from collections.abc import Container

_LAST = re.compile(r"[0-9]+(?=[^0-9]*$)")
#: Tries with as many digits as the id has, before it gets one more.
_TRIES = 200


def stem(external_id: str) -> str:
    """What every id that ``resembling`` gives for this one begins with."""
    found = _LAST.search(external_id)
    return external_id if found is None else external_id[: found.start()]


def resembling(external_id: str, taken: Container[str], chance: random.Random) -> str:
    """An id of the same pattern that is not ``taken``: the last number in it becomes another of as many digits.

    An id without a number, which is rare, gets one. ``chance``: where the digits come from.
    """
    pattern = external_id if _LAST.search(external_id) else f"{external_id}-{chance.randrange(10, 99)}"
    found = _LAST.search(pattern)
    assert found is not None  # noqa: S101 - there is a digit in it
    width = len(found[0])
    while True:
        low = 0 if found[0].startswith("0") or width == 1 else 10 ** (width - 1)
        for _ in range(_TRIES):
            number = chance.randrange(low, 10**width)
            name = f"{pattern[: found.start()]}{number:0{width}}{pattern[found.end() :]}"
            if name not in taken:
                return name
        width += 1
