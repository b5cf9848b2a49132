"""What must be equal in two language variants, what is translated, and how.

For each field of corresponding parts (``variant_alignment``):

- Labels, tools, answer types and dependencies are equal; dependencies refer to corresponding steps.
- In arguments and observations, numbers, booleans and null are equal, and so are their keys and the lengths of lists.
- A text in them **must stay** if it is the value of an enumeration in the schema of the tool, or a fixed value: it has
  no Chinese characters, and each of its words has a digit, “_”, “@” or “://” or has no letters, as in ids, codes,
  dates, times, e-mail addresses and URLs; but a number with a unit, such as 10am, is translated. A tool that is itself
  translated has a translated enumeration: there the value at the same position is expected.
- Any other text in them may be **translated**. In arguments, the same text has the same translation everywhere; a text
  that stays in one place and is translated in another has two translations.
- All other texts (messages, questions, answers) are free.
- A text that equals the other variant's is **not translated** if it does not fit the language of its dialogue: Chinese
  characters where the language is not Chinese, or two words or more without any where it is Chinese. Fixed values and
  values of enumerations count as translated.

Takes time in proportion to the content.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from annotator.core.comparison.anchors import Document, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.variant_alignment import Pair, Row, align_variants, rows

#: Longer texts of arguments are free: they are sentences, not values with one translation.
MAX_TERM = 60
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_QUANTITY = re.compile(r"[0-9.,:]+[a-z]+")
_VALUES = ("arguments", "observation")
#: Fields of tasks and steps whose texts are labels or names, not words.
_LABELS = frozenset({"policy", "information", "type", "name", "answer_type"})
#: Fields of a task or step whose texts are read by people.
_PROSE = frozenset(
    {"user_message", "text", "question", "user_reply", "observation", "arguments", "context", "user_query", "answer"}
)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The values that a schema allows, and the position of each text among them."""

    values: Sequence[Any]
    positions: Mapping[str, int]


#: By the tool and the names of the parameters on the way to the value; positions in lists are no names.
Enumerations = Mapping[tuple[str, tuple[str, ...]], Enumeration]
_NO_VALUES = Enumeration((), {})


class Problem(StrEnum):
    """Why two corresponding fields do not agree."""

    #: One variant has the field, or the whole part, and the other one does not.
    MISSING = "missing"
    #: The values must be equal.
    DIFFERS = "differs"
    #: The same text is translated in two ways.
    INCONSISTENT = "inconsistent"
    #: The text is the same in both, and does not fit the language of one of them.
    UNTRANSLATED = "untranslated"


@dataclass(frozen=True, slots=True)
class Found:
    """A problem of one row; ``side``: 0 if it is in the first variant, 1 in the second, None if in both."""

    row: Row
    problem: Problem
    side: int | None = None


@dataclass(slots=True)
class Term:
    """A text of the first variant's arguments: {its translation: the places in the first variant}."""

    text: str
    translations: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class Comparison:
    """Two variants side by side. ``terms``: the translation table, in the order of the first variant."""

    pairs: list[Pair]
    rows: list[Row]
    terms: list[Term]
    found: list[Found]


def compare_variants(
    one: Document, other: Document, tools: Sequence[Any] = (), other_tools: Sequence[Any] = ()
) -> Comparison:
    """Align two variants and compare their fields. ``tools``: the functions of each one's toolset, for enumerations."""
    pairs = align_variants(one, other)
    known = _Known(one, other, pairs, enumerations(tools), enumerations(other_tools))
    table: dict[str, Term] = {}
    listed, found, in_table = [], [], []
    for row in rows(one, other, pairs):
        listed.append(row)
        expected = known.expected(row)
        problem = known.problem(row, expected)
        if problem is not None:
            found.append(problem)
        if expected is None and _may_be_term(row):
            in_table.append(row)
            table.setdefault(row.value, Term(row.value)).translations[row.other_value].append(row.one)
    terms = list(table.values())
    twice = {term.text for term in terms if len(term.translations) > 1}
    found += [Found(row, Problem.INCONSISTENT) for row in in_table if row.value in twice]
    order = {id(row): place for place, row in enumerate(listed)}
    return Comparison(pairs, listed, terms, sorted(found, key=lambda one: order[id(one.row)]))


def untranslated(comparison: Comparison, side: int) -> list[str]:
    """Return the places of a variant (0: the first one) whose text is still that of the other one."""
    found = [one.row for one in comparison.found if one.problem is Problem.UNTRANSLATED and one.side == side]
    return [row.other if side else row.one for row in found]


def is_fixed(text: str) -> bool:
    """Return whether a text is an id, code, date, time, address or the like, which no language changes."""
    return bool(text) and not _HAN.search(text) and all(map(_is_code, text.split()))


def _is_code(word: str) -> bool:
    if _QUANTITY.fullmatch(word):
        return False
    marked = any(character.isdigit() or character in "_@" for character in word) or "://" in word
    return marked or not any(map(str.isalpha, word))


