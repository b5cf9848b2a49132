"""Files of recorded answers, for commands."""

from pathlib import Path

from benchmark.core.generation.records import Recorded, read_records
from benchmark.management.base import Stop


def read_file(path: Path) -> list[Recorded]:
    """Return the answers of a file. Raises Stop."""
    try:
        with path.open("rb") as file:
            found = list(read_records(file))
    except OSError as error:
        raise Stop(f"Can't read {path} ({error.strerror or error}).") from None
    except ValueError as error:
        raise Stop(str(error)) from None
    if not found:
        raise Stop(f"{path} has no recorded answers.")
    return found
