"""A folder as one file: a zip archive without compression, made while it is read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from django.utils.translation import gettext as _

from annotator.errors import Invalid
from benchmark.core.files.limits import Limits

_PIECE = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


class FolderArchive:
    """The files of a folder and the folders in it, sorted by path, as the bytes of an archive.

    Hidden files and symbolic links are left out. The same files always give the same bytes. Raises Invalid, at once for
    a folder without files or with too many, and while reading for a file that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        most = Limits().members + Limits().beside
        found: list[str] = []
        for name in _files(folder):
            found.append(name)
            if len(found) > most:
                raise Invalid(_("%(file)s has more than %(most)s files. Split it.") % {"file": folder, "most": most})
        if not found:
            raise Invalid(_("%(file)s has no files. Hidden files and links are not read.") % {"file": folder})
        self._pieces = _pieces(folder, sorted(found))
        self._held = b""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes; nothing at the end."""
        while not self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._held = piece
        size = len(self._held) if size < 0 else size
        data, self._held = self._held[:size], self._held[size:]
        return data


def _files(folder: Path) -> Iterator[str]:
    """Yield the paths of its files below the folder."""
    for path, folders, names in os.walk(folder):
        # Symbolic links to folders are not followed by ``walk``.
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(path) / name
            if not name.startswith(".") and stat.S_ISREG(file.lstat().st_mode):
                yield file.relative_to(folder).as_posix()


def _pieces(folder: Path, names: list[str]) -> Iterator[bytes]:
    sink = _Sink()
    with ZipFile(sink, "w") as archive:
        for name in names:
            # A name in another encoding than UTF-8 is only shown.
            info = ZipInfo(name.encode(errors="replace").decode(), _EPOCH)
            try:
                file = (folder / name).open("rb")
            except OSError as error:
                raise Invalid(
                    _("Can’t read %(file)s: %(reason)s.") % {"file": folder / name, "reason": error.strerror or error}
                ) from None
            with file, archive.open(info, "w", force_zip64=True) as member:
                while piece := file.read(_PIECE):
                    member.write(piece)
                    yield sink.take()
    yield sink.take()


class _Sink:
    """Holds what is written until it is taken."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._held.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is elsewhere."""

    def close(self) -> None:
        """Nothing is open."""

    def take(self) -> bytes:
        data = b"".join(self._held)
        self._held.clear()
        return data
