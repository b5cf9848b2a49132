"""``manage.py convert_dialogues FILE --from FORMAT --to FORMAT [--out F] [--losses F]``"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandParser

from annotator.core.schema.exact_json import dumps
from annotator.management.base import NOTHING_DONE, REFUSED, SentenceCommand, Stop, require_different_files
from benchmark.core.archives.archive import DeterministicZip
from benchmark.core.files.extensions import SHOWN, SHOWN_WRITTEN, WRITTEN_EXTENSIONS
from benchmark.core.files.reading import RecordError, read_lines
from benchmark.core.files.writing import RecordWriter, WriteError, open_writer
from benchmark.core.formats import FORMATS, WRITTEN
from benchmark.core.formats.converting import Converted, Converter
from benchmark.management.recognising import detect_in, read_pairs
from benchmark.services.stored_files import written_whole

#: Rejected records listed on standard error.
_NAMED = 20
#: The name of a file of JSON lines.
_LINES = "records.jsonl"


class Command(SentenceCommand):
    help = (
        "Convert a file of dialogues from one format to another; needs no database. Converting a "
        "format to itself keeps every line unchanged. Records go to standard output or, with "
        "--out, to a file, whose ending decides its kind. In a .zip file, the files that check constraints are stored "
        "next to the records; otherwise they are in the records, under check_code. "
        "A table (.csv, .tsv, .parquet) has a column for each field; objects and lists are JSON in their cell."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help=SHOWN)
        parser.add_argument(
            "--from", dest="source", choices=sorted(FORMATS), help="the format of the records; without it, recognised"
        )
        parser.add_argument(
            "--map", action="append", default=[], metavar="ROLE=FIELD", dest="pairs",
            help="with --from: a field with another name than in the format, for example messages=conversation",
        )  # fmt: skip
        parser.add_argument("--to", dest="target", required=True, choices=sorted(FORMATS), help="the format to write")
        parser.add_argument("--out", type=Path, metavar="F", help=f"output file: {SHOWN}")
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
        if out is not None and not out.name.lower().endswith(WRITTEN_EXTENSIONS):
            raise Stop(f"Can't write {out}: use a file that ends in one of: {SHOWN_WRITTEN}.")
        apart = out is not None and out.suffix.lower() == ".zip"
        source, mapping = options["source"], read_pairs(options["pairs"], options["source"])
        if source is None:
            found = detect_in(file)
            source, mapping = found.format, found.mapping
            fields = "".join(f", {role} in the field {field}" for role, field in mapping.items())
            self.say(f"Recognised as {source}{fields}.")
        converter = Converter(source, options["target"], apart=apart, mapping=mapping)
        try:
            with ExitStack() as stack:
                sink = stack.enter_context(self._sink(out, converter))
                told = stack.enter_context(written_whole(losses.absolute())) if losses is not None else None
                counts, fatal = self._run(file, converter, sink, told)
                if not counts["written"]:
                    self._tell(counts)
                    # Only now, because the files of --out and --losses must not change before.
                    raise SystemExit(NOTHING_DONE)
        except WriteError as error:
            raise Stop(f"Can't write {out}: {error}") from None
        self._tell(counts)
        if counts["refused"] or fatal:
            raise SystemExit(REFUSED)

    def _tell(self, counts: dict[str, int]) -> None:
        self.stderr.write(dumps(counts).decode(), style_func=str)

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
            with open_writer(_Text(self), _LINES) as writer:
                yield _Records(writer)
            return
        if not converter.apart:
            with written_whole(out.absolute()) as file, open_writer(file, out.name) as writer:
                yield _Records(writer)
            return
        with DeterministicZip(out.absolute()) as archive:
            member = archive.begin(FORMATS[converter.target].file_name or f"{converter.target}.jsonl")
            with open_writer(member, _LINES) as writer:
                records = _Records(writer)
                yield records
            archive.end(member)
            for path, content in sorted(records.files.items()):
                archive.add(path, content)


class _Records:
    """The output of records, and of the files next to them."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer
        self.files: dict[str, bytes] = {}

    def add(self, done: Converted, *, ended: bool) -> None:
        self.files |= done.files
        for number, line in enumerate(done.lines, 1):
            # The last line ends like the last line of the input file.
            self._writer.add(line.encode(), ended=ended or number < len(done.lines))


class _Text:
    """Standard output."""

    def __init__(self, command: Command) -> None:
        self._command = command

    def write(self, data: bytes, /) -> None:
        self._command.stdout.write(data.decode(), ending="")
