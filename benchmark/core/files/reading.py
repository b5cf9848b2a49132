"""Read files of records: ``.jsonl``, ``.jsonl.gz``, ``.zip`` of these, small ``.json`` lists, and ``.eval`` logs.

Files are streamed in constant memory. Every line that is not blank gives exactly one item, a record or an error, so a
reader that was interrupted can skip what it has already seen.
"""

from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile, ZipInfo

import orjson

from benchmark.core.files.bfcl_files import BfclFiles
from benchmark.core.files.cctu_check_files import CheckFileError, CheckFiles, is_check_file
from benchmark.core.files.file_signatures import GZIP, ZIP, refuse_content, refuse_zip
from benchmark.core.files.gzips import GzipStream, Readable, open_gzip
from benchmark.core.files.inspect_samples import LOG_MEMBERS, InspectSamples, read_log_header, sample_members
from benchmark.core.files.items import Item, RawLine, RawRecord, RecordError
from benchmark.core.files.json_lists import ListError, elements, fields
from benchmark.core.files.limits import Budget, Limits, SourceError, shown_size
from benchmark.core.files.nestful_files import NestfulFiles
from benchmark.core.files.record_lines import BOM, LineError, has_too_many_values, parse_record, split_lines, too_long
from benchmark.core.files.span_groups import group_spans
from benchmark.core.files.toolset_files import ToolsetFiles
from benchmark.core.files.zips import open_member, open_zip, refusal, shown_name

__all__ = ["Limits", "RawLine", "RawRecord", "RecordError", "parse_line", "read_lines"]

EXTENSIONS = (".jsonl", ".jsonl.gz", ".json", ".zip", ".eval")
_HEAD = 4096
#: Folders without a record that are reported one by one.
_FOLDERS = 100
#: Manifests in an archive that are read, those nearest to its root: a release has one.
_MANIFESTS = 3


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
        lines = _File(limits, 0, format_name).read(stream, filename)
        yield from islice(group_spans(lines, limits), skip, None)
    else:
        yield from _File(limits, skip, format_name).read(stream, filename)


