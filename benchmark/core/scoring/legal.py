"""Follow a prediction through a task as the papers describe it, apart from the published code.

A batch must map one to one onto ready calls: same tool, arguments equal under the comparer. A text is a question where
one is ready, else the answer; both are alone in their round. A question removes the paths that do not ask.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.graph import Matcher
from annotator.core.graph.dag import positions
from annotator.core.graph.enumeration import ready_mask
from annotator.core.graph.matching import Deviation, MatchState
from benchmark.core.formats.answer_nodes import ANSWER, ASK
from benchmark.core.scoring.arguments.strict import same
from benchmark.core.scoring.predictions import EMPTY, PredictedCall, Round
from benchmark.core.scoring.references import ReferenceTask, UnusableReference

#: Whether a predicted call's arguments do what those of a reference call of the same tool do.
Judge = Callable[[PredictedCall, Any], bool]

#: Most sets of nodes that may be done after the same number of rounds.
MAX_STATES = 5_000

#: A model cannot write these names, so a call is never taken for a question or an answer.
_ASK, _ANSWER = f"\0{ASK}", f"\0{ANSWER}"


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
    matcher = Matcher(
        task.graph,
        [
            {"id": str(position), "name": node.name if node.is_call else f"\0{node.name}", "arguments": node.arguments}
            for position, node in enumerate(task.nodes)
        ],
        lambda predicted, reference: predicted["call"] is None or judge(predicted["call"], reference["arguments"]),
    )
    state, used = matcher.start(), 0
    right = False
    while state.deviation is None and not right:
        one = rounds[used] if used < len(rounds) else EMPTY
        used += 1
        if one.is_text:
            asked = matcher.step(state, [{"name": _ASK, "call": None}])
            if asked.deviation is None:
                state = asked
                continue
            state = matcher.step(state, [{"name": _ANSWER, "call": None}])
            right = state.deviation is None and state.matched == len(task.nodes)
            if state.deviation is None and not right:
                break
        else:
            calls = () if one.error else one.calls
            state = matcher.step(state, [{"name": call.name, "call": call} for call in calls])
    fewest = fewest_rounds(task)
    return LegalWalk(right, state.matched, right and used == fewest, fewest, _reason(matcher, state, right), used)


def _reason(matcher: Matcher, state: MatchState, right: bool) -> Deviation | None:
    return None if right else state.deviation or matcher.report(state).deviation


def fewest_rounds(task: ReferenceTask) -> int:
    """Return the fewest rounds of a task, with each question and the answer alone in its round. Raises
    UnusableReference.

    All ready calls in one round are never worse than some of them, so each round is that, or one ready text.
    """
    graph, everything = task.graph, (1 << len(task.nodes)) - 1
    calls = sum(1 << position for position in task.calls)
    states, rounds = {0}, 0
    while everything not in states:
        following = set()
        for done in states:
            ready = ready_mask(graph, done)
            if ready & calls:
                following.add(done | ready & calls)
            following |= {done | 1 << position for position in positions(ready & ~calls)}
        if len(following) > MAX_STATES:
            raise UnusableReference(f"{task.where} has too many questions that can be asked in any order.")
        states, rounds = following, rounds + 1
    return rounds


def follow_strictly(task: ReferenceTask, rounds: Sequence[Round]) -> bool:
    """Return whether a prediction is right with arguments that equal the reference's. Raises UnusableReference."""
    return follow(task, rounds, lambda call, reference: same(call.arguments, reference)).right
