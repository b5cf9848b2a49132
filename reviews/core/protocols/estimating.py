"""Estimates how much work a protocol needs: expected reviews and hours, with a range. Nothing is stored.

The model assumes that items are alike and that reviewers judge independently, each review with the probabilities of its
stage's ``Assumption``. These give the probability of each outcome (the stage's outcome table, over all combinations of
verdicts). A cohort of items moves through the stages as dialogues do: what passes goes on, escalated items go to the
expert stage, items sent back start again at their author, and a pool is drawn when nothing is left before it: of n
items the ceil(f · n) that a draw takes. (A real draw may take a few more, so that it includes everyone's work.)

An item that enters a stage again is less likely to be found wrong: the probabilities of a change, a rejection or an
escalation are multiplied by ``again`` after each review. A stage with rounds draws ceil(f · n) of its n items each
time, unseen ones first, until a round finds no error and every item was seen once without a dispute.

If every outcome is certain, one trial gives exact figures. Otherwise the cohort runs ``TRIALS`` times with a fixed
seed: the typical figure is the mean, and low and high are the 5th and 95th percentile. The range covers sampling noise
only, not errors in the assumptions.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import ceil, comb, factorial, floor, fsum, log, sqrt
from typing import NamedTuple

from reviews.core.protocols.outcomes import decide, offered_verdicts
from reviews.core.protocols.protocol import EntryMode, Outcome, Protocol, Stage, StageKind, Verdict

TRIALS = 300
SEED = 20_250_101
#: Cycles (or rounds) of one stage after which a trial counts as endless.
MAX_VISITS = 200
#: Reviews of an item after which the probabilities no longer change.
MAX_LOOKS = 4


@dataclass(frozen=True, slots=True)
class Assumption:
    """Assumptions about one review of a stage: probabilities from 0 to 1, and minutes. The rest is approved."""

    fix: float = 0.0
    reject: float = 0.0
    escalate: float = 0.0
    #: Two people who fix the same item end up with the same content.
    same_fix: float = 0.25
    #: The share of the probabilities above that is left when an item enters the stage again.
    again: float = 0.2
    minutes: float = 10.0


#: Used while a project has no reviews of its own. Our estimate, not measured: authors leave two thirds of candidates
#: unchanged (C3-Bench finds 62 % correct at the start), and colleagues change one in ten.
ASSUMED: Mapping[StageKind, Assumption] = {
    StageKind.SELF_CHECK: Assumption(fix=0.35, escalate=0.01, minutes=12),
    StageKind.CROSS_CHECK: Assumption(fix=0.1, reject=0.01, escalate=0.01, minutes=8),
    StageKind.EXPERT: Assumption(fix=0.3, reject=0.02, minutes=12),
}


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure with a 90 % range."""

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
    #: Items that enter the stage, counted each time they do.
    items: Spread
    reviews: Spread
    hours: Spread
    #: How many people may review here.
    people: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The work that a protocol needs from a team."""

    stages: list[StageEstimate]
    reviews: Spread
    hours: Spread
    rejected: Spread
    #: Hours of the busiest person if the work is shared as evenly as the roles allow; None if a stage that items reach
    #: has nobody.
    hours_each: float | None
    #: With these assumptions, some items never finish.
    endless: bool


def estimate(
    protocol: Protocol, *, items: int, assumptions: Mapping[str, Assumption], people: Sequence[frozenset[str]]
) -> Estimate:
    """Estimate the work for that many items.

    ``assumptions``: by key of the stage; ``ASSUMED`` if one is missing. ``people``: the roles of each person.
    """
    given = {stage.key: assumptions.get(stage.key, ASSUMED[stage.kind]) for stage in protocol.stages}
    chances = [
        [outcome_chances(stage, _after_looks(given[stage.key], looks)) for looks in range(MAX_LOOKS + 1)]
        for stage in protocol.stages
    ]
    certain = all(max(table.values()) > 1 - 1e-12 for tables in chances for table in tables)
    generator = random.Random(SEED)  # noqa: S311 - a simulation, and the same one each time
    fixes = [given[stage.key].fix for stage in protocol.stages]
    trials: list[_Trial] = []
    while len(trials) < (1 if certain else TRIALS):
        trials.append(_Trial(protocol, chances, fixes, generator).run(items))
        if trials[-1].endless:
            # One is enough to report it, and each of them takes long.
            break
    stages = []
    hours = [0.0] * len(trials)
    able = []
    for place, stage in enumerate(protocol.stages):
        entered = [trial.entered[place] for trial in trials]
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
        reviews=_spread([sum(n * m for n, m in zip(one.entered, reviewers, strict=True)) for one in trials]),
        hours=_spread(hours),
        rejected=_spread([trial.rejected for trial in trials]),
        hours_each=_hours_each([stage.hours.typical for stage in stages], able),
        endless=any(trial.endless for trial in trials),
    )


def outcome_chances(stage: Stage, assumption: Assumption) -> dict[Outcome, float]:
    """Return the probability of each outcome of a stage, summed over all combinations of verdicts."""
    offered = offered_verdicts(stage)
    chance = {Verdict.FIX: assumption.fix, Verdict.REJECT: assumption.reject, Verdict.ESCALATE: assumption.escalate}
    chance = {verdict: max(0.0, chance.get(verdict, 0.0)) for verdict in offered}
    # If the other probabilities add up to 1, nothing is approved; if they add up to more, they are scaled down.
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
        for equal, same, share in _equality(verdicts, assumption.same_fix):
            if share:
                out[decide(stage, verdicts, equal, same)] += likely * share  # type: ignore[assignment]
    return dict(out)


def _equality(verdicts: Sequence[Verdict], same_fix: float) -> list[tuple[bool, int, float]]:
    """Return (whether those who approve, with changes or without, submit the same, how many make one fix, probability).

    Our model: each fix after the first is the same as the first with probability ``same_fix``.
    """
    fixes = verdicts.count(Verdict.FIX)
    if fixes < 2:
        return [(not fixes or Verdict.APPROVE not in verdicts, fixes, 1.0)]
    same = max(0.0, min(1.0, same_fix))
    return [
        (
            more == fixes - 1 and Verdict.APPROVE not in verdicts,
            more + 1,
            comb(fixes - 1, more) * same**more * (1.0 - same) ** (fixes - 1 - more),
        )
        for more in range(fixes)
    ]


def _after_looks(one: Assumption, looks: int) -> Assumption:
    """Return the assumptions about an item that was reviewed in the stage ``looks`` times before."""
    left = max(0.0, one.again) ** looks
    return replace(one, fix=one.fix * left, reject=one.reject * left, escalate=one.escalate * left)


class _State(NamedTuple):
    """The state of items in a stage: approvals in a row, reviews so far, and the escalating stage (place, reviews)."""

    streak: int = 0
    looks: int = 0
    origin: tuple[int, int] | None = None


class _Trial:
    """One simulated run: how many items enter each stage, and how many are rejected."""

    def __init__(
        self,
        protocol: Protocol,
        chances: Sequence[Sequence[Mapping[Outcome, float]]],
        fixes: Sequence[float],
        generator: random.Random,
    ) -> None:
        self.stages, self.protocol, self.chances, self.fixes = protocol.stages, protocol, chances, fixes
        self.generator = generator
        many = len(self.stages)
        self.places = {stage.key: place for place, stage in enumerate(self.stages)}
        self.entered, self.rejected, self.endless = [0] * many, 0, False
        self.waiting: list[Counter[_State]] = [Counter() for _ in range(many)]
        #: Items that wait for a draw, by (seen without a dispute, reviews). Only a stage with rounds tells them apart.
        self.pool: list[Counter[tuple[bool, int]]] = [Counter() for _ in range(many)]
        self.visits = [0] * many
        self.rounds, self.errors = [0] * many, [0] * many

    def run(self, items: int) -> "_Trial":
        if self.stages[0].in_rounds:
            self.pool[0][False, 0] += items
        else:
            self.waiting[0][_State()] += items
        while (place := self._next()) is not None:
            self.visits[place] += 1
            if self.visits[place] > MAX_VISITS:
                self.endless = True
                self.waiting[place].clear()
                self.pool[place].clear()
            elif not self.waiting[place]:
                self._draw(place)
            else:
                cohort, self.waiting[place] = self.waiting[place], Counter()
                for state, count in cohort.items():
                    self._review(place, state, count)
        return self

    def _next(self) -> int | None:
        """Return the first stage with work to do; a round waits until its disputes are settled."""
        for place in range(len(self.stages)):
            if self.waiting[place]:
                return place
            if self.pool[place] and not self._unsettled(place):
                return place
        return None

    def _unsettled(self, place: int) -> bool:
        return any(state.origin and state.origin[0] == place for cohort in self.waiting for state in cohort)

    def _draw(self, place: int) -> None:
        stage, pool = self.stages[place], self.pool[place]
        total = pool.total()
        # The fraction as written, as in a draw.
        drawn = ceil(Fraction(repr(stage.entry.fraction)) * total)
        if not stage.in_rounds:
            pool.clear()
            self._enter(place, _State(), drawn)
            self._forward(place, total - drawn)
            return
        clean = all(seen for seen, _ in pool)
        if self.rounds[place] and clean and not self.errors[place]:
            pool.clear()
            self._forward(place, total)
            return
        self.rounds[place] += 1
        self.errors[place] = 0
        for key in sorted(pool):
            some = min(drawn, pool[key])
            drawn -= some
            pool[key] -= some
            if not pool[key]:
                del pool[key]
            self._enter(place, _State(looks=key[1]), some)

    def _enter(self, place: int, state: _State, count: int) -> None:
        if count:
            self.waiting[place][state] += count

    def _forward(self, place: int, count: int) -> None:
        for following in range(place + 1, len(self.stages)):
            entry = self.stages[following].entry
            if not count:
                return
            if entry.mode is EntryMode.ALL:
                self._enter(following, _State(), count)
                return
            if entry.fraction:
                self.pool[following][False, 0] += count
                return

    def _review(self, place: int, state: _State, count: int) -> None:
        """Review items of one stage once."""
        self.entered[place] += count
        stage, looks = self.stages[place], min(state.looks + 1, MAX_LOOKS)
        for outcome, some in _shares(count, self.chances[place][state.looks], self.generator):
            if not some:
                continue
            if stage.in_rounds and outcome in (Outcome.PASS_WITH_FIX, Outcome.REJECTED):
                self.errors[place] += some
            if state.origin and outcome is Outcome.REJECTED:
                self.errors[state.origin[0]] += some
            if outcome is Outcome.REJECTED:
                self.rejected += some
            elif outcome is Outcome.PASS and state.streak + 1 < stage.consecutive:
                self._enter(place, _State(state.streak + 1, looks, state.origin), some)
            elif outcome is Outcome.RESTART:
                self._enter(place, _State(0, looks, state.origin), some)
            elif outcome is Outcome.BACK_TO_AUTHOR:
                to = self.protocol.author_stage(stage.key)
                self._enter(self.places[to.key] if to else place, _State(looks=looks), some)
            elif outcome is Outcome.ESCALATE:
                expert = self.protocol.expert_stage(stage.key)
                self._enter(self.places[expert.key] if expert else place, _State(origin=(place, looks)), some)
            elif outcome is Outcome.RETURN and state.origin is not None:
                self._return(place, state.origin, some)
            elif stage.in_rounds:
                self.pool[place][True, looks] += some
            else:
                self._forward(place, some)

    def _return(self, place: int, origin: tuple[int, int], count: int) -> None:
        """Return settled items to the stage that escalated them; the senior reviewer's changes count as errors of its
        round.
        """
        stage, looks = origin
        if self.stages[stage].in_rounds:
            self.errors[stage] += _binomial(count, min(1.0, self.fixes[place]), self.generator)
            self.pool[stage][False, looks] += count
        else:
            self._enter(stage, _State(looks=looks), count)


def _shares(count: int, chances: Mapping[Outcome, float], generator: random.Random) -> list[tuple[Outcome, int]]:
    """Split ``count`` among the outcomes: one after the other, a binomial number of the rest."""
    out, left, rest = [], count, 1.0
    for outcome, chance in chances.items():
        some = left if chance >= rest - 1e-12 else _binomial(left, chance / rest, generator)
        out.append((outcome, some))
        left, rest = left - some, rest - chance
        if not left:
            break
    return out


def _binomial(n: int, p: float, generator: random.Random) -> int:
    """Draw a binomial number: by counting, by gaps between successes, or (if n p (1-p) > 30) by the normal limit."""
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
    """Return the hours of the busiest person if divisible work is shared as evenly as possible.

    By the max-flow min-cut theorem it is the maximum, over sets of stages, of their hours divided by the people who may
    review in any of them; only unions of the stages' own groups of people matter.
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