def parse_line(raw: RawLine) -> Item:
    """Return the record of a line, or what is wrong with it."""
    try:
        return RawRecord(raw.line, raw.member, parse_record(raw.content), raw.bytes)
    except LineError as error:
        if error.cut_off and not raw.ended:
            message = f"The file is cut off in line {raw.line}: {error} Download or copy the file again."
            return RecordError(raw.line, raw.member, message, True)
        return RecordError(raw.line, raw.member, str(error), False, error.pointer)


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

    def __init__(self, limits: Limits, skip: int, format_name: str) -> None:
        self.limits = limits
        self.skip = skip
        self.format_name = format_name
        self.budget = Budget(limits)
        self.seen = 0
        #: The files of an archive that go into the records.
        self.beside: CheckFiles | _Beside | InspectSamples | None = None
        if format_name == "inspect":
            self.beside = InspectSamples(limits)

    def read(self, stream: BinaryIO, filename: str) -> Iterator[RawLine | RecordError]:
        extension = _extension(filename)
        try:
            if extension == ".zip":
                yield from self._archive(stream)
            elif extension == ".eval":
                yield from self._log(stream)
            elif extension:
                yield from self._single(stream, extension)
            else:
                shown = shown_name(Path(filename).name) or "The file"
                raise SourceError(f"Assay can’t read {shown}. Use a file that ends in one of: {', '.join(EXTENSIONS)}.")
        except SourceError as error:
            yield RecordError(0, "", str(error), True)

    def _single(self, stream: BinaryIO, extension: str) -> Iterator[RawLine | RecordError]:
        if extension.endswith(".gz"):
            head = stream.read(_HEAD)
            if not head:
                raise SourceError("The file is empty.")
            if not head.startswith(GZIP):
                other = refuse_content(head, extension)
                raise SourceError(other or "The file is not compressed, but its name ends in .gz. Rename it to .jsonl.")
            yield from self._content(open_gzip(_Behind(head, stream), self.budget), "", ".jsonl")
        else:
            self.budget.start(0)
            yield from self._content(_Counted(stream, self.budget), "", extension)

    def _archive(self, stream: BinaryIO) -> Iterator[RawLine | RecordError]:
        head = stream.read(_HEAD)
        if not head:
            raise SourceError("The file is empty.")
        if not head.startswith(ZIP):
            other = refuse_content(head, ".zip")
            raise SourceError(other or "The file is not a zip archive, but its name ends in .zip.")
        with open_zip(stream, self.limits, is_beside=is_check_file) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            names = [info.filename for info in infos]
            other = refuse_zip(names)
            if other:
                raise SourceError(other)
            chosen = _release_files(archive, infos, self.limits, self.format_name)
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
                extension = _extension(info.filename)
                reason = refusal(info) or chosen(info.filename)
                if info.filename.startswith("__MACOSX/"):
                    reason = "This is a macOS metadata file without records."
                released = released or chosen(info.filename) is not None
                if reason is None and extension not in (".jsonl", ".jsonl.gz", ".json"):
                    reason = "Only .jsonl, .jsonl.gz and .json files are read."
                if reason is not None:
                    if self._is_due():
                        yield RecordError(0, name, f"Ignored. {reason}", False)
                    continue
                readable += 1
                try:
                    with open_member(archive, info, self.budget) as member:
                        source: Readable = member
                        if extension == ".jsonl.gz":
                            source, extension = GzipStream(member, self.budget, inside=True), ".jsonl"
                        yield from self._content(source, name, extension)
                except SourceError as error:
                    yield RecordError(0, name, str(error), True)
                    return
            left = self.beside.left if self.beside else []
            for folder in left[:_FOLDERS]:
                if self._is_due():
                    why = "Ignored. No record has this id, or its record has a check_code of its own."
                    yield RecordError(0, f"check_code/{folder}", why, False)
            if len(left) > _FOLDERS and self._is_due():
                more = f"Ignored, like {len(left) - _FOLDERS:,} more folders, for the same reason."
                yield RecordError(0, "check_code", more, False)
            if not readable and released:
                raise SourceError(
                    f"The archive is a release of Assay without records in the format {self.format_name}. "
                    "Choose neutral, which every release contains, or the format of the release."
                )
            if not readable:
                raise SourceError("The archive has no .jsonl, .jsonl.gz or .json file.")

    def _log(self, stream: BinaryIO) -> Iterator[RawLine | RecordError]:
        """Read the samples of an archive of Inspect AI."""
        self.beside = samples = InspectSamples(self.limits)
        with open_zip(stream, Limits(members=LOG_MEMBERS)) as archive:
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
                    content = _read_up_to(member, self.limits.line + 1)
                if self._is_due():
                    if len(content) > self.limits.line:
                        yield RecordError(1, name, too_long(info.file_size, self.limits.line), False)
                    else:
                        yield self._raw(1, name, content, len(content))

    def _content(self, source: Readable, member: str, extension: str) -> Iterator[RawLine | RecordError]:
        head = _read_up_to(source, _HEAD)
        if not head:
            if member:
                return
            raise SourceError("The file is empty.")
        other = refuse_content(head, extension)
        if other:
            raise SourceError(other)
        behind = _Behind(head, source)
        begin = head.removeprefix(BOM).lstrip()
        if extension == ".json":
            yield from self._whole(behind, member)
            return
        if begin.startswith(b"["):
            raise SourceError(
                "The file has one JSON list, not one object per line. Rename it to .json, or write one object per line."
            )
        if begin.partition(b"\n")[0].strip() == b"{":
            raise SourceError("The first record is spread over several lines. Write one object per line.")
        yield from self._lines(behind, member)

    def _lines(self, source: Readable, member: str) -> Iterator[RawLine | RecordError]:
        number = 0
        limit = self.limits.line
        for line, length, ended in split_lines(source, limit):
            number += 1
            if line is None:
                if self._is_due():
                    yield RecordError(number, member, too_long(length, limit), False)
                continue
            if line.startswith(BOM):
                line = line[len(BOM) :]
            if not line or line.isspace():
                continue
            if self._is_due():
                yield self._raw(number, member, line, length, ended=ended)
            elif self.beside:
                self.beside.see(line)

    def _whole(self, source: Readable, member: str) -> Iterator[RawLine | RecordError]:
        """Read a ``.json`` file: one list, one object, or actually JSON lines."""
        content = _read_up_to(source, self.limits.whole + 1)
        if len(content) > self.limits.whole:
            raise SourceError(
                f"A .json file may have at most {shown_size(self.limits.whole)}, because it is read "
                "as a whole. Use JSON lines."
            )
        content = content.removeprefix(BOM)
        begin = content.lstrip()[:1]
        if begin == b"[":
            yield from self._list(content, member)
        elif begin == b"{" and (listing := self._listing(content)):
            yield from self._list(content, member, listing)
        elif begin == b"{" and (len(content) > self.limits.line or has_too_many_values(content)):
            # Parsed as one value, it would take thirty times as much memory.
            is_lines = _is_object(content.lstrip().partition(b"\n")[0], self.limits.line)
            if not is_lines and len(content) <= self.limits.line:
                if self._is_due():
                    yield self._raw(1, member, content, len(content))
                return
            if not is_lines:
                raise SourceError(
                    f"The file has {shown_size(len(content))} and is read as one record, because its "
                    "first line is not a record. A record may have at "
                    f"most {shown_size(self.limits.line)}. If the file has many records, write one per line "
                    "(JSON lines)."
                )
            yield from self._lines(BytesIO(content), member)
        elif begin == b"{" and not _is_json(content):
            yield from self._lines(BytesIO(content), member)
        elif begin == b"{":
            if self._is_due():
                yield self._raw(1, member, content, len(content))
        else:
            raise SourceError("A .json file must have a list of objects, or one object.")

    def _listing(self, content: bytes) -> str:
        """Return the field with the list of records of an object that must be read in parts; else an empty text."""
        name = _LISTINGS.get(self.format_name, "")
        if not name or f'"{name}"'.encode() not in content:
            return ""
        if name == "resourceSpans" and len(content) <= self.limits.line and not has_too_many_values(content):
            return ""
        first, _, rest = content.strip().partition(b"\n")
        return "" if rest and _is_object(first, self.limits.line) else name

    def _list(self, content: bytes, member: str, listing: str = "") -> Iterator[RawLine | RecordError]:
        """Read a list of records; ``listing``: the field that has it."""
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            at = error.start - content.rfind(b"\n", 0, error.start)
            raise SourceError(f"The file is not UTF-8 at line {line}, byte {at}. Save it as UTF-8.") from None
        line, counted, is_alone = 1, 0, bool(listing)
        try:
            for name, start, end in _listed(text, self.limits.line, listing):
                line += text.count("\n", counted, start)
                counted = start
                element = text[start:end].encode()
                if name != listing:
                    if name == "eval" and isinstance(self.beside, InspectSamples):
                        self.beside.learn(element)
                    continue
                is_alone = False
                if listing == "resourceSpans":
                    element = b'{"resourceSpans":[%b]}' % element
                if len(element) > self.limits.line:
                    if self._is_due():
                        yield RecordError(line, member, too_long(len(element), self.limits.line), False)
                elif self._is_due():
                    yield self._raw(line, member, element, len(element))
                elif self.beside:
                    self.beside.see(element)
        except ListError as error:
            line += text.count("\n", counted, error.at)
            yield RecordError(line, member, error.sentence(line), True)
            return
        if is_alone and self._is_due():
            yield self._raw(1, member, content, len(content))

    def _raw(self, number: int, member: str, line: bytes, length: int, *, ended: bool = True) -> RawLine | RecordError:
        """Return a record with the files that belong to it; if one of these cannot be read, the others are
        still read.
        """
        try:
            content = self.beside.join(line) if self.beside else line
        except CheckFileError as error:
            return RecordError(number, member, str(error), False)
        return RawLine(number, member, content, length, ended)

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


