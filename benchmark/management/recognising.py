"""The format of a file for commands: chosen, or recognised; and which field of its records is what."""

from collections.abc import Iterable
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from annotator.management.base import Stop
from benchmark.core.formats.detecting import Detection, detect
from benchmark.core.formats.mapping import read_mapping
from benchmark.services.imports.folders import FolderArchive


def name_of(file: Path) -> str:
    """Return the name under which a file, or a folder as an archive, is read."""
    return f"{file.resolve().name}.zip" if file.is_dir() else file.name


def detect_in(file: Path) -> Detection:
    """Recognise the format of a file or folder. Raises Stop if its records are of no known format."""
    with TemporaryFile() if file.is_dir() else file.open("rb") as stream:
        if file.is_dir():
            copyfileobj(FolderArchive(file), stream)
        found = detect(cast(BinaryIO, stream), name_of(file))
    if found.format:
        return found
    if not found.columns and found.problems:
        raise Stop(found.problems[0][3])
    raise Stop(f"Assay does not recognise the format of {file}. Name it, and the fields if they have other names.")


def read_pairs(pairs: Iterable[str], format_name: str | None) -> dict[str, str]:
    """Return the mapping of ``ROLE=FIELD`` arguments. Raises Stop if one does not fit the format."""
    mapping = {}
    for pair in pairs:
        role, equals, field = pair.partition("=")
        if not equals:
            raise Stop(f"“{pair}” is not a mapping. Write ROLE=FIELD, for example messages=conversation.")
        mapping[role] = field
    if not mapping:
        return {}
    if format_name is None:
        raise Stop("Name the format to which --map applies.")
    try:
        return read_mapping(mapping, format_name)
    except ValueError as error:
        raise Stop(str(error)) from None
