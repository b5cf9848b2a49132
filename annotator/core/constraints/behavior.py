"""Behavior constraints: the order of calls, and calls in the same round (paper, 3.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import Field

from annotator.core.constraints.model import Ceiling, Constraint, Count, Dimension, Parameters, ToolName
from annotator.core.constraints.rounds import UNTOUCHED, Breach, Consequence, Judgement, Limits, Past, Round
from annotator.core.constraints.taxonomy import Category, register
from annotator.core.constraints.wording import above, named, ranged
from annotator.core.wording import counted

#: Limits on the tools in one chain or group, and in a whole case, because the work grows faster than their number. The
#: longest published chain has 27 tools; the largest published case has 178.
MAX_CHAIN = 50
MAX_NAMED = 500
Chain = Annotated[list[ToolName], Field(min_length=2, max_length=MAX_CHAIN)]
Group = Annotated[list[ToolName], Field(min_length=1, max_length=MAX_CHAIN)]


def named_too_often(constraints: Sequence[Constraint]) -> tuple[int, str] | None:
    """Return the first constraint with chains or groups, and a sentence, if they name too many tools in total."""
    counts = [sum(map(_named, (each.parameters, *(one.parameters for one in each.variants)))) for each in constraints]
    if sum(counts) <= MAX_NAMED:
        return None
    told = (
        f"The chains and groups of the constraints name {sum(counts):,} tools. The limit is {MAX_NAMED}. Shorten them."
    )
    return next(i for i, count in enumerate(counts) if count), told


def _named(parameters: Mapping[str, Any] | None) -> int:
    lists = [(parameters or {}).get(name) for name in ("order_constraints", "parallel_groups")]
    return sum(len(row) for rows in lists if isinstance(rows, list) for row in rows if isinstance(row, list))


def tools_in(parameters: Parameters | None) -> set[str]:
    """Return the tools in chains and groups."""
    if isinstance(parameters, OrderChains):
        return set(chain.from_iterable(parameters.order_constraints))
    return set(chain.from_iterable(parameters.parallel_groups)) if isinstance(parameters, ParallelGroups) else set()


class OrderChains(Parameters):
    """Each chain lists tools in the order of their calls."""

    order_constraints: list[Chain] = Field(
        default_factory=list, title="Tools in the order of their calls", json_schema_extra={"row": "Chain"}
    )

    def before(self, tool: str) -> tuple[str, ...]:
        """Return every tool that comes before ``tool`` in a chain, each once."""
        return tuple(self._before.get(tool, ()))

    @cached_property
    def _before(self) -> Mapping[str, Mapping[str, None]]:
        found: dict[str, dict[str, None]] = {}
        for names in self.order_constraints:
            for i, name in enumerate(names):
                found.setdefault(name, {}).update(dict.fromkeys(names[:i]))
        return found


@register
class SequentialDependencies(Category[OrderChains]):
    """A tool may be called only when all tools before it in a chain have been called, in earlier rounds."""

    id = "sequential dependencies"
    dimension = Dimension.BEHAVIOR
    labels = (("Tool", "Tool Order"),)
    model = OrderChains

    def usual(self, tools: Sequence[str]) -> dict[str, Any]:
        return {"order_constraints": [list(tools[:2])] if len(tools) > 1 else []}

    def sentence(self, parameters: OrderChains) -> str:
        chains = "; ".join(", then ".join(names) for names in parameters.order_constraints)
        return f"Call in this order, each in a later round: {chains}." if chains else "Call tools in any order."

    def judge(self, parameters: OrderChains, past: Past, round_: Round) -> Judgement:
        breaches, applies = [], False
        for i, call in enumerate(round_.calls):
            needed = parameters.before(call.name)
            applies = applies or bool(needed)
            missing = [name for name in needed if not past.per_tool[name]]
            if missing:
                told = f"{call.name} was rejected: first call {named(missing)}, in an earlier round."
                breaches.append(Breach("TOOL ORDER", i, told, Consequence.REJECTED))
        return Judgement(applies, tuple(breaches))

    def limits(self, parameters: OrderChains, past: Past) -> Limits:
        awaited = {
            name: missing
            for name in self.tools(parameters)
            if (missing := tuple(each for each in parameters.before(name) if not past.per_tool[each]))
        }
        return Limits(awaited=awaited)

    def tools(self, parameters: OrderChains) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain.from_iterable(parameters.order_constraints)))


class ParallelGroups(Parameters):
    """Each group lists tools called in one round; a tool listed twice is called twice. Groups that share a tool are
    alternatives for it.
    """

    parallel_groups: list[Group] = Field(
        default_factory=list, title="Tools called in one round", json_schema_extra={"row": "Group"}
    )

    def of(self, tool: str) -> list[list[str]]:
        """Return the groups that ``tool`` belongs to."""
        return self._of.get(tool, [])

    @cached_property
    def _of(self) -> Mapping[str, list[list[str]]]:
        found: dict[str, list[list[str]]] = {}
        for group in self.parallel_groups:
            for name in dict.fromkeys(group):
                found.setdefault(name, []).append(group)
        return found


@register
class ParallelDependencies(Category[ParallelGroups]):
    """A tool of a group may be called only in a round that calls all tools of one of its groups."""

    id = "parallel dependencies"
    dimension = Dimension.BEHAVIOR
    labels = (("Tool", "Tool Parallel"),)
    model = ParallelGroups

    def usual(self, tools: Sequence[str]) -> dict[str, Any]:
        return {"parallel_groups": [list(tools[:2])] if tools else []}

    def sentence(self, parameters: ParallelGroups) -> str:
        groups = [named(group) for group in parameters.parallel_groups]
        return (
            f"Call in one round: {'; '.join(groups)}." if groups else "Call tools together or separately, as you like."
        )

    def judge(self, parameters: ParallelGroups, past: Past, round_: Round) -> Judgement:
        now = Counter(round_.names)
        breaches, applies = [], False
        for i, call in enumerate(round_.calls):
            groups = parameters.of(call.name)
            applies = applies or bool(groups)
            if groups and all(Counter(group) - now for group in groups):
                choices = ", or ".join(named(group) for group in groups)
                told = f"{call.name} was rejected: call {choices} together in one round."
                breaches.append(Breach("TOOL PARALLEL", i, told, Consequence.REJECTED))
        return Judgement(applies, tuple(breaches))

    def limits(self, parameters: ParallelGroups, past: Past) -> Limits:
        return Limits(
            together={name: tuple(tuple(group) for group in parameters.of(name)) for name in self.tools(parameters)}
        )

    def tools(self, parameters: ParallelGroups) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain.from_iterable(parameters.parallel_groups)))


class ParallelBounds(Parameters):
    """Calls in one round: different tools (``type``) or calls (``num``). One round must reach the minimum, none may
    exceed the maximum.
    """

    min_parallelCallTypes: Count = Field(0, title="At least, in one round")
    max_parallelCallTypes: Ceiling = Field("inf", title="At most, in any round")
    unit: Literal["type", "num"] = Field(
        "type", title="What is counted", json_schema_extra={"words": {"type": "different tools", "num": "calls"}}
    )


@register
class ParallelCallsCount(Category[ParallelBounds]):
    """How many calls may run in parallel, and how many must run in parallel at least once."""

    id = "parallel calls count"
    dimension = Dimension.BEHAVIOR
    labels = (("Interact", "Parallel Calls"),)
    model = ParallelBounds

    def usual(self, tools: Sequence[str]) -> dict[str, Any]:
        return {"min_parallelCallTypes": 0, "max_parallelCallTypes": 3, "unit": "type"}

    def sentence(self, parameters: ParallelBounds) -> str:
        noun = _noun(parameters)
        low, high = parameters.min_parallelCallTypes, parameters.max_parallelCallTypes
        parts = []
        if low:
            parts.append(f"{ranged(low, 'inf', noun)} in at least one round")
        if isinstance(high, int):
            parts.append(f"{ranged(0, high, noun)} in any round")
        return f"Call {' and '.join(parts)}." if parts else f"Call any number of {noun}s in parallel."

    def judge(self, parameters: ParallelBounds, past: Past, round_: Round) -> Judgement:
        if round_.final is not None:
            owed = self.open(parameters, past)
            if not owed:
                return Judgement()
            told = f"{owed} Do so before you answer."
            return Judgement(breaches=(Breach("MIN PARALLEL CALLS", None, told, Consequence.RETURNED),))
        breaches = []
        kinds: set[str] = set()
        for i, call in enumerate(round_.calls):
            kinds.add(call.name)
            if above(len(kinds) if parameters.unit == "type" else i + 1, parameters.max_parallelCallTypes):
                most = counted(int(parameters.max_parallelCallTypes), _noun(parameters))
                told = f"This call to {call.name} was ignored: at most {most} may be called in one round."
                breaches.append(Breach("MAX PARALLEL CALLS", i, told, Consequence.IGNORED))
        return Judgement(breaches=tuple(breaches)) if round_.calls else UNTOUCHED

    def open(self, parameters: ParallelBounds, past: Past) -> str:
        widest = past.widest_types if parameters.unit == "type" else past.widest_calls
        if widest >= parameters.min_parallelCallTypes:
            return ""
        return (
            f"One round must call at least {counted(parameters.min_parallelCallTypes, _noun(parameters))} in parallel."
        )

    def limits(self, parameters: ParallelBounds, past: Past) -> Limits:
        high = parameters.max_parallelCallTypes
        if not isinstance(high, int):
            return Limits()
        return Limits(kinds_at_once=high) if parameters.unit == "type" else Limits(at_once=high)


def _noun(parameters: ParallelBounds) -> str:
    return "different tool" if parameters.unit == "type" else "tool"
