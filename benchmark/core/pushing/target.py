"""What all targets have in common."""

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

_Result = TypeVar("_Result")
#: Seconds before each further attempt.
WAITS = (1.0, 2.0, 4.0)


class PushError(Exception):
    """Ends a push. The text is a sentence for the user, without secrets."""


class Unavailable(PushError):
    """The other side does not answer or reports an error of its own: another attempt may succeed."""


class SentFile(NamedTuple):
    """A file of a release: its path there, its SHA-256, its size and where it is on this machine."""

    path: str
    sha256: str
    bytes: int
    local: Path


class PushedRelease(NamedTuple):
    """An unpacked release. ``manifest.json`` is the last of its files."""

    version: str
    files: tuple[SentFile, ...]

    @property
    def tag(self) -> str:
        return f"v{self.version}"


class Target(Protocol):
    """A place for one release."""

    #: For people; contains no secrets.
    url: str
    #: Files appear all together or not at all, so the manifest is not sent separately.
    at_once: bool

    def compare(self, release: PushedRelease, *, content: bool) -> dict[str, bool]:
        """Return which paths of the release are there: True for the same bytes, False for others.

        With ``content``, hashes that the sender stored are not trusted: what is stored is read or hashed again.
        """

    def send(self, release: PushedRelease, files: Sequence[SentFile]) -> None:
        """Send these files. Raises PushError."""

    def remove(self, files: Sequence[SentFile]) -> None:
        """Remove files of an unfinished push that arrived damaged. Raises PushError."""

    def find_log(self, release: PushedRelease, log: SentFile) -> int | None:
        """Return the size of the errata log there, None if there is none.

        Raises PushError if this log does not begin with it, or something else than the release is there.
        """

    def send_log(self, release: PushedRelease, log: SentFile) -> None:
        """Put the errata log there in place of an earlier one. Raises PushError."""


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def start_of_log(log: SentFile, size: int, url: str) -> SentFile:
    """Return the first ``size`` bytes of an errata log, whose ``local`` has more. Raises PushError unless they are
    whole lines.
    """
    digest, end, rest = hashlib.sha256(), b"\n", size
    with log.local.open("rb") as stream:
        while rest and (piece := stream.read(min(rest, 1 << 20))):
            digest.update(piece)
            end, rest = piece[-1:], rest - len(piece)
    if rest or end != b"\n":
        raise other_log(url)
    return SentFile(log.path, digest.hexdigest(), size, log.local)


def other_log(url: str) -> PushError:
    """Return the refusal to replace an errata log by one that does not continue it."""
    return PushError(
        f"{url} has an errata log that this one does not continue. Download the log again from the release’s page; if "
        "it still differs, somebody changed the one there."
    )


def other_release(url: str, release: PushedRelease) -> PushError:
    """Return the refusal to put an errata log beside another release."""
    return PushError(
        f"The branch of {url} does not have the files of release {release.version}, so its errata log can't be there. "
        "Send it to s3:// or a folder, which have one place for each release."
    )


def retried(act: Callable[[], _Result], sleep: Callable[[float], None] = time.sleep) -> _Result:
    """Call a function, again after a pause for as long as it raises Unavailable and attempts are left."""
    for wait in WAITS:
        try:
            return act()
        except Unavailable:
            sleep(wait)
    return act()
