"""What the sentence of a format or content constraint demands of the final response, found by patterns."""

import re
from dataclasses import dataclass

from annotator.core.constraints.sentence_claims import MAX_LENGTH

_ARTICLE = (
    r"(?:(?:a|an|the|one|any|at least|single|valid|well-formed|complete|properly|formatted|structured|proper)\s+)*"
)
#: A response that contains some JSON need not be JSON.
_JSON_INSIDE = re.compile(rf"\b(?:includ|contain|embed|provid|featur)\w*\s+{_ARTICLE}JSON\b", re.I)
_JSON = re.compile(r"\bJSON\b")
_JSON_WHOLE = re.compile(
    r"^\W*JSON\b|\b(?:entire|whole)\b.*\bJSON\b"
    rf"|\b(?:as|in|using|be|only|return|output|(?:reply|respond|answer)\s+(?:only\s+)?with)\s+{_ARTICLE}JSON\b"
    r"(?!\s+(?:value|key|field))|\bJSON(?:\s+(?:object|array|document))?\s+(?:only|alone|and nothing else)\b",
    re.I | re.S,
)
_TABLE = re.compile(r"\b(?:tabular|table)\b", re.I)
_MARKDOWN = re.compile(r"\bMarkdown\b", re.I)
_BULLETS = re.compile(r"\bbullet(?:ed)?\b", re.I)
_WHOLE = re.compile(r"\b(?:entire|whole)\b|\bonly\b|\b(?:be|formatted|structured|presented)\s+(?:as|in|using)\b", re.I)
_MARKS = {
    "period": ".", "full stop": ".", "exclamation mark": "!", "exclamation point": "!", "question mark": "?",
    "semicolon": ";", "colon": ":", "ellipsis": "...",
}  # fmt: skip
_QUOTED = r"[\"“'‘`]([^\"”'’`]{1,80})[\"”'’`]"
_NOUNS = "a|an|the|exact|exactly|identifier|phrase|word|text|string|words|symbol|marker|token"
_WITH = rf"(?:\s+\S+){{0,4}}?\s+with\s+(?:(?:{_NOUNS})\s+)*"
_END = re.compile(
    rf"\b(?:end|ends|ending|ended|conclude|concludes|concluding){_WITH}(?:{_QUOTED}|({'|'.join(_MARKS)})\b)", re.I
)
_START = re.compile(
    rf"\b(?:begin|begins|beginning|start|starts|starting){_WITH}(?:{_QUOTED}|({'|'.join(_MARKS)})\b)", re.I
)
_EXAMPLES = re.compile(r"\b(?:such as|for example|e\.g\.|like|including the use of|or)\b", re.I)
#: Parts of a response; a demand on their beginning or end says nothing about the whole.
_PART = re.compile(r"\b(?:values?|each|every|fields?|keys?|lines?|items?|bullets?|rows?|paragraphs?)\b", re.I)
#: After these words, the quoted text is not the end of the response.
_MORE = re.compile(r"\W*followed by\b", re.I)
#: “[name]” stands for text that is not known; “[END]” stands for itself.
_OPEN_PLACE = re.compile(r"[\[<{][^\]>}]*[a-z][^\]>}]*[\]>}]|:$")


@dataclass(frozen=True, slots=True)
class Demands:
    """``form`` is what the whole response must be (json, markdown, table, bullets), or empty.

    ``starts`` and ``ends`` are texts that it must begin or end with.
    """

    form: str
    starts: tuple[str, ...]
    ends: tuple[str, ...]


def read_demands(text: str) -> Demands:
    """Return the demands of one or more sentences."""
    text = text[:MAX_LENGTH]
    # The text after a label such as “Answer:” at the end is not known.
    ends = tuple(end for end in _texts(_END, text) if not _OPEN_PLACE.search(end))
    starts = tuple(start for start in _texts(_START, text) if not _OPEN_PLACE.search(start.rstrip(":")))
    return Demands(_form(text), starts, ends)


def only_examples(text: str) -> bool:
    """Return whether a sentence names elements as examples, so that one of them is enough."""
    return bool(_EXAMPLES.search(text))


def _form(text: str) -> str:
    if _JSON.search(text):
        # “contains a JSON object” says nothing about the rest, and “the JSON answer must …” does not demand JSON.
        return "" if _JSON_INSIDE.search(text) or not _JSON_WHOLE.search(text) else "json"
    if not _WHOLE.search(text):
        return ""
    for form, pattern in (("table", _TABLE), ("markdown", _MARKDOWN), ("bullets", _BULLETS)):
        if pattern.search(text):
            return form
    return ""


def _clause(text: str, end: int) -> str:
    """Return the part of the clause before ``end``; searching the whole text for every match would be quadratic."""
    return text[max(text.rfind(mark, 0, end) for mark in ".;") + 1 : end]


def _texts(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = (
        match
        for match in pattern.finditer(text)
        if not _PART.search(_clause(text, match.start())) and not _MORE.match(text, match.end())
    )
    texts = (match[1] or _MARKS[match[2].lower()] for match in found)
    return tuple(dict.fromkeys(each.strip() for each in texts if each.strip()))
