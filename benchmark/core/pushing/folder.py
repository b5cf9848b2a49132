"""A folder, for example on a share."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmark.core.pushing.target import PushedRelease, PushError, SentFile, hash_file


class Folder:
    """A folder that contains one release."""

    at_once = False

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self.url = self._path.as_uri()

    def compare(self, release: PushedRelease, *, content: bool) -> dict[str, bool]:
        found = {}
        path = self._path
        try:
            for file in release.files:
                path = self._path / file.path
                if path.is_file():
                    found[file.path] = path.stat().st_size == file.bytes and hash_file(path) == file.sha256
        except OSError as error:
            raise _failed("read", error, path) from None
        return found

    def send(self, release: PushedRelease, files: Sequence[SentFile]) -> None:
        path = self._path
        try:
            for file in files:
                path = self._path / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(f".{path.name}.part")
                with file.local.open("rb") as source, part.open("wb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
                    copy.flush()
                    os.fsync(copy.fileno())
                part.replace(path)
        except OSError as error:
            raise _failed("write", error, path) from None

    def remove(self, files: Sequence[SentFile]) -> None:
        path = self._path
        try:
            for file in files:
                path = self._path / file.path
                path.unlink(missing_ok=True)
        except OSError as error:
            raise _failed("write", error, path) from None


def _failed(what: str, error: OSError, path: Path) -> PushError:
    # Reading and writing an open file raise errors without a name.
    return PushError(
        f"Can't {what} {error.filename or path}: {error.strerror or error}. "
        "Check the folder, its permissions and free space."
    )
