"""Search dialogues: the index, the queries, and the labels that lists show. Pure.

The index has ready tokens separated by blanks, so that PostgreSQL's simple configuration and SQLite's FTS5 find the
same: words and numbers in lower case, and for Chinese, Japanese and Korean every two neighbouring characters (the last
of a run alone as well, so that each character begins a token). The databases need no configuration for languages.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import add
from typing import Any

from annotator.core.graph import derive_topology
from annotator.core.metadata import searched_metadata

#: Most characters of an index text, of each text read for it, of a query; most terms of a query.
MAX_INDEX = 4096
MAX_LOOK = 4 * MAX_INDEX
MAX_QUERY = 200
MAX_TERMS = 16
#: Longer words are cut, because databases limit the length of a token.
MAX_WORD = 60
MAX_TITLE = 160

_CJK = (
    "\u3005\u3007\u3041-\u3096\u30a1-\u30fa\u30fc"
    "\u3400-\u4dbf\u4e00-\u9ffc\uac00-\ud7a3\uf900-\ufa6d\ufa70-\ufad9\U00020000-\U0002a6dd\U0002a700-\U0002b734"
)
#: Either a run of characters that are indexed in pairs, or one of letters and digits.
_RUNS = re.compile(rf"([{_CJK}]+)|([^\W_{_CJK}]+)")
_ASCII = re.compile(r"[A-Za-z0-9]+")
_LETTERS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")


@dataclass(frozen=True, slots=True)
class Term:
    """What a dialogue must contain: tokens one after the other, the last of them only as a prefix if ``prefix``."""

    tokens: tuple[str, ...]
    prefix: bool


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a document for lists, filters and counters; label lists are in task order, None if not annotated.

    ``switches``: pairs of consecutive tasks with different policies, both annotated. ``tools``: names in order of first
    use. ``search_text``: tokens for the index.
    """

    policies: list[str | None]
    topologies: list[str | None]
    information: list[str | None]
    task_count: int
    call_count: int
    switches: int
    language: str | None
    tools: list[str]
    title: str
    search_text: str


def search_tokens(text: str | Iterable[str]) -> str:
    """Return the tokens of a text, or of several, for the index; at most MAX_INDEX characters.

    A repeated word is indexed once. Names such as searchFlights are indexed as a whole and in their parts.
    """
    index = _IndexText()
    for part in (text,) if isinstance(text, str) else text:
        if not index.add(part):
            break
    return " ".join(index.tokens)


def parse_query(query: str) -> list[Term]:
    """Return the terms of a typed query; all must be found. Empty if nothing in it can be searched for.

    Words are found by their beginning, Chinese anywhere: one character as the beginning of a token, more as their
    neighbouring pairs, one after the other.
    """
    terms: list[Term] = []
    for text, letters in _RUNS.findall(_normal(query[:MAX_QUERY])):
        if letters:
            terms += [Term((word,), prefix=True) for word in _words(letters.lower())]
        elif len(text) == 1:
            terms.append(Term((text,), prefix=True))
        else:
            terms.append(Term(tuple(text[i : i + 2] for i in range(len(text) - 1)), prefix=False))
    return list(dict.fromkeys(terms))[:MAX_TERMS]


def to_tsquery(terms: Sequence[Term]) -> str:
    """Return the terms as a PostgreSQL ``tsquery``; tokens have only letters and digits.

    The index has no order: if a term has several tokens, the index text must also contain ``phrases``.
    """
    return " & ".join(f"'{token}'{':*' if term.prefix else ''}" for term in terms for token in term.tokens)


def phrases(terms: Sequence[Term]) -> list[str]:
    """Return the texts, between blanks, that the index of each match contains for terms of several tokens."""
    return [" ".join(term.tokens) for term in terms if len(term.tokens) > 1]


def to_fts5(terms: Sequence[Term]) -> str:
    """Return the terms as text for SQLite's FTS5 MATCH; tokens have only letters and digits."""
    return " AND ".join(f'"{" ".join(term.tokens)}"' + ("*" if term.prefix else "") for term in terms)


