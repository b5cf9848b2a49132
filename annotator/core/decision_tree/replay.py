"""Follow a trajectory through the decision tree: what matched, what it pruned, where it deviated."""

from dataclasses import dataclass
from typing import Any

from annotator.core.decision_tree.task import CallCard, TaskGraph
from annotator.core.decision_tree.trajectories import Trajectory
from annotator.core.decision_tree.tree import subtract, write_path
from annotator.core.graph import Count, Deviation, MatchState, Obstacle, Report

#: Up to this many possible states, the remaining paths are counted at each step.
_COUNTED = 12


@dataclass(frozen=True)
class Legal:
    """A call at a deviation: it could have run, or could not because it waits for ``needs``."""

    card: CallCard
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplayRow:
    """One batch of the trajectory.

    ``outcome`` is matched, deviated or "" (not reached). ``ran`` are its reference calls in the first of ``readings``
    possible matches. ``left`` counts the legal paths from here, ``pruned`` those that the batch excluded.
    """

    number: int
    calls: tuple[dict[str, Any], ...]
    outcome: str
    ran: tuple[CallCard, ...] = ()
    readings: int = 1
    left: Count | None = None
    pruned: Count | None = None
    optimal: bool = False
    #: Whether all calls have run after it.
    ends: bool = False
    #: The call of the batch, from 0, that does not match.
    deviating_call: int | None = None


@dataclass(frozen=True)
class Replay:
    """A whole trajectory. ``address`` is the state of the tree that it reached; None if there are several."""

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
        """The call with arguments that differ from all reference calls; ``meant`` are the closest ones."""
        found = self.report.deviation
        if found is None or found.obstacle is not Obstacle.ARGUMENTS or found.call is None:
            return None
        return self.rows[found.batch].calls[found.call]

    @property
    def batches(self) -> int:
        return self.report.state.batches


def replay(task: TaskGraph, trajectory: Trajectory) -> Replay:
    """Follow a trajectory to its end or to the first batch that does not match."""
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
    """Return the calls that the step added in the first possible match."""
    now = state.possible[0]
    earlier = next((done for done in before if not done & ~now), before[0])
    return tuple(task.cards[call] for i, call in enumerate(task.graph.ids) if now & ~earlier & 1 << i)


def _ways_on(task: TaskGraph, state: MatchState) -> Count | None:
    """Return the number of legal paths from all possible states; None if there are too many states."""
    if len(state.possible) > _COUNTED:
        return None
    counts = [task.tree.tally(done).total for done in state.possible]
    if any(count.at_least is None for count in counts):
        return Count(None, exact=False)
    return Count(sum(count.at_least or 0 for count in counts), all(count.exact for count in counts))
