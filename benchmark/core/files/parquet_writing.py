"""Write records as a Parquet file (zstd)."""

from typing import Any

from annotator.core.schema.exact_json import dumps
from benchmark.core.files.record_spool import RecordSpool
from benchmark.core.files.record_writer import RecordWriter, Shielded, Sink, WriteError

#: Bytes of records (as JSON), rows and cells in a row group.
_GROUP_BYTES = 16 << 20
_GROUP_ROWS = 50_000
_GROUP_CELLS = 1_000_000
#: Values written at once: the size of a page is only checked after them, and a reader has a page in memory.
_VALUES = 16
_INT64 = 2**63


class ParquetWriter(RecordWriter):
    """A table with a column for each field that a record has.

    A column has the type of its values if all of them are text, booleans, floats, or integers of 64 bits. In all other
    columns, a text is as it is, and any other value is a text with its JSON. Null is the same as an absent field.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._spool = RecordSpool()

    def add(self, line: bytes, *, ended: bool = True) -> None:
        for name, value in self._spool.add(line).items():
            if value is not None:
                # Integers that do not fit are like other values.
                is_large = type(value) is int and not -_INT64 <= value < _INT64
                self._spool.columns[name].add(object if is_large else type(value))

    def finish(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._spool.columns:
            raise WriteError("No record has a field, and a Parquet file needs a column. Write .jsonl instead.")
        # A column of nulls alone is text as well.
        types = {(): pa.string(), (str,): pa.string(), (int,): pa.int64(), (float,): pa.float64(), (bool,): pa.bool_()}
        kinds = {name: tuple(found) for name, found in self._spool.columns.items()}
        schema = pa.schema([(name, types.get(kind, pa.string())) for name, kind in kinds.items()])
        as_json = {name for name, kind in kinds.items() if kind not in types}
        columns: dict[str, list[Any]] = {name: [] for name in kinds}
        most = max(1, min(_GROUP_ROWS, _GROUP_CELLS // len(columns)))
        size = 0
        with pq.ParquetWriter(
            pa.PythonFile(Shielded(self._sink), mode="w"),
            schema,
            compression="zstd",
            write_batch_size=_VALUES,
            store_schema=False,
        ) as writer:
            for number, (record, length) in enumerate(self._spool.records(), 1):
                for name, column in columns.items():
                    value = record.get(name)
                    is_text = type(value) is str or name not in as_json
                    column.append(value if value is None or is_text else dumps(value).decode())
                size += length
                if number % most == 0 or size >= _GROUP_BYTES:
                    writer.write_table(pa.table(columns, schema=schema))
                    columns, size = {name: [] for name in kinds}, 0
            if size:
                writer.write_table(pa.table(columns, schema=schema))

    def close(self) -> None:
        self._spool.close()