def describe_document(document: Mapping[str, Any], *, index: bool = True) -> Labels:
    """Return the labels and the index text of a document; without ``index`` the text, which costs most, stays empty."""
    return _DESCRIBED[document["kind"]](document, index)


def switches_of_entries(policies: Sequence[str | None]) -> list[int]:
    """Return, for each entry of a dialogue, its switches (PTF): those among its tasks; only the last task is scored.

    ``policies``: of the dialogue's tasks in their order. Two tasks make a switch if both are annotated and differ.
    """
    switches = (bool(a and b and a != b) for a, b in pairwise(policies))
    return list(accumulate(switches, initial=0))[: len(policies)]


def _describe_tasks(document: Mapping[str, Any], index: bool) -> Labels:
    tasks: list[dict[str, Any]] = document["tasks"]
    policies = [task["policy"] for task in tasks]
    calls = [step for task in tasks for step in task["steps"] if step["type"] == "call"]
    tools = list(dict.fromkeys(call["name"] for call in calls))
    topologies = [derive_topology(task["steps"]) for task in tasks]
    return Labels(
        policies=policies,
        topologies=[str(topology) if topology else None for topology in topologies],
        information=[task["information"] for task in tasks],
        task_count=len(tasks),
        call_count=len(calls),
        switches=max(switches_of_entries(policies), default=0),
        language=document["language"],
        tools=tools,
        title=_title(task["user_message"] for task in tasks),
        search_text=search_tokens(_texts(document, tools, calls)) if index else "",
    )


def _describe_single(document: Mapping[str, Any], index: bool) -> Labels:
    """Return the labels of a single task: its category is found by the search, and it has no other labels."""
    found = _describe_tasks(document, False)
    tokens = ""
    if index:
        calls = document["tasks"][0]["steps"]
        tokens = search_tokens([*_texts(document, found.tools, calls), document["category"] or ""])
    return replace(found, policies=[], topologies=[], information=[], search_text=tokens)


def _describe_composite(document: Mapping[str, Any], index: bool) -> Labels:
    """Return the labels of a composite: its single tasks and their categories are found by the search."""
    found = _describe_tasks(document, False)
    tasks = document["tasks"]
    texts = [task[key] or "" for key in ("single", "category", "user_message") for task in tasks]
    return replace(
        found,
        policies=[],
        topologies=[],
        information=[],
        call_count=sum(task["calls"] for task in tasks),
        title=_title([" · ".join(task["user_message"] for task in tasks)]),
        search_text=search_tokens([*searched_metadata(document), *texts]) if index else "",
    )


def _describe_case(document: Mapping[str, Any], index: bool) -> Labels:
    """Return the labels of a constrained case, which counts as one task without labels."""
    calls = [call for each in document["reference_trajectory"] or () for call in each["calls"]]
    named = [call["name"] for call in calls] + [*(document["unsolved_set"] or ()), *document["tool_codes"]]
    tools = list(dict.fromkeys(named))
    return Labels(
        policies=[],
        topologies=[],
        information=[],
        task_count=1,
        call_count=len(calls),
        switches=0,
        language=document["language"],
        tools=tools,
        title=_title([document["user_query"], document["system_prompt"] or ""]),
        search_text=search_tokens(_case_texts(document, tools, calls)) if index else "",
    )


def _describe_toolset(document: Mapping[str, Any], index: bool) -> Labels:
    """Return the labels of a toolset: it has no tasks; its tools and their descriptions are found by the search."""
    functions = [one["tool"].get("function", one["tool"]) for one in document["tools"]]
    names = [function["name"] for function in functions]
    texts = [*searched_metadata(document), *names, *(function.get("description") or "" for function in functions)]
    return Labels(
        policies=[],
        topologies=[],
        information=[],
        task_count=0,
        call_count=0,
        switches=0,
        language=document["language"],
        tools=list(dict.fromkeys(names)),
        title=_title([", ".join(names)]),
        search_text=search_tokens(texts) if index else "",
    )


