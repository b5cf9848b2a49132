"""Random samples that nobody can steer and anybody can recompute.

The algorithm, version 1. Given the closed population as (external id, stratum) pairs, a fraction f and a seed:

1. N is the size of the population and n = ceil(f · N).
2. Each stratum s of N_s members is due q_s = n · N_s / N. It gets the whole part of q_s; what is left of n goes, one
   each, to the strata with the largest remainders, a tie falling to the smaller SHA-256(seed LF "stratum" LF name).
3. A stratum that is due something but got nothing gets one all the same, in addition to n, so that nobody's work stays
   unseen. The chances of inclusion then differ between strata; they are recorded (population and sample of each).
4. Within a stratum the members with the smallest SHA-256(seed LF "item" LF external id), in hexadecimal, are drawn.

LF is the line feed; texts are UTF-8. Exact arithmetic, no generator of any language's library.

Version 2 is that of rounds. The strata are ``unseen`` and ``seen``; n is as above, and the unseen come first: of them
min(n, all there are) are drawn, of the seen as many as are then missing. Within a stratum as above.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil

from annotator.core.schema.canonical import canonical, content_hash

ALGORITHM = 1
ROUNDS = 2
UNSEEN, SEEN = "unseen", "seen"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member of the population: its id in the project, and its stratum (the owner's pseudonym; blank without)."""

    external_id: str
    stratum: str


@dataclass(frozen=True, slots=True)
class Allotment:
    """How large a stratum is and how many of it are drawn."""

    population: int
    sample: int


def population_hash(population: Iterable[Candidate]) -> str:
    """SHA-256 of the canonical text of [[external id, stratum], …] sorted by external id (by code points)."""
    return content_hash(canonical(sorted([one.external_id, one.stratum] for one in population)))


def allot(sizes: dict[str, int], fraction: float, seed: str) -> dict[str, Allotment]:
    """How many of each stratum are drawn: steps 1 to 3."""
    sizes = {name: size for name, size in sizes.items() if size}
    total = sum(sizes.values())
    # The fraction as it is written (0.1 is a tenth), not as its nearest binary number.
    share = Fraction(Decimal(repr(fraction)))
    if not total or not share:
        return {name: Allotment(size, 0) for name, size in sizes.items()}
    wanted = ceil(share * total)
    due = {name: Fraction(wanted * size, total) for name, size in sizes.items()}
    got = {name: int(quota) for name, quota in due.items()}
    by_remainder = sorted(sizes, key=lambda name: (got[name] - due[name], _digest(seed, "stratum", name)))
    for name in by_remainder[: wanted - sum(got.values())]:
        got[name] += 1
    return {name: Allotment(size, max(1, got[name])) for name, size in sorted(sizes.items())}


def draw_sample(
    population: Sequence[Candidate], *, fraction: float, seed: str
) -> tuple[set[str], dict[str, Allotment]]:
    """The external ids drawn, and what each stratum was allotted."""
    strata: dict[str, list[str]] = {}
    for one in population:
        strata.setdefault(one.stratum, []).append(one.external_id)
    allotments = allot({name: len(members) for name, members in strata.items()}, fraction, seed)
    drawn: set[str] = set()
    for name, members in strata.items():
        ranked = sorted(members, key=lambda external_id: _digest(seed, "item", external_id))
        drawn.update(ranked[: allotments[name].sample])
    return drawn, allotments


def draw_round(population: Sequence[Candidate], *, fraction: float, seed: str) -> tuple[set[str], dict[str, Allotment]]:
    """The external ids drawn in a round, unseen ones first. The population's strata are ``UNSEEN`` and ``SEEN``."""
    wanted = ceil(Fraction(Decimal(repr(fraction))) * len(population))
    drawn: set[str] = set()
    allotments = {}
    for name in (UNSEEN, SEEN):
        members = [one.external_id for one in population if one.stratum == name]
        ranked = sorted(members, key=lambda external_id: _digest(seed, "item", external_id))
        taken = ranked[: wanted - len(drawn)]
        drawn.update(taken)
        allotments[name] = Allotment(len(members), len(taken))
    return drawn, allotments


def _digest(seed: str, what: str, name: str) -> str:
    return hashlib.sha256(f"{seed}\n{what}\n{name}".encode()).hexdigest()
