"""The specification next to NESTFUL's tasks: its functions are put into each record, as ``tools``."""

import posixpath
import zipfile
from collections.abc import Iterable
from typing import Any

import orjson

from annotator.core.schema.exact_json import loads
from benchmark.core.files.cctu_check_files import CheckFileError
from benchmark.core.files.limits import Budget, Limits, SourceError
from benchmark.core.files.zips import open_member, refusal

#: Bytes of the specification.
_MAX_FILE = 16 << 20
#: The specification's types in lower case → those of JSON Schema; others are texts.
_TYPES = {"number": "number", "integer": "integer", "boolean": "boolean", "array": "array", "object": "object"}


class NestfulFiles:
    """The specification of one archive. Raises SourceError if it cannot be read."""

    #: No file belongs to one record only.
    left: tuple[str, ...] = ()

    def __init__(self, archive: zipfile.ZipFile, infos: Iterable[zipfile.ZipInfo], limits: Limits) -> None:
        self._limit = limits.line
        self._used: set[str] = set()
        self._tools: list[dict[str, Any]] = []
        for info in infos:
            name = posixpath.basename(info.filename)
            if "spec" in name and name.endswith(".json") and refusal(info) is None:
                self._used.add(info.filename)
                self._tools += [_as_tool(entry) for entry in _read(archive, info, limits) if type(entry) is dict]

    def __bool__(self) -> bool:
        return bool(self._tools)

    def has(self, name: str) -> bool:
        """Return whether a file of the archive is a specification."""
        return name in self._used

    def see(self, line: bytes) -> bool:
        """Return whether the record on this line needs the functions."""
        try:
            record = loads(line)
        except ValueError:
            return False
        return type(record) is dict and "tools" not in record and "output" in record

    def join(self, line: bytes) -> bytes:
        """Return the line with the functions in it. Raises CheckFileError."""
        if not self.see(line):
            return line
        joined = line.rstrip()[:-1] + b',"tools":' + orjson.dumps(self._tools) + b"}"
        if len(joined) > self._limit:
            raise CheckFileError("The functions of the specification are too large to be read with each record.")
        return joined


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Limits) -> list[Any]:
    with open_member(archive, info, Budget(limits)) as member:
        pieces, size = [], 0
        while piece := member.read(1 << 16):
            pieces.append(piece)
            size += len(piece)
            if size > _MAX_FILE:
                raise SourceError(f"{info.filename[:200]} is larger than {_MAX_FILE >> 20} MiB.")
    try:
        found = loads(b"".join(pieces))
    except ValueError as error:
        raise SourceError(f"{info.filename[:200]} is not JSON: {error}.") from None
    if type(found) is not list:
        raise SourceError(f"{info.filename[:200]} must have a list of functions.")
    return found


def _as_tool(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a function of the specification as a tool."""
    properties, required = {}, []
    for group in ("path_parameters", "query_parameters"):
        parameters = entry.get(group)
        for name, rules in parameters.items() if type(parameters) is dict else ():
            known = rules if type(rules) is dict else {}
            schema: dict[str, Any] = {"type": _TYPES.get(str(known.get("type")).lower(), "string")}
            if isinstance(known.get("description"), str):
                schema["description"] = known["description"]
            properties[name] = schema
            if known.get("required") is True:
                required.append(name)
    return {
        "name": entry.get("name"),
        "description": entry.get("description") or "",
        "parameters": {"type": "object", "properties": properties, "required": required},
    }