_DESCRIBED: dict[str, Callable[[Mapping[str, Any], bool], Labels]] = {
    "multi_turn": _describe_tasks,
    "single_task": _describe_single,
    "composite": _describe_composite,
    "constrained": _describe_case,
    "toolset": _describe_toolset,
}


class _IndexText:
    """Collects tokens until the index text is full."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.room = MAX_INDEX + 1
        # Already indexed, so skipped: whole texts, runs as they are written, words.
        self.texts: set[str] = set()
        self.runs: set[str] = set()
        self.words: set[str] = set()

    def add(self, text: str) -> bool:
        """Add a text; return whether there is room left."""
        if text in self.texts:
            return True
        self.texts.add(text)
        text = text[:MAX_LOOK]
        if text.isascii():
            return self._words(_ASCII.findall(text))
        for run, letters in _RUNS.findall(unicodedata.normalize("NFKC", text)):
            if run:
                if not self._pairs(run):
                    return False
            elif letters not in self.runs and not self._words((letters,)):
                return False
        return True

    def _words(self, runs: Iterable[str]) -> bool:
        """Add words, each once. The speed of imports depends on this loop, so it has no avoidable calls."""
        seen, words, room = self.runs, self.words, self.room
        for run in runs:
            if run in seen:
                continue
            seen.add(run)
            for word in _words(run):
                if word not in words:
                    words.add(word)
                    room -= len(word) + 1
                    if room < 0:
                        self.room = room
                        return False
                    self.tokens.append(word)
        self.room = room
        return True

    def _pairs(self, run: str) -> bool:
        """Add neighbouring characters, including repeated ones, because their order matters."""
        # Each takes two characters and a blank, the last one a character less.
        last = len(run) - 1
        if self.room >= 3 * last + 2:
            self.room -= 3 * last + 2
            self.tokens += map(add, run, run[1:])
            self.tokens.append(run[-1])
            return True
        fitting = min(last, self.room // 3)
        self.tokens += [run[i : i + 2] for i in range(fitting)]
        return False


@lru_cache(maxsize=1 << 15)
def _words(run: str) -> tuple[str, ...]:
    """Return a run of letters and digits as lower-case tokens: the whole, and its parts if it is in camelCase."""
    whole = run.lower()
    # Lower case may add a mark (the Turkish dotted I), which is not a letter to a database.
    words = [whole] if whole.isalnum() else _LETTERS.findall(whole)
    if _HUMP.search(run):
        words += [part.lower() for part in _HUMPS.findall(run)]
    return tuple(word[:MAX_WORD] for word in words)


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _title(messages: Iterable[str]) -> str:
    """Return the first message with content, on one line."""
    title = next((text for message in messages if (text := " ".join(message.split()))), "")
    return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"


def _texts(document: Mapping[str, Any], tools: list[str], calls: list[dict[str, Any]]) -> Iterator[str]:
    """Yield texts. Those that people search for most come first, because the index is limited."""
    yield from searched_metadata(document)
    tasks = document["tasks"]
    for task in tasks:
        yield task["user_message"]
    yield from tools
    for call in calls:
        yield from _strings(call["arguments"])
    for task in tasks:
        for step in task["steps"]:
            for name in ("question", "user_reply", "text"):
                if step.get(name):
                    yield step[name]
    for message in document["context"]:
        yield message["content"]


def _case_texts(document: Mapping[str, Any], tools: list[str], calls: list[dict[str, Any]]) -> Iterator[str]:
    yield from searched_metadata(document)
    yield document["user_query"]
    yield from tools
    for constraint in document["constraints"]:
        yield from (constraint[key] for key in ("category", "text") if constraint[key])
    yield document["answer"] or ""
    for call in calls:
        yield from _strings(call["arguments"])
    yield document["system_prompt"] or ""


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts and numbers within a JSON value."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