def is_unfit(text: str, language: str) -> bool:
    """Return whether a text can't be in a language: by its characters, and only from two words on without Chinese."""
    if _HAN.search(text):
        return language != "zh"
    return language == "zh" and len(text.split()) > 1 and not is_fixed(text)


def enumerations(tools: Iterable[Any]) -> Enumerations:
    """Return the enumerations of the parameters of tools, at any depth."""
    out: dict[tuple[str, tuple[str, ...]], Enumeration] = {}
    for tool in tools:
        function = tool.get("function", tool)
        todo: list[tuple[tuple[str, ...], Any]] = [((), function.get("parameters"))]
        while todo:
            path, schema = todo.pop()
            if not isinstance(schema, dict):
                continue
            allowed = schema.get("enum")
            if isinstance(allowed, list):
                # Of equal values, the first one counts.
                positions = {value: i for i, value in reversed([*enumerate(allowed)]) if isinstance(value, str)}
                out[function["name"], path] = Enumeration(allowed, positions)
            properties = schema.get("properties")
            if isinstance(properties, dict):
                todo += [(_names((*path, name)), below) for name, below in properties.items()]
            todo.append((path, schema.get("items")))
    return out


def _names(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a place that are no positions in a list."""
    return tuple(part for part in parts if not part.isdecimal())


class _Known:
    """What comparing a row needs to know about both documents."""

    def __init__(
        self, one: Document, other: Document, pairs: Sequence[Pair], enums: Enumerations, others: Enumerations
    ) -> None:
        self.languages = (one.get("language") or "", other.get("language") or "")
        self.enums = (enums, others)
        self.tools = {
            f"/tasks/{task['id']}/steps/{step['id']}": step.get("name")
            for task in one.get("tasks", ())
            for step in task.get("steps", ())
        }
        #: Ids of steps of the second variant by task and by the id of the first one's.
        self.steps = {
            (pair.task, split(pair.one)[3]): split(pair.other)[3] for pair in pairs if pair.step and pair.is_whole
        }

    def problem(self, row: Row, expected: str | None) -> Found | None:
        """Return what is wrong with a row on its own; None if nothing is. ``expected``: of this row."""
        if not (row.one and row.other):
            return Found(row, Problem.MISSING, 1 if row.one else 0)
        mine, theirs, name = row.value, row.other_value, _name(row)
        if name == "depends_on":
            return None if self._needs(row.pair, mine) == _pairs(theirs) else Found(row, Problem.DIFFERS)
        if not (isinstance(mine, str) and isinstance(theirs, str)):
            return None if same_value(mine, theirs) else Found(row, Problem.DIFFERS)
        if name in _LABELS and row.pair.task:
            return None if mine == theirs else Found(row, Problem.DIFFERS)
        if expected is not None:
            return None if theirs == expected else Found(row, Problem.DIFFERS)
        return self._untranslated(row) if name in _PROSE else None

    def expected(self, row: Row) -> str | None:
        """Return the text that the other variant must have in a value; None if it is translated, or no text."""
        name = _name(row)
        if name not in _VALUES or not _has_texts(row):
            return None
        if name == "arguments":
            place = (self.tools.get(row.pair.one) or "", _names(split(row.one[len(row.pair.one) :])[1:]))
            allowed, theirs = (known.get(place, _NO_VALUES) for known in self.enums)
            position = allowed.positions.get(row.value)
            if position is not None:
                if row.value in theirs.positions or len(theirs.values) != len(allowed.values):
                    return str(row.value)
                return str(theirs.values[position])
        return str(row.value) if is_fixed(row.value) or is_fixed(row.other_value) else None

    def _needs(self, pair: Pair, needs: Any) -> Any:
        if needs is None:
            return None
        return {(self.steps.get((pair.task, need["id"]), need["id"]), need["kind"]) for need in needs}

    def _untranslated(self, row: Row) -> Found | None:
        if row.value != row.other_value or self.languages[0] == self.languages[1] or not all(self.languages):
            return None
        side = next((side for side in (0, 1) if is_unfit(row.value, self.languages[side])), None)
        return None if side is None else Found(row, Problem.UNTRANSLATED, side)


def _has_texts(row: Row) -> bool:
    return bool(row.one and row.other) and isinstance(row.value, str) and isinstance(row.other_value, str)


def _may_be_term(row: Row) -> bool:
    """Return whether a row that is translated belongs into the translation table."""
    return _has_texts(row) and 0 < len(row.value) <= MAX_TERM and _name(row) == "arguments"


def _name(row: Row) -> str:
    """Return the field of the task, step or dialogue that a row is in."""
    part, place = (row.pair.one, row.one) if row.one else (row.pair.other, row.other)
    return place[len(part) + 1 :].partition("/")[0]


def _pairs(needs: Any) -> Any:
    return None if needs is None else {(need["id"], need["kind"]) for need in needs}
