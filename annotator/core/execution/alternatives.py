"""Find another trajectory that does the same: then the question does not say which of the two is meant.

A model that chooses it reaches the same final state and reads the same results, but its calls count as wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import Any

from annotator.core.execution.running import Execution, Runner, Start, StatefulTool, execute
from annotator.core.sandbox.trajectories import ToolCall
from annotator.core.schema.canonical import canonical

#: Trajectories that are tried, and ways to fill the arguments of one function.
MAX_TRIED = 40
MAX_FILLED = 3
#: Longer trajectories are not searched: each try runs all calls.
MAX_CALLS = 20


def find_alternative(
    runner: Runner,
    tool: StatefulTool,
    start: Start,
    calls: Sequence[ToolCall],
    execution: Execution,
    required: Mapping[str, Sequence[str]],
) -> tuple[int, ToolCall] | None:
    """Return the index of a call, and another call that can replace it without any difference; None if none is found.

    ``required``: function → names of its required arguments. A bounded search: one call at a time is replaced by
    another function, or by the same one with other values, with arguments of the call itself and of earlier calls. The
    final state and all results must be the same. A function whose arguments can be exchanged is not reported. Raises
    SandboxUnavailable.
    """
    if execution.final_sha256 is None or execution.differs is not None or len(calls) > MAX_CALLS:
        return None
    if any(outcome.is_error for outcome in execution.outcomes):
        return None
    due = [canonical([outcome.result]) for outcome in execution.outcomes]
    for index, other in islice(_candidates(tool, calls, required), MAX_TRIED):
        again = execute(runner, tool, start, [*calls[:index], other, *calls[index + 1 :]], twice=False)
        same_state = again.final_sha256 == execution.final_sha256
        if same_state and [canonical([outcome.result]) for outcome in again.outcomes] == due:
            return index, other
    return None


def _candidates(
    tool: StatefulTool, calls: Sequence[ToolCall], required: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, ToolCall]]:
    """Yield calls to try in place of each: those that need as many values as the call has, first."""
    ranked = []
    for index, call in enumerate(calls):
        for name in sorted(tool.functions):
            needed = required.get(name, ())
            # A later call may use a result that is not known before.
            for arguments in islice(_filled(needed, call, calls[:index]), MAX_FILLED):
                other = ToolCall(name, arguments)
                if name != call.name or not _values(arguments) <= _values(call.arguments):
                    ranked.append((abs(len(needed) - len(call.arguments)), index, other))
    ranked.sort(key=lambda one: one[0])
    yield from ((index, other) for _, index, other in ranked)


def _values(arguments: Mapping[str, Any]) -> set[str]:
    return {canonical([value]) for value in arguments.values()}


def _filled(needed: Sequence[str], call: ToolCall, earlier: Sequence[ToolCall]) -> Iterator[dict[str, Any]]:
    """Yield arguments for the names ``needed``: by name from the call and the earlier ones, else by position."""
    own = dict(call.arguments)
    named = {key: value for other in earlier for key, value in other.arguments.items()} | own
    if all(name in named for name in needed):
        yield {name: named[name] for name in needed}
    if needed and len(needed) <= len(own):
        for values in permutations(own.values(), len(needed)):
            yield dict(zip(needed, values, strict=True))
