"""Commands that answer one JSON object a line, as the lines come, without a database."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from django.core.management.base import CommandParser

from annotator.core.schema.exact_json import JsonError, loads
from annotator.management.base import REFUSED, SentenceCommand, Stop


class RowCommand(SentenceCommand):
    """``FILE`` or standard input in, a row for each line out; a row with ``error`` counts as refused."""

    #: What stands on a line, in the plural, and what is said where there is none.
    things: ClassVar[str]
    nothing: ClassVar[str]
    #: What ``answer`` raises for a record it cannot take, with a sentence.
    refusal: ClassVar[type[ValueError]]

    def answer(self, record: Any) -> dict[str, Any]:
        """The row of one record."""
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
                # Not orjson: counts grow beyond 64 bits. A row is told as soon as it is known.
                self.stdout.write(json.dumps(row, ensure_ascii=False))
                self.stdout.flush()
        if not read:
            raise Stop(self.nothing)
        self.say(f"{self.things} read: {read:,}; refused: {refused:,}.")
        if refused:
            raise SystemExit(REFUSED)

    def _row(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            # Some editors begin a file with a byte order mark; importers pass over it, too.
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
    """The lines of a file, or of standard input for ``-``."""
    if name == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise Stop(f"{name} cannot be read: {error.strerror}.") from error
