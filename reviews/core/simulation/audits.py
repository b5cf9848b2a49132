"""Simulates audits with the real drawing and send-back rules, in memory, to test the estimates of residual errors.

``simulate_project`` runs whole projects through the services; a project of 1,000 dialogues takes a minute. This takes a
few milliseconds, so coverage can be measured over hundreds of seeds.
"""

import random
from collections import defaultdict
from dataclasses import dataclass

from reviews.core.agreement import Sensitivity, Stratum
from reviews.core.protocols import Candidate, Evidence, draw_sample

#: The rule of the C3-Bench preset.
SEND_BACK = Evidence(above=0.2, audited=5)
#: The most times that items are sent back.
MAX_DRAWS = 10


@dataclass(frozen=True, slots=True)
class AuditSetting:
    """A project that reaches its audit, with known rates."""

    items: int = 400
    owners: int = 8
    #: Share of erroneous items of most owners, and of the others, and the share of owners who are others.
    rate: float = 0.06
    other_rate: float = 0.06
    others: float = 0.0
    #: Items of one owner are wrong in groups of this size, for one reason.
    clustered: int = 1
    #: The probability that a reviewer of the audit notices an erroneous item.
    detection: float = 1.0
    #: Items with known errors that these reviewers have reviewed.
    known: int = 0
    #: The probability that an owner fixes an erroneous item that was sent back.
    rework: float = 0.8
    fraction: float = 0.1
    #: When an owner's items are sent back; None: never.
    send_back: Evidence | None = SEND_BACK


@dataclass(frozen=True, slots=True)
class SimulatedAudit:
    """The counts that Assay would have, and the truth."""

    strata: list[Stratum]
    sensitivity: Sensitivity
    #: Share of items that are wrong in the end.
    truth: float


def simulate_audit(setting: AuditSetting, seed: int) -> SimulatedAudit:
    """Draw, audit, send back and rework until no draw sends anything back. The same for the same seed."""
    chance = random.Random(f"audit {seed}")  # noqa: S311 - reproducible on purpose
    owners = _owners(setting, chance)
    wrong = _wrong_items(setting, owners, chance)
    pool, strata = sorted(owners), []
    for number in range(1, MAX_DRAWS + 1):
        population = [Candidate(item, owners[item]) for item in pool]
        drawn, _ = draw_sample(population, fraction=setting.fraction, seed=f"{seed} {number}")
        by_owner: dict[str, list[str]] = defaultdict(list)
        for item in pool:
            by_owner[owners[item]].append(item)
        pool = []
        for owner, items in sorted(by_owner.items()):
            audited = [item for item in items if item in drawn]
            found = {item for item in audited if item in wrong and chance.random() < setting.detection}
            wrong -= found
            rest = [item for item in items if item not in drawn]
            sent = (
                setting.send_back is not None
                and bool(rest)
                and number < MAX_DRAWS
                and setting.send_back.is_reached(audited=len(audited), errors=len(found))
            )
            kept = len(audited) if sent else len(items)
            strata.append(Stratum(owner, kept, len(audited), len(found), str(number), sent))
            pool += rest if sent else []
        wrong -= {item for item in pool if item in wrong and chance.random() < setting.rework}
        if not pool:
            break
    noticed = sum(chance.random() < setting.detection for _ in range(setting.known))
    return SimulatedAudit(strata, Sensitivity(noticed, setting.known), len(wrong) / setting.items)


def _owners(setting: AuditSetting, chance: random.Random) -> dict[str, str]:
    """Return the owner of each item; owners have 0.6 to 1.4 times the mean number of items."""
    names = [f"owner {number:03}" for number in range(setting.owners)]
    weights = [chance.uniform(0.6, 1.4) for _ in names]
    return {f"item {number:06}": chance.choices(names, weights)[0] for number in range(setting.items)}


def _wrong_items(setting: AuditSetting, owners: dict[str, str], chance: random.Random) -> set[str]:
    by_owner: dict[str, list[str]] = defaultdict(list)
    for item, owner in owners.items():
        by_owner[owner].append(item)
    wrong: set[str] = set()
    for number, (_, items) in enumerate(sorted(by_owner.items())):
        rate = setting.other_rate if number < setting.others * setting.owners else setting.rate
        for begin in range(0, len(items), setting.clustered):
            if chance.random() < rate:
                wrong.update(items[begin : begin + setting.clustered])
    return wrong
