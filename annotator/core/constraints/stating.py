"""Find the clause of a system prompt that states a constraint, in whatever words."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from annotator.core.constraints.model import Constraint
from annotator.core.constraints.sentence_claims import MAX_LENGTH, named_tools, numbers_in

#: Characters of a prompt that are read, and its clauses that are compared with each constraint.
MAX_READ = 50_000
MAX_CLAUSES = 500
#: Where a clause ends. A comma or “and” between two numbers, as in “between 2 and 4”, ends none. Marks are matched from
#: the first of a row, possessively: trying again from each of them would be quadratic.
_NUMBER = r"(?:\d|one|two|three|four|five|six|seven|eight|nine|ten)\b"
_CLAUSE_END = re.compile(
    rf"(?<![.!?;:])[.!?;:]++[\"”'’*]*+(?=\s|$)|[。！？；，\n]+|,(?=\s)(?!\s*+(?:and|or)?+\s*+\[?{_NUMBER})"
    rf"|\b(?:and|but|while)\b(?!\s*+\[?{_NUMBER})",
    re.I,
)
#: Word for word, what a rule is about, by category; the longer names of the same thing are one concept.
_CONCEPTS = {
    "rounds": r"\b(?:round|turn|step|iteration|interaction)s?\b|轮|步",
    "calls": r"\b(?:call|invo[ck]|use|using|execut|run|utili[sz]|quer|appl|quota|limit)\w*|调用|使用",
    "together": r"\b(?:simultaneous|concurrent|parallel|together|at once|at the same time|same time|single|same|each"
    r"|every|any|per|one|in one)\w*|同时|并行|每轮",
    "order": r"\b(?:before|beforehand|already|after|first|prior|preced|follow|then|subsequent|order|sequen|until|once"
    r"|depend|only if|previous|next|start)\w*|之前|之后|先|再",
    "length": r"\b(?:word|character|letter|length|long|short)s?\b|字|词",
    "json": r"\bjson\b",
    "markdown": r"\bmarkdown\b",
    "table": r"\b(?:tabular|tables?)\b|表",
    "list": r"\b(?:list|bullet|number|item)\w*|列表",
    "xml": r"\bxml\b|\bhtml\b",
    "start": r"\b(?:begin|start|open|prefix|preced|first)\w*|开头|开始",
    "end": r"\b(?:end|conclu|finish|clos|terminat|last|final)\w*|结尾|结束",
    "mark": r"\b(?:period|punctuation|full stop|exclamation|question mark|ellips[ie]s|semicolon|colon|closure)\w*"
    r"|标点|句号",
    "hold": r"\b(?:includ|contain|mention|phrase|keyword|identif|delimit|term|state|express|present|provid|written"
    r"|format|label|use|using|separat|bold|quot|enclos|wrap|surround)\w*|包含",
}
_OF_CATEGORY = {
    "interaction rounds": ("rounds",),
    "tool call count": ("calls",),
    "specific tool call count": ("calls",),
    "parallel calls count": ("together",),
    "sequential dependencies": ("order",),
    "parallel dependencies": ("together",),
    "length": ("length",),
}
_FORMATS = ("json", "markdown", "table", "list", "xml")
_CONTENTS = ("mark", "start", "end", "hold")
_READERS = {name: re.compile(pattern, re.I) for name, pattern in _CONCEPTS.items()}
#: Quoted texts of one rule that are looked for.
MAX_QUOTES = 8
#: Read one by one: a rule that is quoted as a whole quotes in other marks.
_QUOTED = (
    re.compile(r"[\"“«「]([^\"”»」]{1,200})[\"”»」]"),
    re.compile(r"(?<!\w)['‘]([^'’]{1,200})['’](?!\w)"),
    re.compile(r"`([^`]{1,200})`"),
)
_WORD = re.compile(r"[^\W\d_]{3,}")
#: Words that say nothing about which rule is meant.
_COMMON = frozenset(
    _WORD.findall(
        "the and that this with for are must should shall will may can not any all its their each agent response "
        "answer final entire main category subcategory mandates ensure ensures ensuring proper properly clear clearly "
        "clarity tool tools user using use you your"
    )
)
_VAGUE = frozenset({"hold"})
_BOUNDED = frozenset({"rounds", "calls", "together", "length"})
#: The share of a rule's words that a clause must have, where a word like “include” says little about which rule it is.
_SHARED = 0.3
_SENTENCE_END = re.compile(r"(?<!i\.e)(?<!e\.g)(?<![.!?])[.!?]++[\"”'’*]*+(?=\s|$)|[。！？\n]+", re.I)
_NAME = re.compile(r"[\w-]+")
_ANY_TOOL = re.compile(r"\b(?:each|any|every|per|individual|all|following|specified|same|both)\b", re.I)
#: A number in a clause with one of these may be another rule's.
_OTHERS = {
    "rounds": re.compile(r"\b(?:call|invo[ck]|tool|type|function|action|single|at least one|words?|length)\w*", re.I),
    "calls": re.compile(r"\b(?:simultaneous|concurrent|parallel|types?|any single|each|every|at least one)\w*", re.I),
    "length": re.compile(r"(?!)"),
}


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a prompt (``is_one``), two neighbours or a sentence: its place in characters, and what it names."""

    start: int
    end: int
    is_one: bool
    concepts: frozenset[str]
    numbers: frozenset[int]
    names: frozenset[str]
    words: frozenset[str]
    any_tool: bool
    text: str


@dataclass(frozen=True, slots=True)
class Stated:
    """Where a prompt states a rule: ``agrees`` is false if its numbers are other ones."""

    start: int
    end: int
    agrees: bool


