"""Calls that use values returned by other calls: suggested, missing and unsupported dependencies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from annotator.core.graph.dag import positions
from annotator.core.provenance.edge_certainty import affinity, is_certain, is_evidence, words_of
from annotator.core.provenance.scope import CallScope, SearchTarget, TaskScope, anchor_below, is_acknowledgement
from annotator.core.provenance.search_targets import Hit, Observation, Quality, Text
from annotator.core.provenance.value_forms import Forms
from annotator.core.provenance.value_search import Finder, Found, Origin
from annotator.core.provenance.work_budget import PLACE, Work


@dataclass(frozen=True, slots=True)
class Suggestion:
    """``step`` should depend on ``needs``, which returned the value of ``argument`` (an anchor) at ``path``.

    ``weak`` marks a value too common to be certain (see ``is_certain``), and a value that the other call had as an
    argument and only repeats. Offer weak suggestions one by one; do not accept them together with the others.
    """

    step: str
    needs: str
    argument: str
    path: str
    why: str
    weak: bool = False
    kind: str = "parameter"


@dataclass(frozen=True, slots=True)
class _Candidate:
    position: int
    target: SearchTarget
    hit: Hit
    affinity: float
    echo: bool = False
    certain: bool = False


def suggestions(finder: Finder, index: int) -> list[Suggestion]:
    """Return the dependencies that values of task number ``index`` suggest and its graph lacks, in document order.

    A value suggests a dependency if it appears in an observation of this task, but not in the user's words of this
    task, env_info, the schema's values or anything before the task. If several observations have it, the call is chosen
    by these rules, in this order: none if the call already depends on one of them; calls without the value among their
    arguments before calls that only repeat it; the path with the most words in common with the argument's name; whole
    values before parts of longer texts; the nearest.
    """
    task = finder.scope.tasks[index]
    made: dict[tuple[str, str], Suggestion] = {}
    blocked = _Reachable(task, finder.scope.work)
    for found in finder.values(index):
        for forms in _flowing(found):
            chosen = _choose(task, found, forms, blocked)
            if chosen is None:
                continue
            key = (found.call.step["id"], chosen.target.step)
            doubtful = chosen.echo or not chosen.certain
            if key in made and made[key].weak <= doubtful:
                continue
            made[key] = _suggest(task, found, forms, chosen, weak=doubtful)
            blocked.add(found.call.position, chosen.position)
    order = {step["id"]: position for position, step in enumerate(task.steps)}
    return sorted(made.values(), key=lambda one: (order[one.step], order[one.needs]))


def missing(finder: Finder, index: int) -> list[Suggestion]:
    """Return the suggestions that are certain enough for a warning: not weak, of calls with annotated dependencies."""
    task = finder.scope.tasks[index]
    if len(task.calls) < 2 or task.reading.graph is None:
        return []
    if not any(
        found.observed & ~found.call.above for found in finder.values(index) if found.origin is Origin.OBSERVATION
    ):
        return []
    known = {call.step["id"] for call in task.calls if call.knows}
    return [one for one in suggestions(finder, index) if not one.weak and one.step in known]


def unsupported(finder: Finder, index: int) -> Iterator[tuple[CallScope, str]]:
    """Return pairs (call, id of a needed call) of parameter dependencies through which no value can have come.

    Skips dependencies for which this cannot be known: the observation is missing, empty or only an acknowledgement; an
    argument has no other source (inferred, chosen from an enum, found nowhere) and may follow from that observation; or
    not every value was searched for.
    """
    task = finder.scope.tasks[index]
    if len(task.calls) < 2 or task.reading.graph is None:
        return
    targets = {target.step: target for target in task.observations.values()}
    held: dict[int, list[Found]] = {}
    for found in finder.values(index):
        held.setdefault(found.call.position, []).append(found)
    for call in task.calls:
        for needed in call.step["depends_on"] or ():
            target = targets.get(needed["id"])
            if needed["kind"] != "parameter" or target is None or needed["id"] == call.step["id"]:
                continue
            if not call.arguments or call.cut or is_acknowledgement(_observation(task, target)):
                continue
            carries = any(_supports(found, target) for found in held.get(call.position, ()))
            if not carries and not finder.scope.work.spent:
                yield call, needed["id"]


_OPEN = frozenset({Origin.INFERABLE, Origin.SCHEMA, Origin.NOWHERE, Origin.UNKNOWN, Origin.WRITTEN})


def _supports(found: Found, target: SearchTarget) -> bool:
    if found.origin in _OPEN or target.step in found.derived or target.body.has(found.forms):
        return True
    content_words, _ = found.forms.tokens
    return any(target.body.has(forms) for forms in content_words)


def _observation(task: TaskScope, target: SearchTarget) -> Any:
    return next(step["observation"] for step in task.steps if step["id"] == target.step)


def _flowing(found: Found) -> Iterator[Forms]:
    """Return the parts of a value that can only come from an observation of its task."""
    if found.origin is Origin.COMMON:
        if found.forms.number is not None:
            yield found.forms
    elif found.observed and found.exchange < 0:
        if found.by_words:
            yield from found.forms.tokens[1]
        else:
            yield found.forms


def _choose(task: TaskScope, found: Found, forms: Forms, blocked: "_Reachable") -> _Candidate | None:
    """Return the call to take the value from. Calls that would close a cycle are skipped."""
    call = found.call
    if task.message.body.has(forms) or any(target.body.has(forms) for target in task.env):
        return None
    if forms is not found.forms and any(
        call.sees >> position & 1 and target.body.has(forms) for position, target in task.said
    ):
        return None
    candidates = []
    name = _name(found)
    for position in positions(call.sees):
        target = task.observations.get(position)
        if target is None:
            continue
        if target.step in found.derived:
            hit = found.derived[target.step].hit
            best: tuple[Hit, float] | None = (hit, affinity(name, hit.path or ""))
        elif target.body.has(forms):
            best = _best(target, forms, name, common=found.origin is Origin.COMMON)
        else:
            continue
        if best is None:
            continue
        if call.above >> position & 1:
            return None
        if blocked.would_circle(call.position, position):
            continue
        candidates.append(_Candidate(position, target, *best, echo=_takes(task, position, forms, blocked.work)))
    if not candidates:
        return None
    chosen = max(candidates, key=_preference)
    if found.origin is Origin.COMMON:
        return chosen
    only = len(candidates) == 1
    if found.derived:
        return replace(chosen, certain=only and found.derived[chosen.target.step].named)
    shown = _shown(chosen)
    return replace(chosen, certain=is_certain(forms, name, chosen.hit, chosen.affinity, shown, only=only))


def _shown(one: _Candidate) -> str:
    """Return the text in which the value was found."""
    body = one.target.body
    return body.text_at(one.hit.path or "") if isinstance(body, Observation) else body.raw


def _preference(one: _Candidate) -> tuple[bool, float, bool, bool, int]:
    return (not one.echo, one.affinity, one.hit.whole, one.hit.quality is Quality.EXACT, one.position)


def _best(target: SearchTarget, forms: Forms, name: frozenset[str], *, common: bool) -> tuple[Hit, float] | None:
    """Return the best hit in one observation, and how well its keys match the argument's name."""
    best: tuple[Hit, float] | None = None
    for hit in target.body.hits(forms):
        fit = affinity(name, hit.path or "")
        if is_evidence(forms, hit, fit, common=common) and (
            best is None or (fit, hit.whole) > (best[1], best[0].whole)
        ):
            best = hit, fit
    return best


