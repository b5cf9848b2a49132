"""How alike two texts are, by the libraries with which the published evaluators decide it.

They are an optional extra, ``scoring``, because the word list for Chinese weighs 40 MB.
"""

import re
import sys
import warnings
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Any

#: Cells of a table of common subsequences. A comparison that needs more is not made.
MAX_CELLS = 1_000_000
#: Most characters of a text whose exact edit ratio is found.
MAX_EDITED = 10_000
#: Most characters of a text that is split into words.
MAX_LENGTH = 100_000
_CHINESE = re.compile("[\u4e00-\u9fa5]")


class TextsTooLong(ValueError):
    """Two texts that would take too long to compare."""


class NoScoringLibraries(RuntimeError):
    """The optional libraries are not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Scoring these benchmarks needs the extra “scoring” (jieba, rouge, rouge-score). "
            "Install it with: uv sync --extra scoring"
        )


def require_libraries() -> None:
    """Raise NoScoringLibraries if one is not installed."""
    _words(), _sentence_rouge(), _word_rouge()


def edit_ratio(text: str, short: str) -> float:
    """Return difflib's ratio of a text and a short one; of a long text, only an upper bound."""
    if len(text) > MAX_EDITED:
        return 2 * len(short) / (len(text) + len(short))
    return SequenceMatcher(None, text, short).ratio()


def holds_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


@lru_cache(maxsize=20_000)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, white space included. Raises TextsTooLong."""
    if len(text) > MAX_LENGTH:
        raise TextsTooLong
    return tuple(_words().cut(text))


@lru_cache(maxsize=20_000)
def rouge_by_sentences(text: str, other: str) -> float | None:
    """Return ROUGE-L F of two texts as WildToolBench computes it; None where the library fails.

    Words are divided by white space, in texts with Chinese by the word list. Raises TextsTooLong.
    """
    if holds_chinese(text) or holds_chinese(other):
        text, other = " ".join(words(text)), " ".join(words(other))
    _require_short(len(text.split()), len(other.split()))
    try:
        return float(_sentence_rouge().get_scores(text, other)[0]["rouge-l"]["f"])
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=20_000)
def rouge_by_words(text: str, other: str) -> float:
    """Return ROUGE-L F of two texts as C3-Bench computes it, over words that include white space.
    Raises TextsTooLong.
    """
    _require_short(len(words(text)), len(words(other)))
    return float(_word_rouge().score(text, other)["rougeL"].fmeasure)


def _require_short(length: int, other: int) -> None:
    if length * other > MAX_CELLS:
        raise TextsTooLong


@cache
def _words() -> Any:
    try:
        with warnings.catch_warnings():
            # Its source has invalid escapes, of which Python warns when it compiles it.
            warnings.simplefilter("ignore")
            import jieba
    except ImportError:
        raise NoScoringLibraries from None
    tokenizer = jieba.Tokenizer()
    # Read from the package. By itself the library would read its cache from a folder that all users can write to.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


@cache
def _sentence_rouge() -> Any:
    try:
        import rouge
    except ImportError:
        raise NoScoringLibraries from None
    return rouge.Rouge(metrics=["rouge-l"])


class _Tokenizer:
    def tokenize(self, text: str) -> list[str]:
        return list(words(text))


@cache
def _word_rouge() -> Any:
    try:
        from absl import logging
        from rouge_score import rouge_scorer
    except ImportError:
        raise NoScoringLibraries from None
    # Its log handler keeps the standard error of this moment and closes it at the end of logging, even if a program
    # has only redirected standard error for a while. It never closes the process's own.
    logging.get_absl_handler().python_handler.setStream(sys.__stderr__)
    return rouge_scorer.RougeScorer(["rougeL"], tokenizer=_Tokenizer())
