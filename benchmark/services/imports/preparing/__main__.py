"""A process that prepares what comes in on standard input until that closes."""

import gc
import signal
import sys

import orjson

from benchmark.services.imports.preparing.frames import read_frame, read_lines, write_frame
from benchmark.services.imports.preparing.records import Preparer, Setup


def main() -> None:
    source, target = sys.stdin.buffer, sys.stdout.buffer
    # Whoever started us decides when to stop; what prints by accident must not end up among the answers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    setup = read_frame(source)
    if setup is None:
        return
    preparer = Preparer(Setup(**orjson.loads(setup)))
    # What is loaded stays, and records hold no circles: looking for some all the time is for nothing.
    gc.freeze()
    gc.set_threshold(50_000)
    while (lines := read_lines(source)) is not None:
        write_frame(target, orjson.dumps(preparer.prepare(lines)))


if __name__ == "__main__":
    main()
