"""Where the system prompt states each constraint: exactly one span, that says the same."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from annotator.core.constraints.case import Case, title
from annotator.core.constraints.sentence_claims import named_tools, read_claim
from annotator.core.findings import Finding
from annotator.core.schema.value_words import cut

ID = "constraint.anchor"
#: Characters of a prompt that are searched: as many as an editor stores.
MAX_PROMPT = 200_000
#: Characters of a prompt whose sentences are offered as the one that was meant, and of a quote that is compared.
MAX_COMPARED = 50_000
#: Places of one quote that are looked for: one is right, and a page marks them all.
MAX_SPANS = 5
_MAX_QUOTE = 2_000
#: Which share of their groups of three letters two sentences must have in common for one to be taken for the other.
_ALIKE = 0.45
# What ends a sentence is taken possessively, in one go: tried again from each of its marks, a row of them is quadratic.
_SENTENCE = re.compile(r"[^\n.!?。！？]++(?:[.!?。！？]++(?:[\"”']|(?=\s|$)|[^\n.!?。！？]*+))*+")
_MARKS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "`": None, "*": None, "–": "-", "—": "-"})


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the system prompt, in characters from its start; the end is exclusive."""

    start: int
    end: int


def find_spans(prompt: str, quote: str) -> list[Span]:
    """The first ``MAX_SPANS`` places of ``quote``; case, white space, quotation marks and emphasis do not matter."""
    words = quote.casefold().translate(_MARKS).split()
    if not words:
        return []
    plain, places = _plain_prompt(prompt)
    wanted, at = " ".join(words), 0
    found: list[Span] = []
    while len(found) < MAX_SPANS and (at := plain.find(wanted, at)) >= 0:
        found.append(Span(places[at], places[at + len(wanted) - 1] + 1))
        at += len(wanted)
    return found


def sentences(prompt: str) -> list[Span]:
    """The sentences and list items of a prompt."""
    spans = []
    for match in _SENTENCE.finditer(prompt, 0, MAX_PROMPT):
        text = match[0]
        lead = len(text) - len(text.lstrip(" \t-*•"))
        if text[lead:].strip():
            spans.append(Span(match.start() + lead, match.start() + len(text.rstrip())))
    return spans


def nearest(prompt: str, quote: str) -> Span | None:
    """The sentence most like ``quote``, if one is like it at all."""
    wanted = _threes(quote[:_MAX_QUOTE])
    best, best_share = None, _ALIKE
    for span, threes in _sentence_threes(prompt[:MAX_COMPARED]):
        share = 2 * len(threes & wanted) / (len(threes) + len(wanted))
        if share > best_share:
            best, best_share = span, share
    return best


def anchor_findings(case: Case) -> Iterator[Finding]:
    """A constraint whose span is missing, doubled, or says something else. Nothing where there is no prompt."""
    prompt = case.system_prompt
    if prompt is None:
        return
    if len(prompt) > MAX_PROMPT and case.constraints:
        told = (
            f"The system prompt has {len(prompt):,} characters; constraints are looked for in the first "
            f"{MAX_PROMPT:,}. Shorten it."
        )
        yield case.finding(ID, 0, told)
    for i, constraint in enumerate(case.constraints):
        quote = constraint.anchor or constraint.text or ""
        name = title(case, i).capitalize()
        spans = find_spans(prompt, quote)
        if len(spans) > 1:
            or_more = " or more" if len(spans) == MAX_SPANS else ""
            told = f"{name} stands {len(spans)}{or_more} times in the system prompt; state it once."
            yield case.finding(ID, i, told)
        elif not spans:
            yield case.finding(ID, i, _missing(name, prompt, quote))
        elif constraint.anchor and constraint.text and _differs(constraint.anchor, constraint.text):
            told = (
                f"{name} reads “{cut(constraint.text)}”, the system prompt “{cut(constraint.anchor)}”; make them agree."
            )
            yield case.finding(ID, i, told)


def _missing(name: str, prompt: str, quote: str) -> str:
    near = nearest(prompt, quote) if quote.strip() else None
    if near is None:
        return f"{name} is not stated in the system prompt; add it, or mark the span that states it."
    found = cut(prompt[near.start : near.end])
    return f"{name} is not stated as it reads; nearest is “{found}”. Make them agree, or mark the span that states it."


def _differs(anchor: str, text: str) -> bool:
    """Whether two sentences give other numbers or other tools, where both give some."""
    one, other = read_claim(anchor), read_claim(text)
    pairs = ((one.lows, other.lows), (one.highs, other.highs), (named_tools(anchor), named_tools(text)))
    return any(mine and theirs and mine != theirs for mine, theirs in pairs)


def _plain(text: str) -> tuple[str, list[int]]:
    """``text`` in one case, with single blanks and plain marks, and where each of its characters stands."""
    out: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        plain = character.casefold().translate(_MARKS)
        if character.isspace():
            if not out or out[-1] == " ":
                continue
            plain = " "
        out += plain
        places += [place] * len(plain)
    return "".join(out), places


def _threes(text: str) -> frozenset[str]:
    """Every three letters that follow one another, of the plain text; comparing two such sets takes linear time."""
    plain = f" {_plain(text)[0].strip()} "
    return frozenset(plain[at : at + 3] for at in range(len(plain) - 2)) or frozenset((plain,))


@lru_cache(maxsize=4)
def _sentence_threes(prompt: str) -> list[tuple[Span, frozenset[str]]]:
    return [(span, _threes(prompt[span.start : span.end])) for span in sentences(prompt)]


@lru_cache(maxsize=4)
def _plain_prompt(prompt: str) -> tuple[str, list[int]]:
    """``_plain``, kept: every constraint of a case is looked for in the same prompt, and more than once a page."""
    return _plain(prompt[:MAX_PROMPT])
