"""Check whether a case's constraints can be satisfied: together, in its scenario, and with the required calls.

``feasibility_findings`` runs every check here. All findings are errors, except those from prose: patterns read it and a
person decides, so they are warnings.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from annotator.core.constraints.anchoring import anchor_findings
from annotator.core.constraints.behavior import OrderChains, ParallelBounds, ParallelGroups, named_too_often, tools_in
from annotator.core.constraints.case import (
    MULTI_HOP,
    PARALLEL_MULTI_HOP,
    PARALLEL_SINGLE_HOP,
    SCENARIOS,
    SINGLE_HOP,
    Case,
)
from annotator.core.constraints.contradictions import contradictions
from annotator.core.constraints.resource import CallBounds, CallsPerTool, RoundBounds
from annotator.core.constraints.response import LengthBounds
from annotator.core.constraints.sentence_claims import named_tools, named_units, read_claim
from annotator.core.constraints.taxonomy import constraint_problems, find_category
from annotator.core.constraints.wording import above, named
from annotator.core.findings import Finding
from annotator.core.schema.value_words import closest
from annotator.core.wording import counted

__all__ = ["SCENARIOS", "Case", "feasibility_findings"]

_SCENARIO_NAMES = {
    SINGLE_HOP: "a single-hop case",
    PARALLEL_SINGLE_HOP: "a parallel single-hop case",
    MULTI_HOP: "a multi-hop case",
    PARALLEL_MULTI_HOP: "a parallel multi-hop case",
}
#: Missing tools reported for one constraint, or for one unsolved set.
MAX_UNKNOWN = 20
#: One round of calls for each hop, and the final response; several hops are at least two.
_ROUNDS = {SINGLE_HOP: 2, PARALLEL_SINGLE_HOP: 2, MULTI_HOP: 3, PARALLEL_MULTI_HOP: 3}


def feasibility_findings(case: Case) -> list[Finding]:
    """Return everything that prevents solving the case within its constraints, each finding once."""
    too_many = named_too_often(case.constraints)
    if too_many is not None:
        position, told = too_many
        return [*_unreadable(case), case.finding("constraint.unreadable", position, told)]
    found = [
        *_unreadable(case),
        *contradictions(case),
        *_scenario(case),
        *_solution(case),
        *_toolbox(case),
        *_unknown_tools(case),
        *_wording(case),
        *anchor_findings(case),
    ]
    return list(dict.fromkeys(found))


def _unreadable(case: Case) -> Iterator[Finding]:
    for i, constraint in enumerate(case.constraints):
        for problem in constraint_problems(constraint):
            below = f"{problem.pointer}: " if problem.pointer.count("/") > 1 else ""
            yield case.finding("constraint.unreadable", i, below + problem.message)


def _scenario(case: Case) -> Iterator[Finding]:
    """Yield violations of the paper's rules for adding constraints (3.2), and limits on rounds that do not fit the
    scenario.
    """
    check = "constraint.scenario"
    if case.scenario not in _ROUNDS:
        return
    where, needed = _SCENARIO_NAMES[case.scenario], _ROUNDS[case.scenario]
    for i, rounds in case.of(RoundBounds):
        if above(needed, rounds.max_round):
            most = counted(int(rounds.max_round), "round")
            told = (
                f"At most {most} are allowed, but {where} takes at least {needed}, including the answer. "
                "Raise the limit."
            )
            yield case.finding(check, i, told)
        if case.scenario in (SINGLE_HOP, PARALLEL_SINGLE_HOP) and rounds.min_round > needed:
            told = (
                f"At least {rounds.min_round} rounds are required, but {where} takes {needed}: one round of "
                "calls and the final response. Change the minimum to a maximum."
            )
            yield case.finding(check, i, told)
    if case.scenario in (SINGLE_HOP, PARALLEL_SINGLE_HOP):
        for i, order in case.of(OrderChains):
            if order.order_constraints:
                yield case.finding(check, i, f"{where.capitalize()} has no order of calls. Delete this constraint.")
    if case.scenario in (SINGLE_HOP, MULTI_HOP):
        for i in [i for model in (ParallelGroups, ParallelBounds) for i, _ in case.of(model)]:
            told = f"{where.capitalize()} has no parallel calls. Delete this constraint."
            yield case.finding(check, i, told)


def _solution(case: Case) -> Iterator[Finding]:
    """Compare the limits with the calls that the unsolved set requires, directly and indirectly."""
    check = "constraint.solution"
    if not case.unsolved_set:
        return
    needed = needed_calls(case)
    total = needed.total()
    for i, calls in case.of(CallBounds):
        if above(total, calls.max_callTimes):
            told = (
                f"At most {counted(int(calls.max_callTimes), 'call')} are allowed, but the solution "
                f"needs {total} ({_shares(needed)}). Raise the limit."
            )
            yield case.finding(check, i, told)
    for i, per_tool in case.of(CallsPerTool):
        for name, most in per_tool.max_calls_per_tool.items():
            if needed[name] > most:
                times = counted(most, "time")
                told = (
                    f"{name} may be called at most {times}, but the solution needs {needed[name]} "
                    "calls. Raise the limit."
                )
                yield case.finding(check, i, told)
    for i, bounds in case.of(ParallelBounds):
        if bounds.max_parallelCallTypes == 0 and total:
            told = f"No round may have a call, but the solution needs {total} ({_shares(needed)}). Raise the limit."
            yield case.finding(check, i, told)
    fewest = _fewest_rounds(case, needed)
    for i, rounds in case.of(RoundBounds):
        if above(fewest, rounds.max_round):
            told = (
                f"At most {counted(int(rounds.max_round), 'round')} are allowed, but the solution "
                f"needs {fewest}, including the answer. Raise the limit."
            )
            yield case.finding(check, i, told)


def _toolbox(case: Case) -> Iterator[Finding]:
    """Compare the constraints with the existing tools: enough different tools must exist for what is required."""
    check = "constraint.solution"
    if not case.tools:
        return
    for i, bounds in case.of(ParallelBounds):
        if bounds.unit == "type" and bounds.min_parallelCallTypes > len(set(case.tools)):
            wanted, there = bounds.min_parallelCallTypes, counted(len(set(case.tools)), "tool")
            told = f"{wanted} different tools are required in parallel, but the case has {there}. Lower the minimum."
            yield case.finding(check, i, told)
    limits: dict[str, int] = {}
    for _, per_tool in case.of(CallsPerTool):
        for name, most in per_tool.max_calls_per_tool.items():
            limits[name] = min(most, limits.get(name, most))
    if set(case.tools) <= limits.keys():
        room = sum(limits[name] for name in set(case.tools))
        for i, calls in case.of(CallBounds):
            if calls.min_callTimes > room:
                told = (
                    f"At least {counted(calls.min_callTimes, 'call')} are required, but the limits per tool "
                    f"allow only {room}. Change one of them."
                )
                yield case.finding(check, i, told)


def needed_calls(case: Case) -> Counter[str]:
    """Count the calls that a solution takes: one for each expected text, one for each tool that must come before, and
    whole groups if a tool can only be called in one.
    """
    needed: Counter[str] = Counter({name: len(texts) for name, texts in (case.unsolved_set or {}).items()})
    orders, groups = case.of(OrderChains), case.of(ParallelGroups)
    tied = {name for parameters in case.parameters for name in tools_in(parameters)}
    waiting = [name for name in needed if name in tied]
    for name in waiting:
        more = [Counter(dict.fromkeys(order.before(name), 1)) for _, order in orders]
        more += [Counter(own[0]) for _, parallel in groups if len(own := parallel.of(name)) == 1]
        for wanted in more:
            for each, times in wanted.items():
                if each not in needed:
                    waiting.append(each)
                needed[each] = max(needed[each], times)
    return +needed


def _fewest_rounds(case: Case, needed: Counter[str]) -> int:
    """Return the fewest rounds that the order and the limit on parallel calls allow, including the final response."""
    fewest = 0
    left: dict[str, set[str]] = {name: set() for name in needed}
    for _, order in case.of(OrderChains):
        for name in left.keys() & tools_in(order):
            left[name].update(order.before(name))
    while left:
        free = [name for name, before in left.items() if not any(each in left for each in before)]
        # Calls in a cycle have no depth; the cycle has its own finding.
        fewest = fewest + 1 if free else len(needed)
        for name in free or list(left):
            del left[name]
    for _, bounds in case.of(ParallelBounds):
        most = bounds.max_parallelCallTypes
        if isinstance(most, int) and most > 0:
            amount = needed.total() if bounds.unit == "num" else len(needed)
            fewest = max(fewest, -(-amount // most))
    return fewest + 1


def _unknown_tools(case: Case) -> Iterator[Finding]:
    if case.tools is None:
        return
    for i, constraint in enumerate(case.constraints):
        category, parameters = find_category(constraint.category), case.parameters[i]
        if category is None or parameters is None:
            continue
        unknown = (name for name in category.tools(parameters) if name not in case.tools)
        for name in islice(unknown, MAX_UNKNOWN):
            meant = closest(name, case.tools)
            hint = f" Did you mean {meant}?" if meant else ""
            yield case.finding("constraint.unknown_tool", i, f"The case has no tool {name}.{hint}")


def _wording(case: Case) -> Iterator[Finding]:
    """Yield the differences between the sentence and the parameters."""
    for i, constraint in enumerate(case.constraints):
        for told in _disagreements(case, i, constraint.text or ""):
            yield case.finding("constraint.wording", i, told, "warning")


def _disagreements(case: Case, position: int, text: str) -> Iterator[str]:
    parameters = case.parameters[position]
    claim = read_claim(text)
    match parameters:
        case RoundBounds(min_round=low, max_round=high) | CallBounds(min_callTimes=low, max_callTimes=high):
            pass
        case LengthBounds(min_responseLength=low, max_responseLength=high):
            units = named_units(text)
            if units and parameters.unit not in units:
                yield (
                    f"The text counts {named(sorted(units))}, but the parameters count {parameters.unit}. "
                    "Make them agree."
                )
        case ParallelBounds(min_parallelCallTypes=low, max_parallelCallTypes=high):
            pass
        case CallsPerTool(max_calls_per_tool=limits):
            wrong = sorted(most for most in set(limits.values()) if claim.highs and most not in claim.highs)
            if wrong:
                said = _numbers(claim.highs)
                yield f"The text says at most {said}, but the parameters say {_numbers(wrong)}. Make them agree."
            yield from _tool_disagreements(text, set(limits))
            return
        case OrderChains() | ParallelGroups():
            category = find_category(case.constraints[position].category)
            if category:
                yield from _tool_disagreements(text, set(category.tools(parameters)))
            return
        case _:
            return
    if claim.highs and high not in claim.highs:
        said = _numbers(claim.highs)
        yield f"The text says at most {said}, but the parameters {_ceiling(high)}. Make them agree."
    if claim.lows and low not in claim.lows and (low or min(claim.lows) > 1):
        yield f"The text says at least {_numbers(claim.lows)}, but the parameters say {low}. Make them agree."


def _tool_disagreements(text: str, tools: set[str]) -> Iterator[str]:
    said = named_tools(text)
    known = {tool.casefold() for tool in tools}
    strange = sorted(name for name in said if name.casefold() not in known)
    if strange and tools:
        yield f"The text names {named(strange)}, but the parameters do not. Make them agree."


def _shares(needed: Counter[str]) -> str:
    return named([f"{times} of {name}" for name, times in needed.items()])


def _ceiling(high: int | str) -> str:
    return f"say {high}" if isinstance(high, int) else "set no limit"


def _numbers(numbers: frozenset[int] | list[int]) -> str:
    return named([str(number) for number in sorted(numbers)], "or")
