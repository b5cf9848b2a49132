"""Near-duplicates: what is compared of a text, signatures, bands, and the exact comparison."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.checks import CheckSettings, near_duplicate_finding
from annotator.core.checks.similarity import (
    MAX_COMPARED,
    THRESHOLD,
    Likeness,
    Traits,
    bands,
    compare,
    dialogue_text,
    jaccard,
    traits_of,
)
from annotator.core.checks.values import VALUE, masked_tokens
from tests.annotator.core.checks.check_cases import alike, good

LONG = "Please tell me which hotels with three stars are free in Graz next weekend and book the cheapest one for me"
CHINESE = "请帮我查一下下周末格拉茨有哪些三星级酒店还有空房并且帮我预订其中最便宜的一家谢谢"

texts = st.text(st.sampled_from("abAB 今天2“”'. ,.\n@"), max_size=60)
sets = st.frozensets(st.integers(0, 2**64 - 1), max_size=60)


def traits(text: str) -> Traits:
    found = traits_of(text)
    assert found is not None
    return found


def of(masked: frozenset[int]) -> Traits:
    return Traits(1, 2, 3, frozenset(), masked)


def test_shingles_are_runs_of_three_words_or_characters() -> None:
    assert len(traits("one other and four").shingles) == 2
    assert len(traits("天气好吗").shingles) == 2
    assert len(traits("one other").shingles) == 1
    assert traits(" ,. ").shingles == frozenset()
    assert traits_of(" \n ") is None


@pytest.mark.parametrize("same", ["ONE or, other", "one\nor   other!", "ｏｎｅ or other"])
def test_case_width_and_punctuation_do_not_count(same: str) -> None:
    assert traits(same).words == traits("one or other").words
    assert traits(same).shingles == traits("one or other").shingles


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
    values = bands(of(shingle_set))
    assert len(values) == (17 if len(shingle_set) >= 5 else 1)
    assert all(-(2**63) <= value < 2**63 for value in values)
    assert bands(of(frozenset(sorted(shingle_set, reverse=True)))) == values


@given(texts, texts)
def test_a_text_is_always_found_to_be_the_same_as_itself(text: str, other: str) -> None:
    assert alike(text, text) == (100 if text.strip() else 0)
    assert alike(text, other) == alike(other, text)


@pytest.mark.parametrize("text", ["hi", "👍", "好的", "?", "And the second one?"])
def test_the_same_text_is_found_however_short(text: str) -> None:
    assert compare(traits(text), traits(f" {text.upper()}\n")) == Likeness(100, "same")
    assert bands(traits(text))[0] == bands(traits(f" {text.upper()}\n"))[0]
    assert alike(text, f"{text} x") == 0


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Book a table in Porto for 4 on 2026-03-01", "book a table in # for # on #"),
        ("Mail New York's list to a.b+c@example.org, see https://example.org/x?y=1.", "mail # s list to # see #"),
        ("I think Li Na is here. Open “The last one” for ORD-4417 at 7 pm", "i think # is here open # for # at #"),
        ("Is NASA open on Friday? Who knows", "is # open on # who knows"),
        ("don't say 'be quiet' or \"stop\"", "don t say # or #"),
        ("订3月12日去上海的票，三张，书名是《红楼梦》", "订 # 去 上 海 的 票 # 张 书 名 是 #"),
        ("Find The Best Hotel In Town", "find the best hotel in town"),
        ("#1 of two", "# of #"),
    ],
)
def test_values_are_masked(text: str, masked: str) -> None:
    assert " ".join(masked_tokens(text)).replace(VALUE, "#") == masked


def test_masking_takes_time_in_proportion_to_the_text() -> None:
    """Each of these would take minutes if a pattern began again at every character."""
    for piece in ("'a", "“", '"', "a@", "Ab", "《", "...", "三", "www.", "_", ")"):
        assert isinstance(masked_tokens(piece * 200_000), list)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Book a table in Porto for 4 on 2026-03-01", "Book a table in Nantes for 6 on 12 May 2026"),
        ("Send the invoice A7-99310 to amina@example.org, please", "Send the invoice TK421 to j@example.com, please"),
        ("请把附件发到a@example.org标题写「夏日清单」", "请把附件发到b@example.net标题写《季度预算》"),
    ],
)
def test_one_template_with_other_values(text: str, other: str) -> None:
    assert compare(traits(text), traits(other)) == Likeness(100, "values")
    assert alike(text, other) == 100


def test_bands_are_the_same_in_every_process() -> None:
    program = f"from annotator.core.checks.similarity import *; print(bands(traits_of({LONG!r})))"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(bands(traits(LONG)))


@pytest.mark.parametrize(
    ("text", "near"),
    [
        (LONG, LONG.replace("Please tell", "Tell")),
        (LONG, LONG + " please"),
        (CHINESE, CHINESE[:-2]),
    ],
)
def test_texts_that_say_nearly_the_same(text: str, near: str) -> None:
    found = compare(traits(text), traits(near))
    assert found.kind == "overlap"
    assert 100 > alike(text, near) == found.percent >= THRESHOLD


def test_names_in_small_letters_overlap_as_their_words_do() -> None:
    small = LONG.replace("Graz", "graz")
    assert compare(traits(LONG), traits(small)) == Likeness(100, "same")
    assert alike(LONG, small + " please") >= THRESHOLD


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (LONG, LONG.replace("hotels", "flights").replace("Graz", "Linz").replace("book", "drop")),
        (LONG, CHINESE),
        # A formula that many dialogues share says nothing.
        ("And the second one?", "And the first one?"),
        ("And 2 of them?", "And 3 of them?"),
    ],
)
def test_texts_that_differ(text: str, other: str) -> None:
    assert alike(text, other) < THRESHOLD


def test_texts_of_little_but_values_are_compared_by_these() -> None:
    text = " ".join(f"word{n}" for n in range(30))
    assert compare(traits(text), traits(text + " word31")) == Likeness(96, "overlap")
    assert alike(text, text + " word31") == 96
    assert alike(text, " ".join(f"word{n}" for n in range(50, 80))) == 0


def test_long_texts_that_begin_alike_overlap_and_are_not_the_same() -> None:
    begin = " ".join("".join("abcdefghij"[int(digit)] for digit in f"{n}") for n in range(6000))
    assert len(begin) > MAX_COMPARED
    assert compare(traits(f"{begin} one"), traits(f"{begin} other")) == Likeness(100, "overlap")
    assert compare(traits(f"{begin} one"), traits(f"{begin} one")) == Likeness(100, "same")


def test_nearly_all_pairs_above_the_threshold_share_a_band_and_few_others_do() -> None:
    chance = random.Random(7)

    def share(overlap: float) -> float:
        """How often two sets of about 100 shingles with this Jaccard similarity share a band."""
        hits = 0
        for _ in range(400):
            common = round(200 * overlap / (1 + overlap))
            own = [frozenset(chance.getrandbits(64) for _ in range(100 - common)) for _ in range(2)]
            both = frozenset(chance.getrandbits(64) for _ in range(common))
            # Without the first, which is that of the whole text.
            first, second = (bands(of(part | both))[1:] for part in own)
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
    document, likeness = good(), Likeness(87, "overlap")
    finding = near_duplicate_finding(document, "demo-12", likeness)
    assert finding is not None
    assert (finding.check, finding.severity, finding.anchor) == ("dialogue.near_duplicate", "warning", "")
    assert "overlap by 87 % with those of “demo-12”." in finding.message
    document["tasks"][0]["steps"][0]["arguments"]["city"] = "Linz"
    assert near_duplicate_finding(document, "demo-12", likeness) == finding
    document["tasks"][0]["user_message"] = "Something else."
    changed = near_duplicate_finding(document, "demo-12", likeness)
    assert changed is not None
    assert changed.value_hash != finding.value_hash


def test_the_finding_says_whether_only_values_differ() -> None:
    same, values = (near_duplicate_finding(good(), "demo-12", Likeness(100, kind)) for kind in ("same", "values"))
    assert same is not None
    assert values is not None
    assert same.message.startswith("The user’s messages are the same as those of “demo-12”. Change")
    assert "are the same as those of “demo-12” but for values such as names and numbers. Change" in values.message


def test_a_project_may_want_no_near_duplicates_told() -> None:
    settings = CheckSettings(severities={"dialogue.near_duplicate": "off"})
    assert near_duplicate_finding(good(), "demo-12", Likeness(90, "overlap"), settings=settings) is None
