"""How long one record may be computed with: what is hostile, or merely huge, costs itself and not the file."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Seconds of computing that one record gets. Published records take a hundredth of one.
MOST_SECONDS = 5.0


class TookTooLong(BaseException):
    """The time is up. No Exception, so that nothing on the way takes it for a fault of its own."""


@contextmanager
def patience(seconds: float = MOST_SECONDS) -> Iterator[None]:
    """Raise TookTooLong once the block has computed for so long.

    Counted is this process's own time, so that a busy machine rejects nothing. Regular expressions are interrupted,
    too. Only the main thread can be: in another one the block has no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TookTooLong
