"""A clock and a source of randomness that give the same every time.

Only what honest code uses is replaced. Code that still reads the machine's clock gives different results in the host's
two runs, and the host reports it, as it does when code uses the system's randomness.
"""

import datetime
import os
import random
import time
import uuid
from typing import Any

_Datetime = datetime.datetime


class _LikeDatetime(type):
    """Makes every ``datetime`` an instance of the class that replaces it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Datetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _Datetime)


class FixedDatetime(datetime.datetime, metaclass=_LikeDatetime):
    """``datetime`` with the fixed clock."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "FixedDatetime":
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> "FixedDatetime":
        return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)


FixedDatetime.__name__ = FixedDatetime.__qualname__ = "datetime"
FixedDatetime.__module__ = "datetime"


class _Chance:
    """Whether the system's source of randomness was used since the last question."""

    def __init__(self) -> None:
        self.used = False

    def take(self) -> bool:
        used, self.used = self.used, False
        return used


CHANCE = _Chance()


class _Clock:
    """A clock in seconds since 1970, in UTC. It stands still, except that sleeping puts it forward."""

    def __init__(self, now: float) -> None:
        self.begun = self.now = now

    def time(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return round(self.now * 1_000_000) * 1000

    def running(self) -> float:
        return self.now - self.begun

    def running_ns(self) -> int:
        return round((self.now - self.begun) * 1_000_000) * 1000

    def sleep(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.now += seconds


def fix_clock(now: float) -> None:
    """Replace the functions that read the clock. ``now``: seconds since 1970."""
    clock = _Clock(now)
    gmtime, strftime, asctime = time.gmtime, time.strftime, time.asctime

    def utc(seconds: float | None = None, /) -> time.struct_time:
        return gmtime(clock.now if seconds is None else seconds)

    replaced: dict[str, Any] = {
        "time": clock.time,
        "time_ns": clock.time_ns,
        "sleep": clock.sleep,
        "gmtime": utc,
        "localtime": utc,
        "ctime": lambda seconds=None, /: asctime(utc(seconds)),
        "asctime": lambda moment=None, /: asctime(utc() if moment is None else moment),
        "strftime": lambda form, moment=None, /: strftime(form, utc() if moment is None else moment),
        "clock_gettime": lambda which, /: clock.time() if which == 0 else clock.running(),
        "clock_gettime_ns": lambda which, /: clock.time_ns() if which == 0 else clock.running_ns(),
    }
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        replaced |= {name: clock.running, f"{name}_ns": clock.running_ns}
    for name, function in replaced.items():
        setattr(time, name, function)
    # ``date.today`` asks the module ``time``; ``datetime.now`` does not.
    datetime.datetime = FixedDatetime  # type: ignore[misc]


def fix_randomness(seed: int) -> None:
    """Seed the module ``random``, generators made without a seed, and ``uuid``.

    The system's own source of randomness (``SystemRandom``, ``secrets``, ``os.urandom``) is left as it is, and its use
    is noted: a tool that draws one of two values often draws the same twice.
    """
    source = random.Random(seed)  # noqa: S311 - it is meant to be predictable
    seed_with = random.Random.seed

    def seed_from(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed_with(self, source.getrandbits(128) if a is None else a, version)

    random.Random.seed = seed_from  # type: ignore[method-assign]
    random.seed(seed)

    def uuid4() -> uuid.UUID:
        return uuid.UUID(int=source.getrandbits(128), version=4)

    system = os.urandom

    def urandom(size: int, /) -> bytes:
        CHANCE.used = True
        return system(size)

    os.urandom = urandom
    # ``SystemRandom`` and ``secrets`` call it under this name.
    setattr(random, "_urandom", urandom)  # noqa: B010 - typed stubs do not have it
    node = source.getrandbits(48) | (1 << 40)
    uuid.uuid4 = uuid4
    uuid.getnode = lambda: node
    for name in ("_generate_time_safe", "_UuidCreate", "_last_timestamp"):
        if hasattr(uuid, name):
            setattr(uuid, name, None)
