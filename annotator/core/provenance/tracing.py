"""The complete provenance of a document as data, for pages and notebooks: all sources of all values."""

from dataclasses import dataclass
from typing import Any

from annotator.core.graph.dag import positions
from annotator.core.provenance.edges import Suggestion, missing, suggestions, unsupported
from annotator.core.provenance.information import InformationEvidence, LongRangeRule, evidence
from annotator.core.provenance.scope import DocumentScope, SearchTarget, SourceKind, anchor_below
from annotator.core.provenance.search_targets import Hit, Observation, Quality
from annotator.core.provenance.value_forms import Forms
from annotator.core.provenance.value_search import Finder, Found, Origin
from annotator.core.schema.toolsets import CompiledToolset

#: Sources returned for one value; the nearest come first.
MAX_SOURCES = 40
#: Origins of values that were searched for everywhere and not found, or were not searched for.
_NO_SOURCE = frozenset({Origin.NOWHERE, Origin.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Source:
    """One place where a value is visible before its call.

    ``anchor`` names a text or an observation of the document by ids, as findings do (/tasks/t1/user_message,
    /context/2/content, /tasks/t1/steps/s0/observation); for kinds default and enum it is a pointer into the tool
    instead (/searchHotels/parameters/properties/board/enum). ``path``: JSON pointer below the observation, "" for its
    root; None for texts. ``span``: (start, end) in characters of the text at the anchor, or of the value at the path
    (of a number: of the number as written in JSON); None for the schema. ``step`` is the id of the step whose
    observation or reply it is, "" for others; ``task`` the id of the task it belongs to, None outside tasks.
    """

    kind: SourceKind
    anchor: str
    span: tuple[int, int] | None
    path: str | None
    quality: Quality
    task: str | None = None
    step: str = ""


@dataclass(frozen=True, slots=True)
class ArgumentTrace:
    """One text or number below a call's arguments. ``path``: keys and indexes below them; ``reason``: why the value may
    be inferred, if given. ``origin``: the nearest kind of source (see Origin); "nowhere" is what the check
    provenance.no_source warns of. ``sources``: the nearest first; empty if the value is common or found nowhere.
    """

    anchor: str
    path: tuple[str | int, ...]
    value: str | int | float
    origin: Origin
    reason: str | None
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class CallTrace:
    """One call, with its values in document order."""

    step: str
    anchor: str
    name: str
    arguments: tuple[ArgumentTrace, ...]


@dataclass(frozen=True, slots=True)
class TaskTrace:
    """One task: its calls, the dependencies that its values suggest but its graph lacks, those that no value supports
    (pairs: id of a step, id of the step it depends on), and those that are certainly missing.
    """

    id: str
    index: int
    calls: tuple[CallTrace, ...]
    suggestions: tuple[Suggestion, ...]
    missing: tuple[Suggestion, ...]
    unsupported: tuple[tuple[str, str], ...]
    information: InformationEvidence


@dataclass(frozen=True, slots=True)
class Provenance:
    """The sources of a document's argument values."""

    tasks: tuple[TaskTrace, ...]

    def task(self, task_id: str) -> TaskTrace | None:
        """Return the task with this id; None if there is none."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def call(self, task_id: str, step_id: str) -> CallTrace | None:
        """Return one call of a task; None if there is none."""
        task = self.task(task_id)
        return next((call for call in task.calls if call.step == step_id), None) if task else None

    def argument(self, anchor: str) -> ArgumentTrace | None:
        """Return the value at an anchor such as /tasks/t1/steps/s0/arguments/city; None if there is no text
        or number.
        """
        found = (one for task in self.tasks for call in task.calls for one in call.arguments)
        return next((one for one in found if one.anchor == anchor), None)


def trace(
    document: dict[str, Any],
    toolset: CompiledToolset,
    *,
    long_range_rule: LongRangeRule = "c3",
    only_task: str | None = None,
) -> Provenance:
    """Return the provenance of a validated document (see ``read_document``), which is not changed.

    ``only_task``: the id of the one task to trace; earlier tasks are still searched.
    """
    finder = Finder(DocumentScope(document, toolset))
    return Provenance(
        tuple(
            _trace_task(finder, index, long_range_rule)
            for index, task in enumerate(finder.scope.tasks)
            if only_task is None or task.task["id"] == only_task
        )
    )


def suggest_edges(document: dict[str, Any], toolset: CompiledToolset, task_id: str) -> list[Suggestion]:
    """Return the dependencies that the values of one task suggest but its graph lacks; see ``edges.suggestions``.

    Raises KeyError if the document has no such task.
    """
    finder = Finder(DocumentScope(document, toolset))
    return suggestions(finder, _index(finder, task_id))


def evidence_for_information(
    document: dict[str, Any], toolset: CompiledToolset, task_id: str, *, long_range_rule: LongRangeRule = "c3"
) -> InformationEvidence:
    """Return the evidence about the information label of one task. Raises KeyError if there is no such task."""
    finder = Finder(DocumentScope(document, toolset))
    return evidence(finder, _index(finder, task_id), long_range_rule)


def _index(finder: Finder, task_id: str) -> int:
    for index, task in enumerate(finder.scope.tasks):
        if task.task["id"] == task_id:
            return index
    raise KeyError(task_id)


def _trace_task(finder: Finder, index: int, rule: LongRangeRule) -> TaskTrace:
    task = finder.scope.tasks[index]
    values = finder.values(index)
    calls = tuple(
        CallTrace(
            call.step["id"],
            call.anchor,
            call.step["name"],
            tuple(_trace_value(finder, index, found) for found in values if found.call is call),
        )
        for call in task.calls
    )
    return TaskTrace(
        id=task.task["id"],
        index=index,
        calls=calls,
        suggestions=tuple(suggestions(finder, index)),
        missing=tuple(missing(finder, index)),
        unsupported=tuple((call.step["id"], needed) for call, needed in unsupported(finder, index)),
        information=evidence(finder, index, rule),
    )


def _trace_value(finder: Finder, index: int, found: Found) -> ArgumentTrace:
    call = found.call
    pointer = anchor_below("", found.path).removeprefix("/arguments")
    sources: list[Source] = []
    if found.origin not in _NO_SOURCE and not found.forms.common and not found.forms.written:
        content_words, _ = found.forms.tokens
        for target in _visible(finder, index, found):
            for forms in content_words if found.by_words else (found.forms,):
                sources += _sources(target, forms, by_words=found.by_words)
            if len(sources) >= MAX_SOURCES:
                break
        sources += [_source(target, hit) for target, hit in found.inferred]
        if found.given is not None:
            sources.append(Source(found.given.kind, found.given.anchor, None, None, Quality.EXACT))
    return ArgumentTrace(
        anchor=f"{call.anchor}/arguments{pointer}",
        path=found.path,
        value=found.forms.value,
        origin=found.origin,
        reason=call.reason_at(pointer),
        sources=tuple(sources[:MAX_SOURCES]),
    )


def _visible(finder: Finder, index: int, found: Found) -> list[SearchTarget]:
    """Return all places that the call can see, the nearest first."""
    task, sees = finder.scope.tasks[index], found.call.sees
    said = [target for position, target in task.said if sees >> position & 1]
    observed = [task.observations[position] for position in positions(sees) if position in task.observations]
    return [task.message, *said, *task.env, *reversed(observed), *reversed(finder.earlier(index))]


def _sources(target: SearchTarget, forms: Forms, *, by_words: bool) -> list[Source]:
    hits = target.body.hits(forms)
    return [_source(target, hit._replace(quality=Quality.INSIDE) if by_words else hit) for hit in hits]


def _source(target: SearchTarget, hit: Hit) -> Source:
    parts = target.anchor.split("/")
    task = parts[2] if parts[1] == "tasks" else None
    observed = target.kind in (SourceKind.OBSERVATION, SourceKind.EARLIER_OBSERVATION)
    whole_text = "" if observed and task is not None else None
    return Source(
        kind=target.kind,
        anchor=target.anchor,
        span=(hit.start, hit.end),
        path=hit.path if isinstance(target.body, Observation) else whole_text,
        quality=hit.quality,
        task=task,
        step=parts[4] if task is not None and len(parts) > 4 else "",
    )