def find_statement(prompt: str, constraint: Constraint) -> Stated | None:
    """Return the clause that states the constraint, or None if none does."""
    rule = _Rule.of(constraint)
    near: Clause | None = None
    for clause in clauses(prompt):
        if not rule.is_about(clause):
            continue
        if rule.agrees(clause):
            return Stated(clause.start, clause.end, agrees=True)
        if near is None and rule.is_only_about(clause):
            near = clause
    return Stated(near.start, near.end, agrees=False) if near else None


def names_its_subject(constraint: Constraint) -> bool:
    """Return whether the constraint's text says what it limits: “At most 10” does not."""
    text = constraint.text or ""
    return bool(_concepts(text) or named_tools(text) or not numbers_in(text))


@lru_cache(maxsize=4)
def clauses(prompt: str) -> tuple[Clause, ...]:
    """Return the clauses of each sentence, then each with its next one, then the sentence: a rule may reach over a
    comma, and a list of tools over many.
    """
    prompt = prompt[:MAX_READ]
    found: dict[tuple[int, int], bool] = {}
    for start, end in _between(prompt, _SENTENCE_END, 0, len(prompt)):
        parts = _between(prompt, _CLAUSE_END, start, end)
        for span in parts:
            found.setdefault(span, True)
        for span in (*((one[0], other[1]) for one, other in pairwise(parts)), (start, end)):
            found.setdefault(span, False)
        if len(found) >= MAX_CLAUSES:
            break
    return tuple(_clause(prompt, start, end, alone) for (start, end), alone in found.items())


def _between(prompt: str, mark: re.Pattern[str], start: int, end: int) -> list[tuple[int, int]]:
    ends = [match.end() for match in mark.finditer(prompt, start, end)]
    return [(one, other) for one, other in pairwise([start, *ends, end]) if prompt[one:other].strip()][:MAX_CLAUSES]


def _clause(prompt: str, start: int, end: int, alone: bool) -> Clause:
    text = prompt[start:end].casefold()
    names = frozenset(_NAME.findall(text))
    return Clause(
        start, end, alone, _concepts(text), numbers_in(text), names, _words(text), bool(_ANY_TOOL.search(text)), text
    )


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a constraint is about: concepts of which one is named, numbers, tools, quoted texts, words."""

    concepts: frozenset[str]
    numbers: frozenset[int]
    tools: frozenset[str]
    quotes: tuple[str, ...]
    words: frozenset[str]

    @classmethod
    def of(cls, constraint: Constraint) -> "_Rule":
        text = (constraint.text or "")[:MAX_LENGTH]
        parameters = constraint.parameters or {}
        tools = frozenset(name.casefold() for name in _tools(parameters) or named_tools(text))
        concepts = frozenset(_OF_CATEGORY.get(constraint.category or "", ()))
        if concepts:
            return cls(
                concepts, frozenset(_bounds(parameters)) if parameters else numbers_in(text), tools, (), _words(text)
            )
        found = _concepts(text)
        wanted = found & {*(_FORMATS if constraint.category == "format" else _CONTENTS)}
        concepts = (wanted or found & {*_FORMATS, *_CONTENTS}) - {"hold"} or wanted
        return cls(concepts, frozenset(), tools, tuple(one.casefold() for one in quoted_texts(text)), _words(text))

    def is_about(self, clause: Clause) -> bool:
        if any(quote in clause.text for quote in self.quotes):
            return True
        if self.tools & clause.names:
            if self.numbers & clause.numbers:
                return True
        elif self.tools and not clause.any_tool:
            return False
        if self.concepts - _VAGUE and (self.numbers or self.tools or self.concepts - _BOUNDED):
            return bool(self.concepts & clause.concepts)
        return bool(self.words) and len(self.words & clause.words) >= _SHARED * len(self.words)

    def agrees(self, clause: Clause) -> bool:
        """Return whether the clause has the rule's numbers; one of them if each tool has its own."""
        return self.numbers <= clause.numbers or bool(self.tools and self.numbers & clause.numbers)

    def is_only_about(self, clause: Clause) -> bool:
        """Return whether the numbers of a clause can only be those of this rule."""
        if not clause.is_one or not clause.numbers or len(self.concepts) != 1:
            return False
        [concept] = self.concepts
        others = _OTHERS.get(concept)
        if others is None or others.search(clause.text):
            return False
        return bool(self.tools & clause.names) if self.tools else not any("_" in name for name in clause.names)


def _bounds(parameters: dict[str, object]) -> set[int]:
    """Return the numbers that a prompt has to give: not zero, which says nothing, and not one if there is another."""
    found: set[int] = set()
    for value in parameters.values():
        values = value.values() if isinstance(value, dict) else (value,)
        found |= {one for one in values if isinstance(one, int) and not isinstance(one, bool) and one > 0}
    return found - {1} or found


def _tools(parameters: dict[str, object]) -> frozenset[str]:
    found: set[str] = set()
    for value in parameters.values():
        if isinstance(value, dict):
            found |= {*value}
        elif isinstance(value, list):
            found |= {name for group in value if isinstance(group, list) for name in group if isinstance(name, str)}
    return frozenset(found)


def _concepts(text: str) -> frozenset[str]:
    return frozenset(name for name, reader in _READERS.items() if reader.search(text))


def quoted_texts(text: str) -> list[str]:
    """Return what a text quotes, at most ``MAX_QUOTES`` quotations."""
    return [found for marks in _QUOTED for match in marks.finditer(text) if (found := match[1].strip())][:MAX_QUOTES]


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in (found[0].casefold() for found in _WORD.finditer(text)) if word not in _COMMON)
