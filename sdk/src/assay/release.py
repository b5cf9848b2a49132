"""Read a release without a server and without trusting it: nothing is unpacked, and memory is bounded."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from assay.errors import ReleaseError
from assay.lines import parse_lines

Record = dict[str, Any]
_PIECE = 1 << 20
_MAX_MANIFEST = 64 << 20
_MANIFEST = "manifest.json"
#: The neutral records.
DIALOGUES = "dialogues.jsonl"
MESSAGES = "openai.jsonl"
#: What Python raises for damaged, encrypted or unknown archives.
_UNREADABLE = (OSError, KeyError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)


class Release:
    """A release in an archive or an unpacked folder. Iterate over it to get its dialogues, as neutral records.

    Raises ReleaseError if it has no manifest.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._root = self._find_root()
        with self._open(_MANIFEST) as file:
            content = file.read(_MAX_MANIFEST + 1)
        #: The manifest, as in the file.
        self.manifest: dict[str, Any] = self._read_manifest(content)
        #: Path → what the manifest says about the file: sha256, bytes, records, format.
        self.files: dict[str, dict[str, Any]] = {entry["path"]: entry for entry in self.manifest["files"]}

    def __repr__(self) -> str:
        return f"<Release {self.version} of {self.manifest.get('project')}: {len(self)} dialogues>"

    def __iter__(self) -> Iterator[Record]:
        return self.records()

    def __len__(self) -> int:
        """Return the number of dialogues that the manifest states."""
        counts = self.manifest.get("counts")
        found = counts.get("items") if isinstance(counts, dict) else None
        return found if isinstance(found, int) else int(self.files.get(DIALOGUES, {}).get("records") or 0)

    @property
    def version(self) -> str:
        return str(self.manifest.get("version", ""))

    def records(self, name: str = DIALOGUES) -> Iterator[Record]:
        """Yield the records of a file of JSON lines, by default the neutral ones: id, document, tools and more.

        Raises ReleaseError if the release has no such file, and at a line that is damaged.
        """
        return parse_lines(self._content(name), name)

    def messages(self) -> Iterator[Record]:
        """Yield the dialogues as messages of the OpenAI chat API. Raises ReleaseError if the release has none."""
        return self.records(MESSAGES)

    def verify(self) -> int:
        """Compare every file with its size and SHA-256 in the manifest; return their number. Raises ReleaseError."""
        for name in self.files:
            for _piece in self._content(name):
                pass
        return len(self.files)

    def _read_manifest(self, content: bytes) -> dict[str, Any]:
        try:
            found = json.loads(content) if len(content) <= _MAX_MANIFEST else None
        except (ValueError, RecursionError):
            found = None
        files = found.get("files") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(files, list) or not all(map(_is_entry, files)):
            raise ReleaseError(f"{self.path}: {_MANIFEST} is not the manifest of a release.")
        return found

    def _find_root(self) -> str:
        """Return the folder of the manifest in the archive, with a slash at its end; “” for a folder."""
        if self.path.is_dir():
            return ""
        if not self.path.exists():
            raise ReleaseError(f"There is no file {self.path}.")
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = archive.namelist()
        except _UNREADABLE:
            raise ReleaseError(f"Can't read {self.path} as a zip archive. Download it again.") from None
        if len(set(names)) != len(names):
            raise ReleaseError(f"{self.path} has two files of the same name. It is not a release.")
        roots = [
            name.removesuffix(_MANIFEST) for name in names
            if PurePosixPath(name).name == _MANIFEST and name.count("/") <= 1
        ]  # fmt: skip
        if len(roots) != 1:
            raise ReleaseError(f"{self.path} has no {_MANIFEST}, or several. Give the archive of a release.")
        return roots[0]

    def _content(self, name: str) -> Iterator[bytes]:
        """Yield a file in pieces, no more than its size in the manifest. The last piece comes after the comparison of
        size and SHA-256, so a file that was read to its end is whole.
        """
        entry = self.files.get(name)
        if entry is None:
            raise ReleaseError(f"{self.path} has no {name}. It has {', '.join(sorted(self.files)[:20])}.")
        left, found = entry["bytes"], hashlib.sha256()
        with self._open(name) as file:
            held = b""
            while True:
                try:
                    piece = file.read(min(_PIECE, left + 1))
                except _UNREADABLE:
                    raise ReleaseError(f"{self.path}: {name} is damaged. Download the release again.") from None
                if not piece:
                    break
                yield held
                held, left = piece, left - len(piece)
                found.update(piece)
                if left < 0:
                    break
        if left or found.hexdigest() != entry["sha256"]:
            raise ReleaseError(f"{self.path}: {name} differs from its SHA-256 in the manifest. Download it again.")
        yield held

    def _open(self, name: str) -> IO[bytes]:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or "\\" in name:
            raise ReleaseError(f"{self.path}: the path {name} leaves the release.")
        try:
            if not self.path.is_dir():
                with zipfile.ZipFile(self.path) as archive:
                    return archive.open(self._root + name)
            inside = (self.path / name).resolve()
            if not inside.is_relative_to(self.path.resolve()):
                raise ReleaseError(f"{self.path}: {name} is a link out of the release.")
            return inside.open("rb")
        except _UNREADABLE:
            raise ReleaseError(f"{self.path} has no readable {name}.") from None


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("path"), str)
        and isinstance(entry.get("sha256"), str)
        and isinstance(entry.get("bytes"), int)
        and entry["bytes"] >= 0
    )


def load_release(path: str | Path, *, verify: bool = True) -> Release:
    """Return the release in an archive or an unpacked folder.

    ``verify``: compare all files with their SHA-256 first, which reads everything once; otherwise each file is compared
    when it has been read to its end. Raises ReleaseError.
    """
    release = Release(path)
    if verify:
        release.verify()
    return release
