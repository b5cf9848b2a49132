"""Commands that answer each line with one JSON object, without a database."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from django.core.management.base import CommandParser

from annotator.core.schema.exact_json import JsonError, loads
from annotator.management.base import REFUSED, SentenceCommand, Stop


class RowCommand(SentenceCommand):
    """Reads ``FILE`` or standard input and writes a row for each line; a row with ``error`` counts as refused."""

    #: The records of lines, in the plural, and the message for empty input.
    things: ClassVar[str]
    nothing: ClassVar[str]
    #: What ``answer`` raises for an invalid record, with a sentence.
    refusal: ClassVar[type[ValueError]]

    def answer(self, record: Any) -> dict[str, Any]:
        """Return the row of one record."""
        raise NotImplementedError

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="a file, or - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        read = refused = 0
        with opened(options["file"]) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                read += 1
                row = self._row(number, line)
                refused += "error" in row
                # Not orjson: counts may exceed 64 bits.
                self.stdout.write(json.dumps(row, ensure_ascii=False))
                self.stdout.flush()
        if not read:
            raise Stop(self.nothing)
        self.say(f"{self.things} read: {read:,}; refused: {refused:,}.")
        if refused:
            raise SystemExit(REFUSED)

    def _row(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            # Some editors start files with a byte order mark; imports skip it too.
            record = loads(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
        except json.JSONDecodeError as error:
            return {"error": f"Line {number} is not JSON: {error.msg}."}
        except JsonError as error:
            return {"error": f"Line {number}: {error}"}
        try:
            return self.answer(record)
        except self.refusal as error:
            return {"error": f"Line {number}: {error}"}


def opened(name: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a file, or standard input for ``-``."""
    if name == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise Stop(f"Can’t read {name}: {error.strerror}.") from error
