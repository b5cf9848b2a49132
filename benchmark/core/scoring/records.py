"""The records of a file of references or predictions."""

from dataclasses import dataclass
from typing import Any


class Unreadable(Exception):
    """References or predictions that cannot be read at all, with a sentence."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a file, and where it is; ``problem`` instead of the record if it cannot be read."""

    where: str
    record: Any
    problem: str = ""
    #: The run of a record that names none.
    run: str = ""
    #: The model of the run, if the file names it.
    model: str = ""
