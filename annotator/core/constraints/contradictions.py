"""Constraints that cannot be satisfied together, whatever the task."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice

from annotator.core.constraints.behavior import OrderChains, ParallelBounds, ParallelGroups
from annotator.core.constraints.case import Case
from annotator.core.constraints.demands import Demands, read_demands
from annotator.core.constraints.model import Parameters
from annotator.core.constraints.resource import CallBounds, CallsPerTool, RoundBounds
from annotator.core.constraints.response import LengthBounds
from annotator.core.constraints.wording import above, named
from annotator.core.findings import Finding
from annotator.core.wording import counted

ID = "constraint.contradiction"
#: Contradictions reported for one case. The number of pairs grows with the square of the constraints.
MAX_FINDINGS = 100
#: Required beginnings or endings of one constraint that are compared.
_MAX_ENDS = 5
_BOUNDS: dict[type[Parameters], tuple[str, str]] = {
    RoundBounds: ("min_round", "max_round"),
    CallBounds: ("min_callTimes", "max_callTimes"),
    ParallelBounds: ("min_parallelCallTypes", "max_parallelCallTypes"),
    LengthBounds: ("min_responseLength", "max_responseLength"),
}


def contradictions(case: Case) -> Iterator[Finding]:
    """Yield contradictions within a constraint and between two, up to a limit; reported at the later one."""
    yield from islice(_all(case), MAX_FINDINGS)


def _all(case: Case) -> Iterator[Finding]:
    yield from _bounds(case)
    yield from _resources(case)
    yield from _orders(case)
    yield from _groups(case)
    yield from _responses(case)


def _bounds(case: Case) -> Iterator[Finding]:
    """Yield each minimum above a maximum, in one constraint or two of the same kind (a word takes two characters)."""
    for model, (low_name, high_name) in _BOUNDS.items():
        found = case.of(model)
        for i, one in found:
            for j, other in found:
                low, high = getattr(one, low_name), getattr(other, high_name)
                units = getattr(one, "unit", ""), getattr(other, "unit", "")
                if units == ("words", "characters"):
                    low = max(0, 2 * low - 1)
                elif units[0] != units[1]:
                    continue
                if above(low, high):
                    wants = f"requires at least {getattr(one, low_name)}{_unit(units[0])}"
                    allows = f"allows at most {high}{_unit(units[1])}"
                    yield _pair(case, i, j, wants, allows)


def _resources(case: Case) -> Iterator[Finding]:
    for i, calls in case.of(CallBounds):
        for j, rounds in case.of(RoundBounds):
            # Every round except the final response makes a call.
            if above(rounds.min_round - 1, calls.max_callTimes):
                wants = f"requires {rounds.min_round} rounds, so at least {rounds.min_round - 1} calls"
                yield _pair(case, j, i, wants, f"allows {calls.max_callTimes}")
            if calls.min_callTimes and above(2, rounds.max_round):
                wants, allows = "requires a tool call", "leaves no round for a call besides the final response"
                yield _pair(case, i, j, wants, allows)
        for j, bounds in case.of(ParallelBounds):
            if above(bounds.min_parallelCallTypes, calls.max_callTimes):
                wants = f"requires {bounds.min_parallelCallTypes} parallel calls"
                yield _pair(case, j, i, wants, f"allows {calls.max_callTimes} in total")
            for k, rounds in case.of(RoundBounds):
                most, last = bounds.max_parallelCallTypes, rounds.max_round
                if bounds.unit == "num" and isinstance(most, int) and isinstance(last, int):
                    room = most * max(0, last - 1)
                    if calls.min_callTimes > room:
                        later = max(i, j, k)
                        told = (
                            f"{_name(case, i, later)} requires {calls.min_callTimes} calls, but "
                            f"{_name(case, j, later)} and {_name(case, k, later)} leave room for {room}. "
                            "Change one of them."
                        )
                        yield case.finding(ID, later, _capital(told))


def _orders(case: Case) -> Iterator[Finding]:
    found = case.of(OrderChains)
    needs: dict[str, set[str]] = {}
    for _, order in found:
        for chain in order.order_constraints:
            for name in chain:
                needs.setdefault(name, set()).update(order.before(name))
    circle = _circle(needs)
    if circle:
        told = f"The order is a cycle ({' → '.join([*circle, circle[0]])}), so none of these tools can be called."
        yield case.finding(ID, found[-1][0], told)
    for i, order in found:
        for j, parallel in case.of(ParallelGroups):
            for group in _distinct(parallel.parallel_groups):
                clash = next((pair for pair in combinations(sorted(set(group)), 2) if _ordered(order, *pair)), None)
                # With another group of its own, the tool can be called without this one.
                if clash and all(set(clash) <= set(other) for name in clash for other in parallel.of(name)):
                    later = max(i, j)
                    told = (
                        f"{_name(case, i, later)} puts one of {named(clash)} in an earlier round than the other, but "
                        f"{_name(case, j, later)} allows both only in one round. Neither can be called without "
                        "violating one of them."
                    )
                    yield case.finding(ID, later, _capital(told))


def _groups(case: Case) -> Iterator[Finding]:
    for i, parallel in case.of(ParallelGroups):
        limits = [
            *((j, calls.max_callTimes, False) for j, calls in case.of(CallBounds)),
            *((j, each.max_parallelCallTypes, each.unit == "type") for j, each in case.of(ParallelBounds)),
        ]
        for group in _distinct(parallel.parallel_groups):
            if len(set(group)) == 1 and len(group) == 1:
                continue
            alone = all(len(parallel.of(name)) == 1 for name in set(group))
            for j, most, kinds in limits:
                size = len(set(group)) if kinds else len(group)
                if alone and above(size, most):
                    wants, allows = f"requires {named(group)} in parallel", f"allows at most {most}"
                    yield _pair(case, i, j, wants, allows)
            for j, per_tool in case.of(CallsPerTool):
                for name, times in Counter(group).items():
                    most = per_tool.max_calls_per_tool.get(name, "inf")
                    if alone and above(times, most):
                        wants, allows = (
                            f"requires {counted(times, 'call')} of {name} in parallel",
                            f"allows at most {most}",
                        )
                        yield _pair(case, i, j, wants, allows)


def _responses(case: Case) -> Iterator[Finding]:
    read: list[tuple[int, Demands]] = []
    for i, constraint in enumerate(case.constraints):
        if constraint.category in ("format", "content") or case.parameters[i] is None:
            read.append((i, read_demands(constraint.text or "")))
    for n, (i, one) in enumerate(read):
        for j, other in read[n:]:
            told = _clash(one, other) or _clash(other, one)
            if told and i == j:
                yield case.finding(ID, i, f"This constraint contradicts itself: {told}. Change one of its parts.")
            elif told:
                yield case.finding(
                    ID, j, f"This constraint contradicts {_name(case, i, j)}: {told}. Change one of them."
                )


_NAMES = {"json": "JSON", "markdown": "Markdown", "table": "a table", "bullets": "a list of bullets"}


def _clash(one: Demands, other: Demands) -> str:
    if one.form == "json":
        for end in other.ends:
            if end[-1] not in "}]":
                return f"a response that is JSON as a whole cannot end with “{end}”"
        for start in other.starts:
            if start[0] not in "{[":
                return f"a response that is JSON as a whole cannot begin with “{start}”"
        if other.form not in ("", "json"):
            return f"a response that is JSON as a whole cannot be {_NAMES[other.form]}"
    for mine in one.ends[:_MAX_ENDS]:
        for end in other.ends[:_MAX_ENDS]:
            if not (_letters(mine).endswith(_letters(end)) or _letters(end).endswith(_letters(mine))):
                return f"a response cannot end with both “{mine}” and “{end}”"
    for mine in one.starts[:_MAX_ENDS]:
        for start in other.starts[:_MAX_ENDS]:
            if not (mine.startswith(start) or start.startswith(mine)):
                return f"a response cannot begin with both “{mine}” and “{start}”"
    return ""


def _letters(text: str) -> str:
    return "".join(text.split())


def _ordered(order: OrderChains, one: str, other: str) -> bool:
    return other in order.before(one) or one in order.before(other)


def _distinct(groups: list[list[str]]) -> list[list[str]]:
    return [list(group) for group in dict.fromkeys(tuple(sorted(group)) for group in groups)]


def _circle(needs: dict[str, set[str]]) -> list[str]:
    """Return tools that wait for each other in a cycle; empty if there are none."""
    left = {name: set(before) for name, before in needs.items()}
    while free := [name for name, before in left.items() if not any(each in left for each in before)]:
        for name in free:
            del left[name]
    if not left:
        return []
    walk = [min(left)]
    while True:
        following = min(left[walk[-1]] & left.keys())
        if following in walk:
            # From the required tool to the one that needs it, as chains are written.
            return walk[walk.index(following) :][::-1]
        walk.append(following)


def _pair(case: Case, one: int, other: int, wants: str, allows: str) -> Finding:
    if one == other:
        return case.finding(ID, one, f"This constraint {wants}, but {allows}. Change one of the bounds.")
    later = max(one, other)
    told = f"{_name(case, one, later)} {wants}, but {_name(case, other, later)} {allows}. Change one of them."
    return case.finding(ID, later, _capital(told))


def _name(case: Case, position: int, later: int) -> str:
    """Return how a finding at the constraint ``later`` names a constraint."""
    if position == later:
        return "this constraint"
    return f"constraint {position + 1} ({case.constraints[position].category or 'no category'})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _unit(unit: str) -> str:
    return f" {unit}" if unit in ("words", "characters") else ""
