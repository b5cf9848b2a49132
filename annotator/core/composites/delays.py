"""When the result of a call comes: so many rounds after the call."""

import hashlib
import re
from dataclasses import dataclass

#: The delay settings of the benchmark, by name.
NAMES = ("0", "1", "2", "0-1", "1-2")
_LONGEST = 100
_NAME = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class Delay:
    """From ``low`` to ``high`` rounds; the seed decides for each call."""

    low: int
    high: int
    seed: int = 0

    def of(self, call: int) -> int:
        """Return the rounds that call ``call`` of the dialogue (from 0) takes."""
        drawn = hashlib.sha256(f"{self.seed}/{call}".encode()).digest()[0]
        return self.low + drawn % (self.high - self.low + 1)


def read_delay(name: str, seed: int = 0) -> Delay:
    """Return the delay of a setting such as ``1`` or ``0-1``. Raises ValueError with a sentence."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"“{name[:40]}” is no delay. Use one such as {', '.join(NAMES)}.")
    low, high = int(found[1]), int(found[2] or found[1])
    if not low <= high <= _LONGEST:
        raise ValueError(f"“{name}” is no delay: from the smaller to the larger number, {_LONGEST} at most.")
    return Delay(low, high, seed)
