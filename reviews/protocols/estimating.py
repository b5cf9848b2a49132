"""How much work a protocol makes: expected reviews and hours, with a range. A dry run; nothing is stored.

Items are taken to be alike and reviewers to judge independently, each review with the chances of its stage's
``Assumption``. From these follows what becomes of an item (the stage's outcome table, over all combinations of
verdicts), and a cohort of items moves through the stages as dialogues do: what passes goes on, what is escalated goes
to the experts, what is sent back begins again at its author, and a pool is drawn when nothing is left before it, of
n items the ceil(f · n) that a draw takes. (A real draw may take a few more, so that it misses nobody's work.)

Where every outcome is certain there is one course and the figures are exact. Otherwise the cohort is moved through
``TRIALS`` times with a generator of a fixed seed: the typical figure is the mean, low and high are the 5th and the
95th of 100. The range is that of chance alone; what the assumptions are wrong about is not in it.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import ceil, factorial, floor, fsum, log, sqrt

from reviews.protocols.outcomes import decide, offered_verdicts
from reviews.protocols.protocol import EntryMode, Outcome, Protocol, Stage, StageKind, Verdict

TRIALS = 300
SEED = 20_250_101
#: Passages of one stage after which a course is called endless: what goes round has not come out by then.
MOST_PASSAGES = 200


@dataclass(frozen=True, slots=True)
class Assumption:
    """What is assumed of one review of a stage: chances from 0 to 1, and minutes. What is left is an approval."""

    fix: float = 0.0
    reject: float = 0.0
    escalate: float = 0.0
    #: Two people who fix the same item make the same content of it.
    same_fix: float = 0.25
    minutes: float = 10.0


#: Assumed where a project has no reviews of its own yet. Ours, not measured: two thirds of candidates are left as they
#: are by their author (C3-Bench finds 62 % right at the outset), one in ten is changed by a colleague.
ASSUMED: Mapping[StageKind, Assumption] = {
    StageKind.SELF_CHECK: Assumption(fix=0.35, escalate=0.01, minutes=12),
    StageKind.CROSS_CHECK: Assumption(fix=0.1, reject=0.01, escalate=0.01, minutes=8),
    StageKind.EXPERT: Assumption(fix=0.3, reject=0.02, minutes=12),
}


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure and how far chance moves it: nine times in ten it lies between low and high."""

    low: float
    typical: float
    high: float

    @property
    def exact(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class StageEstimate:
    key: str
    title: str
    #: Items that come into the stage, each as often as it comes.
    items: Spread
    reviews: Spread
    hours: Spread
    #: How many of the people may work here.
    people: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a protocol asks of a team."""

    stages: list[StageEstimate]
    reviews: Spread
    hours: Spread
    rejected: Spread
    #: Hours of whoever has most to do where the work is shared as evenly as roles allow; None where a stage that gets
    #: items has nobody.
    hours_each: float | None
    #: Some items never come out: with these assumptions they go round for ever.
    endless: bool


def estimate(
    protocol: Protocol, *, items: int, assumptions: Mapping[str, Assumption], people: Sequence[frozenset[str]]
) -> Estimate:
    """The work for that many items.

    ``assumptions``: by key of the stage; ``ASSUMED`` where one is missing. ``people``: the roles of each person.
    """
    given = {stage.key: assumptions.get(stage.key, ASSUMED[stage.kind]) for stage in protocol.stages}
    chances = [outcome_chances(stage, given[stage.key]) for stage in protocol.stages]
    certain = all(max(table.values()) > 1 - 1e-12 for table in chances)
    generator = random.Random(SEED)  # noqa: S311 - a simulation, and the same one each time
    courses = [_course(protocol, chances, items, generator) for _ in range(1 if certain else TRIALS)]
    stages = []
    hours = [0.0] * len(courses)
    able = []
    for place, stage in enumerate(protocol.stages):
        entered = [course.entered[place] for course in courses]
        minutes = given[stage.key].minutes
        for number, count in enumerate(entered):
            hours[number] += count * stage.reviewers * minutes / 60
        able.append(frozenset(n for n, roles in enumerate(people) if roles & set(stage.eligible.roles)))
        stages.append(
            StageEstimate(
                key=stage.key,
                title=stage.title,
                items=_spread(entered),
                reviews=_spread([count * stage.reviewers for count in entered]),
                hours=_spread([count * stage.reviewers * minutes / 60 for count in entered]),
                people=len(able[-1]),
            )
        )
    reviewers = [stage.reviewers for stage in protocol.stages]
    return Estimate(
        stages=stages,
        reviews=_spread([sum(n * m for n, m in zip(one.entered, reviewers, strict=True)) for one in courses]),
        hours=_spread(hours),
        rejected=_spread([course.rejected for course in courses]),
        hours_each=_hours_each([stage.hours.typical for stage in stages], able),
        endless=any(course.endless for course in courses),
    )


def outcome_chances(stage: Stage, assumption: Assumption) -> dict[Outcome, float]:
    """How likely each outcome of a stage is: the chances of all combinations of verdicts, by what they lead to."""
    offered = offered_verdicts(stage)
    chance = {Verdict.FIX: assumption.fix, Verdict.REJECT: assumption.reject, Verdict.ESCALATE: assumption.escalate}
    chance = {verdict: max(0.0, chance.get(verdict, 0.0)) for verdict in offered}
    # Nothing is approved where the others take all; more than all is scaled down.
    total = max(1.0, sum(chance.values()))
    chance = {verdict: one / total for verdict, one in chance.items()}
    chance[Verdict.APPROVE] = max(0.0, 1.0 - sum(one for key, one in chance.items() if key is not Verdict.APPROVE))
    out: Counter[Outcome] = Counter()
    for verdicts in combinations_with_replacement(offered, stage.reviewers):
        likely = float(factorial(stage.reviewers))
        for verdict, count in Counter(verdicts).items():
            likely *= chance[verdict] ** count / factorial(count)
        if not likely:
            continue
        for equal, share in _equality(verdicts, assumption.same_fix):
            if share:
                out[decide(stage, verdicts, equal)] += likely * share  # type: ignore[assignment]
    return dict(out)


def _equality(verdicts: Sequence[Verdict], same_fix: float) -> list[tuple[bool, float]]:
    """Whether those who approve, with changes or without, hand in the same content: (so or not, chance)."""
    fixes = verdicts.count(Verdict.FIX)
    if fixes and Verdict.APPROVE in verdicts:
        return [(False, 1.0)]
    if fixes < 2:
        return [(True, 1.0)]
    same = max(0.0, min(1.0, same_fix)) ** (fixes - 1)
    return [(True, same), (False, 1.0 - same)]


@dataclass(slots=True)
class _Course:
    """One way it may go: how many items came into each stage, and how many were rejected."""

    entered: list[int]
    rejected: int = 0
    endless: bool = False


def _course(
    protocol: Protocol, chances: Sequence[Mapping[Outcome, float]], items: int, generator: random.Random
) -> _Course:
    stages = protocol.stages
    places = {stage.key: place for place, stage in enumerate(stages)}
    course = _Course([0] * len(stages))
    waiting, pool, passages = [0] * len(stages), [0] * len(stages), [0] * len(stages)
    waiting[0] = items

    def forward(place: int, count: int) -> None:
        for following in range(place + 1, len(stages)):
            entry = stages[following].entry
            if entry.mode is EntryMode.ALL:
                waiting[following] += count
                return
            if entry.fraction:
                pool[following] += count
                return

    while any(waiting) or any(pool):
        place = next(n for n in range(len(stages)) if waiting[n] or pool[n])
        if pool[place] and not waiting[place]:
            # Nothing is left before it. The fraction as it is written, as in a draw.
            drawn = ceil(Fraction(repr(stages[place].entry.fraction)) * pool[place])
            rest, pool[place] = pool[place] - drawn, 0
            waiting[place] += drawn
            forward(place, rest)
            continue
        count, waiting[place] = waiting[place], 0
        course.entered[place] += count
        passages[place] += 1
        if passages[place] > MOST_PASSAGES:
            course.endless = True
            continue
        stage = stages[place]
        for outcome, some in _shares(count, chances[place], generator):
            if outcome is Outcome.REJECTED:
                course.rejected += some
            elif outcome is Outcome.RESTART:
                waiting[place] += some
            elif outcome is Outcome.ESCALATE or outcome is Outcome.BACK_TO_AUTHOR:
                escalated = outcome is Outcome.ESCALATE
                to = protocol.expert_stage(stage.key) if escalated else protocol.author_stage(stage.key)
                waiting[places[to.key] if to else place] += some
            else:
                forward(place, some)
    return course


def _shares(count: int, chances: Mapping[Outcome, float], generator: random.Random) -> list[tuple[Outcome, int]]:
    """How many of ``count`` go which way: one outcome after the other, a binomial number of what is left."""
    out, left, rest = [], count, 1.0
    for outcome, chance in chances.items():
        some = left if chance >= rest - 1e-12 else _binomial(left, chance / rest, generator)
        out.append((outcome, some))
        left, rest = left - some, rest - chance
        if not left:
            break
    return out


def _binomial(n: int, p: float, generator: random.Random) -> int:
    """A binomial number: by counting, by the gaps between successes, or (where n p (1-p) > 30) by its normal limit."""
    if p > 0.5:
        return n - _binomial(n, 1.0 - p, generator)
    if n <= 0 or p <= 0.0:
        return 0
    spread = n * p * (1.0 - p)
    if spread > 30.0:
        return max(0, min(n, round(generator.gauss(n * p, sqrt(spread)))))
    if n <= 20:
        return sum(generator.random() < p for _ in range(n))
    count, at, scale = -1, 0, log(1.0 - p)
    while at <= n:
        at += floor(log(1.0 - generator.random()) / scale) + 1
        count += 1
    return count


def _spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    last = len(ordered) - 1
    return Spread(ordered[round(0.05 * last)], fsum(ordered) / len(ordered), ordered[round(0.95 * last)])


def _hours_each(hours: Sequence[float], able: Sequence[frozenset[int]]) -> float | None:
    """The smallest possible share of whoever has most, work being divisible.

    By the theorem of maximal flow it is the largest, over sets of stages, of their hours divided by the people who may
    work in any of them; only unions of the stages' own groups of people matter.
    """
    groups = {group for group, work in zip(able, hours, strict=True) if work}
    if frozenset() in groups:
        return None
    most = 0.0
    for size in range(1, len(groups) + 1):
        for chosen in combinations(groups, size):
            together = frozenset().union(*chosen)
            bound = sum(work for work, group in zip(hours, able, strict=True) if group <= together)
            most = max(most, bound / len(together))
    return most
