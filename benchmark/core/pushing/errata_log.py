"""Puts the errata log of a release beside its files, or continues the one that is there.

A release has an empty ``errata.jsonl``, which later logs replace. So the file may differ from the manifest, but it only
ever grows: what is there must be the beginning of what replaces it.
"""

import os
import shutil
from pathlib import Path

from annotator.core.wording import counted
from benchmark.core.archives.errata import ERRATA, verify_errata
from benchmark.core.pushing.target import PushedRelease, PushError, SentFile, Target, hash_file, retried


def read_log(log: Path, archive: Path, folder: Path) -> tuple[SentFile, int]:
    """Copy the log of an archive into a folder. Returns the copy and its number of errata.

    The last line of the copy has its line break, so that other lines can follow it. Raises PushError if the log is not
    whole or about another archive.
    """
    copy = folder / ERRATA
    shutil.copyfile(log, copy)
    report = verify_errata(copy, archive, name=str(log))
    if report.problems:
        more = len(report.problems) - 1
        others = f" There are {counted(more, 'other problem')}." if more else ""
        raise PushError(f"{report.problems[0]}{others} Nothing was sent.")
    with copy.open("rb+") as stream:
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                stream.write(b"\n")
    return SentFile(ERRATA, hash_file(copy), copy.stat().st_size, copy), report.errata


def is_there(target: Target, release: PushedRelease, log: SentFile) -> bool:
    """Return whether the target has this log. Raises PushError if it has one that this log does not continue."""
    return retried(lambda: target.find_log(release, log)) == log.bytes


def push_log(target: Target, release: PushedRelease, log: SentFile) -> bool:
    """Send a log to a target that has the release, and compare it there. Returns False if it was there already.

    Raises PushError, and sends nothing if another log is there.
    """
    if is_there(target, release, log):
        return False
    retried(lambda: target.send_log(release, log))
    if not is_there(target, release, log):
        raise PushError(f"{ERRATA} at {target.url} is not the log that was sent. Run the command again.")
    return True
