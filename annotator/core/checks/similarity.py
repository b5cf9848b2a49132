"""Find dialogues with nearly the same text: signatures find candidates, and an exact comparison decides.

A text becomes the set of its shingles (three consecutive words, or characters where words are not separated). A
signature keeps the smallest hash in each of 64 bins of that set (one-permutation MinHash; Li, Owen and Zhang, 2012,
with empty bins filled from the next full one), so the share of places at which two signatures agree is close to the
overlap of the sets. A database looks up bands of four places: texts whose shingles overlap by 80 % share a band with a
probability of 0.999, those with 30 % with one of 0.12.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from annotator.core.checks.context import Context
from annotator.core.checks.registry import Found, check, default_severity
from annotator.core.checks.settings import CheckSettings
from annotator.core.findings import Finding, Stage
from annotator.core.schema.canonical import value_hash
from annotator.core.schema.value_words import cut

BINS, ROWS = 64, 4
WIDTH = 3
#: Texts with fewer shingles are common phrases ("and the second one?") that many dialogues share.
MIN_SHINGLES = 8
THRESHOLD = 0.8

_TOKEN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_SHIFT = 64 - (BINS - 1).bit_length()


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
}


def shingles(text: str) -> frozenset[int]:
    """Return 64-bit hashes of every three consecutive tokens, or of the whole if there are fewer; ignores case and
    width.

    The hashes are the same on every machine and in every process. Empty for a text without a letter or digit.
    """
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    if not tokens:
        return frozenset()
    runs = ["\x1f".join(tokens[i : i + WIDTH]) for i in range(max(1, len(tokens) - WIDTH + 1))]
    return frozenset(
        int.from_bytes(hashlib.blake2b(run.encode("utf-8", "replace"), digest_size=8).digest(), "big") for run in runs
    )


def jaccard(first: frozenset[int], second: frozenset[int]) -> float:
    """Return the share of shingles that both have, between 0 and 1; 0 for two empty sets."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared) if shared else 0.0


def bands(shingle_set: frozenset[int]) -> list[int]:
    """Return 16 signed 64-bit integers; two texts are candidates if they share one at the same position.

    Empty for texts that are too short to compare.
    """
    if len(shingle_set) < MIN_SHINGLES:
        return []
    lowest: list[int | None] = [None] * BINS
    for shingle in shingle_set:
        position = shingle >> _SHIFT
        held = lowest[position]
        if held is None or shingle < held:
            lowest[position] = shingle
    signature = _fill_empty_bins(lowest)
    return [_band_hash(index, signature[index * ROWS : (index + 1) * ROWS]) for index in range(BINS // ROWS)]


def near_duplicate_finding(
    document: dict[str, Any],
    other: str,
    similarity: float,
    *,
    stage: Stage = "import",
    settings: CheckSettings | None = None,
) -> Finding | None:
    """Return the finding that ``document`` nearly repeats the dialogue named ``other``; None if the check is off.

    ``similarity`` is the Jaccard similarity, between 0 and 1. The finding is about what the user says, so a waiver of
    it is outdated when that changes.
    """
    chosen = settings.severities if settings else {}
    severity = default_severity(near_duplicate, stage, chosen)
    if severity == "off":
        return None
    message = (
        f"The user’s messages overlap by {100 * similarity:.0f} % with those of “{cut(other)}”. "
        "Change them, or reject one of the two dialogues."
    )
    return Finding(near_duplicate.id, severity, "", message, value_hash(dialogue_text(document)))


@check("dialogue.near_duplicate", "A dialogue is nearly the same as another one", "warning")
def near_duplicate(context: Context) -> Iterator[Found]:
    """Another dialogue in the project is nearly the same. Assay compares dialogues after each import."""
    return iter(())


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
