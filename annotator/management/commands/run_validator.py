"""``manage.py run_validator SOURCE.py --function NAME [--responses FILE.jsonl]``"""

import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import CommandParser

from annotator.core.sandbox import Call, Limits, Sandbox, SandboxUnavailable
from annotator.management.base import REFUSED, SentenceCommand, Stop
from annotator.management.rows import opened

#: Responses passed to the sandbox at a time.
PORTION = 500
#: No time limit in total, since nobody else waits.
WAITING = Limits(total=math.inf)


class Command(SentenceCommand):
    help = (
        "Run a validator on responses. Reads a JSON string per line and writes status, accepted and message for each. "
        "Runs in a sandbox: no files, no network, no processes. Needs no database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="SOURCE.py", help="the validator's code")
        parser.add_argument("--function", required=True, metavar="NAME", help="the function to call with each response")
        parser.add_argument("--responses", default="-", metavar="FILE", help="a file, or - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        source = self._source(options["source"])
        read = accepted = failed = 0
        try:
            with Sandbox() as sandbox, opened(options["responses"]) as lines:
                responses = self._responses(lines)
                while portion := list(islice(responses, PORTION)):
                    results = sandbox.run(
                        source, options["function"], [Call((response,)) for response in portion], limits=WAITING
                    )
                    for result in results:
                        row = {"status": result.status, "accepted": result.accepted, "message": result.message}
                        self.stdout.write(json.dumps(row, ensure_ascii=False))
                        read, accepted, failed = read + 1, accepted + bool(result.accepted), failed + (not result.ok)
        except SandboxUnavailable as why:
            raise Stop(str(why)) from None
        if not read:
            raise Stop("The input has no lines.")
        self.say(f"Responses: {read:,}; accepted: {accepted:,}; failed: {failed:,}.")
        if failed:
            raise SystemExit(REFUSED)

    def _source(self, name: str) -> str:
        try:
            return Path(name).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise Stop(f"Can’t read {name}: {error.strerror}.") from None

    def _responses(self, lines: Any) -> Iterator[str]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                response = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise Stop(f"Line {number} is not JSON: {error.msg}.") from None
            if not isinstance(response, str):
                raise Stop(f"Line {number} is not a JSON string.")
            yield response
