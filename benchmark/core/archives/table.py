"""The tables of a release, as Parquet: the documents with their labels, the native records, the entries.

Arguments and observations can have any type, and a loader that infers a type for each nested field fails at the second
record. So values of free shape are JSON texts, and the columns are the same in every release. Earlier releases have
``table.jsonl`` instead, with text columns only.

A table is written in row groups of bounded size. The same rows give the same bytes with the same version of pyarrow.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, NamedTuple

from annotator.core.schema.exact_json import loads
from annotator.core.schema.labels import labelled_parts
from annotator.core.search import describe_document
from benchmark.core.archives.archive import DeterministicZip, WrittenFile
from benchmark.core.files.limits import MIB, Limits, SourceError
from benchmark.core.files.record_lines import has_too_many_values
from benchmark.core.formats.interface import CANARY

OLD_TABLE = "table.jsonl"
#: The table that loads without a name.
DEFAULT = "default"
SPLIT = "verified"
TEXT, NUMBER, TEXTS = "string", "int64", "list<string>"
#: Column → type, of the default table.
COLUMNS = {
    "id": TEXT, "language": TEXT, "variant_group": TEXT, "kind": TEXT, "tasks": NUMBER, "calls": NUMBER,
    "policies": TEXTS, "topologies": TEXTS, "information": TEXTS, "document": TEXT, "tools": TEXT, CANARY: TEXT,
}  # fmt: skip
#: Column → type, of a table of native records.
RECORD_COLUMNS = {"id": TEXT, "record": TEXT}
#: The table of entries, and those of entries with their messages, which are splits of one config.
ENTRIES, CHALLENGES = "entries", "challenges"
_LABELS = {"policy": TEXT, "task_type": TEXT, "topology": TEXT, "information": TEXT, "switches": NUMBER}
#: Column → type, of these tables.
ENTRY_COLUMNS = {
    "id": TEXT, "dialogue": TEXT, "item": TEXT, "task": NUMBER, "language": TEXT, "kind": TEXT,
    "history_messages": NUMBER, "history_answers": NUMBER, **_LABELS, "calls": NUMBER, "challenges": TEXTS,
    "not_scored": TEXT, "toolset_sha256": TEXT, "request": TEXT, "reference": TEXT, CANARY: TEXT,
}  # fmt: skip
CHALLENGE_COLUMNS = {
    "id": TEXT, "entry": TEXT, "dialogue": TEXT, "item": TEXT, "task": NUMBER, "language": TEXT, "challenge": TEXT,
    "history": TEXT, **_LABELS, "messages": TEXT, "tools": TEXT, "reference": TEXT, CANARY: TEXT,
}  # fmt: skip
#: The table of labels, the answers to custom fields, and the first layout with it.
LABELS, LABELS_SINCE = "labels", 4
#: Column → type, of this table: one row for an answer, whose value is in the column of its type.
LABEL_COLUMNS = {
    "id": TEXT, "language": TEXT, "place": TEXT, "scope": TEXT, "field": TEXT, "text": TEXT, "number": NUMBER,
    "values": TEXTS, "spans": TEXT, CANARY: TEXT,
}  # fmt: skip
#: Columns with JSON texts.
JSON_COLUMNS = ("document", "tools", "record", "messages", "reference", "spans")
#: A row group ends at this many bytes of text, or rows.
GROUP_BYTES = 8 * MIB
GROUP_ROWS = 1_000
_DICTIONARIES = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}


class Table(NamedTuple):
    """A table: DEFAULT, ENTRIES, CHALLENGES or the format of native records, and the split of this config."""

    config: str
    split: str = SPLIT

    @property
    def path(self) -> str:
        return table_path(*self)


def table_path(config: str, split: str = SPLIT) -> str:
    """Return the path of a table in the release."""
    return f"data/{config}/{split}.parquet"


def columns_of(config: str) -> dict[str, str]:
    """Return the columns of a table with their types."""
    known = {DEFAULT: COLUMNS, ENTRIES: ENTRY_COLUMNS, CHALLENGES: CHALLENGE_COLUMNS, LABELS: LABEL_COLUMNS}
    return known.get(config, RECORD_COLUMNS)


def label_columns(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that come from the labels of a document, task by task; None for a label that is not set."""
    labels = describe_document(document, index=False)
    return {
        "kind": document["kind"],
        "tasks": labels.task_count,
        "calls": labels.call_count,
        "policies": labels.policies,
        "topologies": labels.topologies,
        "information": labels.information,
    }


