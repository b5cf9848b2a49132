"""``manage.py convert_dialogues FILE --from FORMAT --to FORMAT [--out F] [--losses F]``"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from django.core.management.base import CommandParser

from annotator.core.schema.exact_json import dumps
from annotator.management.base import NOTHING_DONE, REFUSED, SentenceCommand, Stop, require_different_files
from benchmark.core.archives.archive import DeterministicZip
from benchmark.core.files.reading import RecordError, read_lines
from benchmark.core.formats import FORMATS, WRITTEN
from benchmark.core.formats.converting import Converted, Converter
from benchmark.services.stored_files import written_whole

#: Rejected records listed on standard error.
_NAMED = 20


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Command(SentenceCommand):
    help = (
        "Convert a file of dialogues from one format to another; needs no database. Converting a "
        "format to itself keeps every line unchanged. Records go to standard output or, with "
        "--out, to a file. In a .zip file, the files that check constraints are stored "
        "next to the records; otherwise they are in the records, under check_code."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help=".jsonl, .jsonl.gz, .json or .zip")
        parser.add_argument(
            "--from", dest="source", required=True, choices=sorted(FORMATS), help="the format of the records"
        )
        parser.add_argument("--to", dest="target", required=True, choices=sorted(FORMATS), help="the format to write")
        parser.add_argument("--out", type=Path, metavar="F", help="output file: JSON lines (.jsonl), or .zip")
        parser.add_argument("--losses", type=Path, metavar="F", help="write losses to this file, one per line")

    def handle(self, *args: Any, **options: Any) -> None:
        file, out, losses = (options[name] for name in ("file", "out", "losses"))
        if not file.is_file():
            raise Stop(f"{file} is not a file. Give the path of a file of records.")
        for path in (out, losses):
            if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
                raise Stop(f"Can't write {path}: it is a folder, or its folder does not exist.")
        if options["target"] not in WRITTEN:
            raise Stop(
                f"Assay reads {options['target']}, but does not write it. Choose one of: {', '.join(sorted(WRITTEN))}."
            )
        require_different_files(file, out, losses)
        apart = out is not None and out.suffix.lower() == ".zip"
        converter = Converter(options["source"], options["target"], apart=apart)
        with ExitStack() as stack:
            sink = stack.enter_context(self._sink(out, converter))
            told = stack.enter_context(written_whole(losses.absolute())) if losses is not None else None
            counts, fatal = self._run(file, converter, sink, told)
            self.stderr.write(dumps(counts).decode(), style_func=str)
            if not counts["written"]:
                # Only now, because the files of --out and --losses must not change before.
                raise SystemExit(NOTHING_DONE)
        if counts["refused"] or fatal:
            raise SystemExit(REFUSED)

    def _run(
        self, file: Path, converter: Converter, sink: "_Records", told: BinaryIO | None
    ) -> tuple[dict[str, int], bool]:
        counts = {"read": 0, "written": 0, "refused": 0, "lossy": 0}
        fatal = False
        with file.open("rb") as stream:
            for item in read_lines(stream, file.name, format_name=converter.source):
                if isinstance(item, RecordError):
                    fatal = fatal or item.fatal
                    counts["read"] += item.line > 0
                    self._refuse(counts, item.line, item.member, "", item.message, is_record=item.line > 0)
                    continue
                counts["read"] += 1
                done = converter.convert(item)
                sink.add(done, ended=item.ended)
                counts["written"] += len(done.lines)
                counts["lossy"] += bool(done.losses)
                for problem in done.problems[:1]:
                    place = f"at {problem.pointer}: " if problem.pointer else ""
                    self._refuse(counts, item.line, item.member, done.external_id, f"{place}{problem.message}")
                if told is not None:
                    told.writelines(
                        dumps({"line": item.line, "id": done.external_id, "pointer": one.pointer, "what": one.message})
                        + b"\n"
                        for one in done.losses
                    )
        if counts["refused"] > _NAMED:
            self.say("  … and more.")
        return counts, fatal

    def _refuse(
        self, counts: dict[str, int], line: int, member: str, name: str, message: str, *, is_record: bool = True
    ) -> None:
        counts["refused"] += is_record
        if counts["refused"] <= _NAMED:
            place = ", ".join(filter(None, (member, f"line {line}" if line else "")))
            self.say(": ".join(filter(None, (f"{place} ({name})" if name else place, message))))

    @contextmanager
    def _sink(self, out: Path | None, converter: Converter) -> Iterator["_Records"]:
        if out is None:
            yield _Records(_Text(self))
            return
        if not converter.apart:
            with written_whole(out.absolute()) as file:
                yield _Records(file)
            return
        with DeterministicZip(out.absolute()) as archive:
            member = archive.begin(FORMATS[converter.target].file_name or f"{converter.target}.jsonl")
            records = _Records(member)
            yield records
            archive.end(member)
            for path, content in sorted(records.files.items()):
                archive.add(path, content)


class _Records:
    """The output of records, one per line. The last line ends like the last line of the input file."""

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink
        self._owed = b""
        self.files: dict[str, bytes] = {}

    def add(self, done: Converted, *, ended: bool) -> None:
        self.files |= done.files
        for line in done.lines:
            self._sink.write(self._owed + line.encode())
            self._owed = b"\n"
        if ended and done.lines:
            self._sink.write(self._owed)
            self._owed = b""


class _Text:
    """Standard output."""

    def __init__(self, command: Command) -> None:
        self._command = command

    def write(self, data: bytes, /) -> None:
        self._command.stdout.write(data.decode(), ending="")
