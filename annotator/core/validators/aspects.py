"""The aspects of a response that a constraint is about, and that a mutation breaks."""

import re
from enum import StrEnum


class Aspect(StrEnum):
    JSON = "json"
    #: Of a JSON object.
    KEYS = "keys"
    START = "start"
    END = "end"
    KEYWORDS = "keywords"
    BULLETS = "bullets"
    TABLE = "table"
    MARKDOWN = "markdown"
    LANGUAGE = "language"
    LENGTH = "length"
    DATE = "date"
    CASE = "case"


#: Words of a constraint's sentence that show what it is about.
_SIGNS: tuple[tuple[Aspect, str], ...] = (
    (Aspect.JSON, r"\bjson\b"),
    (Aspect.KEYS, r"\bkeys?\b|\bfields?\b"),
    (Aspect.START, r"\b(?:start|begin|open)s?(?:ing)?\b|\bprefix|\bpreced|\bbefore\b"),
    (Aspect.END, r"\bend(?:s|ing)?\b|\bconclu|\b(?:final|last) (?:character|word|line)|\bpunctuation"),
    (Aspect.KEYWORDS, r"\bkeywords?\b|\bphrase|\binclud|\bcontain|\bmention|\bidentifier|\bdelimit"),
    (Aspect.BULLETS, r"\bbullet|\b(?:numbered|unordered|ordered) list|\blist items?"),
    (Aspect.TABLE, r"\btabl|\btabular|\bcolumns?\b|\brows?\b"),
    (Aspect.MARKDOWN, r"\bmarkdown|\bbold\b|\bitalic|\bheadings?\b|\bcode block"),
    (Aspect.LANGUAGE, r"\b(?:in|language|translate)\b.{0,20}\b(?:english|chinese|french|german|spanish|language)\b"),
    (Aspect.LENGTH, r"\bwords?\b.{0,20}\b\d|\b\d+.{0,20}\b(?:words|characters|sentences)\b|\bshorter|\blonger"),
    (Aspect.DATE, r"\bdates?\b|\byyyy|\bmm[-/]dd|\bday, month"),
    (Aspect.CASE, r"\buppercase|\blowercase|\bcapital"),
)  # fmt: skip
_PATTERNS = tuple((aspect, re.compile(pattern, re.IGNORECASE)) for aspect, pattern in _SIGNS)
#: Characters of a sentence that are read.
MAX_LENGTH = 2_000


def aspects_of(text: str) -> frozenset[Aspect]:
    """Return the aspects that the words of a constraint's sentence show; may be empty."""
    return frozenset(aspect for aspect, pattern in _PATTERNS if pattern.search(text[:MAX_LENGTH]))
