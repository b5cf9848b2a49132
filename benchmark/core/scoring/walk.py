"""Follow a prediction through a task as the published code of C3-Bench and WildToolBench does: by tool names alone.

Each reply must fit one of the paths that are left: the names of its calls, sorted, are those of the path's next batch.
The first such path in the order of enumeration decides which batch was meant, and only paths with this batch stay. A
text fits where a path asks, else where one answers; a question does *not* remove the paths that go on with a call
instead (``base_handler.py``:224-493 of WildToolBench, ``tool_call_graph.py``:249-438 of C3-Bench).

The paths are not listed. A path is known by the nodes done and, within a run of one tool, the rest of the run; of
several with the same, only the first in the order of enumeration can win.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from annotator.core.graph.dag import positions
from annotator.core.graph.enumeration import ready_mask
from annotator.core.graph.published import Move, PublishedCode
from benchmark.core.formats.answer_nodes import ANSWER, ASK
from benchmark.core.scoring.predictions import EMPTY, PredictedCall, Round
from benchmark.core.scoring.references import ReferenceTask, UnusableReference

#: Most states that are kept after a question.
MAX_STATES = 5_000

#: Nodes done (a bitset), and the batches that must follow one by one.
State = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Step:
    """One reply that fits. ``nodes``: the positions that it was taken for, in file order; empty for a question."""

    calls: tuple[PredictedCall, ...]
    nodes: tuple[int, ...]


@dataclass(slots=True)
class Walk:
    """``right``: the prediction ends in an answer, by names alone. ``rounds``: replies used, a failing one included.

    ``stop``: ``not_in_candidates``, ``empty_reply``, ``malformed_calls``, ``request_failed``, ``past_the_graph``;
    None if ``right``.
    """

    right: bool = False
    stop: str | None = None
    rounds: int = 0
    optimal: bool = False
    steps: list[Step] = field(default_factory=list)


def walk(task: ReferenceTask, rounds: Sequence[Round]) -> Walk:
    """Follow the rounds of a prediction. Raises UnusableReference if the paths are too many to follow."""
    code, done = task.published, Walk()
    states: list[State] = [(0, ())]
    while True:
        one = rounds[done.rounds] if done.rounds < len(rounds) else EMPTY
        done.rounds += 1
        if one.error or (not one.calls and not one.content):
            done.stop = one.error or "empty_reply"
            return done
        if not one.calls:
            meant = _text(code, states)
            if meant == ANSWER:
                done.right = True
                done.optimal = done.rounds == task.published_fewest
                return done
            if meant is None:
                done.stop = "not_in_candidates"
                return done
            done.steps.append(Step((), ()))
            states = _after_question(task, states)
            continue
        if done.rounds > len(task.nodes):
            done.stop = "past_the_graph"
            return done
        batch = _meant(code, states, Counter(call.name for call in one.calls))
        if batch is None:
            done.stop = "not_in_candidates"
            return done
        done.steps.append(Step(one.calls, tuple(positions(batch))))
        states = list(dict.fromkeys(after for state in states if (after := _after(code, state, batch))))


def _meant(code: PublishedCode, states: Sequence[State], tools: Counter[str]) -> int | None:
    """Return the batch of the first path whose next batch has these tools."""
    for done, rest in states:
        if rest:
            if Counter(code.names[i] for i in positions(rest[0])) == tools:
                return rest[0]
        elif move := code.move_of(done, tools):
            return move.batches[0]
    return None


def _after(code: PublishedCode, state: State, batch: int) -> State | None:
    """Return the state after a batch, if a path of this state goes on with it."""
    done, rest = state
    if rest:
        return (done | batch, rest[1:]) if rest[0] == batch else None
    move = code.move_with(done, batch)
    return None if move is None else (done | batch, move.batches[1:])


def _text(code: PublishedCode, states: Sequence[State]) -> str | None:
    """Return what the first path that can go on with a text does there: ask or answer."""
    for done, rest in states:
        for i in positions(rest[0] if rest else ready_mask(code.graph, done)):
            if code.names[i] in (ASK, ANSWER):
                return code.names[i]
    return None


def _after_question(task: ReferenceTask, states: Sequence[State]) -> list[State]:
    """Return the states after any batch at all, in the order of enumeration."""
    code, found = task.published, dict[State, None]()
    for done, rest in states:
        if rest:
            found.setdefault((done | rest[0], rest[1:]))
            continue
        moves = list(islice(code.moves(done), MAX_STATES + 1))
        if len(moves) > MAX_STATES or len(found) > MAX_STATES:
            raise UnusableReference(f"The paths of {task.where} are too many to follow after a question.")
        for move in sorted(moves, key=_order):
            found.setdefault((done | move.batches[0], move.batches[1:]))
    return list(found)


def _order(move: Move) -> tuple[int, tuple[int, ...]]:
    """Smaller batches come first, then those with earlier nodes; a run counts as its first node."""
    first = tuple(positions(move.batches[0]))
    return len(first), first
