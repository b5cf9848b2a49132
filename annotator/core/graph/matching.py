"""Follow a trajectory batch by batch: is it a legal path of a task's tool graph?

A predicted batch must map one to one onto ready calls. If a tool repeats, there may be several such maps, and only
later batches may show which one is right. So all possible states are kept (a state is the set of calls done), not one
matching. States that differ only in interchangeable calls are kept once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from annotator.core.graph.dag import Graph, positions
from annotator.core.graph.enumeration import ids_of, ready_mask
from annotator.core.graph.interchange import Interchange
from annotator.core.schema.canonical import canonical, without_kinds

#: A predicted call: ``name`` and ``arguments`` (any JSON value); reference calls also have ``id``.
Call = Mapping[str, Any]
#: Whether a predicted call (first) does what the reference call (second) does. Called only if the names are equal.
Comparer = Callable[[Call, Call], bool]

#: A batch with more possible interpretations than this is not decided.
MAX_STATES = 2_000


class Obstacle(StrEnum):
    """The reason why a predicted batch does not fit."""

    EMPTY = "empty"
    UNKNOWN_TOOL = "unknown_tool"
    ARGUMENTS = "arguments"
    NOT_READY = "not_ready"
    ALREADY_RAN = "already_ran"
    TAKEN = "taken"
    NOT_DECIDED = "not_decided"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A reference call that cannot run yet, and the ids it still waits for."""

    call: str
    needs: tuple[str, ...]

    def __str__(self) -> str:
        verb = "has" if len(self.needs) == 1 else "have"
        return f"{self.call} depends on {', '.join(self.needs)}, which {verb} not run."


