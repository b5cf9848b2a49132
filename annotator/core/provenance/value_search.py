"""Find the nearest place where each value of a call is visible. The search stops at the first source."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from itertools import islice
from typing import Any

from annotator.core.graph.dag import positions
from annotator.core.provenance.derivations import Derived, derived
from annotator.core.provenance.named_codes import is_named, named_code
from annotator.core.provenance.number_words import Span
from annotator.core.provenance.relative_dates import Meant, day_of, days_meant, stays
from annotator.core.provenance.schema_values import Given, described_in, given_by_schema
from annotator.core.provenance.scope import (
    CallScope,
    DocumentScope,
    SearchTarget,
    SourceKind,
    TaskScope,
    text_of,
    text_size,
)
from annotator.core.provenance.search_targets import Body, Hit, Quality
from annotator.core.provenance.value_forms import Forms, forms_for
from annotator.core.provenance.work_budget import ITEM, LOOK
from annotator.core.schema.exact_json import pointer


class Origin(StrEnum):
    """Where a value is found, the nearest first.

    common: it needs no source. inferable: marked so. message: the user says it in this task. schema: the tool's schema
    gives it. env_info, reply (or a question asked), observation: of this task. earlier: only before this task. written:
    a long text that somebody composed. nowhere: not found. unknown: not found, but earlier content is missing.
    """

    COMMON = "common"
    INFERABLE = "inferable"
    MESSAGE = "message"
    SCHEMA = "schema"
    ENV_INFO = "env_info"
    REPLY = "reply"
    OBSERVATION = "observation"
    EARLIER = "earlier"
    WRITTEN = "written"
    NOWHERE = "nowhere"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Found:
    """One value and the nearest place where it is found.

    ``observed`` is a bitset of the visible steps of this task that returned it; filled only if the value is not found
    nearer. ``exchange`` and ``turn`` are those of the nearest earlier place; -1 if there is none. ``by_words``: only
    its words were found, one by one. ``inferred``: the places it follows from, if it is not found itself; ``derived``:
    those of them in observations of this task, by the step.
    """

    call: CallScope
    path: tuple[Any, ...]
    forms: Forms
    origin: Origin
    observed: int = 0
    exchange: int = -1
    turn: int = -1
    given: Given | None = None
    by_words: bool = False
    inferred: list[tuple[SearchTarget, Hit]] = field(default_factory=list)
    derived: dict[str, Derived] = field(default_factory=dict)


#: Searching for words from which a value follows takes this many times as long as searching for the value.
_BY_PATTERN = 16


class Finder:
    """Finds values in the places of one document and caches the results, task by task."""

    __slots__ = ("_days", "_ends", "_found", "scope")

    def __init__(self, scope: DocumentScope) -> None:
        self.scope = scope
        self._found: dict[int, list[Found]] = {}
        self._days: dict[tuple[str, date], list[Meant]] = {}
        # Number of earlier places before each task.
        self._ends: list[int] = []
        at = 0
        for task in scope.tasks:
            while at < len(scope.earlier) and scope.earlier[at].exchange < task.exchange:
                at += 1
            self._ends.append(at)

    def values(self, index: int) -> list[Found]:
        """Return every value of the calls of task number ``index``, in document order."""
        if index not in self._found:
            task = self.scope.tasks[index]
            self._found[index] = [
                self._find(index, task, call, path, _near(task, _forms(call, path, value)))
                for call in task.calls
                for path, value in call.leaves
            ]
        return self._found[index]

    def earlier(self, index: int) -> list[SearchTarget]:
        """Return the places of the exchanges before task number ``index``, in reading order."""
        return self.scope.earlier[: self._ends[index]]

    def _find(self, index: int, task: TaskScope, call: CallScope, path: tuple[Any, ...], forms: Forms) -> Found:
        found = Found(call, path, forms, Origin.NOWHERE)
        work = self.scope.work
        if not work.spend(LOOK):
            found.origin = Origin.UNKNOWN
        elif call.inferable and call.reason_at(pointer(path)) is not None:
            found.origin = Origin.INFERABLE
        elif forms.common:
            found.origin = Origin.COMMON
        elif forms.written:
            found.origin = Origin.WRITTEN
        elif not (
            self._whole(index, task, found)
            or self._inferred(index, task, found)
            or self._derived(index, task, found)
            or self._by_words(index, task, found)
        ):
            missing = task.missing & call.sees or not self.scope.complete[index]
            # Without env_info, the dialogue's current date is not known.
            undated = not task.env and (forms.dates or (type(forms.number) is int and 1900 < forms.number < 2100))
            found.origin = Origin.UNKNOWN if missing or undated or work.spent else Origin.NOWHERE
        return found

    def _inferred(self, index: int, task: TaskScope, found: Found) -> bool:
        """Search the user's words for inferences that everybody makes: a code that a word names, a day they mean."""
        forms, call = found.forms, found.call
        named, days = is_named(forms.folded), _days(forms)
        if not named and days is None:
            return False
        said = [(Origin.MESSAGE, task.message)]
        said += [(Origin.REPLY, target) for position, target in task.said if call.sees >> position & 1]
        said += [
            (Origin.EARLIER, target)
            for target in reversed(self.earlier(index))
            if target.kind is SourceKind.EARLIER_MESSAGE
        ]
        for origin, words in said:
            if not self.scope.work.spend(_BY_PATTERN * text_size(words)):
                return False
            span = named_code(forms.folded, text_of(words).folded) if named else None
            if span:
                found.inferred.append((words, _inside(span)))
            elif days is not None and (places := self._by_day(task, words, days)):
                found.inferred += places
                origin = Origin.ENV_INFO if len(places) > 1 and origin is not Origin.EARLIER else origin
            else:
                continue
            found.origin = origin
            if origin is Origin.EARLIER:
                found.exchange, found.turn = words.exchange, words.turn
            return True
        return False

    def _by_day(self, task: TaskScope, words: SearchTarget, days: tuple[date, date]) -> list[tuple[SearchTarget, Hit]]:
        """Return from where a day, month or year follows: from “tomorrow” and env_info, or from a date and “for three
        nights”; empty if from nothing.
        """
        first, last = days
        if not self.scope.work.spend(ITEM * len(text_of(words).dates)):
            return []
        starts = [
            (start, span)
            for (year, month, day), span in text_of(words).dates
            if (start := _date(year or first.year, month, day)) is not None
        ]
        for one in stays(text_of(words).folded, starts) if starts else ():
            if one.first <= last and first <= one.last:
                return [(words, _inside(one.span))]
        for today, target, span in _todays(task):
            if not self.scope.work.spend(LOOK):
                break
            for one in self._meant(words, today):
                if one.first <= last and first <= one.last:
                    return [(words, _inside(one.span)), (target, _inside(span))]
        return []

    def _meant(self, words: SearchTarget, today: date) -> list[Meant]:
        """Return what the words for days in a text mean, and the ends of stays that begin then (cached)."""
        key = (words.anchor, today)
        if key not in self._days:
            text = text_of(words)
            if not self.scope.work.spend(10 * _BY_PATTERN * len(text.folded)):
                return []
            meant = days_meant(text.folded, today, [span for _, span in text.dates])
            starts = [(one.first, one.span) for one in meant if one.first == one.last]
            self._days[key] = meant + stays(text.folded, starts)
        return self._days[key]

    def _whole(self, index: int, task: TaskScope, found: Found) -> bool:
        """Search for the value as a whole, from the nearest place to the farthest."""
        call, forms = found.call, found.forms
        if task.message.body.has(forms):
            found.origin = Origin.MESSAGE
            return True
        found.given = given_by_schema(call.tool, found.path, forms)
        if found.given is not None:
            found.origin = Origin.SCHEMA
            return True
        for target in task.env:
            if target.body.has(forms):
                found.origin = Origin.ENV_INFO
                return True
        for position, target in task.said:
            if call.sees >> position & 1 and target.body.has(forms):
                found.origin = Origin.REPLY
                return True
        for position in positions(call.sees):
            observation = task.observations.get(position)
            if observation is not None and observation.body.has(forms):
                found.observed |= 1 << position
        for target in reversed(self.earlier(index)):
            if target.body.has(forms):
                found.exchange, found.turn = target.exchange, target.turn
                break
        if found.observed:
            found.origin = Origin.OBSERVATION
        elif found.exchange >= 0:
            found.origin = Origin.EARLIER
        return found.origin is not Origin.NOWHERE

    def _derived(self, index: int, task: TaskScope, found: Found) -> bool:
        """Search for something from which the value follows: another unit, more decimals, an id's other form."""
        call, work = found.call, self.scope.work
        name = next((step for step in reversed(found.path) if isinstance(step, str)), "")
        description = described_in(call.tool, found.path)

        def follows(target: SearchTarget) -> Derived | None:
            return derived(found.forms, name, description, target.body, work)

        near = [(Origin.MESSAGE, task.message), *((Origin.ENV_INFO, target) for target in task.env)]
        near += [(Origin.REPLY, target) for position, target in task.said if call.sees >> position & 1]
        for origin, target in near:
            if one := follows(target):
                found.origin = origin
                found.inferred.append((target, one.hit))
                return True
        for position in positions(call.sees):
            observation = task.observations.get(position)
            if observation is not None and (one := follows(observation)):
                found.origin = Origin.OBSERVATION
                found.observed |= 1 << position
                found.derived[observation.step] = one
                found.inferred.append((observation, one.hit))
        if found.observed:
            return True
        for target in reversed(self.earlier(index)):
            if one := follows(target):
                found.origin, found.exchange, found.turn = Origin.EARLIER, target.exchange, target.turn
                found.inferred.append((target, one.hit))
                return True
        return False

    def _by_words(self, index: int, task: TaskScope, found: Found) -> bool:
        """Find a text of several words by its words: at least half of its content words and all its specific ones must
        have been seen so far. The place with the last of them is its source.
        """
        content_words, specific = found.forms.tokens
        if not content_words:
            return False
        left = dict.fromkeys(content_words)
        call = found.call
        read: list[tuple[Origin, int, SearchTarget]] = [(Origin.MESSAGE, 0, task.message)]
        read += [(Origin.ENV_INFO, 0, target) for target in task.env]
        read += [(Origin.REPLY, 0, target) for position, target in task.said if call.sees >> position & 1]
        read += [
            (Origin.OBSERVATION, 1 << position, task.observations[position])
            for position in positions(call.sees)
            if position in task.observations
        ]
        read += [(Origin.EARLIER, 0, target) for target in reversed(self.earlier(index))]
        for origin, bit, target in read:
            here = [forms for forms in left if _says(target.body, forms)]
            if not here:
                continue
            for forms in here:
                del left[forms]
            if bit and any(forms in specific for forms in here):
                found.observed |= bit
            if origin is Origin.EARLIER and found.exchange < 0:
                found.exchange, found.turn = target.exchange, target.turn
            if len(left) * 2 <= len(content_words) and not any(forms in left for forms in specific):
                found.origin, found.by_words = origin, True
                return True
        found.observed, found.exchange, found.turn = 0, -1, -1
        return False


