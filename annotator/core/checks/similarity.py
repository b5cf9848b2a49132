"""Find dialogues with nearly the same text: signatures find candidates, and an exact comparison decides.

A text becomes the set of its shingles (three consecutive words, or characters where words are not separated), once as
it is and once with its values masked, so that a template that was filled in twice is found (``values.py``). A signature
keeps the smallest hash in each of 64 bins of the masked set (of the other one if nearly all words are values;
one-permutation MinHash; Li, Owen and Zhang, 2012, with
empty bins filled from the next full one), so the share of places at which two signatures agree is close to the overlap
of the sets. A database looks up bands of four places: texts whose shingles overlap by 80 % share a band with a
probability of 0.999, those with 30 % with one of 0.12. One more band is the hash of the whole text: the same text is
found however short it is.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotator.core.checks.context import Context
from annotator.core.checks.registry import Found, check, default_severity
from annotator.core.checks.settings import CheckSettings
from annotator.core.checks.values import masked_tokens, plain_tokens
from annotator.core.findings import Finding, Stage
from annotator.core.schema.canonical import value_hash
from annotator.core.schema.value_words import cut

BINS, ROWS = 64, 4
WIDTH = 3
#: Texts with fewer shingles, masked or not, are compared as wholes only: common phrases ("and the second one?") that
#: many dialogues share. Values say nothing about a template, so fewer of the masked ones are enough.
MIN_MASKED, MIN_SHINGLES = 5, 8
#: Percent of overlap that a project reports unless it chose another.
THRESHOLD = 80
#: Characters of a dialogue whose shingles are compared: those of each take two hundred times their size.
MAX_COMPARED = 20_000

NEAR_DUPLICATE = "dialogue.near_duplicate"
#: same: the same words. values: the same words but for values. overlap: other words differ, too.
Kind = Literal["same", "values", "overlap"]

_SHIFT = 64 - (BINS - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Traits:
    """What is compared of a text: hashes of the whole, of its words, and of them with masked values; its shingles."""

    whole: int
    words: int
    template: int
    shingles: frozenset[int]
    masked: frozenset[int]

    @property
    def signed(self) -> frozenset[int]:
        """The shingles of which the signature is made: masked, unless little is left; none of a short text."""
        if len(self.masked) >= MIN_MASKED:
            return self.masked
        return self.shingles if len(self.shingles) >= MIN_SHINGLES else frozenset()


@dataclass(frozen=True, slots=True, order=True)
class Likeness:
    """How alike two texts are. ``percent``: the overlap of their shingles, rounded down."""

    percent: int
    kind: Kind


def dialogue_text(document: dict[str, Any]) -> str:
    """Return the text that is compared: everything the user says, in order; for a constrained case its query."""
    return _TEXTS[document["kind"]](document)


def _tasks_text(document: dict[str, Any]) -> str:
    parts: list[str] = []
    for task in document["tasks"]:
        parts.append(task["user_message"])
        parts += [
            step["user_reply"] for step in task["steps"] if step["type"] == "clarification" and step["user_reply"]
        ]
    return "\n".join(parts)


def _case_text(document: dict[str, Any]) -> str:
    return str(document["user_query"])


_TEXTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "multi_turn": _tasks_text,
    "single_task": _tasks_text,
    # Composites share single tasks on purpose.
    "composite": lambda document: "",
    "constrained": _case_text,
    # The checks of a toolset compare its tools.
    "toolset": lambda document: "",
}


def traits_of(text: str) -> Traits | None:
    """Return what is compared of a text; None for a blank one.

    Case, width and white space do not count. Of a long text, the whole and the beginning are compared. The hashes are
    the same on every machine and in every process.
    """
    whole = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    if not whole:
        return None
    # The words of a longer text do not say that it is the same.
    rest = (whole,) if len(text) > MAX_COMPARED else ()
    begin = unicodedata.normalize("NFKC", text[:MAX_COMPARED])
    plain, masked = plain_tokens(begin), masked_tokens(begin)
    return Traits(_hash(whole), _hash(*plain, *rest), _hash(*masked, *rest), _shingles(plain), _shingles(masked))


def compare(first: Traits, second: Traits) -> Likeness:
    """Return how alike two texts are; 0 percent if one is too short and they are not the same."""
    if first.whole == second.whole:
        return Likeness(100, "same")
    if not first.signed or not second.signed:
        return Likeness(0, "overlap")
    if first.words == second.words:
        return Likeness(100, "same")
    overlap = 0.0
    if min(len(first.masked), len(second.masked)) >= MIN_MASKED:
        if first.template == second.template:
            return Likeness(100, "values")
        overlap = jaccard(first.masked, second.masked)
    # Masking never hides an overlap that the words themselves have, such as of names in small letters.
    if min(len(first.shingles), len(second.shingles)) >= MIN_SHINGLES:
        overlap = max(overlap, jaccard(first.shingles, second.shingles))
    return Likeness(int(100 * overlap), "overlap")


def jaccard(first: frozenset[int], second: frozenset[int]) -> float:
    """Return the share of shingles that both have, between 0 and 1; 0 for two empty sets."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared) if shared else 0.0


