"""Read the tables of an unpacked release with one library, and print what was read, as JSON.

``check_loaders.py`` runs it in an environment that has this library and nothing of Assay:

    python read_release.py LIBRARY FOLDER

Prints ``{"version": …, "tables": {config: [[id, SHA-256 of the document or record], …]}}``.
"""

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

Pairs = Iterator[tuple[str, str]]
SPLIT = "verified"


def main() -> None:
    """Read every table with the library, row by row."""
    library, folder = sys.argv[1], Path(sys.argv[2])
    read = _READERS[library]
    configs = sorted(path.parent.name for path in folder.glob(f"data/*/{SPLIT}.parquet"))
    with warnings.catch_warnings(record=True):
        tables = {config: [[name, _hash(text)] for name, text in read(folder, config)] for config in configs}
    print(json.dumps({"version": version(library), "tables": tables}))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(config: str) -> str:
    """Return the column with the whole content."""
    return "document" if config == "default" else "record"


def _datasets(folder: Path, config: str) -> Pairs:
    load = import_module("datasets").load_dataset
    # Without a name, the default is loaded.
    names = [] if config == "default" else [config]
    for row in load(str(folder), *names, split=SPLIT):
        _require_types(row)
        yield row["id"], row[_text(config)]


def _pandas(folder: Path, config: str) -> Pairs:
    for row in import_module("pandas").read_parquet(_path(folder, config)).to_dict("records"):
        yield row["id"], row[_text(config)]


def _polars(folder: Path, config: str) -> Pairs:
    for row in import_module("polars").read_parquet(_path(folder, config)).iter_rows(named=True):
        _require_types(row)
        yield row["id"], row[_text(config)]


def _duckdb(folder: Path, config: str) -> Pairs:
    query = f"SELECT id, {_text(config)} FROM read_parquet(?)"  # noqa: S608 - the column is one of two words
    yield from import_module("duckdb").execute(query, [str(_path(folder, config))]).fetchall()


def _mlcroissant(folder: Path, config: str) -> Pairs:
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
    for record in dataset.records(config):
        row = {key.removeprefix(f"{config}/"): _decoded(value) for key, value in record.items()}
        _require_types(row)
        yield row["id"], row[_text(config)]


def _cffconvert(folder: Path, config: str) -> Pairs:
    """Check CITATION.cff; it has no rows."""
    cffconvert = import_module("cffconvert")
    cffconvert.Citation((folder / "CITATION.cff").read_text()).validate()
    return iter(())


def _path(folder: Path, config: str) -> Path:
    return folder / "data" / config / f"{SPLIT}.parquet"


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    return value.decode() if isinstance(value, bytes) else value


def _require_types(row: dict[str, Any]) -> None:
    """Raise TypeError if a column came as another type than it was written."""
    for name, value in row.items():
        expected: type = str
        if name in ("tasks", "calls"):
            expected = int
        elif name in ("policies", "topologies", "information"):
            expected = list
        if not isinstance(value, expected):
            raise TypeError(f"The column {name} has {type(value).__name__} instead of {expected.__name__}.")


_READERS: dict[str, Callable[[Path, str], Pairs]] = {
    "datasets": _datasets,
    "pandas": _pandas,
    "polars": _polars,
    "duckdb": _duckdb,
    "mlcroissant": _mlcroissant,
    "cffconvert": _cffconvert,
}

if __name__ == "__main__":
    main()
