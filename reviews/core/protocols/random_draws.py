"""Random samples that nobody can influence and anyone can recompute.

Algorithm, version 1. Given the closed population as (external id, stratum) pairs, a fraction f and a seed:

1. N is the size of the population and n = ceil(f · N).
2. The quota of a stratum s with N_s members is q_s = n · N_s / N. It gets the whole part of q_s. The rest of n goes,
   one each, to the strata with the largest remainders; ties go to the smaller SHA-256(seed LF "stratum" LF name).
3. A stratum whose quota is above 0 but that got nothing gets one, in addition to n, so that everyone's work is
   sampled. Inclusion probabilities then differ between strata; the population and sample of each are recorded.
4. Within a stratum, the members with the smallest SHA-256(seed LF "item" LF external id), in hexadecimal, are drawn.

LF is the line feed; texts are UTF-8. Arithmetic is exact, and no random number generator of a library is used.

Version 2 is for rounds. The strata are ``unseen`` and ``seen``, and n is as above. Unseen items come first: min(n, all
unseen) of them are drawn, and the rest of n from the seen. Within a stratum as above.
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
    """The size of a stratum and of its sample."""

    population: int
    sample: int


def population_hash(population: Iterable[Candidate]) -> str:
    """Return the SHA-256 of the canonical text of [[external id, stratum], …], sorted by external id (code points)."""
    return content_hash(canonical(sorted([one.external_id, one.stratum] for one in population)))


def allot(sizes: dict[str, int], fraction: float, seed: str) -> dict[str, Allotment]:
    """Return the sample size of each stratum: steps 1 to 3."""
    sizes = {name: size for name, size in sizes.items() if size}
    total = sum(sizes.values())
    # The fraction as written (0.1 is a tenth), not as its nearest binary number.
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
    """Return the external ids drawn and the allotment of each stratum."""
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
    """Return the external ids drawn in a round, unseen ones first. The strata are ``UNSEEN`` and ``SEEN``."""
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
