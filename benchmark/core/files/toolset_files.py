"""The toolsets next to single tasks: ``toolsets.jsonl``, and the files of functions and code that it names.

A reader sees one record at a time, so the tools and the code of the toolset that a record names are put into it when
the archive is opened. A record with tools of its own is left as it is.
"""

import posixpath
import zipfile
from collections.abc import Iterable
from typing import Any

import orjson

from annotator.core.schema.exact_json import loads
from annotator.core.schema.toolsets import MAX_SOURCE
from benchmark.core.files.cctu_check_files import CheckFileError
from benchmark.core.files.limits import Budget, Limits, SourceError
from benchmark.core.files.zips import open_member, refusal

NAME = "toolsets.jsonl"
#: Bytes of the list of toolsets, and of one list of functions.
_MAX_LIST = 16 << 20


class ToolsetFiles:
    """The toolsets of one archive, put into the records that name them. Raises SourceError if they cannot be read."""

    #: No file belongs to one record only.
    left: tuple[str, ...] = ()

    def __init__(self, archive: zipfile.ZipFile, infos: Iterable[zipfile.ZipInfo], limits: Limits) -> None:
        self._archive = archive
        # Counted separately: the record's own file is open at the same time.
        self._budget = Budget(limits)
        self._limit = limits.line
        self._infos = {info.filename: info for info in infos if refusal(info) is None}
        self._used: set[str] = set()
        self._toolsets: dict[str, dict[str, Any]] = {}
        for name in self._infos:
            if posixpath.basename(name) == NAME:
                self._used.add(name)
                self._read(name)

    def __bool__(self) -> bool:
        return bool(self._toolsets)

    def has(self, name: str) -> bool:
        """Return whether a file of the archive belongs to a toolset."""
        return name in self._used

    def see(self, line: bytes) -> str | None:
        """Return the toolset that the record on this line needs; None if it needs none."""
        try:
            record = loads(line)
        except ValueError:
            return None
        if type(record) is not dict or "tools" in record or "functions" in record:
            return None
        name = record.get("toolset")
        return name if isinstance(name, str) else None

    def join(self, line: bytes) -> bytes:
        """Return the line with its toolset in it; the line itself if it needs none. Raises CheckFileError."""
        name = self.see(line)
        if name is None:
            return line
        if name not in self._toolsets:
            raise CheckFileError(f"The archive's {NAME} has no toolset {name[:80]}.")
        joined = line.rstrip()[:-1] + b"," + orjson.dumps(self._toolsets[name])[1:]
        if len(joined) > self._limit:
            raise CheckFileError(f"The toolset {name[:80]} is too large to be read with its record.")
        return joined

    def _read(self, name: str) -> None:
        folder = posixpath.dirname(name)
        for number, line in enumerate(self._content(name, _MAX_LIST).splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = loads(line)
            except ValueError as error:
                raise SourceError(f"{name}, line {number} is not JSON: {error}.") from None
            if type(row) is not dict or not isinstance(row.get("id"), str):
                raise SourceError(f"{name}, line {number}: a toolset must be an object with an id.")
            self._toolsets[row["id"]] = self._toolset(row, folder, f"{name}, line {number}")

    def _toolset(self, row: dict[str, Any], folder: str, where: str) -> dict[str, Any]:
        functions = row.get("functions", row.get("tools"))
        if isinstance(row.get("functions_file"), str):
            content = self._beside(row["functions_file"], folder, where, _MAX_LIST)
            try:
                functions = [loads(line) for line in content.splitlines() if line.strip()]
            except ValueError as error:
                raise SourceError(f"{where}: {row['functions_file']} is not JSON: {error}.") from None
        found: dict[str, Any] = {"tools": functions}
        if isinstance(row.get("source_file"), str):
            try:
                source = self._beside(row["source_file"], folder, where, MAX_SOURCE).decode()
            except UnicodeDecodeError:
                raise SourceError(f"{where}: {row['source_file']} is not UTF-8. Save it as UTF-8.") from None
            found["implementation"] = {"source": source, "class": row.get("class"), "load": row.get("load")}
        elif "implementation" in row:
            found["implementation"] = row["implementation"]
        return found

    def _beside(self, path: str, folder: str, where: str, most: int) -> bytes:
        name = posixpath.normpath(posixpath.join(folder, path))
        if name not in self._infos:
            raise SourceError(f"{where}: the archive has no file {path[:200]}.")
        self._used.add(name)
        return self._content(name, most)

    def _content(self, name: str, most: int) -> bytes:
        with open_member(self._archive, self._infos[name], self._budget) as member:
            pieces, size = [], 0
            while piece := member.read(1 << 16):
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    raise SourceError(f"{name[:200]} is larger than {most >> 10:,} KiB.")
        return b"".join(pieces)
