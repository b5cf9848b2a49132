"""The files next to BFCL's tasks: the possible answers, and the descriptions of functions by class.

A reader sees one record at a time, so the calls of its possible answer and the functions of its classes are put into
it, as ``ground_truth`` and ``tools``, when the archive is opened. Single-turn tasks have no classes.
"""

import posixpath
import zipfile
from collections.abc import Iterable
from typing import Any

from annotator.core.schema.exact_json import dumps, loads
from benchmark.core.files.cctu_check_files import CheckFileError
from benchmark.core.files.limits import Budget, Limits, SourceError
from benchmark.core.files.zips import open_member, refusal

#: Class → the name of the file that describes its functions.
FUNCTION_FILES = {
    "GorillaFileSystem": "gorilla_file_system.json",
    "MathAPI": "math_api.json",
    "MessageAPI": "message_api.json",
    "TicketAPI": "ticket_api.json",
    "TradingBot": "trading_bot.json",
    "TravelAPI": "travel_booking.json",
    "TwitterAPI": "posting_api.json",
    "VehicleControlAPI": "vehicle_control.json",
}
_ANSWERS = "possible_answer"
#: Bytes of one file.
_MAX_FILE = 32 << 20


class BfclFiles:
    """The files of one archive, put into the records. Raises SourceError if they cannot be read."""

    #: No file belongs to one record only.
    left: tuple[str, ...] = ()

    def __init__(self, archive: zipfile.ZipFile, infos: Iterable[zipfile.ZipInfo], limits: Limits) -> None:
        self._archive = archive
        # Counted separately: the record's own file is open at the same time.
        self._budget = Budget(limits)
        self._limit = limits.line
        self._used: set[str] = set()
        self._answers: dict[str, Any] = {}
        self._functions: dict[str, list[Any]] = {}
        for info in infos:
            path = info.filename
            if refusal(info) is not None:
                continue
            name = posixpath.basename(path)
            owner = next((one for one, file in FUNCTION_FILES.items() if name.removeprefix("func_doc_") == file), None)
            if owner is not None:
                self._functions[owner] = self._lines(info)
            elif _ANSWERS in path:
                for row in self._lines(info):
                    if type(row) is dict and isinstance(row.get("id"), str):
                        self._answers[row["id"]] = row.get("ground_truth")
            else:
                continue
            self._used.add(path)

    def __bool__(self) -> bool:
        return bool(self._answers or self._functions)

    def has(self, name: str) -> bool:
        """Return whether a file of the archive is next to the records."""
        return name in self._used

    def see(self, line: bytes) -> dict[str, Any] | None:
        """Return the record on this line if it is a task of BFCL."""
        try:
            record = loads(line)
        except ValueError:
            return None
        if type(record) is not dict or not ("involved_classes" in record or {"question", "function"} <= record.keys()):
            return None
        return record

    def join(self, line: bytes) -> bytes:
        """Return the line with its calls and functions in it. Raises CheckFileError."""
        record = self.see(line)
        if record is None:
            return line
        added: dict[str, Any] = {}
        name, classes = record.get("id"), record.get("involved_classes")
        if "ground_truth" not in record and type(name) is str and name in self._answers:
            added["ground_truth"] = self._answers[name]
        if "tools" not in record and type(classes) is list:
            missing = [str(one) for one in classes if str(one) not in self._functions]
            if missing:
                raise CheckFileError(f"The archive has no file with the functions of {missing[0][:80]}.")
            added["tools"] = [function for one in classes for function in self._functions[str(one)]]
        if not added:
            return line
        joined = line.rstrip()[:-1] + b"," + dumps(added)[1:]
        if len(joined) > self._limit:
            raise CheckFileError("The functions of this task are too large to be read with it.")
        return joined

    def _lines(self, info: zipfile.ZipInfo) -> list[Any]:
        with open_member(self._archive, info, self._budget) as member:
            pieces, size = [], 0
            while piece := member.read(1 << 16):
                pieces.append(piece)
                size += len(piece)
                if size > _MAX_FILE:
                    raise SourceError(f"{info.filename[:200]} is larger than {_MAX_FILE >> 20} MiB.")
        rows = []
        for number, line in enumerate(b"".join(pieces).splitlines(), 1):
            if line.strip():
                try:
                    rows.append(loads(line))
                except ValueError as error:
                    raise SourceError(f"{info.filename[:200]}, line {number} is not JSON: {error}.") from None
        return rows