def _takes(task: TaskScope, position: int, forms: Forms, work: Work) -> bool:
    """Return whether a call has the value among its own arguments, so that its observation may only repeat it."""
    call = next(call for call in task.calls if call.position == position)
    for _, value in call.leaves:
        if value == forms.value:
            return True
        if not work.spend(PLACE):
            return False
        if isinstance(value, str) and len(value) >= len(forms.folded) and Text(value, work=work).has(forms):
            return True
    return False


def _name(found: Found) -> frozenset[str]:
    return words_of("/".join(step for step in found.path if isinstance(step, str)))


def _suggest(task: TaskScope, found: Found, forms: Forms, chosen: _Candidate, *, weak: bool) -> Suggestion:
    call = found.call
    needed = chosen.target.step
    tool = next(step["name"] for step in task.steps if step["id"] == needed)
    path = chosen.hit.path or ""
    shown = str(forms.value)
    shown = shown if len(shown) <= 60 else f"{shown[:59]}…"
    where = f" at {path}" if path else ""
    return Suggestion(
        step=call.step["id"],
        needs=needed,
        argument=anchor_below(call.anchor, found.path),
        path=path,
        why=f"{needed} ({tool}) returned “{shown}”{where}.",
        weak=weak,
    )


class _Reachable:
    """Rejects dependencies that would close a cycle with the graph and the suggestions so far."""

    __slots__ = ("_above", "work")

    def __init__(self, task: TaskScope, work: Work) -> None:
        self.work = work
        graph = task.reading.graph
        self._above = list(graph.ancestors) if graph is not None else [0] * len(task.steps)

    def would_circle(self, position: int, needed: int) -> bool:
        return position == needed or bool(self._above[needed] >> position & 1)

    def add(self, position: int, needed: int) -> None:
        gained = self._above[needed] | 1 << needed
        for other, mask in enumerate(self._above):
            if other == position or mask >> position & 1:
                self._above[other] = mask | gained
