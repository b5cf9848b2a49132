"""Find where the system prompt states each constraint: once, with the same content."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from annotator.core.constraints.case import Case
from annotator.core.constraints.model import Constraint
from annotator.core.constraints.resource import InteractionRounds
from annotator.core.constraints.sentence_claims import named_tools, read_claim
from annotator.core.constraints.stating import find_statement, names_its_subject
from annotator.core.constraints.taxonomy import find_category
from annotator.core.findings import Finding
from annotator.core.schema.value_words import cut

ID = "constraint.anchor"
UNSTATED = "constraint.unstated"
#: Characters of a prompt that are searched: the most that an editor stores.
MAX_PROMPT = 200_000
#: Characters of a prompt, and of a quote, that are compared to suggest the sentence that was meant.
MAX_COMPARED = 50_000
#: Places of one quote that are reported. There should be one; a page marks them all.
MAX_SPANS = 5
_MAX_QUOTE = 2_000
#: The share of common trigrams from which one sentence is suggested for another.
_ALIKE = 0.45
# The end of a sentence is matched possessively: trying again from each of its marks would be quadratic.
_SENTENCE = re.compile(r"[^\n.!?。！？]++(?:[.!?。！？]++(?:[\"”']|(?=\s|$)|[^\n.!?。！？]*+))*+")
_MARKS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "`": None, "*": None, "–": "-", "—": "-"})


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the system prompt, in characters from its start; the end is exclusive."""

    start: int
    end: int


def find_spans(prompt: str, quote: str) -> list[Span]:
    """Return the first ``MAX_SPANS`` places of ``quote``; ignore case, white space, quotation marks and emphasis."""
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
    """Return the sentences and list items of a prompt."""
    spans = []
    for match in _SENTENCE.finditer(prompt, 0, MAX_PROMPT):
        text = match[0]
        lead = len(text) - len(text.lstrip(" \t-*•"))
        if text[lead:].strip():
            spans.append(Span(match.start() + lead, match.start() + len(text.rstrip())))
    return spans


def nearest(prompt: str, quote: str) -> Span | None:
    """Return the sentence most similar to ``quote``; None if no sentence is similar."""
    wanted = _threes(quote[:_MAX_QUOTE])
    best, best_share = None, _ALIKE
    for span, threes in _sentence_threes(prompt[:MAX_COMPARED]):
        share = 2 * len(threes & wanted) / (len(threes) + len(wanted))
        if share > best_share:
            best, best_share = span, share
    return best


def anchor_findings(case: Case) -> Iterator[Finding]:
    """Yield a finding for a constraint that the prompt does not state, or whose span is repeated, different or gone.

    A constraint without a marked span may be stated in other words, as a clause of any sentence. Nothing if there is no
    prompt.
    """
    prompt = case.system_prompt
    if prompt is None:
        return
    if len(prompt) > MAX_PROMPT and case.constraints:
        long = (
            f"The system prompt has {len(prompt):,} characters. Only the first "
            f"{MAX_PROMPT:,} are searched for constraints. Shorten the prompt."
        )
        yield case.finding(ID, 0, long, "warning")
    for i, constraint in enumerate(case.constraints):
        told = _told(prompt, constraint)
        if told:
            yield case.finding(ID, i, told, "warning")
        elif told is None and not _is_usual_limit(constraint):
            yield case.finding(UNSTATED, i, _unstated(prompt, constraint.anchor or constraint.text or ""))


def stating_spans(prompt: str, constraint: Constraint) -> list[Span]:
    """Return where the prompt states a constraint: its marked span or its text, else a clause that says the same."""
    spans = _own_spans(prompt, constraint)
    stated = None if spans or constraint.anchor else find_statement(prompt, constraint)
    if stated is not None and stated.agrees:
        text = prompt[stated.start : stated.end]
        start = stated.end - len(_without_mark(text))
        return [Span(start, start + len(prompt[start : stated.end].rstrip()))]
    return spans


def _own_spans(prompt: str, constraint: Constraint) -> list[Span]:
    if constraint.anchor:
        return find_spans(prompt, constraint.anchor)
    # “At most 10” in the prompt may be about something else.
    return find_spans(prompt, constraint.text or "") if names_its_subject(constraint) else []


def _without_mark(text: str) -> str:
    return text.lstrip(" \t\r\n-*•")


def _told(prompt: str, constraint: Constraint) -> str | None:
    """Return what is wrong with the words that state a constraint, empty if nothing is; None if none state it."""
    spans = _own_spans(prompt, constraint)
    if len(spans) > 1:
        or_more = " or more" if len(spans) == MAX_SPANS else ""
        return f"The system prompt states this constraint {len(spans)}{or_more} times. State it once."
    if spans:
        if constraint.anchor and constraint.text and _differs(constraint.anchor, constraint.text):
            return (
                f"This constraint reads “{cut(constraint.text)}”, but the system prompt says "
                f"“{cut(constraint.anchor)}”. Make them agree."
            )
        return ""
    stated = find_statement(prompt, constraint)
    if stated is None:
        return None
    found = cut(_without_mark(prompt[stated.start : stated.end]).rstrip())
    if not stated.agrees:
        return (
            "" if _is_usual_limit(constraint) else f"The system prompt has another number: “{found}”. Make them agree."
        )
    if constraint.anchor:
        return f"The marked span is no longer in the system prompt. The nearest text is “{found}”. Mark it again."
    return ""


def _is_usual_limit(constraint: Constraint) -> bool:
    """Return whether it is the limit on rounds that every evaluation has, which no prompt need state."""
    category = find_category(constraint.category)
    return isinstance(category, InteractionRounds) and constraint.parameters == category.usual(())


def _unstated(prompt: str, quote: str) -> str:
    near = nearest(prompt, quote) if quote.strip() else None
    if near is None:
        return "The system prompt does not state this constraint. Add it, or mark the span that states it."
    found = cut(prompt[near.start : near.end])
    return (
        f"The system prompt does not state this constraint. The nearest text is “{found}”. Make them agree, or mark "
        "the span that states it."
    )


def _differs(anchor: str, text: str) -> bool:
    """Return whether two sentences have different numbers or different tools, if both have some."""
    one, other = read_claim(anchor), read_claim(text)
    pairs = ((one.lows, other.lows), (one.highs, other.highs), (named_tools(anchor), named_tools(text)))
    return any(mine and theirs and mine != theirs for mine, theirs in pairs)


def _plain(text: str) -> tuple[str, list[int]]:
    """Return ``text`` in one case, with single blanks and plain marks, and the position of each of its characters."""
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
    """Return all trigrams of the plain text; comparing two such sets takes linear time."""
    plain = f" {_plain(text)[0].strip()} "
    return frozenset(plain[at : at + 3] for at in range(len(plain) - 2)) or frozenset((plain,))


@lru_cache(maxsize=4)
def _sentence_threes(prompt: str) -> list[tuple[Span, frozenset[str]]]:
    return [(span, _threes(prompt[span.start : span.end])) for span in sentences(prompt)]


@lru_cache(maxsize=4)
def _plain_prompt(prompt: str) -> tuple[str, list[int]]:
    """Return ``_plain`` (cached): all constraints of a case are searched for in the same prompt."""
    return _plain(prompt[:MAX_PROMPT])
