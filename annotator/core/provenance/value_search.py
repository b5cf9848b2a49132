"""Find the nearest place where each value of a call is visible. The search stops at the first source."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from itertools import islice
from typing import Any

from annotator.core.graph.dag import positions
from annotator.core.provenance.days_of_values import date_of, days_named, near_today, todays
from annotator.core.provenance.derivations import Derived, derived
from annotator.core.provenance.edge_certainty import SETTINGS, words_of
from annotator.core.provenance.inferences import (
    DateParts,
    abbreviated,
    asks_to_round,
    computed,
    is_code,
    is_initials,
)
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
from annotator.core.provenance.search_targets import Body, Hit, Observation, Quality
from annotator.core.provenance.value_forms import Forms, forms_for, forms_of
from annotator.core.provenance.work_budget import ITEM, LOOK
from annotator.core.schema.exact_json import pointer


class Origin(StrEnum):
    """Where a value is found, the nearest first.

    common: it needs no source. inferable: marked so, an abbreviation of a name, or computed. message: the user says
    it in this task. schema: the tool's schema gives it. env_info, reply (or a question asked), observation: of this
    task. earlier: only before this task. written: a long text that somebody composed. nowhere: not found. unknown:
    not found, but earlier content is missing.
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
#: Numbers that the user says and that calls returned, of which two may be computed with.
_SAID, _RETURNED = 5, 20
#: Values of a call that are read as days.
_OTHERS = 50
#: Words in the names of arguments that ask for the day of the call or the beginning of a time.
_OF_TODAY = words_of("today now current created issued start from since begin after")
#: Words for times that may begin or end today.
_SPANNING = re.compile(
    r"\b(?:until|till|by|before|through|since|between|from|up to|deadline|due|immediately|asap|currently|at once)\b"
    "|到|至|截止|之前|以前|立即|马上|立刻|尽快|目前|当前"
)


