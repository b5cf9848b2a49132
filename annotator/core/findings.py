"""What a check has to say, as data."""

from dataclasses import dataclass
from typing import Literal

#: error blocks submission, warning needs a waiver with a reason, info is only said.
Severity = Literal["error", "warning", "info"]
#: When checks run.
Stage = Literal["import", "save", "submit", "release"]

STAGES: tuple[Stage, ...] = ("import", "save", "submit", "release")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding at one place.

    ``anchor`` names the place by ids (``/tasks/t2/steps/c3/arguments/city``). It may name an argument that is missing:
    show such a finding at the nearest place above that exists. ``value_hash`` is that of the value the finding is about
    (of null for one that is missing); when it no longer fits, a waiver of this finding is stale.
    """

    check: str
    severity: Severity
    anchor: str
    message: str
    value_hash: str
