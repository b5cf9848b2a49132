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


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def retried(act: Callable[[], _Result], sleep: Callable[[float], None] = time.sleep) -> _Result:
    """Call a function, again after a pause for as long as it raises Unavailable and attempts are left."""
    for wait in WAITS:
        try:
            return act()
        except Unavailable:
            sleep(wait)
    return act()
