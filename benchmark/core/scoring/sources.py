"""Where the scorers read from: releases, native files and folders, and files of predictions."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from annotator.core.schema import SchemaProblem
from benchmark.core.files.cctu_check_files import CHECK_CODE, MAX_FILE, is_file_name, is_folder
from benchmark.core.files.reading import RawRecord, RecordError, parse_line, read_lines
from benchmark.core.formats import FORMATS
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.scoring.inspect_logs import ENDING, read_inspect_archive, read_inspect_json, read_whole
from benchmark.core.scoring.records import Line, Unreadable

#: Endings of files of predictions that are read in a folder.
_PREDICTIONS = (".jsonl", ".jsonl.gz", ENDING)
_CCTU_RECORDS = "input_data.jsonl"


class _NoSuchFile(Unreadable):
    """An archive that cannot be read, perhaps because it is a release without records in a format."""


def read_references(path: Path, family: str) -> Iterator[ReadDialogue | str]:
    """Yield the dialogues of a release archive, a native file or (cctu) a native folder; a sentence for a bad record.

    Of a release, the family's own file is read, or the neutral one if it has no other. Raises Unreadable.
    """
    if path.is_dir():
        if family != "cctu":
            raise Unreadable(f"{path} is a folder. Give a file of records, or the archive of a release.")
        yield from _read_cctu_folder(path)
        return
    try:
        yield from _read_records(path, family)
    except _NoSuchFile:
        yield from _read_records(path, "neutral")


def _read_records(path: Path, name: str) -> Iterator[ReadDialogue | str]:
    for line in read_records(path, name):
        if line.problem:
            yield f"{line.where}: {line.problem}"
            continue
        try:
            yield from FORMATS[name].read(line.record)
        except SchemaProblem as problem:
            first = problem.problems[0]
            yield f"{line.where}: {first.pointer} {first.message}".replace(":  ", ": ")


def read_records(path: Path, name: str = "", *, run: str = "", shown: str = "") -> Iterator[Line]:
    """Yield the records of a file. ``shown``: how sentences name it. Raises Unreadable."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise Unreadable(f"Can’t read {path}: {error.strerror}.") from None
    with stream:
        for raw in read_lines(stream, path.name, format_name=name):
            item = raw if isinstance(raw, RecordError) else parse_line(raw)
            where = ", ".join(filter(None, (shown or path.name, item.member, f"line {item.line}" if item.line else "")))
            if isinstance(item, RawRecord):
                yield Line(where, item.data, run=run)
            elif item.fatal:
                # Every release has the neutral file.
                missing = name not in ("", "neutral") and path.suffix.lower() == ".zip"
                raise (_NoSuchFile if missing else Unreadable)(f"{shown or path.name}: {item.message}")
            elif item.line:
                yield Line(where, None, f"{item.pointer} {item.message}".strip(), run)


def read_prediction_file(path: Path, family: str, *, run: str = "", shown: str = "") -> Iterator[Line]:
    """Yield the records of a file of predictions: JSON lines, a list, or a log of Inspect AI.

    ``run``: of records that name none. ``shown``: how sentences name the file. Raises Unreadable.
    """
    name, ending = shown or path.name, path.suffix.lower()
    if ending in (ENDING, ".json"):
        try:
            stream = path.open("rb")
        except OSError as error:
            raise Unreadable(f"Can’t read {path}: {error.strerror}.") from None
        with stream:
            if ending == ENDING:
                yield from read_inspect_archive(stream, path, family, run=run, shown=shown)
                return
            log = read_whole(stream, name)
        if log is not None:
            yield from read_inspect_json(log, name, family, run=run)
            return
    yield from read_records(path, run=run, shown=shown)


def _read_cctu_folder(folder: Path) -> Iterator[ReadDialogue | str]:
    records = folder / _CCTU_RECORDS
    if not records.is_file():
        raise Unreadable(f"{folder} has no {_CCTU_RECORDS}.")
    for line in read_records(records, "cctu"):
        if line.problem:
            yield f"{line.where}: {line.problem}"
            continue
        record = line.record
        name = str(record.get("id", ""))
        if CHECK_CODE not in record and is_folder(name):
            record[CHECK_CODE] = _check_files(folder / CHECK_CODE / name)
        try:
            yield from FORMATS["cctu"].read(record)
        except SchemaProblem as problem:
            yield f"{line.where}: {problem.problems[0].pointer} {problem.problems[0].message}"


def _check_files(folder: Path) -> dict[str, str]:
    """Return the files that check the constraints of one case."""
    found: dict[str, str] = {}
    if not folder.is_dir() or folder.is_symlink():
        return found
    for path in sorted(folder.glob("check_constraint_*")):
        if path.suffix in (".json", ".py") and is_file_name(path.name) and path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                content = file.read(MAX_FILE + 1)
            if len(content) > MAX_FILE:
                raise Unreadable(f"{path} is larger than 1 MiB, the limit for a check file.")
            try:
                found[path.name] = content.decode()
            except UnicodeDecodeError:
                raise Unreadable(f"{path} is not UTF-8. Save it as UTF-8.") from None
    return found


def prediction_files(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return files of predictions, those in folders included, each with the run that its name stands for.

    Raises Unreadable.
    """
    found = []
    for path in paths:
        if path.is_dir():
            inside = sorted(
                Path(folder) / name
                for folder, _, names in os.walk(path)
                for name in names
                if name.endswith(_PREDICTIONS)
            )
            if not inside:
                raise Unreadable(f"{path} has no files that end in {' or '.join(_PREDICTIONS)}.")
            found += inside
        else:
            found.append(path)
    return [(path, run_of(path)) for path in found]


def run_of(path: Path) -> str:
    """Return the run that a file's name stands for: of the published ``<run>_result.jsonl`` and
    ``<run>/response.jsonl`` the part they name it by.
    """
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json").removesuffix(ENDING)
    if name in ("response", "result"):
        return path.absolute().parent.name
    return name.removesuffix("_result")
