"""Read a release without a server."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from assay.errors import ReleaseError

_PIECE = 1 << 20
_MAX_MANIFEST = 64 << 20


class Release:
    """A release in an archive or an unpacked folder. Raises ReleaseError if it has no manifest."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._root = self._find_root()
        with self._open("manifest.json") as file:
            content = file.read(_MAX_MANIFEST + 1)
        try:
            found = json.loads(content) if len(content) <= _MAX_MANIFEST else None
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("files"), list):
            raise ReleaseError(f"{self.path}: manifest.json is not the manifest of a release.")
        #: The manifest, as in the file.
        self.manifest: dict[str, Any] = found

    def dialogues(self) -> Iterator[dict[str, Any]]:
        """Yield the records of the neutral file."""
        return self._records("dialogues.jsonl")

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the records of messages of the OpenAI chat API. Raises ReleaseError if the release has none."""
        return self._records("openai.jsonl")

    @property
    def tools(self) -> dict[str, list[dict[str, Any]]]:
        """The tools of each dialogue, by its id."""
        return {record["id"]: record.get("tools", []) for record in self.dialogues()}

    def verify(self) -> int:
        """Compare every file with its SHA-256 in the manifest; return their number. Raises ReleaseError."""
        for entry in self.manifest["files"]:
            found = hashlib.sha256()
            with self._open(entry["path"]) as file:
                while piece := file.read(_PIECE):
                    found.update(piece)
            if found.hexdigest() != entry["sha256"]:
                raise ReleaseError(f"{self.path}: {entry['path']} differs from its SHA-256 in the manifest.")
        return len(self.manifest["files"])

    def _find_root(self) -> str:
        if self.path.is_dir():
            return ""
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = [name for name in archive.namelist() if PurePosixPath(name).name == "manifest.json"]
        except (OSError, zipfile.BadZipFile):
            raise ReleaseError(f"Can't read {self.path} as a zip archive.") from None
        roots = [name.removesuffix("manifest.json") for name in names if name.count("/") <= 1]
        if len(roots) != 1:
            raise ReleaseError(f"{self.path} has no manifest.json, or several. Give the archive of a release.")
        return roots[0]

    def _open(self, name: str) -> IO[bytes]:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts:
            raise ReleaseError(f"{self.path}: the path {name} leaves the release.")
        try:
            if self.path.is_dir():
                return (self.path / name).open("rb")
            with zipfile.ZipFile(self.path) as archive:
                return archive.open(self._root + name)
        except (OSError, KeyError, zipfile.BadZipFile):
            raise ReleaseError(f"{self.path} has no readable {name}.") from None

    def _records(self, name: str) -> Iterator[dict[str, Any]]:
        with self._open(name) as file:
            for number, line in enumerate(file, 1):
                try:
                    if line.strip():
                        yield json.loads(line)
                except ValueError:
                    raise ReleaseError(f"{self.path}: line {number} of {name} is not JSON.") from None


def load_release(path: str | Path) -> Release:
    """Return the release in an archive or an unpacked folder. Raises ReleaseError."""
    return Release(path)
