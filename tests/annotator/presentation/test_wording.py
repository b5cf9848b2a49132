"""Counts in sentences."""

import pytest

from annotator.core.wording import counted

pytestmark = pytest.mark.any_database


@pytest.mark.parametrize(
    ("number", "noun", "plural", "words"),
    [
        (0, "dialogue", "", "0 dialogues"),
        (1, "dialogue", "", "1 dialogue"),
        (1200, "dialogue", "", "1,200 dialogues"),
        (2, "entry", "entries", "2 entries"),
    ],
)
def test_one_is_singular(number: int, noun: str, plural: str, words: str) -> None:
    assert counted(number, noun, plural) == words
