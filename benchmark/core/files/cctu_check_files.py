"""The files next to cctu records: ``check_code/<id>/check_constraint_<i>.json`` and ``.py``.

A reader sees one record at a time, so the texts of a record's files are put into it, under ``check_code``, when the
archive is opened. Their bytes are restored on export; the line with a release's canary is removed on import.
"""

import re
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from annotator.core.schema.exact_json import loads
from benchmark.core.files.limits import Budget, Limits
from benchmark.core.files.safe_paths import is_safe_path
from benchmark.core.files.zips import open_member, refusal

CHECK_CODE = "check_code"
#: The largest of these files that is read, in bytes.
MAX_FILE = 1 << 20
_BOM = "\ufeff"
_MAX_NAME_LENGTH = 100

_PATH = re.compile(r"(?:.*/)?check_code/([^/]+)/(check_constraint_\d{1,4}\.(?:json|py))")


def is_check_file(path: str) -> bool:
    """Return whether a path in an archive is that of such a file."""
    return _PATH.fullmatch(path) is not None


def is_folder(external_id: str) -> bool:
    """Return whether an id can name a folder."""
    return "/" not in external_id and is_safe_path(external_id)


def is_file_name(name: str) -> bool:
    """Return whether a file in a record's folder can have this name."""
    return len(name) <= _MAX_NAME_LENGTH and is_folder(name)


def paths_of(external_id: str, files: Mapping[str, str]) -> dict[str, bytes]:
    """Return {path below the folder of the records: content}."""
    return {f"{CHECK_CODE}/{external_id}/{name}": files[name].encode() for name in sorted(files)}


def mark(name: str, text: str, canary: str) -> str:
    """Return a file's text with the canary added: a comment in code, a field in parameters.

    Raises ValueError for parameters that are not a JSON object.
    """
    if name.endswith(".py"):
        # A byte order mark must stay first, or the code is not valid Python.
        mark = _BOM if text.startswith(_BOM) else ""
        return f"{mark}{_comment(canary)}{text.removeprefix(_BOM)}"
    body = text.rstrip()
    if not body.startswith("{") or not body.endswith("}"):
        raise ValueError(f"{name} is not a JSON object. Write the parameters again.")
    if not body[1:-1].strip():
        return f"{{{_field(canary)}{text[1:]}"
    return f"{body[:-1]}, {_field(canary)}}}{text[len(body) :]}"


def unmark(name: str, text: str, canary: Any) -> str:
    """Return ``text`` without the addition of ``mark``."""
    if type(canary) is not str:
        return text
    if name.endswith(".py"):
        mark = _BOM if text.startswith(_BOM) else ""
        return mark + text.removeprefix(_BOM).removeprefix(_comment(canary))
    before, found, after = text.rpartition(f", {_field(canary)}}}")
    if found and not after.strip():
        return f"{before}}}{after}"
    rest = text.removeprefix(f"{{{_field(canary)}")
    return "{" + rest if rest != text and rest.strip() == "}" else text


def _comment(canary: str) -> str:
    return f"# {canary}\n"


def _field(canary: str) -> str:
    return f'"canary": {orjson.dumps(canary).decode()}'


class CheckFileError(Exception):
    """A file that cannot be read, so its record cannot be read either; the sentence gives the reason."""


class CheckFiles:
    """The check files of one archive, put into the records that they belong to."""

    def __init__(self, archive: zipfile.ZipFile, infos: Iterable[zipfile.ZipInfo], limits: Limits) -> None:
        self._archive = archive
        # Counted separately: the record's own file is open at the same time.
        self._budget = Budget(limits)
        self._limit = limits.line
        self._infos: dict[str, dict[str, zipfile.ZipInfo]] = {}
        self._left: set[str] = set()
        #: The path of each of these folders. If two have the same name, it is unclear which one belongs to a record.
        self._places: dict[str, set[str]] = {}
        for info in infos:
            found = _PATH.fullmatch(info.filename)
            if found and refusal(info) is None:
                self._infos.setdefault(found[1], {})[found[2]] = info
                self._places.setdefault(found[1], set()).add(info.filename[: found.start(1)])
        self._left.update(self._infos)

    def __bool__(self) -> bool:
        return bool(self._infos)

    @property
    def left(self) -> list[str]:
        """The folders that belong to no record seen so far."""
        return sorted(self._left)

    def see(self, line: bytes) -> str | None:
        """Return the folder that belongs to the record on this line; None if there is none."""
        try:
            record = loads(line)
        except ValueError:
            return None
        name = record.get("id") if type(record) is dict and CHECK_CODE not in record else None
        folder = str(name) if isinstance(name, str | int) else ""
        self._left.discard(folder)
        return folder if folder in self._infos else None

    def join(self, line: bytes) -> bytes:
        """Return the line with its record's files in it; the line itself if it has none. Raises CheckFileError."""
        folder = self.see(line)
        if folder is None:
            return line
        if len(self._places[folder]) > 1:
            raise CheckFileError(
                f"The archive has more than one folder {CHECK_CODE}/{folder}, so it is not "
                "clear which one belongs to this record. Put each set of records into its own archive."
            )
        files = {name: self._text(info) for name, info in sorted(self._infos[folder].items())}
        body = line.rstrip()
        joined = body[:-1] + b',"check_code":' + orjson.dumps(files) + b"}"
        if len(joined) > self._limit:
            raise CheckFileError(f"The files in {CHECK_CODE}/{folder} are too large to be read with their record.")
        return joined

    def _text(self, info: zipfile.ZipInfo) -> str:
        with open_member(self._archive, info, self._budget) as member:
            content = member.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            raise CheckFileError(f"{info.filename} is larger than 1 MiB, the limit for a check file.")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise CheckFileError(f"{info.filename} is not UTF-8. Save it as UTF-8.") from None
