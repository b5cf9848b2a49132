"""A run as JSON: stored, returned by the API and shown on a page. Its size is limited."""

import json
from dataclasses import asdict
from typing import Any

from annotator.core.constraints.execution import MAX_LENGTH, CallRun, RoundRun, Run, clipped
from annotator.core.constraints.replay import ConstraintState
from annotator.core.constraints.rounds import Limits

#: Characters kept of one expected text.
_MAX_EXPECTED_LENGTH = 500


def record_of(run: Run, *, implied_from: int) -> dict[str, Any]:
    """Return the run, ready to be stored.

    For each round, only the states that it changed are kept, by the constraint's position; ``implied_from`` is the
    position of the first constraint that the case does not state itself.
    """
    return {
        "constraints": [
            {
                "dimension": one.dimension,
                "category": one.category,
                "text": clipped(one.text or ""),
                "implied": position >= implied_from,
                "why_unjudged": run.unjudged.get(position, ""),
                "status": status,
            }
            for position, (one, status) in enumerate(zip(run.constraints, run.statuses, strict=True))
        ],
        "rounds": _rounds(run.rounds),
        "unsolved": [asdict(each) | {"text": clipped(each.text, _MAX_EXPECTED_LENGTH)} for each in run.unsolved],
        "ending": run.ending,
        "solved": run.solved,
        "found": run.found,
        "answer_held": run.answer_held,
    }


def _rounds(rounds: list[RoundRun]) -> list[dict[str, Any]]:
    out = []
    before: list[ConstraintState] = []
    for each in rounds:
        out.append(
            {
                "id": each.id,
                "calls": [_call(call) for call in each.calls],
                "final": None if each.final is None else clipped(each.final),
                "accepted": each.accepted,
                "over": each.over,
                "feedback": [clipped(sentence) for sentence in each.feedback],
                "constraint_states": {
                    str(position): [state.status, clipped(state.owed)]
                    for position, state in enumerate(each.constraint_states)
                    if position >= len(before) or before[position] != state
                },
                "fresh": each.fresh,
                "limits": _limits(each.limits),
            }
        )
        before = each.constraint_states
    return out


def _call(call: CallRun) -> dict[str, Any]:
    arguments = call.arguments
    if len(json.dumps(arguments, ensure_ascii=False)) > MAX_LENGTH:
        arguments = clipped(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))
    return asdict(call) | {
        "arguments": arguments,
        "recorded": None if call.recorded is None else clipped(call.recorded),
    }


def _limits(limits: Limits) -> dict[str, Any]:
    """Return what is limited; the rest is left out."""
    return {key: value for key, value in asdict(limits).items() if value is not None and value != {}}
