"""Texts side by side."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison import Effort, Part, word_diff
from annotator.core.comparison.text_diff import MAX_DIFFERENCES

SAME, REMOVED, ADDED = Part.SAME, Part.REMOVED, Part.ADDED


def text(side):
    return "".join(part for _, part in side)


def same(side):
    return "".join(part for kind, part in side if kind is SAME)


def test_words():
    left, right = word_diff("Two flights match.", "Two cheap flights match!")
    assert left == [(SAME, "Two flights match"), (REMOVED, ".")]
    assert right == [(SAME, "Two "), (ADDED, "cheap "), (SAME, "flights match"), (ADDED, "!")]


def test_chinese_is_compared_by_character():
    left, right = word_diff("北京今天天气", "北京明天天气")
    assert left == [(SAME, "北京"), (REMOVED, "今"), (SAME, "天天气")]
    assert right == [(SAME, "北京"), (ADDED, "明"), (SAME, "天天气")]


def test_a_lone_blank_between_differences_differs_too():
    left, right = word_diff("see red apples", "see green pears")
    assert left == [(SAME, "see "), (REMOVED, "red apples")]
    assert right == [(SAME, "see "), (ADDED, "green pears")]


@pytest.mark.parametrize(
    ("one", "other", "left", "right"),
    [
        ("", "", [], []),
        ("a", "a", [(SAME, "a")], [(SAME, "a")]),
        ("", "a", [], [(ADDED, "a")]),
        ("a", "", [(REMOVED, "a")], []),
        ("a", "b", [(REMOVED, "a")], [(ADDED, "b")]),
    ],
)
def test_empty_and_single(one, other, left, right):
    assert word_diff(one, other) == (left, right)


def test_what_a_page_has_no_effort_left_for_is_shown_in_one_piece():
    one, other = (" ".join(f"{side}{n}" for n in range(150)) for side in "ab")
    effort = Effort(50_000)
    for _ in range(1_000):
        left, right = word_diff(one, other, effort)
        assert (text(left), text(right)) == (one, other)
    assert -1_000 < effort.left <= 0
    assert word_diff("one word", "two words", effort) == ([(REMOVED, "one word")], [(ADDED, "two words")])
    assert word_diff("same", "same", effort) == ([(SAME, "same")], [(SAME, "same")])


def test_text_with_too_many_differences_is_compared_by_line():
    words = [f"word{n}" for n in range(2 * MAX_DIFFERENCES)]
    one = "first line\n" + " ".join(words) + "\nlast line"
    other = "first line\n" + " ".join(reversed(words)) + "\nlast line"
    left, right = word_diff(one, other)
    assert [kind for kind, _ in left] == [SAME, REMOVED, SAME]
    assert same(left) == same(right) == "first line\nlast line"


def test_what_has_nothing_in_common_is_one_difference():
    one = "\n".join(f"a{n}" for n in range(2 * MAX_DIFFERENCES))
    other = "\n".join(f"b{n}" for n in range(2 * MAX_DIFFERENCES))
    assert word_diff(one, other) == ([(REMOVED, one)], [(ADDED, other)])


@pytest.mark.parametrize("alphabet", ["a ", "北", "ab \n", "a\n"])
def test_long_repetitive_text_is_answered(alphabet):
    """A matcher that looks at every pair of equal words would be at it for hours."""
    source = random.Random(7)
    one, other = ("".join(source.choices(alphabet, k=100_000)) for _ in range(2))
    left, right = word_diff(one, other)
    assert (text(left), text(right)) == (one, other)


def test_one_word_changed_in_a_long_text():
    words = ["word"] * 20_000
    other = [*words[:9_000], "other", *words[9_001:]]
    left, right = word_diff(" ".join(words), " ".join(other))
    assert [part for kind, part in left if kind is REMOVED] == ["word"]
    assert [part for kind, part in right if kind is ADDED] == ["other"]


_texts = st.text(alphabet="ab 北京\n.\x00\u3040_é\x1c\ud7a3", max_size=30) | st.text(max_size=30)


@given(_texts, _texts)
def test_the_parts_spell_the_texts_and_share_what_is_the_same(one, other):
    left, right = word_diff(one, other)
    assert (text(left), text(right)) == (one, other)
    assert same(left) == same(right)
    assert ADDED not in [kind for kind, _ in left]
    assert REMOVED not in [kind for kind, _ in right]
    for side in (left, right):
        assert all(part for _, part in side)
        assert all(a[0] is not b[0] for a, b in pairwise(side))
    assert (one == other) == all(kind is SAME for kind, _ in left + right)