class Finder:
    """Finds values in the places of one document and caches the results, task by task."""

    __slots__ = ("_days", "_ends", "_found", "_parts", "_returned", "_rounds", "scope")

    def __init__(self, scope: DocumentScope) -> None:
        self.scope = scope
        self._found: dict[int, list[Found]] = {}
        self._days: dict[tuple[str, date], list[Meant]] = {}
        self._parts: dict[str, DateParts] = {}
        self._returned: dict[tuple[int, int], list[tuple[SearchTarget, str, int | float]]] = {}
        self._rounds: dict[int, bool] = {}
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
                self._find(index, task, call, path, near_today(task, _forms(call, path, value)))
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
            or self._abbreviated(index, task, found)
            or self._computed(index, task, found)
        ):
            missing = task.missing & call.sees or not self.scope.complete[index]
            # Without env_info, the dialogue's current date is not known.
            undated = not task.env and (forms.dates or (type(forms.number) is int and 1900 < forms.number < 2100))
            found.origin = Origin.UNKNOWN if missing or undated or work.spent else Origin.NOWHERE
        return found

    def _inferred(self, index: int, task: TaskScope, found: Found) -> bool:
        """Search the user's words for inferences that everybody makes: a code that a word names, a day they mean."""
        forms, call = found.forms, found.call
        named, days = is_named(forms.folded), days_named(forms)
        if not named and days is None:
            return False
        for origin, words in self._said(index, task, call):
            if not self.scope.work.spend(_BY_PATTERN * text_size(words)):
                return False
            span = named_code(forms.folded, text_of(words).folded, text_of(words).raw) if named else None
            if span:
                found.inferred.append((words, _inside(span)))
            elif days is not None and (places := self._by_day(task, words, days)):
                found.inferred += places
                origin = Origin.ENV_INFO if len(places) > 1 and origin is not Origin.EARLIER else origin
            elif span := self._date_parts(words).place_of(forms.dates):
                found.inferred.append((words, _inside(span)))
            else:
                continue
            found.origin = origin
            if origin is Origin.EARLIER:
                found.exchange, found.turn = words.exchange, words.turn
            return True
        return False

    def _date_parts(self, words: SearchTarget) -> DateParts:
        """Return the parts of dates in a text (cached)."""
        if words.anchor not in self._parts:
            text = text_of(words)
            self._parts[words.anchor] = DateParts(text.folded, [span for (_, _, day), span in text.dates if day])
        return self._parts[words.anchor]

    def _said(self, index: int, task: TaskScope, call: CallScope) -> Iterator[tuple[Origin, SearchTarget]]:
        """Yield the user's words that a call can see, those of this task first, then from the nearest back."""
        yield Origin.MESSAGE, task.message
        yield from ((Origin.REPLY, target) for position, target in task.said if call.sees >> position & 1)
        for target in reversed(self.earlier(index)):
            if target.kind is SourceKind.EARLIER_MESSAGE:
                yield Origin.EARLIER, target

    def _abbreviated(self, index: int, task: TaskScope, found: Found) -> bool:
        """Search the user's words for a name that the value abbreviates. People only infer that, so it is inferable."""
        code = found.forms.value
        if not isinstance(code, str) or not is_code(code) or words_of(_name(found.path)) & SETTINGS:
            return False
        # A code of a table must be named by what it stands for.
        find = is_initials if is_named(found.forms.folded) else abbreviated
        for _, words in self._said(index, task, found.call):
            text = text_of(words)
            if not self.scope.work.spend(LOOK + _BY_PATTERN * len(text.raw)):
                return False
            if span := find(code, text.raw):
                found.origin = Origin.INFERABLE
                found.inferred.append((words, _inside(span)))
                return True
        return False

    def _computed(self, index: int, task: TaskScope, found: Found) -> bool:
        """Search for two numbers from which the value follows: one that the user says here, and one of the nearest that
        calls returned.
        """
        number, text = found.forms.number, text_of(task.message)
        if number is None or found.forms.small or isinstance(found.forms.value, str):
            return False
        key = index, found.call.position
        if key not in self._returned:
            self._returned[key] = list(islice(self._numbers(index, task, found.call), _RETURNED))
        returned = self._returned[key]
        cost = _BY_PATTERN * len(text.folded) + ITEM // 10 * _SAID * len(returned)
        if not returned or not self.scope.work.spend(cost):
            return False
        said = list(islice(text.numbers, _SAID))
        at = computed(number, said, [one for _, _, one in returned], text.folded)
        if at is None:
            return False
        target, path, other = returned[at]
        found.origin = Origin.INFERABLE
        found.inferred.append((target, Hit(0, len(str(other)), Quality.INSIDE, path, True)))
        return True

    def _numbers(self, index: int, task: TaskScope, call: CallScope) -> Iterator[tuple[SearchTarget, str, int | float]]:
        """Yield the numbers that calls returned with their places, the nearest first."""
        near = [task.observations[at] for at in positions(call.sees) if at in task.observations]
        far = (one for one in reversed(self.earlier(index)) if one.kind is SourceKind.EARLIER_OBSERVATION)
        for targets in (reversed(near), far):
            for target in targets:
                if not self.scope.work.spend(LOOK + text_size(target)):
                    return
                if isinstance(target.body, Observation):
                    for path, number in target.body.numbers(self.scope.work):
                        yield target, path, number

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
            if (start := date_of(year or first.year, month, day)) is not None
        ]
        for one in stays(text_of(words).folded, starts) if starts else ():
            if one.first <= last and first <= one.last:
                return [(words, _inside(one.span))]
        for today, target, span in todays(task):
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
            if target.body.has(forms) and not self._on_another_day(task, found):
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

    def _on_another_day(self, task: TaskScope, found: Found) -> bool:
        """Return whether a value is today's date, but the user's words in this task give another exact day.

        Not if words may also mean today or a time that begins or ends then, if the argument asks for such a time, or
        if the call has the user's day too.
        """
        days = days_named(found.forms) if found.forms.dates else None
        now = {today for today, _, _ in todays(task)}
        # Of several dates, it is not clear which one is today's.
        if days is None or days[0] != days[1] or now != {days[0]}:
            return False
        if words_of(_name(found.path)) & _OF_TODAY:
            return False
        text = text_of(task.message)
        cost = _BY_PATTERN * len(text.folded) + ITEM * len(text.dates)
        if not self.scope.work.spend(cost) or _SPANNING.search(text.folded):
            return False
        meant = [(one.first, one.last) for one in self._meant(task.message, days[0])]
        for (year, month, day), _ in text.dates:
            one = day_of((year or days[0].year, month, day))
            meant += [one] if one else []
        exact = {first for first, last in meant if first == last}
        if not exact or any(first <= days[0] <= last for first, last in meant):
            return False
        others = (days_named(forms_of(value)) for _, value in found.call.leaves[:_OTHERS] if isinstance(value, str))
        return not any(one and one[0] in exact for one in others)

    def _derived(self, index: int, task: TaskScope, found: Found) -> bool:
        """Search for something from which the value follows: another unit, more decimals, an id's other form."""
        call, work = found.call, self.scope.work
        name = _name(found.path)
        description = described_in(call.tool, found.path)

        def follows(target: SearchTarget) -> Derived | None:
            return derived(found.forms, name, description, target.body, work, rounds=rounds)

        if index not in self._rounds:
            self._rounds[index] = asks_to_round(text_of(task.message).folded)
        rounds = self._rounds[index]

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
    name = _name(path)
    properties = call.tool.parameters.get("properties") if call.tool is not None else None
    return forms_for(name, value, properties if isinstance(properties, dict) else ())


def _name(path: tuple[Any, ...]) -> str:
    """Return the nearest key of a path."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _inside(span: Span) -> Hit:
    return Hit(*span, Quality.INSIDE)


def _says(body: Body, forms: Forms) -> bool:
    return forms.common or body.has(forms)
