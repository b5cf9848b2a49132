"""Near-duplicates: shingles, signatures, bands, and the exact comparison."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.checks import CheckSettings, near_duplicate_finding
from annotator.core.checks.similarity import THRESHOLD, bands, dialogue_text, jaccard, shingles
from tests.annotator.core.checks.check_cases import alike, good

LONG = "Please tell me which hotels with three stars are free in Graz next weekend and book the cheapest one for me"
CHINESE = "请帮我查一下下周末格拉茨有哪些三星级酒店还有空房并且帮我预订其中最便宜的一家谢谢"

texts = st.text(st.sampled_from("abc 今天 ,.\n"), max_size=40)
sets = st.frozensets(st.integers(0, 2**64 - 1), max_size=60)


def test_shingles_are_runs_of_three_words_or_characters() -> None:
    assert len(shingles("one two three four")) == 2
    assert len(shingles("今天天气好")) == 3
    assert len(shingles("one two")) == 1
    assert shingles(" ,. ") == frozenset()


@pytest.mark.parametrize("same", ["ONE two, three", "one\ntwo   three!", "ｏｎｅ two three"])
def test_case_width_and_punctuation_do_not_count(same: str) -> None:
    assert shingles(same) == shingles("one two three")


def test_jaccard_by_hand() -> None:
    assert jaccard(frozenset({1, 2, 3}), frozenset({2, 3, 4})) == 0.5
    assert jaccard(frozenset(), frozenset()) == 0.0


@given(sets, sets)
def test_jaccard_is_symmetric_and_between_0_and_1(first: frozenset[int], second: frozenset[int]) -> None:
    assert jaccard(first, second) == jaccard(second, first)
    assert 0.0 <= jaccard(first, second) <= 1.0
    assert jaccard(first, first) == (1.0 if first else 0.0)


@given(sets)
def test_bands_fit_a_database_and_do_not_depend_on_order(shingle_set: frozenset[int]) -> None:
    values = bands(shingle_set)
    assert len(values) == (16 if len(shingle_set) >= 8 else 0)
    assert all(-(2**63) <= value < 2**63 for value in values)
    assert bands(frozenset(sorted(shingle_set, reverse=True))) == values


@given(texts)
def test_a_text_is_a_duplicate_of_itself_or_too_short(text: str) -> None:
    assert alike(text, text) == (1.0 if len(shingles(text)) >= 8 else 0.0)


def test_bands_are_the_same_in_every_process() -> None:
    program = f"from annotator.core.checks.similarity import *; print(bands(shingles({LONG!r})))"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(bands(shingles(LONG)))


@pytest.mark.parametrize(
    ("text", "near"),
    [
        (LONG, LONG.replace("Please tell", "Tell")),
        (LONG, LONG + " please"),
        (CHINESE, CHINESE[:-2]),
    ],
)
def test_texts_that_say_nearly_the_same(text: str, near: str) -> None:
    assert alike(text, near) == jaccard(shingles(text), shingles(near)) >= THRESHOLD


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (LONG, LONG.replace("hotels", "flights").replace("Graz", "Linz").replace("book", "drop")),
        (LONG, CHINESE),
        # A formula that many dialogues share says nothing.
        ("And the second one?", "And the second one?"),
    ],
)
def test_texts_that_differ(text: str, other: str) -> None:
    assert alike(text, other) < THRESHOLD


def test_nearly_all_pairs_above_the_threshold_share_a_band_and_few_others_do() -> None:
    chance = random.Random(7)

    def share(overlap: float) -> float:
        """How often two sets of about 100 shingles with this Jaccard similarity share a band."""
        hits = 0
        for _ in range(400):
            common = round(200 * overlap / (1 + overlap))
            own = [frozenset(chance.getrandbits(64) for _ in range(100 - common)) for _ in range(2)]
            both = frozenset(chance.getrandbits(64) for _ in range(common))
            first, second = (bands(part | both) for part in own)
            hits += any(a == b for a, b in zip(first, second, strict=True))
        return hits / 400

    assert share(0.8) > 0.98
    assert share(0.9) > 0.99
    assert share(0.2) < 0.15
    assert share(0.0) == 0.0


def test_the_text_compared_is_what_the_user_says() -> None:
    text = dialogue_text(good())
    assert "Which hotels with three stars" in text
    assert "Three." in text
    assert "booked" not in text


def test_the_finding_goes_stale_when_the_user_says_something_else() -> None:
    document = good()
    finding = near_duplicate_finding(document, "demo-12", 0.874)
    assert finding is not None
    assert (finding.check, finding.severity, finding.anchor) == ("dialogue.near_duplicate", "warning", "")
    assert "overlap by 87 % with those of “demo-12”" in finding.message
    document["tasks"][0]["steps"][0]["arguments"]["city"] = "Linz"
    assert near_duplicate_finding(document, "demo-12", 0.874) == finding
    document["tasks"][0]["user_message"] = "Something else."
    changed = near_duplicate_finding(document, "demo-12", 0.874)
    assert changed is not None
    assert changed.value_hash != finding.value_hash


def test_a_project_may_want_no_near_duplicates_told() -> None:
    settings = CheckSettings(severities={"dialogue.near_duplicate": "off"})
    assert near_duplicate_finding(good(), "demo-12", 0.9, settings=settings) is None