@dataclass(frozen=True, slots=True)
class Deviation:
    """The place where a trajectory leaves every legal path.

    ``batch`` and ``call`` are positions counted from 0 (``call`` is None for the batch as a whole). ``calls`` are the
    reference calls that the reason is about, ``ready`` those that could have run instead, ``waiting`` the other
    remaining ones.
    """

    batch: int
    call: int | None
    obstacle: Obstacle
    sentence: str
    calls: tuple[str, ...]
    ready: tuple[str, ...]
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class MatchState:
    """The progress of a trajectory: ``possible`` are the sets of calls that may be done (bitsets of one size)."""

    possible: tuple[int, ...] = (0,)
    batches: int = 0
    deviation: Deviation | None = None

    @property
    def matched(self) -> int:
        """The calls matched so far; those of a batch that does not fit do not count."""
        return self.possible[0].bit_count()


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a whole trajectory; ``state`` is its last state.

    ``progress`` is matched calls over all calls (1 for a graph without calls). ``optimal``: matched, in the fewest
    batches. Both are the published AP and OP of one task, without its final answer.
    """

    matched: bool
    progress: float
    optimal: bool
    deviation: Deviation | None
    state: MatchState


def same_call(predicted: Call, reference: Call) -> bool:
    """Compare arguments by canonical JSON, ignoring key order and 1 or 1.0: the default comparer."""
    return _written(predicted) == _written(reference)


def _written(call: Call) -> str:
    return canonical(without_kinds(call.get("arguments")))


class Matcher:
    """Follows trajectories on one graph.

    ``calls`` are the reference calls, one for each id of ``graph``. Raises ValueError if they are not.
    """

    def __init__(self, graph: Graph, calls: Iterable[Call], comparer: Comparer = same_call) -> None:
        by_id = {call["id"]: call for call in calls}
        if set(by_id) != set(graph.ids):
            raise ValueError("Matching needs one reference call for each call of the graph, and no other.")
        self.graph = graph
        self.calls = tuple(by_id[node] for node in graph.ids)
        self.comparer = comparer
        written = [(call["name"], _written(call)) for call in self.calls]
        #: Name and arguments → the calls with them, as a bitset.
        self._equal: dict[tuple[str, str], int] = {}
        for i, key in enumerate(written):
            self._equal[key] = self._equal.get(key, 0) | 1 << i
        #: At each position the number of the first call with the same name and arguments.
        self._kinds = tuple((self._equal[key] & -self._equal[key]).bit_length() - 1 for key in written)
        self._by_name: dict[str, int] = {}
        for i, call in enumerate(self.calls):
            self._by_name[call["name"]] = self._by_name.get(call["name"], 0) | 1 << i

    @cached_property
    def _interchange(self) -> Interchange:
        return Interchange(self.graph, self._kinds)

    def start(self) -> MatchState:
        """Return the state before anything has run."""
        return MatchState()

    def match(self, batches: Sequence[Sequence[Call]]) -> Report:
        """Follow a whole trajectory to its end or to the first batch that does not fit."""
        state = self.start()
        for batch in batches:
            state = self.step(state, batch)
            if state.deviation:
                break
        return self.report(state)

    def report(self, state: MatchState) -> Report:
        """Return the verdict if the trajectory ends in ``state``; remaining calls are a deviation, too."""
        total = len(self.graph.ids)
        deviation = state.deviation
        if deviation is None and state.matched < total:
            ready, waiting = self._open(state.possible)
            left = total - state.matched
            calls = "one call" if left == 1 else f"{left} calls"
            sentence = f"The trajectory ends with {calls} left to run; ready: {', '.join(ready)}."
            deviation = Deviation(state.batches, None, Obstacle.INCOMPLETE, sentence, ready, ready, waiting)
        matched = deviation is None
        return Report(
            matched,
            state.matched / total if total else 1.0,
            matched and state.batches == self.graph.fewest_batches,
            deviation,
            state,
        )

    def can_be_optimal(self, state: MatchState) -> bool:
        """Return whether an optimal path still continues from here."""
        if state.deviation:
            return False
        return any(
            state.batches + self.graph.batches_left(done) <= self.graph.fewest_batches for done in state.possible
        )

    def step(self, state: MatchState, batch: Sequence[Call]) -> MatchState:
        """Return the state after one more predicted batch. After a deviation, nothing changes."""
        if state.deviation:
            return state
        if not batch:
            return self._deviated(state, None, Obstacle.EMPTY, "the batch has no calls", ())
        allowed = [self._accepting(call) for call in batch]
        # Pairs (calls done with this batch, calls that could run when it began).
        possible = {(done, ready_mask(self.graph, done)) for done in state.possible}
        images = 0
        for number, accepting in enumerate(allowed):
            following = set()
            for done, ready in possible:
                for i in self._interchange.first_of_each(accepting & ready & ~done, done, ready):
                    following.add((done | 1 << i, ready))
            if not following:
                return self._deviated(state, number, *self._obstacle(state, batch[number], accepting))
            if len(following) > 1:
                images += len(following)
                if images > MAX_STATES:
                    words = f"the batch so far can be understood in more than {MAX_STATES:,} ways"
                    return self._deviated(state, number, Obstacle.NOT_DECIDED, words, ())
                following = self._interchange.merged(following)
            possible = following
        # The calls of the next batch depend only on those done, so states that differed until now may be equal.
        merged = {(done, 0) for done, _ in possible}
        if len(merged) > 1:
            merged = self._interchange.merged(merged)
        return MatchState(tuple(sorted(done for done, _ in merged)), state.batches + 1)

    def _accepting(self, predicted: Call) -> int:
        """Return the reference calls that match a predicted call, as a bitset. Compares once for each kind."""
        same_name = self._by_name.get(predicted["name"], 0)
        if self.comparer is same_call:
            return self._equal.get((predicted["name"], _written(predicted)), 0) if same_name else 0
        verdicts: dict[int, bool] = {}
        mask = 0
        for i in positions(same_name):
            kind = self._kinds[i]
            if kind not in verdicts:
                verdicts[kind] = self.comparer(predicted, self.calls[i])
            mask |= verdicts[kind] << i
        return mask

    def _obstacle(self, state: MatchState, predicted: Call, accepting: int) -> tuple[Obstacle, str, tuple[str, ...]]:
        """Explain why this call matches no free call, in the state in which most of its candidates are ready."""
        name, graph = predicted["name"], self.graph
        same_name = self._by_name.get(name, 0)
        if not same_name:
            return Obstacle.UNKNOWN_TOOL, f"the task has no call to {name}", ()
        if not accepting:
            calls = ids_of(graph, same_name)
            return Obstacle.ARGUMENTS, f"its arguments differ from those of {' or '.join(calls)}", calls
        done = max(state.possible, key=lambda one: (accepting & ready_mask(graph, one)).bit_count())
        if accepting & ready_mask(graph, done):
            calls = ids_of(graph, accepting & ready_mask(graph, done))
            return Obstacle.TAKEN, f"{', '.join(calls)} was already matched by an earlier call of the batch", calls
        if accepting & ~done:
            calls = ids_of(graph, accepting & ~done)
            first = next(positions(accepting & ~done))
            waiting = Waiting(graph.ids[first], ids_of(graph, graph.needs[first] & ~done))
            return Obstacle.NOT_READY, str(waiting).rstrip("."), calls
        calls = ids_of(graph, accepting & done)
        return Obstacle.ALREADY_RAN, f"{', '.join(calls)} has already run", calls

    def _deviated(
        self, state: MatchState, call: int | None, obstacle: Obstacle, words: str, calls: tuple[str, ...]
    ) -> MatchState:
        ready, waiting = self._open(state.possible)
        where = f"Batch {state.batches + 1}" + ("" if call is None else f", call {call + 1}")
        legal = f"ready: {', '.join(ready)}" if ready else "every call has run"
        sentence = f"{where}: {words}; {legal}."
        deviation = Deviation(state.batches, call, obstacle, sentence, calls, ready, waiting)
        return MatchState(state.possible, state.batches, deviation)

    def _open(self, possible: Sequence[int]) -> tuple[tuple[str, ...], tuple[Waiting, ...]]:
        """Return the calls that can run in one of the possible states, and what the others wait for in all of them."""
        graph = self.graph
        ready, unfinished = 0, 0
        for done in possible:
            ready |= ready_mask(graph, done)
            unfinished |= ~done
        waiting = tuple(
            Waiting(graph.ids[i], ids_of(graph, graph.needs[i] & ~possible[0]))
            for i in positions(unfinished & ~ready & ((1 << len(graph.ids)) - 1))
            if graph.needs[i] & ~possible[0]
        )
        return ids_of(graph, ready), waiting
