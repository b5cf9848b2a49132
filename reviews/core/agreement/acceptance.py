"""The share of a source's suggestions that people accepted."""

from collections.abc import Mapping
from dataclasses import dataclass

from annotator.core.text import gettext_noop
from reviews.core.agreement.figures import LEVEL, Figure, wilson

RATE = gettext_noop("Acceptance rate")
NO_DECISIONS = gettext_noop("No suggestion has been decided in a submitted review yet.")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of the suggestions of a source at one kind of place; ``kind`` is blank for all of them."""

    source: str
    kind: str
    accepted: int
    refused: int
    changed: int
    rate: Figure


def acceptance(counts: Mapping[tuple[str, str, str], int], level: float = LEVEL) -> list[Acceptance]:
    """Return the acceptance of each source, all kinds together first, by name.

    ``counts``: (source, kind of place, accepted | refused | changed) → decisions. One that was accepted and then
    changed counts as not accepted. The intervals treat decisions as independent.
    """
    sums: dict[tuple[str, str], dict[str, int]] = {}
    for (source, kind, outcome), count in counts.items():
        for key in ((source, ""), (source, kind)):
            row = sums.setdefault(key, {"accepted": 0, "refused": 0, "changed": 0})
            row[outcome] += count
    return [
        Acceptance(source, kind, **row, rate=wilson(RATE, row["accepted"], sum(row.values()), level, none=NO_DECISIONS))
        for (source, kind), row in sorted(sums.items())
    ]
