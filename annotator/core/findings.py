"""The findings of checks, as data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from annotator.core.schema.canonical import value_hash

#: An error blocks submission; a warning needs a waiver with a reason; info is for information only.
Severity = Literal["error", "warning", "info"]
#: When checks run.
Stage = Literal["import", "save", "submit", "release"]

STAGES: tuple[Stage, ...] = ("import", "save", "submit", "release")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding at one place.

    ``anchor`` names the place by ids (``/tasks/t2/steps/c3/arguments/city``). It may name a missing argument: show such
    a finding at the nearest existing place above. ``value_hash`` is the hash of the value that the finding is about (of
    null if it is missing); when the value changes, a waiver of this finding is outdated.
    """

    check: str
    severity: Severity
    anchor: str
    message: str
    value_hash: str


def keys_digest(keys: Iterable[tuple[str, str, str]]) -> str:
    """Return a hash of a set of findings, each as (check, anchor, value hash), whatever their order."""
    return value_hash(sorted(map(list, keys)))
