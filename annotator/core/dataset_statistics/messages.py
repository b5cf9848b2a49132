"""Messages of dialogues: their lengths, how they begin, questions and commands, lexical diversity."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from annotator.core.checks.values import plain_tokens
from annotator.core.dataset_statistics.sentence_forms import FORMS, form_of
from annotator.core.mergeable import Distribution, Mergeable, SampledCounts

#: Kinds of messages, in the order of pages. Those of USER are the user's; a request is a task's message or a query.
REQUEST, REPLY, QUESTION, ANSWER, SYSTEM = "request", "reply", "question", "answer", "system"
KINDS = (REQUEST, REPLY, QUESTION, ANSWER, SYSTEM)
#: Characters of a message whose words are counted; of a longer one, the beginning.
MAX_READ = 20_000
#: Words of an opening, and openings that a summary lists.
OPENING, LISTED = 3, 20
_MAX_WORD = 60
_MAX_WORDS, _MAX_PAIRS, _MAX_OPENINGS = 50_000, 100_000, 20_000


def messages_of(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of each message with content. The imported context is left out."""
    if document["kind"] == "constrained":
        yield from _filled((SYSTEM, document["system_prompt"]), (REQUEST, document["user_query"]))
        for one in document["reference_trajectory"] or ():
            yield from _filled((ANSWER, one["final"]))
        return
    for task in document["tasks"]:
        yield from _filled((REQUEST, task["user_message"]))
        for step in task["steps"]:
            if step["type"] == "clarification":
                yield from _filled((QUESTION, step["question"]), (REPLY, step["user_reply"]))
            elif step["type"] == "answer":
                yield from _filled((ANSWER, step["text"]))


def _filled(*messages: tuple[str, str | None]) -> Iterator[tuple[str, str]]:
    for kind, text in messages:
        if text and text.strip():
            yield kind, text


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters: runs of letters and digits; each Chinese character is one."""
    words = plain_tokens(unicodedata.normalize("NFKC", text[:MAX_READ]))
    return [word[:_MAX_WORD] for word in words]


@dataclass
class Lengths(Mergeable):
    """The lengths of messages of one kind."""

    characters: Distribution = field(default_factory=Distribution)
    words: Distribution = field(default_factory=Distribution)


@dataclass
class MessageStatistics(Mergeable):
    """Counts over the messages of one language."""

    #: Kind → lengths.
    lengths: dict[str, Lengths] = field(default_factory=dict)
    #: Of requests.
    forms: Counter[str] = field(default_factory=Counter)
    openings: SampledCounts = field(default_factory=lambda: SampledCounts(_MAX_OPENINGS))
    words: SampledCounts = field(default_factory=lambda: SampledCounts(_MAX_WORDS))
    pairs: SampledCounts = field(default_factory=lambda: SampledCounts(_MAX_PAIRS))

    def add(self, kind: str, text: str) -> None:
        """Count a message."""
        words = words_of(text)
        lengths = self.lengths.setdefault(kind, Lengths())
        lengths.characters.add(len(text))
        lengths.words.add(len(words))
        if kind != REQUEST:
            return
        self.forms[form_of(text)] += 1
        for word in words:
            self.words.add(word)
        for pair in pairwise(words):
            self.pairs.add(pair)
        if words:
            self.openings.add(opening_of(words))

    def summary(self) -> dict[str, Any]:
        """Return the counts as JSON. ``distinct_1`` and ``distinct_2`` are None without words or pairs of words."""
        return {
            "lengths": [
                [kind, {"characters": one.characters.summary(), "words": one.words.summary()}]
                for kind in KINDS
                if (one := self.lengths.get(kind))
            ],
            "forms": [[form, self.forms[form]] for form in FORMS],
            "openings": {
                "distinct": self.openings.distinct,
                "exact": self.openings.exact,
                "most_common": [list(pair) for pair in self.openings.most_common(LISTED)],
            },
            "words": self.words.total,
            "distinct_1": distinct_share(self.words),
            "distinct_2": distinct_share(self.pairs),
            "exact": self.words.exact and self.pairs.exact,
        }


def distinct_share(counts: SampledCounts) -> float | None:
    """Return different keys over all, rounded to four digits; None if there are none.

    Of words and of pairs of neighbouring words, these are distinct-1 and distinct-2 (Li et al., 2016, A
    diversity-promoting objective function for neural conversation models, section 5.1), here over the number of words
    and of pairs. Pairs do not cross messages. The share falls as the text grows: compare selections of similar size.
    """
    return round(min(1.0, counts.distinct / counts.total), 4) if counts.total else None


def opening_of(words: list[str]) -> str:
    """Return the first words of a message as a text."""
    first = words[:OPENING]
    return ("" if all(len(word) == 1 and not word.isascii() for word in first) else " ").join(first)