def answers_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a document in the table of labels, without its id and language; spans are a list."""
    for place, scope, part in labelled_parts(document):
        for field, value in part.get("labels", {}).items():
            spans = isinstance(value, list) and isinstance(value[0], dict)
            yield {
                "place": place,
                "scope": scope,
                "field": field,
                "text": value if isinstance(value, str) else None,
                "number": value if isinstance(value, int) else None,
                "values": value if isinstance(value, list) and not spans else None,
                "spans": value if spans else None,
            }


class TableWriter:
    """Writes a table. ``write`` receives its bytes, piece by piece; only one row group is in memory.

    ``columns``: the config of a table of releases, or the types of any columns.
    """

    def __init__(self, columns: str | Mapping[str, str], write: Callable[[bytes], None]) -> None:
        import pyarrow.parquet as parquet  # Slow to import, and few processes need it.

        types = columns_of(columns) if isinstance(columns, str) else columns
        self._columns: dict[str, list[Any]] = {name: [] for name in types}
        self._schema = _schema(types)
        self._sink = _Sink(write)
        # Without dictionaries and statistics, a reader can tell the size of the content from the metadata.
        self._writer = parquet.ParquetWriter(
            self._sink, self._schema, compression="zstd", use_dictionary=False, write_statistics=False,
            store_schema=False, version="2.6",
        )  # fmt: skip
        self._bytes = self._rows = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row with a value for each column."""
        for name, values in self._columns.items():
            value = row[name]
            values.append(value)
            self._bytes += len(value) if type(value) is str else 8
        self._rows += 1
        if self._bytes >= GROUP_BYTES or self._rows == GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Write what is left."""
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow

        arrays = [
            pyarrow.array(values, type=field.type)
            for values, field in zip(self._columns.values(), self._schema, strict=True)
        ]
        self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=self._schema), row_group_size=GROUP_ROWS)
        for values in self._columns.values():
            values.clear()
        self._bytes = self._rows = 0


class TableMember:
    """A table that is being written into an archive, under the folder ``root``."""

    def __init__(self, archive: DeterministicZip, root: str, table: Table) -> None:
        self._archive = archive
        self._member = archive.begin(f"{root}/{table.path}")
        self._writer = TableWriter(table.config, self._member.write)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row with a value for each column."""
        self._writer.add(row)

    def end(self) -> WrittenFile:
        """Add the table to the archive."""
        self._writer.close()
        return self._archive.end(self._member)


def read_table(config: str, source: IO[bytes], limits: Limits) -> Iterator[dict[str, Any]]:
    """Yield the rows of an untrusted table, from a file that can be searched; one row group is in memory at a time.

    Raises SourceError for a file that is no such table.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(source)
        _require_ours(table, config, limits)
        for number in range(table.metadata.num_row_groups):
            for batch in table.iter_batches(batch_size=GROUP_ROWS, row_groups=[number], use_threads=False):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        words = " ".join(str(error).split())[:200].rstrip(".")
        raise SourceError(f"It cannot be read as a Parquet table: {words or type(error).__name__}.") from None


def _require_ours(table: Any, config: str, limits: Limits) -> None:
    """Raise SourceError unless the table has our columns, and row groups as small as we write them."""
    if not table.schema_arrow.equals(_schema(columns_of(config))):
        raise SourceError("Its columns or their types are not those of a release.")
    metadata = table.metadata
    if metadata.num_rows > limits.records:
        raise SourceError(f"It has more than {limits.records:,} rows.")
    largest = GROUP_BYTES * 4 + limits.line * len(table.schema_arrow)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(index) for index in range(group.num_columns)]
        if (
            group.num_rows > GROUP_ROWS
            or sum(chunk.total_uncompressed_size for chunk in chunks) > largest
            or any(_DICTIONARIES & set(chunk.encodings) for chunk in chunks)
        ):
            raise SourceError(f"Its row group {number + 1} is larger than those of a release, or packed otherwise.")


def parsed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the values of its JSON texts; a text without JSON, or with too much, stays as it is."""
    return {name: _value(value) if name in JSON_COLUMNS else value for name, value in row.items()}


def _value(text: Any) -> Any:
    if type(text) is not str or has_too_many_values(text.encode()):
        return text
    try:
        return loads(text)
    except ValueError:
        return text


def _schema(columns: Mapping[str, str]) -> Any:
    import pyarrow

    # "element" is the name that Parquet gives the items of a list.
    types = {
        TEXT: pyarrow.string(),
        NUMBER: pyarrow.int64(),
        TEXTS: pyarrow.list_(pyarrow.field("element", pyarrow.string())),
    }
    return pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])


class _Sink:
    """A file that passes on what is written to it."""

    closed = False

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._at = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._write(piece)
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Do nothing: the receiver has everything."""

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False
