"""The process that reads a Parquet file for ``parquet_files``: ``python -m benchmark.core.files.parquet_process``.

The file is its standard input. It writes lines: the object of each row as JSON; ``ROW_ERROR`` and a JSON list (pointer,
sentence) for a row that has none; at the end ``END``, or ``FILE_ERROR`` and a sentence. The library that reads Parquet
is not made for files from strangers: its memory and time are limited, and if it crashes, only this process ends.
"""

import os
import resource
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, BinaryIO

ROW_ERROR, FILE_ERROR, END = b"!", b"?", b"."
#: Bytes of this process's data; mapped code does not count.
MEMORY = 400 << 20
#: Rows read at once, and bytes of them (as the file states their size).
_ROWS = 64
_BYTES = 4 << 20
#: Bytes of a column that are read ahead.
_BUFFER = 1 << 16
#: Bytes of names and of all statistics in the file's directory.
_DIRECTORY = 32 << 20
#: Characters of a pointer that are written.
_POINTER = 600

_NO_MEMORY = (
    f"Reading the Parquet file needs more than {MEMORY >> 20} MiB of memory. Write it with smaller row groups and "
    "pages, or as JSON lines."
)


def main(cpu: int, most: int, longest: int) -> None:
    """Write the rows of the file. ``cpu``: seconds; ``most``: rows; ``longest``: bytes of a row."""
    for limit, amount in (
        (resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        (resource.RLIMIT_CPU, (cpu, cpu + 5)),
        (resource.RLIMIT_CORE, (0, 0)),
    ):
        # Some systems have no such limit.
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, amount)
    out = os.fdopen(1, "wb", buffering=1 << 16)
    try:
        said = _write(out, most, longest)
    except MemoryError:
        said = _NO_MEMORY
    out.write((FILE_ERROR + said.encode() if said else END) + b"\n")
    out.flush()


def _write(out: BinaryIO, most: int, longest: int) -> str:
    """Write the rows; return why the file cannot be read to its end, as a sentence."""
    # Not needed, and large.
    sys.modules["numpy"] = sys.modules["pandas"] = None  # type: ignore[assignment]
    import pyarrow as pa
    import pyarrow.parquet as pq

    from benchmark.core.files.parquet_values import check_fields

    pa.set_cpu_count(1)
    try:
        file = pq.ParquetFile(
            pa.PythonFile(os.fdopen(0, "rb", buffering=0), mode="r"),
            buffer_size=_BUFFER,
            pre_buffer=False,
            thrift_string_size_limit=_DIRECTORY,
            arrow_extensions_enabled=False,
        )
        fields = list(file.schema_arrow)
        if not fields:
            return "The Parquet file has no columns."
        if len(fields) > 10_000:
            return f"The Parquet file has {len(fields):,} columns. The limit is 10,000."
        check_fields(fields)
        if file.metadata.num_rows > most:
            return f"The Parquet file has {file.metadata.num_rows:,} rows. The limit is {most:,}. Split it."
        rows = _rows_at_once(file.metadata)
        for batch in file.iter_batches(rows, use_threads=False):
            out.writelines(_lines(batch, longest))
    except MemoryError:
        raise
    except BrokenPipeError:
        os._exit(0)
    except (OSError, ValueError, pa.ArrowException) as error:
        return _sentence(error)
    return ""


def _rows_at_once(metadata: Any) -> int:
    """Return how many rows to read at once: fewer if they are large."""
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    largest = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
    return max(1, min(_ROWS, _BYTES // max(largest, 1)))


def _lines(batch: Any, longest: int) -> Iterable[bytes]:
    import orjson

    from annotator.core.schema.exact_json import dumps, loads
    from annotator.core.schema.layout import on_one_line
    from benchmark.core.files.parquet_values import flaws, values_of
    from benchmark.core.files.record_lines import has_too_many_values, is_json_cell, too_long

    names = batch.schema.names
    columns = [values_of(column) for column in batch.columns]
    for values in zip(*columns, strict=True):
        row = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        problem = ("", "")
        # As in other tables, a text that is a JSON object or list has that value.
        in_json = {
            # A row is one line.
            name: on_one_line(value)
            for name, value in row.items()
            if type(value) is str
            and len(value) <= longest
            and not has_too_many_values(value.encode())
            and is_json_cell(value)
        }
        try:
            line = orjson.dumps(row | {name: orjson.Fragment(value) for name, value in in_json.items()})
        except TypeError:
            pointer, flaw = next(flaws(row), ("", None))
            problem = (pointer[:_POINTER], flaw.message) if flaw else problem
            line = b"" if flaw else dumps(row | {name: loads(value) for name, value in in_json.items()})
        if len(line) > longest:
            problem = ("", too_long(len(line), longest, "row"))
        yield (ROW_ERROR + orjson.dumps(problem) if problem[1] else line) + b"\n"


def _sentence(error: Exception) -> str:
    said = " ".join(str(error).split())[:300].rstrip(".")
    if "decrypt" in said.lower() or "encrypt" in said.lower():
        return "The Parquet file is encrypted. Write it again without encryption."
    # The sentences of ``check_fields`` are complete.
    if type(error) is ValueError:
        return f"{said}."
    return f"The Parquet file is damaged or not valid ({said}). Download or copy the file again."


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
