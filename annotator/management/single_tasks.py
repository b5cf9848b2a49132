"""Files of single tasks and toolsets, for commands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotator.core.execution.async_rows import (
    NotASingleTask,
    NotAToolset,
    RowToolset,
    SingleRow,
    read_single,
    read_toolset,
)
from annotator.core.schema.exact_json import loads
from annotator.management.base import Stop


def read_toolsets(path: Path) -> dict[str, RowToolset]:
    """Return the toolsets of a file by id. Raises Stop with the line."""
    found: dict[str, RowToolset] = {}
    for number, row in read_rows(path):
        try:
            name, toolset = read_toolset(row, path.parent)
        except NotAToolset as error:
            raise Stop(f"{path.name}, line {number}: {error}") from None
        except OSError as error:
            raise Stop(f"{path.name}, line {number}: can’t read {error.filename}: {error.strerror}.") from None
        if name in found:
            raise Stop(f"{path.name}, line {number}: the toolset {name} appears twice.")
        found[name] = toolset
    return found


def read_singles(path: Path, toolsets: dict[str, RowToolset]) -> dict[str, SingleRow]:
    """Return the single tasks of a file by id. Raises Stop with the line."""
    found: dict[str, SingleRow] = {}
    for number, row in read_rows(path):
        try:
            single = read_single(row, toolsets)
        except NotASingleTask as error:
            raise Stop(f"{path.name}, line {number}: {error}") from None
        if single.id in found:
            raise Stop(f"{path.name}, line {number}: the single task {single.id} appears twice.")
        found[single.id] = single
    return found


def read_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the lines of a file that are not empty, with their numbers. Raises Stop."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise Stop(f"Can’t read {path}: {error.strerror}.") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, loads(line)
            except ValueError as error:
                raise Stop(f"{path.name}, line {number} is not JSON: {error}.") from None
