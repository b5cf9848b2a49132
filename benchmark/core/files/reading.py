"""Read files of records: JSON lines, small JSON lists, tables (CSV, TSV, Parquet), each perhaps packed, and archives.

Files are streamed in limited memory. Every line or row that is not blank gives exactly one item, a record or an error,
so a reader that was interrupted can skip what it has already seen.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile, ZipInfo

from benchmark.core.files.bfcl_files import BfclFiles
from benchmark.core.files.cctu_check_files import CheckFileError, CheckFiles, is_check_file
from benchmark.core.files.csv_records import read_table
from benchmark.core.files.extensions import ARCHIVE, LOG, SHOWN, SHOWN_KINDS, split_extension
from benchmark.core.files.file_signatures import PACKED, ZIP, refuse_content, refuse_parquet, refuse_zip
from benchmark.core.files.inspect_samples import LOG_MEMBERS, InspectSamples, read_log_header, sample_members
from benchmark.core.files.items import Item, RawLine, RawRecord, RecordError
from benchmark.core.files.json_files import read_json, read_json_lines, read_up_to
from benchmark.core.files.limits import Budget, Limits, SourceError
from benchmark.core.files.nestful_files import NestfulFiles
from benchmark.core.files.packing import Readable, unpack
from benchmark.core.files.parquet_files import on_disk, read_parquet, spooled
from benchmark.core.files.record_lines import BOM, Found, LineError, parse_record, too_long
from benchmark.core.files.release_files import release_files
from benchmark.core.files.span_groups import group_spans
from benchmark.core.files.toolset_files import ToolsetFiles
from benchmark.core.files.zips import IN_ARCHIVE, open_member, open_zip, refusal, shown_name

__all__ = ["Limits", "RawLine", "RawRecord", "RecordError", "parse_line", "read_lines"]

_HEAD = 4096
#: Folders without a record that are reported one by one.
_FOLDERS = 100


def read_lines(
    stream: BinaryIO, filename: str, *, limits: Limits | None = None, skip: int = 0, format_name: str = ""
) -> Iterator[RawLine | RecordError]:
    """Yield the lines of a file that have a record each, and errors, in order.

    ``filename`` says what kind of file it is; its content must agree. ``stream`` must be seekable for archives.
    ``skip`` items are skipped unread. From a release of Assay, only files of ``format_name`` are read, if it is given.
    Errors are items; nothing is raised but what the stream itself raises. ``parse_line`` may be called elsewhere, on
    several cores: the caller stops at the first fatal error.
    """
    limits = limits or Limits()
    if format_name == "otlp":
        # The spans of a dialogue may be on any lines.
        lines = _File(stream, limits, 0, format_name).read(filename)
        # Reading nothing is enough for a stream that sends heartbeats.
        yield from islice(group_spans(lines, limits, beat=lambda: stream.read(0)), skip, None)
    else:
        yield from _File(stream, limits, skip, format_name).read(filename)


def parse_line(raw: RawLine) -> Item:
    """Return the record of a line, or what is wrong with it."""
    try:
        return RawRecord(raw.line, raw.member, parse_record(raw.content), raw.bytes, raw.place)
    except LineError as error:
        if error.cut_off and not raw.ended:
            message = f"The file is cut off in line {raw.line}: {error} Download or copy the file again."
            return RecordError(raw.line, raw.member, message, True)
        return RecordError(raw.line, raw.member, str(error), False, raw.place + error.pointer)


#: Format → the list of records in the one object of a ``.json`` file.
_LISTINGS = {"otlp": "resourceSpans", "inspect": "samples"}
_Beside = ToolsetFiles | BfclFiles | NestfulFiles
#: Format → the files next to its records.
_BESIDE: dict[str, Callable[[ZipFile, list[ZipInfo], Limits], _Beside]] = {
    "async": ToolsetFiles,
    "bfcl": BfclFiles,
    "bfcl_single": BfclFiles,
    "nestful": NestfulFiles,
}


class _File:
    """One pass over a file, with its counts."""

    def __init__(self, stream: BinaryIO, limits: Limits, skip: int, format_name: str) -> None:
        self.stream = stream
        self.limits = limits
        self.skip = skip
        self.format_name = format_name
        self.budget = Budget(limits)
        self.seen = 0
        #: The files of an archive that go into the records.
        self.beside: CheckFiles | _Beside | InspectSamples | None = None
        if format_name == "inspect":
            self.beside = InspectSamples(limits)

    def read(self, filename: str) -> Iterator[RawLine | RecordError]:
        kind, packing = split_extension(filename)
        try:
            if kind == ARCHIVE:
                yield from self._archive()
            elif kind == LOG:
                yield from self._log()
            elif kind:
                yield from self._single(kind, packing)
            else:
                shown = shown_name(Path(filename).name) or "The file"
                raise SourceError(f"Assay can’t read {shown}. Use a file that ends in one of: {SHOWN}.")
        except SourceError as error:
            yield RecordError(error.line, "", str(error), True)

    def _single(self, kind: str, packing: str) -> Iterator[RawLine | RecordError]:
        if packing:
            head = self.stream.read(_HEAD)
            if not head:
                raise SourceError("The file is empty.")
            if not head.startswith(PACKED[packing]):
                raise SourceError(
                    refuse_content(head, kind, packing)
                    or f"The file is not compressed, but its name ends in {packing}. Rename it to {kind}."
                )
            yield from self._content(unpack(_Behind(head, self.stream), packing, self.budget), "", kind)
        elif kind == ".parquet" and (size := on_disk(self.stream)):
            self.stream.seek(0)
            problem = refuse_parquet(self.stream.read(_HEAD))
            if problem:
                raise SourceError(problem)
            self.budget.start(size)
            yield from self._items(read_parquet(self.stream, self.budget, self.stream), "")
        else:
            self.budget.start(0)
            yield from self._content(_Counted(self.stream, self.budget), "", kind)

    def _archive(self) -> Iterator[RawLine | RecordError]:
        head = self.stream.read(_HEAD)
        if not head:
            raise SourceError("The file is empty.")
        if not head.startswith(ZIP):
            other = refuse_content(head, ARCHIVE)
            raise SourceError(other or "The file is not a zip archive, but its name ends in .zip.")
        with open_zip(self.stream, self.limits, is_beside=is_check_file) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            other = refuse_zip([info.filename for info in infos])
            if other:
                raise SourceError(other)
            chosen = release_files(archive, infos, self.limits, self.format_name)
            if self.format_name == "cctu":
                self.beside = CheckFiles(archive, infos, self.limits)
            elif self.format_name in _BESIDE:
                self.beside = beside = _BESIDE[self.format_name](archive, infos, self.limits)
                infos = [info for info in infos if not beside.has(info.filename)]
            readable, released = 0, False
            for info in infos:
                if is_check_file(info.filename) and (self.beside or chosen(info.filename)):
                    continue
                name = shown_name(info.filename)
                kind, packing = split_extension(info.filename)
                reason = refusal(info) or chosen(info.filename)
                if info.filename.startswith("__MACOSX/"):
                    reason = "This is a macOS metadata file without records."
                released = released or chosen(info.filename) is not None
                if reason is None and not kind:
                    reason = f"Only these files are read: {SHOWN_KINDS}."
                if reason is not None:
                    if self._is_due():
                        yield RecordError(0, name, f"Ignored. {reason}", False)
                    continue
                readable += 1
                try:
                    with open_member(archive, info, self.budget) as member:
                        source = unpack(member, packing, self.budget, inside=True) if packing else member
                        yield from self._content(source, name, kind)
                except SourceError as error:
                    yield RecordError(error.line, name, str(error), True)
                    return
            yield from self._left_over()
            if not readable and released:
                raise SourceError(
                    f"The archive is a release of Assay without records in the format {self.format_name}. "
                    "Choose neutral, which every release contains, or the format of the release."
                )
            if not readable and any(refusal(info) == IN_ARCHIVE for info in infos):
                raise SourceError(f"The archive has no {SHOWN_KINDS} file, only other archives. Unpack these first.")
            if not readable:
                raise SourceError(f"The archive has no {SHOWN_KINDS} file.")

    def _log(self) -> Iterator[RawLine | RecordError]:
        """Read the samples of an archive of Inspect AI."""
        self.beside = samples = InspectSamples(self.limits)
        with open_zip(self.stream, Limits(members=LOG_MEMBERS)) as archive:
            header = read_log_header(archive, self.budget, self.limits.line)
            if header is None:
                raise SourceError("The file is not a log of Inspect AI: it has no header.json.")
            samples.learn(header)
            for info, why in sample_members(archive):
                name = shown_name(info.filename)
                if why:
                    if self._is_due():
                        yield RecordError(1, name, why, False)
                    continue
                with open_member(archive, info, self.budget) as member:
                    content = read_up_to(member, self.limits.line + 1)
                if self._is_due():
                    if len(content) > self.limits.line:
                        yield RecordError(1, name, too_long(info.file_size, self.limits.line), False)
                    else:
                        yield self._raw(Found(1, content, len(content)), content, name)

    def _left_over(self) -> Iterator[RecordError]:
        left = self.beside.left if self.beside else []
        for folder in left[:_FOLDERS]:
            if self._is_due():
                why = "Ignored. No record has this id, or its record has a check_code of its own."
                yield RecordError(0, f"check_code/{folder}", why, False)
        if len(left) > _FOLDERS and self._is_due():
            more = f"Ignored, like {len(left) - _FOLDERS:,} more folders, for the same reason."
            yield RecordError(0, "check_code", more, False)

    def _content(self, source: Readable, member: str, kind: str) -> Iterator[RawLine | RecordError]:
        head = read_up_to(source, _HEAD)
        if not head:
            if member:
                return
            raise SourceError("The file is empty.")
        other = refuse_parquet(head) if kind == ".parquet" else refuse_content(head, kind)
        if other:
            raise SourceError(other)
        behind = _Behind(head, source)
        if kind == ".parquet":
            found = spooled(behind, self.stream, self.budget)
        elif kind == ".json":
            listing = _LISTINGS.get(self.format_name, "")
            learn = self.beside.learn if isinstance(self.beside, InspectSamples) else None
            found = read_json(behind, self.limits, listing=listing, learn=learn)
        elif kind in (".csv", ".tsv"):
            found = read_table(behind, kind, self.limits.line)
        else:
            begin = head.removeprefix(BOM).lstrip()
            if begin.startswith(b"["):
                raise SourceError(
                    "The file has one JSON list, not one object per line. Rename it to .json, or write one object per "
                    "line."
                )
            if begin.partition(b"\n")[0].strip() == b"{":
                raise SourceError("The first record is spread over several lines. Write one object per line.")
            found = read_json_lines(behind, self.limits.line)
        yield from self._items(found, member)

    def _items(self, records: Generator[Found], member: str) -> Iterator[RawLine | RecordError]:
        # Some have a process or a temporary file.
        with closing(records):
            for found in records:
                if not self._is_due():
                    if self.beside and found.content is not None:
                        self.beside.see(found.content)
                elif found.content is None:
                    yield RecordError(found.line, member, found.problem, False, found.place + found.pointer)
                else:
                    yield self._raw(found, found.content, member)

    def _raw(self, found: Found, line: bytes, member: str) -> RawLine | RecordError:
        """Return a record with the files that belong to it; if one of these cannot be read, the others are
        still read.
        """
        try:
            content = self.beside.join(line) if self.beside else line
        except CheckFileError as error:
            return RecordError(found.line, member, str(error), False, found.place)
        return RawLine(found.line, member, content, found.bytes, found.ended, found.place)

    def _is_due(self) -> bool:
        """Count one item; return False if it is to be skipped."""
        self.seen += 1
        if self.seen <= self.skip:
            return False
        if self.seen > self.limits.records:
            raise SourceError(f"The file has more than {self.limits.records:,} records. Split it.")
        return True


class _Behind:
    """A stream whose beginning has already been read."""

    def __init__(self, head: bytes, source: Readable) -> None:
        self._head = head
        self._source = source

    def read(self, size: int, /) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            return head
        return self._source.read(size)


class _Counted:
    """A plain file, counted against the total."""

    def __init__(self, source: Readable, budget: Budget) -> None:
        self._source = source
        self._budget = budget

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self._budget.packed += len(data)
        self._budget.count(len(data))
        return data