def _forms(call: CallScope, path: tuple[Any, ...], value: Any) -> Forms:
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    properties = call.tool.parameters.get("properties") if call.tool is not None else None
    return forms_for(name, value, properties if isinstance(properties, dict) else ())


def _inside(span: Span) -> Hit:
    return Hit(*span, Quality.INSIDE)


def _date(year: int, month: int, day: int | None) -> date | None:
    whole = day_of((year, month, day)) if day else None
    return whole[0] if whole else None


def _days(forms: Forms) -> tuple[date, date] | None:
    """Return the first and last day that a value names: of a date, a month or a year."""
    if forms.dates:
        return day_of(forms.dates[0])
    year = forms.number
    return (date(year, 1, 1), date(year, 12, 31)) if type(year) is int and 1900 < year < 2100 else None


#: “July 5” is a day within this many days of today; with another year, the text does not give it.
_NEAR = 366


#: Dates of env_info that may be today's.
_MOST_TODAYS = 20


def _todays(task: TaskScope) -> Iterator[tuple[date, SearchTarget, Span]]:
    """Yield the first dates of env_info, of which one is today's, and where they are."""
    dates = ((day_of(today), target, span) for target in task.env for today, span in text_of(target).dates)
    for days, target, span in islice(dates, _MOST_TODAYS):
        if days is not None:
            yield days[0], target, span


def _near(task: TaskScope, forms: Forms) -> Forms:
    """Return the forms of a date so that it is also found without its year, if it is near the dates of env_info."""
    days = _days(forms) if forms.dates else None
    distances = [abs((days[0] - today).days) for today, _, _ in _todays(task)] if days else []
    return forms if not distances or min(distances) <= _NEAR else forms.with_year()


def _says(body: Body, forms: Forms) -> bool:
    return forms.common or body.has(forms)
