"""Read the tables of an unpacked release with one library, and print what was read, as JSON.

``check_loaders.py`` runs it in an environment that has this library and nothing of Assay:

    python read_release.py LIBRARY FOLDER

Prints ``{"version": …, "tables": {table: [[id, SHA-256 of the document, record, entry or answer], …]}}``.
"""

import hashlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

Rows = Iterator[dict[str, Any]]
SPLIT = "verified"
#: The config of entries with messages; each of its splits is a table.
CHALLENGES = "challenges"
#: The config of answers to custom fields, and its columns of which only one has a value.
LABELS, VALUES = "labels", ("text", "number", "values", "spans")
#: Columns with JSON texts, of entries and answers.
JSON_COLUMNS = ("messages", "tools", "reference", "spans")


class Table(NamedTuple):
    """A table: its config and split."""

    config: str
    split: str

    @property
    def name(self) -> str:
        """The name in Croissant, where splits have names of their own."""
        return self.split if self.config == CHALLENGES else self.config


def main() -> None:
    """Read every table with the library, row by row."""
    library, folder = sys.argv[1], Path(sys.argv[2])
    read = _READERS[library]
    found = sorted(Table(path.parent.name, path.stem) for path in folder.glob("data/*/*.parquet"))
    with warnings.catch_warnings(record=True):
        tables = {table.name: [_pair(table, row) for row in read(folder, table)] for table in found}
    print(json.dumps({"version": version(library), "tables": tables}))


def _pair(table: Table, row: dict[str, Any]) -> list[str]:
    """Return the id of a row and the hash of its content: all columns of entries and answers; else the text's."""
    row = {name: _decoded(value) for name, value in row.items()}
    if table.config == LABELS:
        row |= {name: _present(row[name]) for name in VALUES}
    _require_types(row)
    whole = "reference" in row or table.config == LABELS
    text = _whole(row) if whole else row["document" if table.config == "default" else "record"]
    return [row["id"], hashlib.sha256(text.encode()).hexdigest()]


def _whole(row: dict[str, Any]) -> str:
    values = {name: json.loads(value) if name in JSON_COLUMNS and value else value for name, value in row.items()}
    return json.dumps(values, sort_keys=True)


def _present(value: Any) -> Any:
    """Return a value as it was written. pandas has NaN for none, and a column of numbers with NaN has floats."""
    if isinstance(value, float):
        return None if math.isnan(value) else int(value)
    return value


def _datasets(folder: Path, table: Table) -> Rows:
    load = import_module("datasets").load_dataset
    # Without a name, the default is loaded.
    names = [] if table.config == "default" else [table.config]
    yield from load(str(folder), *names, split=table.split)


def _pandas(folder: Path, table: Table) -> Rows:
    yield from import_module("pandas").read_parquet(_path(folder, table)).to_dict("records")


def _polars(folder: Path, table: Table) -> Rows:
    yield from import_module("polars").read_parquet(_path(folder, table)).iter_rows(named=True)


def _duckdb(folder: Path, table: Table) -> Rows:
    found = import_module("duckdb").execute("SELECT * FROM read_parquet(?)", [str(_path(folder, table))])
    names = [column[0] for column in found.description]
    yield from (dict(zip(names, row, strict=True)) for row in found.fetchall())


def _mlcroissant(folder: Path, table: Table) -> Rows:
    from absl import logging

    said: list[str] = []

    def note(record: Any) -> bool:
        said.append(record.getMessage())
        return True

    logging.get_absl_logger().addFilter(note)
    dataset = import_module("mlcroissant").Dataset(str(folder / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    problems = [*issues.errors, *issues.warnings, *said]
    if problems:
        raise ValueError(f"croissant.json has {len(problems)} problems: {' '.join(problems)}")
    for record in dataset.records(table.name):
        yield {key.removeprefix(f"{table.name}/"): value for key, value in record.items()}


def _cffconvert(folder: Path, table: Table) -> Rows:
    """Check CITATION.cff; it has no rows."""
    cffconvert = import_module("cffconvert")
    cffconvert.Citation((folder / "CITATION.cff").read_text()).validate()
    return iter(())


def _path(folder: Path, table: Table) -> Path:
    return folder / "data" / table.config / f"{table.split}.parquet"


def _decoded(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    return value.decode() if isinstance(value, bytes) else value


def _require_types(row: dict[str, Any]) -> None:
    """Raise TypeError if a column came as another type than it was written."""
    entries = "reference" in row
    for name, value in row.items():
        if value is None and name in VALUES:
            continue
        expected: type = str
        if name in ("tasks", "task", "calls", "switches", "history_messages", "history_answers", "number"):
            expected = int
        elif name in ("challenges", "values") or (name in ("policies", "topologies", "information") and not entries):
            expected = list
        if not isinstance(value, expected):
            raise TypeError(f"The column {name} has {type(value).__name__} instead of {expected.__name__}.")


_READERS: dict[str, Callable[[Path, Table], Rows]] = {
    "datasets": _datasets,
    "pandas": _pandas,
    "polars": _polars,
    "duckdb": _duckdb,
    "mlcroissant": _mlcroissant,
    "cffconvert": _cffconvert,
}

if __name__ == "__main__":
    main()
    # All rows have been read. One time in forty, a thread that a library left behind aborts the interpreter's exit.
    sys.stdout.flush()
    os._exit(0)
