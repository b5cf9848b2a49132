"""The errata log of a release: ``errata.jsonl``, which lists mistakes that were confirmed after it was frozen.

Each line is a JSON object in UTF-8 with sorted keys and without white space between values. Its keys: ``number`` (from
1, without gaps), ``release`` (the version), ``archive_sha256`` (of the archive), ``item`` (an id of ``items.jsonl``),
``place`` (a JSON pointer or a field, blank for the whole item), ``severity``, ``reason``, ``evidence``, ``date``
(YYYY-MM-DD, UTC), ``previous_sha256`` (the ``sha256`` of the line before, blank in the first line) and ``sha256``.

``sha256`` is the SHA-256 of the same line without the key ``sha256``, in the same form and without the line break, as
64 hexadecimal digits. So each line depends on all lines before it. The log does not show whether lines were cut off at
its end, or whether all lines from one on were written again: compare its last ``sha256`` with the one on the release's
page.
"""

import hashlib
from collections.abc import Iterable, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from annotator.core.schema import SchemaProblem
from annotator.core.schema.errors import problems_of
from annotator.core.schema.exact_json import dumps
from benchmark.core.archives.manifest import Name, Sha256
from benchmark.core.archives.release_files import ReleaseFile
from benchmark.core.files.limits import Limits, SourceError
from benchmark.core.files.record_lines import LineError, parse_record, split_lines
from benchmark.core.files.zips import shown_name

ERRATA = "errata.jsonl"
#: Characters of each text of an erratum.
MAX_PLACE, MAX_REASON, MAX_EVIDENCE = 600, 4_000, 20_000
#: Bytes of a line: each character has up to 6 when it is escaped.
MAX_LINE = 1 << 18
MAX_PROBLEMS = 200

AGAIN = "Download the log again from the release’s page."


class Severity(StrEnum):
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Erratum(BaseModel):
    """One line of the log without its ``sha256``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    number: int = Field(ge=1)
    release: Name
    archive_sha256: Sha256
    item: Name
    place: Annotated[str, StringConstraints(max_length=MAX_PLACE)] = ""
    severity: Annotated[Severity, Field(strict=False)]
    reason: Annotated[str, StringConstraints(min_length=1, max_length=MAX_REASON)]
    evidence: Annotated[str, StringConstraints(max_length=MAX_EVIDENCE)] = ""
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    previous_sha256: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]

    @property
    def sha256(self) -> str:
        """The hash of the line; the module's docstring says of what."""
        return hashlib.sha256(_line(self.model_dump(mode="json"))).hexdigest()

    def line(self) -> bytes:
        """Return the line, without its line break."""
        return _line(self.model_dump(mode="json") | {"sha256": self.sha256})


@dataclass
class ErrataReport:
    """The result of checking a log: its lines, the different items that they are about, and its last hash."""

    errata: int = 0
    items: int = 0
    head: str = ""
    problems: list[str] = field(default_factory=list)


def verify_errata(log: Path, archive: Path, *, head: str = "", limits: Limits | None = None) -> ErrataReport:
    """Check that a log belongs to an archive, that nothing in it was changed, and that the archive has its items.

    ``head``: the hash that the last line should have; without it, a log that was cut off is not noticed. All errors
    become problems in the report: nothing is raised.
    """
    name = shown_name(str(log))
    try:
        with ExitStack() as stack:
            with archive.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            release = ReleaseFile(archive, limits or Limits(), stack)
            known = {name for name, _hashes, _record in release.items()}
            source = stack.enter_context(log.open("rb"))
            lines = (line for line, _length, _ended in split_lines(source, MAX_LINE))
            return check_lines(name, lines, version=release.manifest.version, sha256=sha256, known=known, head=head)
    except SourceError as error:
        problem = str(error)
    except OSError as error:
        problem = f"Can't read {shown_name(str(error.filename))}: {error.strerror or error}. Check the path."
    return ErrataReport(problems=[problem])


def check_lines(
    name: str,
    lines: Iterable[bytes | None],
    *,
    version: str,
    sha256: str,
    known: Set[str],
    head: str = "",
    remedy: str = AGAIN,
) -> ErrataReport:
    """Check the lines of a log, None for one that is too long, as ``verify_errata`` does.

    ``name`` and ``remedy`` are parts of the problems' sentences. ``known``: the ids of the release's items.
    """
    check = _Check(name, remedy)
    for number, line in enumerate(lines, 1):
        check.line(number, line, version, sha256, known)
        if check.unsaid:
            # A hostile file could have millions of such lines.
            break
    return check.end(head)


class _Check:
    """One check of one log: what the next line must continue."""

    def __init__(self, name: str, remedy: str) -> None:
        self.name = name
        self.remedy = remedy
        self.report = ErrataReport()
        self.affected: set[str] = set()
        #: None after a line that could not be read.
        self.previous: str | None = ""
        self.unsaid = 0

    def line(self, number: int, line: bytes | None, version: str, sha256: str, known: Set[str]) -> None:
        where = f"{self.name}, line {number}"
        previous, self.previous = self.previous, None
        self.report.errata += 1
        if line is None:
            self.say(f"{where} has more than {MAX_LINE:,} bytes, so it is no erratum. {self.remedy}")
            return
        try:
            record = parse_record(line)
            stated = record.pop("sha256", None)
            erratum = Erratum.model_validate(record)
        except LineError as error:
            self.say(f"{where}: {error} {self.remedy}")
            return
        except ValidationError as error:
            found: SchemaProblem = problems_of(error)
            first = found.problems[0]
            self.say(f"{where} is no erratum, at {first.pointer or '/'}: {first.message} {self.remedy}")
            return
        self.previous = stated if isinstance(stated, str) else None
        if stated != erratum.sha256 or line != erratum.line():
            self.say(f"{where} was changed: its text differs from its sha256. {self.remedy}")
        if erratum.number != number:
            self.say(f"{where} has the number {erratum.number}: lines were removed, added or swapped. {self.remedy}")
        if previous is not None and erratum.previous_sha256 != previous:
            self.say(f"{where} does not continue the line before it: one of the two was replaced. {self.remedy}")
        if (erratum.release, erratum.archive_sha256) != (version, sha256):
            self.say(
                f"{where} is about release {shown_name(erratum.release)} with the SHA-256 {erratum.archive_sha256}, "
                f"but this archive is release {shown_name(version)} with {sha256}. Use the log of this archive."
            )
        if erratum.item in known:
            self.affected.add(erratum.item)
        else:
            self.say(f"{where}: the archive has no item {shown_name(erratum.item)}. Use the log of this archive.")

    def end(self, head: str) -> ErrataReport:
        report = self.report
        report.items, report.head = len(self.affected), self.previous or ""
        if head and head != report.head and not report.problems:
            self.say(
                f"{self.name} ends with the hash {report.head or 'of an empty log'}, not with {head}: lines are "
                f"missing at its end, or were added. {self.remedy}"
            )
        if self.unsaid:
            report.problems.append("The rest was not read.")
        return report

    def say(self, problem: str) -> None:
        if len(self.report.problems) < MAX_PROBLEMS:
            self.report.problems.append(problem)
        else:
            self.unsaid += 1


def _line(content: dict[str, Any]) -> bytes:
    return dumps(content, option=orjson.OPT_SORT_KEYS)
