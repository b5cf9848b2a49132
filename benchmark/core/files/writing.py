"""Write files of records in the kinds and packings that ``reading`` reads, except archives.

The same records always give the same bytes. A table is written when its records are complete, because only they say
which columns it has; until then, they are in a temporary file.
"""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmark.core.files.csv_writing import CsvWriter
from benchmark.core.files.extensions import SHOWN_KINDS, split_extension
from benchmark.core.files.parquet_writing import ParquetWriter
from benchmark.core.files.record_writer import RecordWriter, Shielded, Sink, WriteError

__all__ = ["RecordWriter", "WriteError", "open_writer"]


@contextmanager
def open_writer(sink: Sink, filename: str) -> Iterator[RecordWriter]:
    """Yield a writer to ``sink`` of the kind of file that ``filename`` says; the file is complete after the block.

    Raises WriteError for another kind of file, for an archive, and if the records make no such file.
    """
    kind, packing = split_extension(filename)
    if kind not in _WRITERS:
        raise WriteError(f"Records cannot be written to {filename}. Use one of these endings: {SHOWN_KINDS}.")
    with _packed(sink, packing) as out:
        writer = _WRITERS[kind](out)
        try:
            yield writer
            writer.finish()
        finally:
            writer.close()


class LineWriter(RecordWriter):
    """JSON lines. The last one ends like the last line of its source."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._owed = b""

    def add(self, line: bytes, *, ended: bool = True) -> None:
        self._sink.write(self._owed + line)
        self._owed = b""
        if ended:
            self._sink.write(b"\n")
        else:
            self._owed = b"\n"


class ListWriter(RecordWriter):
    """A JSON list, one record on a line."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._before = b"["

    def add(self, line: bytes, *, ended: bool = True) -> None:
        self._sink.write(self._before + b"\n" + line)
        self._before = b","

    def finish(self) -> None:
        self._sink.write(b"[]\n" if self._before == b"[" else b"\n]\n")


@contextmanager
def _packed(sink: Sink, packing: str) -> Iterator[Sink]:
    if packing == ".gz":
        # Without a name and a time, which would differ from one file to the next.
        with gzip.GzipFile("", "wb", fileobj=Shielded(sink), mtime=0) as packed:
            yield packed
    elif packing == ".zst":
        import pyarrow as pa

        with pa.CompressedOutputStream(pa.PythonFile(Shielded(sink), mode="w"), "zstd") as packed:
            yield packed
    else:
        yield sink


_WRITERS: dict[str, Callable[[Sink], RecordWriter]] = {
    ".jsonl": LineWriter,
    ".ndjson": LineWriter,
    ".json": ListWriter,
    ".csv": lambda sink: CsvWriter(sink, ","),
    ".tsv": lambda sink: CsvWriter(sink, "\t"),
    ".parquet": ParquetWriter,
}
