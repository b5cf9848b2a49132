"""Follow a prediction through a task as the papers describe it, apart from the published code.

A batch must map one to one onto ready calls: same tool, arguments equal under the comparer. A text is a question where
one is ready, else the answer; both are alone in their round. A question removes the paths that do not ask.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotator.core.graph import Matcher
from annotator.core.graph.dag import positions
from annotator.core.graph.enumeration import ready_mask
from annotator.core.graph.matching import Deviation, MatchState
from annotator.core.schema import SchemaProblem
from benchmark.core.scoring.predictions import EMPTY, PredictedCall, Round
from benchmark.core.scoring.references import FINAL, QUESTION, ReferenceTask

#: Whether a predicted call's arguments do what those of a reference call of the same tool do.
Judge = Callable[[PredictedCall, Any], bool]

#: No reference has a call of this name.
_UNREADABLE = "\0"


@dataclass(frozen=True, slots=True)
class LegalWalk:
    """``matched``: nodes done before the first deviation, the answer included. ``rounds``: replies looked at."""

    right: bool
    matched: int
    optimal: bool
    fewest_rounds: int
    deviation: Deviation | None
    rounds: int

    def as_json(self, task: ReferenceTask, *, strict: bool | None) -> dict[str, Any]:
        return {
            "ours": {
                "label": "correct" if self.right else "error",
                "matched": self.matched,
                "optimal": self.optimal,
                "fewest_rounds": self.fewest_rounds,
                "published_fewest": task.published_fewest,
            },
            "strict": {"label": "correct" if strict else "error"},
            "deviation": self.deviation.sentence if self.deviation else None,
        }


def follow(task: ReferenceTask, rounds: Sequence[Round], judge: Judge) -> LegalWalk:
    """Follow the rounds of a prediction. Raises UnusableReference."""
    return _follow(task, task.matcher, rounds, lambda call: {"name": call.name, "same": lambda due: judge(call, due)})


def follow_strictly(task: ReferenceTask, rounds: Sequence[Round]) -> bool:
    """Return whether a prediction is right with arguments that equal the reference's, as JSON values: whatever the
    order of keys, 1 equal to 1.0. Raises UnusableReference.
    """
    try:
        return _follow(task, task.strict_matcher, rounds, _with_value).right
    except (SchemaProblem, RecursionError):
        # A value that no reference can have.
        return False


@dataclass(frozen=True, slots=True)
class Level:
    """One round in the decision tree. ``ready``: positions of the steps that could come; ``made``: those that came.

    ``fits``: whether the round is on a path; the first that is not ends the tree.
    """

    ready: tuple[int, ...]
    made: tuple[int, ...] = ()
    fits: bool = True


def pruned_tree(task: ReferenceTask, rounds: Sequence[Round]) -> list[Level]:
    """Return the decision tree of a task along a prediction: a level for each round up to the first deviation.

    Calls fit by their names, whatever their arguments; of calls that could be one of several steps, one way is shown.
    Raises UnusableReference.
    """
    matcher, states = task.matcher, [task.matcher.start()]
    for one in rounds:
        if one.is_text:
            asked = matcher.step(states[-1], [QUESTION])
            states.append(asked if asked.deviation is None else matcher.step(states[-1], [FINAL]))
        else:
            calls = () if one.error else one.calls
            states.append(matcher.step(states[-1], [{"name": call.name, "same": lambda due: True} for call in calls]))
        if states[-1].deviation is not None:
            break
    fitting = [state for state in states if state.deviation is None]
    # Backwards, because only the end shows which of several ways was taken.
    done = [fitting[-1].possible[0]]
    for state in reversed(fitting[:-1]):
        done.append(next(one for one in state.possible if one & ~done[-1] == 0))
    done.reverse()
    levels = [
        Level(_ready(task, state), tuple(positions(after & ~before)))
        for state, before, after in zip(fitting, done, done[1:], strict=False)
    ]
    if len(fitting) < len(states):
        levels.append(Level(_ready(task, fitting[-1]), fits=False))
    return levels


def _ready(task: ReferenceTask, state: MatchState) -> tuple[int, ...]:
    ready = 0
    for done in state.possible:
        ready |= ready_mask(task.graph, done)
    return tuple(positions(ready))


def _with_value(call: PredictedCall) -> dict[str, Any]:
    try:
        return {"name": call.name, "arguments": json.loads(call.arguments)}
    except ValueError:
        return {"name": _UNREADABLE}


def _follow(
    task: ReferenceTask, matcher: Matcher, rounds: Sequence[Round], as_call: Callable[[PredictedCall], dict[str, Any]]
) -> LegalWalk:
    state, used = matcher.start(), 0
    right = False
    while state.deviation is None and not right:
        one = rounds[used] if used < len(rounds) else EMPTY
        used += 1
        if one.is_text:
            asked = matcher.step(state, [QUESTION])
            if asked.deviation is None:
                state = asked
                continue
            state = _without_text(matcher.step(state, [FINAL]))
            right = state.deviation is None and state.matched == len(task.nodes)
            if state.deviation is None and not right:
                break
        else:
            state = matcher.step(state, [as_call(call) for call in (() if one.error else one.calls)])
    fewest = task.fewest_rounds
    return LegalWalk(right, state.matched, right and used == fewest, fewest, _reason(matcher, state, right), used)


def _without_text(state: MatchState) -> MatchState:
    """Say in the deviation that a text came where none was due."""
    deviation = state.deviation
    if deviation is None:
        return state
    due = f"ready: {', '.join(deviation.ready)}" if deviation.ready else "everything is done"
    told = f"Round {state.batches + 1} is a text, but neither a question nor the answer is due; {due}."
    return replace(state, deviation=replace(deviation, sentence=told))


def _reason(matcher: Matcher, state: MatchState, right: bool) -> Deviation | None:
    return None if right else state.deviation or matcher.report(state).deviation
