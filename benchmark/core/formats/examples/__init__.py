"""One small file of records for each format, to show what such a file looks like."""

from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from annotator.core.schema.exact_json import loads

_FOLDER = Path(__file__).parent


def example_file(name: str) -> bytes:
    """Return the example file of a format as JSON lines. Raises FileNotFoundError if there is none."""
    return (_FOLDER / f"{name}.jsonl").read_bytes()


def example_archive() -> bytes:
    """Return all example files in a zip archive."""
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for file in sorted(_FOLDER.glob("*.jsonl")):
            archive.writestr(f"examples/{file.name}", file.read_bytes())
    return out.getvalue()


def example_records(name: str) -> list[dict[str, Any]]:
    """Return the records of a format's example file."""
    return [loads(line) for line in example_file(name).splitlines()]
