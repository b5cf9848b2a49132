"""What each call of a trajectory depends on: run it again without a call, and with neighbours exchanged."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.execution.running import Execution, Runner, Start, StatefulTool, execute
from annotator.core.sandbox.trajectories import ToolCall
from annotator.core.schema.canonical import canonical

#: Trajectories of more calls are run, but not explained: each call needs two more runs.
MAX_EXPLAINED = 40
#: Seconds for these runs; slow tools are not explained either.
MAX_SECONDS = 20.0
#: A shorter text within a text is a coincidence.
SHORTEST_WITHIN = 3


@dataclass(frozen=True, slots=True)
class Reruns:
    """What running a trajectory again showed.

    Per call: the indexes of earlier calls that it needs, and whether the final state differs without it.
    ``exchangeable[i]``: nothing changes if calls i and i + 1 are exchanged.
    """

    needs: tuple[tuple[int, ...], ...]
    leaves_trace: tuple[bool, ...]
    exchangeable: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Per call, the indexes of earlier calls that it needs and whose values it uses, and whether it leaves a trace.

    ``order_forced[i]``: calls i and i + 1 cannot be exchanged, or the second uses a value of the first.
    """

    needs: tuple[tuple[int, ...], ...]
    value_from: tuple[tuple[int, ...], ...]
    leaves_trace: tuple[bool, ...]
    order_forced: tuple[bool, ...]


def run_again(
    runner: Runner, tool: StatefulTool, start: Start, calls: Sequence[ToolCall], execution: Execution
) -> Reruns | None:
    """Run a trajectory without each call, and with neighbours exchanged; None if it is too long or too slow.

    Raises SandboxUnavailable.
    """
    if len(calls) > MAX_EXPLAINED:
        return None
    until = time.monotonic() + MAX_SECONDS

    def run(order: Sequence[int]) -> Execution:
        if time.monotonic() > until:
            raise _TooSlow
        return execute(runner, tool, start, [calls[n] for n in order], twice=False)

    try:
        return _run_again(run, len(calls), execution)
    except _TooSlow:
        return None


class _TooSlow(Exception):
    """The time for further runs is used up."""


def _run_again(run: Callable[[Sequence[int]], Execution], count: int, execution: Execution) -> Reruns:

    seen = [outcome.compared for outcome in execution.outcomes]
    needs: list[list[int]] = [[] for _ in range(count)]
    leaves_trace = []
    for left_out in range(count):
        order = [n for n in range(count) if n != left_out]
        without = run(order)
        leaves_trace.append(without.final_sha256 != execution.final_sha256)
        for index, outcome in zip(order[left_out:], without.outcomes[left_out:], strict=True):
            if outcome.compared != seen[index]:
                needs[index].append(left_out)
    exchangeable = []
    for first in range(count - 1):
        order = list(range(count))
        order[first], order[first + 1] = order[first + 1], order[first]
        exchanged = run(order)
        same = [seen[index] == outcome.compared for index, outcome in zip(order, exchanged.outcomes, strict=True)]
        exchangeable.append(exchanged.final_sha256 == execution.final_sha256 and all(same))
    return Reruns(tuple(map(tuple, needs)), tuple(leaves_trace), tuple(exchangeable))


def explain(execution: Execution, reruns: Reruns, question: str) -> Dependencies:
    """Return what each call depends on. ``question`` decides which values need a source."""
    value_from = tuple(tuple(sources_of(execution, index, question)) for index in range(len(execution.outcomes)))
    order_forced = tuple(
        not exchangeable or first in value_from[first + 1] for first, exchangeable in enumerate(reruns.exchangeable)
    )
    return Dependencies(reruns.needs, value_from, reruns.leaves_trace, order_forced)


def sources_of(execution: Execution, index: int, question: str) -> list[int]:
    """Return the earlier calls whose result holds a value of this call that the question does not."""
    wanted = [
        value
        for value in _values(execution.outcomes[index].arguments)
        if not isinstance(value, _Key) and not _is_in_question(value, question)
    ]
    return [
        earlier
        for earlier in range(index)
        if any(_holds(found, value) for found in _values(execution.outcomes[earlier].result) for value in wanted)
    ]


def values_without_source(execution: Execution, index: int, question: str, initial_state: Any) -> list[Any]:
    """Return values of a call that neither the question, nor the initial state, nor an earlier result holds.

    Whether such a value is right only a reader can tell: the question may say “twice”, or it may be made up.
    """
    found = [initial_state, *(outcome.result for outcome in execution.outcomes[:index])]
    known = [value for one in found for value in _values(one)]
    return [
        value
        for value in _values(execution.outcomes[index].arguments)
        if not isinstance(value, _Key | Mapping | list)
        and not _is_in_question(value, question)
        and not any(_holds(one, value) for one in known)
    ]


class _Key(str):
    """The key of an object in a result."""

    __slots__ = ()


def _values(value: Any) -> Iterator[Any]:
    """Yield the value and all values in it, without empty ones, truth values and null; keys as ``_Key``."""
    if isinstance(value, Mapping):
        if value:
            yield value
        for key, item in value.items():
            yield _Key(key)
            yield from _values(item)
    elif isinstance(value, list):
        if value:
            yield value
        for item in value:
            yield from _values(item)
    elif value is not None and not isinstance(value, bool) and value != "":
        yield value


def _is_in_question(value: Any, question: str) -> bool:
    return not isinstance(value, dict | list) and str(value) in question


def _holds(found: Any, value: Any) -> bool:
    """Return whether a value of a result is the value of a call, or a text that contains it."""
    if isinstance(value, str):
        return isinstance(found, str) and (value == found or (len(value) >= SHORTEST_WITHIN and value in found))
    if isinstance(value, Mapping | list):
        return type(found) is type(value) and canonical(found) == canonical(value)
    if isinstance(found, _Key):
        return str(value) == found
    return not isinstance(found, str | Mapping | list) and bool(found == value)