def bands(traits: Traits) -> list[int]:
    """Return signed 64-bit integers; two texts are candidates if they share one at the same position.

    The first is that of the whole text; 16 more follow unless the text is too short to compare.
    """
    found = [_band_hash(BINS, [traits.whole])]
    if not traits.signed:
        return found
    lowest: list[int | None] = [None] * BINS
    for shingle in traits.signed:
        position = shingle >> _SHIFT
        held = lowest[position]
        if held is None or shingle < held:
            lowest[position] = shingle
    signature = _fill_empty_bins(lowest)
    return found + [_band_hash(index, signature[index * ROWS : (index + 1) * ROWS]) for index in range(BINS // ROWS)]


def near_duplicate_finding(
    document: dict[str, Any],
    other: str,
    likeness: Likeness,
    *,
    stage: Stage = "import",
    settings: CheckSettings | None = None,
) -> Finding | None:
    """Return the finding that ``document`` nearly repeats the dialogue named ``other``; None if the check is off.

    The finding is about what the user says, so a waiver of it is outdated when that changes.
    """
    chosen = settings.severities if settings else {}
    severity = default_severity(near_duplicate, stage, chosen)
    if severity == "off":
        return None
    message = f"{_message(likeness, cut(other))} Change them, or reject one of the two dialogues."
    return Finding(near_duplicate.id, severity, "", message, value_hash(dialogue_text(document)))


def _message(likeness: Likeness, other: str) -> str:
    if likeness.kind == "same":
        return f"The user’s messages are the same as those of “{other}”."
    if likeness.kind == "values":
        return f"The user’s messages are the same as those of “{other}” but for values such as names and numbers."
    return f"The user’s messages overlap by {likeness.percent} % with those of “{other}”."


@check(NEAR_DUPLICATE, "A dialogue is nearly the same as another one", "warning")
def near_duplicate(context: Context) -> Iterator[Found]:
    """Another dialogue in the project is nearly the same. Assay compares dialogues after each import."""
    return iter(())


def _hash(*parts: str) -> int:
    data = "\x1f".join(parts).encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def _shingles(tokens: Sequence[str]) -> frozenset[int]:
    """Return the hashes of every three consecutive tokens, or of the whole if there are fewer; empty without any."""
    if not tokens:
        return frozenset()
    return frozenset(_hash(*tokens[i : i + WIDTH]) for i in range(max(1, len(tokens) - WIDTH + 1)))


def _fill_empty_bins(lowest: list[int | None]) -> list[int]:
    """Return the signature with empty bins filled from the next full one, each marked with the distance."""
    signature = []
    for position in range(BINS):
        distance = 0
        while (held := lowest[(position + distance) % BINS]) is None:
            distance += 1
        signature.append(held + distance * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    return signature


def _band_hash(index: int, rows: list[int]) -> int:
    data = index.to_bytes(1, "big") + b"".join(row.to_bytes(8, "big") for row in rows)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
