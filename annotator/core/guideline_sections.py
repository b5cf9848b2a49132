"""The sections of a guideline in Markdown, to which error types refer."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table"])
_MARKS = re.compile(r"[*_`]")
#: A table cell or a single word is not a sentence.
_SHORTEST = 20
_END = re.compile(r"(?<=[.!?。！？])\s+")


@dataclass(frozen=True)
class Section:
    """A heading and the paragraphs, list items and table rows below it, as plain text."""

    slug: str
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class GuidelineReference:
    """Where the guideline explains something: the section, and the sentence, if any."""

    slug: str
    title: str
    sentence: str


def slug_of(title: str, taken: dict[str, int]) -> str:
    """Return the id of a heading: letters and digits of any script, separated by hyphens; never one that is taken.

    ``taken``: the ids of the headings before it, each with the last number added to it, so that thousands of equal
    headings are not counted from the beginning each time.
    """
    stem = "s-" + ("-".join(re.findall(r"\w+", title.casefold())) or "section")
    slug, n = stem, taken.get(stem, 1)
    while slug in taken:
        n += 1
        slug = f"{stem}-{n}"
    taken[slug] = 1
    taken[stem] = n
    return slug


@lru_cache(maxsize=64)  # A version of a guideline never changes.
def read_sections(text: str) -> tuple[Section, ...]:
    """Return the sections in order. Text before the first heading belongs to none."""
    sections: list[Section] = []
    taken: dict[str, int] = {}
    title, in_heading = "", False
    lines: list[str] = []
    for token in _PARSER.parse(text):
        if token.type == "heading_open":
            if title:
                sections.append(Section(slug_of(title, taken), title, tuple(lines)))
            in_heading = True
        elif token.type == "inline" and in_heading:
            title, lines, in_heading = bare_text(token.content), [], False
        elif token.type == "inline":
            lines.append(bare_text(token.content))
    if title:
        sections.append(Section(slug_of(title, taken), title, tuple(lines)))
    return tuple(sections)


def find_reference(text: str, *, heading: str, words: Iterable[str]) -> GuidelineReference | None:
    """Return where a guideline explains something; None if it does not.

    ``heading``: the heading it is known to be under (blank: not known). Otherwise the first heading, or else the first
    sentence, that contains one of ``words``.
    """
    sections = read_sections(text)
    # Whole words: “other” is not in “another”. (Scripts without spaces have no words, so any place will do.)
    wanted = [re.compile(rf"(?<![a-z0-9]){re.escape(word.casefold())}(?![a-z0-9])") for word in words if word]
    named = heading.strip().lstrip("#").strip().casefold()
    for section in sections:
        if named and named in (section.title.casefold(), section.slug):
            return GuidelineReference(section.slug, section.title, _sentence(section, wanted) or _first(section))
    for section in sections:
        if any(word.search(section.title.casefold()) for word in wanted):
            return GuidelineReference(section.slug, section.title, _first(section))
    for section in sections:
        sentence = _sentence(section, wanted)
        if sentence:
            return GuidelineReference(section.slug, section.title, sentence)
    return None


def _sentence(section: Section, wanted: list[re.Pattern[str]]) -> str:
    for line in section.lines:
        if len(line) < _SHORTEST:
            continue
        for sentence in _END.split(line):
            if any(word.search(sentence.casefold()) for word in wanted):
                # A name alone explains nothing; the explanation follows it.
                return line if len(sentence) < 40 else sentence
    return ""


def _first(section: Section) -> str:
    return _END.split(section.lines[0])[0] if section.lines else ""


def bare_text(text: str) -> str:
    """Return the text without the marks of emphasis and code."""
    return " ".join(_MARKS.sub("", text).split())