def _extension(filename: str) -> str:
    name = filename.lower()
    return next(
        (extension for extension in (".jsonl.gz", ".jsonl", ".json", ".zip", ".eval") if name.endswith(extension)), ""
    )


def _listed(text: str, longest: int, listing: str) -> Iterator[tuple[str, int, int]]:
    if listing:
        return fields(text, longest, listing)
    return (("", start, end) for start, end in elements(text, longest))


def _read_up_to(source: Readable, size: int) -> bytes:
    pieces, left = [], size
    while left > 0 and (piece := source.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _is_json(content: bytes) -> bool:
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError as error:
        # Any error other than a second value is an error in this value.
        return "after document" not in error.msg
    return True


def _is_object(line: bytes, longest: int) -> bool:
    try:
        return len(line) <= longest and not has_too_many_values(line) and type(orjson.loads(line)) is dict
    except orjson.JSONDecodeError:
        return False


def _release_files(
    archive: ZipFile, infos: list[ZipInfo], limits: Limits, format_name: str
) -> Callable[[str], str | None]:
    """Return why a member of a release of Assay is skipped. Other archives have no such members."""
    formats: dict[str, str] = {}
    root = None
    manifests = [info for info in infos if info.filename.rpartition("/")[2] == "manifest.json" and not refusal(info)]
    for info in sorted(manifests, key=lambda one: one.filename.count("/"))[:_MANIFESTS]:
        try:
            with open_member(archive, info, Budget(limits)) as member:
                content = _read_up_to(member, limits.whole)
                manifest = None if has_too_many_values(content) else orjson.loads(content)
        except (SourceError, orjson.JSONDecodeError):
            continue
        files = manifest.get("files") if type(manifest) is dict and "assay_release" in manifest else None
        if type(files) is list:
            root = info.filename.rpartition("/")[0]
            formats = {str(file.get("path")): str(file.get("format") or "") for file in files if type(file) is dict}
    if root is None:
        return lambda name: None
    prefix = f"{root}/" if root else ""

    def reason(name: str) -> str | None:
        kind = formats.get(name.removeprefix(prefix), "")
        if not kind:
            return "It belongs to a release of Assay, but has no dialogues."
        if format_name and kind != format_name:
            return f"It has the same dialogues in the format {kind}."
        return None

    return reason
