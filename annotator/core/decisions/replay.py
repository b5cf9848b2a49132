"""A trajectory followed through the decision tree, step by step: what matched, what it pruned, where it deviated."""

from dataclasses import dataclass
from typing import Any

from annotator.core.decisions.task import CallCard, TaskGraph
from annotator.core.decisions.trajectories import Trajectory
from annotator.core.decisions.tree import subtract, write_path
from annotator.core.graph import Count, Deviation, MatchState, Obstacle, Report

#: States whose ways on are counted at each step; a trajectory that could be read in more ways says only that.
_COUNTED = 12


@dataclass(frozen=True)
class Legal:
    """A call that could have run where the trajectory deviated, or (``needs``) what it still waits for."""

    card: CallCard
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplayRow:
    """One batch of the trajectory.

    ``outcome`` is matched, deviated or "" (not reached). ``ran`` are the reference calls it stands for, in the first of
    ``readings`` ways to understand it. ``left`` counts the legal ways on, ``pruned`` those it closed.
    """

    number: int
    calls: tuple[dict[str, Any], ...]
    outcome: str
    ran: tuple[CallCard, ...] = ()
    readings: int = 1
    left: Count | None = None
    pruned: Count | None = None
    optimal: bool = False
    #: Whether every call has run after it.
    ends: bool = False
    #: The call of the batch, from 0, that fits nothing.
    deviating_call: int | None = None

    @property
    def reading_words(self) -> str:
        """What to say where the batch can be understood in several ways."""
        return f"{self.readings:,} ways to read it so far"


@dataclass(frozen=True)
class Replay:
    """A whole trajectory. ``address`` is the state of the tree it reached, None where there are several."""

    rows: tuple[ReplayRow, ...]
    report: Report
    total: int
    fewest: int
    left_out: tuple[str, ...]
    ready: tuple[Legal, ...]
    waiting: tuple[Legal, ...]
    meant: tuple[CallCard, ...]
    address: str | None

    @property
    def percent(self) -> str:
        return f"{100 * self.report.progress:.0f} %"

    @property
    def deviation(self) -> Deviation | None:
        return self.report.deviation

    @property
    def wrong_arguments(self) -> dict[str, Any] | None:
        """The call whose arguments no reference call has; ``meant`` are those it comes closest to."""
        found = self.report.deviation
        if found is None or found.obstacle is not Obstacle.ARGUMENTS or found.call is None:
            return None
        return self.rows[found.batch].calls[found.call]

    @property
    def batches(self) -> int:
        return self.report.state.batches


def replay(task: TaskGraph, trajectory: Trajectory) -> Replay:
    """Follow a trajectory to its end or to the first batch that does not fit."""
    matcher, graph = task.matcher, task.graph
    state = matcher.start()
    left: Count | None = task.tally.total
    rows: list[ReplayRow] = []
    path: list[tuple[str, ...]] | None = []
    for number, batch in enumerate(trajectory.batches, 1):
        if state.deviation:
            rows.append(ReplayRow(number, batch, ""))
            continue
        before = state.possible
        state = matcher.step(state, batch)
        if state.deviation:
            rows.append(ReplayRow(number, batch, "deviated", deviating_call=state.deviation.call))
            continue
        ran = _ran(task, before, state)
        following = _ways_on(task, state)
        pruned = subtract(left, following) if left is not None and following is not None else None
        path = [*path, tuple(card.id for card in ran)] if path is not None and len(state.possible) == 1 else None
        optimal = matcher.can_be_optimal(state)
        ends = state.matched == len(graph.ids)
        rows.append(ReplayRow(number, batch, "matched", ran, len(state.possible), following, pruned, optimal, ends))
        left = following
    report = matcher.report(state)
    deviation = report.deviation
    return Replay(
        rows=tuple(rows),
        report=report,
        total=len(graph.ids),
        fewest=graph.fewest_batches,
        left_out=trajectory.left_out,
        ready=tuple(Legal(task.cards[call]) for call in deviation.ready) if deviation else (),
        waiting=tuple(Legal(task.cards[one.call], one.needs) for one in deviation.waiting) if deviation else (),
        meant=tuple(task.cards[call] for call in deviation.calls) if deviation else (),
        address=write_path(path) if path else None,
    )


def _ran(task: TaskGraph, before: tuple[int, ...], state: MatchState) -> tuple[CallCard, ...]:
    """The calls that the step added, read in the first way: from whichever state before leads there."""
    now = state.possible[0]
    earlier = next((done for done in before if not done & ~now), before[0])
    return tuple(task.cards[call] for i, call in enumerate(task.graph.ids) if now & ~earlier & 1 << i)


def _ways_on(task: TaskGraph, state: MatchState) -> Count | None:
    """The legal ways on from all states the trajectory may have led to; None where they are too many to ask."""
    if len(state.possible) > _COUNTED:
        return None
    counts = [task.tree.tally(done).total for done in state.possible]
    if any(count.at_least is None for count in counts):
        return Count(None, exact=False)
    return Count(sum(count.at_least or 0 for count in counts), all(count.exact for count in counts))
