"""The space of tasks, by hand and by algebra."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.coverage import (
    CELLS,
    Gap,
    by_switches,
    cells_of,
    difficulties_of,
    expected,
    first_for_gaps,
    fold,
    gaps_of,
    level_of,
    reached,
    sequence_of,
    spreads_of,
    switches_of,
    tally_of,
    uniformity,
    within,
)

FOUR = [cell for cell in CELLS if level_of(cell) == 4]
SEQUENCES = st.lists(st.sampled_from([None, "", "chat", "clarify", "multi_tool", "single_tool"]), max_size=6)


def test_there_are_340_cells_shorter_ones_first():
    assert Counter(map(level_of, CELLS)) == {1: 4, 2: 16, 3: 64, 4: 256}
    assert len(set(CELLS)) == 340
    assert CELLS[:6] == (
        "single_tool", "multi_tool", "clarify", "chat", "single_tool,single_tool", "single_tool,multi_tool"
    )  # fmt: skip


def test_all_four_task_sequences_once():
    """The paper’s design: 256 dialogues give 1,024 entries, and switches 4/36/108/108."""
    cells = fold("cell", [(sequence, "verified", 1) for sequence in FOUR])["verified"]
    assert sum(cells.values()) == 1024
    assert {level: {cells[cell] for cell in CELLS if level_of(cell) == level} for level in (1, 2, 3, 4)} == {
        1: {64}, 2: {16}, 3: {4}, 4: {1},
    }  # fmt: skip
    assert by_switches(dict.fromkeys(FOUR, 1)) == {"0": 4, "1": 36, "2": 108, "3": 108}
    # Without a switch: 256 first tasks, 64 of the 256 second ones, 16 and 4 of the others.
    assert by_switches(cells)["0"] == 256 + 64 + 16 + 4
    assert [(one.level, one.cells, one.covered, one.entries, one.uniformity) for one in spreads_of(cells)] == [
        (1, 4, 4, 256, 1.0), (2, 16, 16, 256, 1.0), (3, 64, 64, 256, 1.0), (4, 256, 256, 256, 1.0),
        # A quarter in each level: ln 4 + (ln 4 + ln 16 + ln 64 + ln 256) / 4 = 4.8520 of ln 340 = 5.8289.
        (0, 340, 340, 1024, 0.8324),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("policies", "sequence"),
    [
        ([], ""), ([None, "chat"], ""), (["chat", None, "chat"], "chat"), (["chat", "", "chat"], "chat"),
        (["chat", "clarify"], "chat,clarify"), (["chat"] * 5, "chat,chat,chat,chat"),
    ],
)  # fmt: skip
def test_a_task_without_a_policy_and_the_fifth_task_end_a_sequence(policies, sequence):
    assert sequence_of(policies) == sequence


@given(SEQUENCES)
def test_a_dialogue_is_among_those_of_each_of_its_cells(policies):
    sequence = sequence_of(policies)
    cells = cells_of(sequence)
    assert [level_of(cell) for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell in CELLS and sequence in within(cell) for cell in cells)
    assert sum(sequence in within(cell) for cell in CELLS) == len(cells)
    assert [switches_of(cell) for cell in cells] == sorted(switches_of(cell) for cell in cells)


def test_uniformity_by_hand():
    assert uniformity([]) == uniformity([0, 0]) == uniformity([7]) == uniformity([0, 7]) == 0
    assert uniformity([3, 3]) == uniformity([1] * 340) == 1
    # −(¾ ln ¾ + ¼ ln ¼) / ln 2 = 0.8113, and half of that over four cells.
    assert uniformity([3, 1]) == 0.8113
    assert uniformity([3, 1, 0, 0]) == 0.4056


@given(st.lists(st.integers(0, 50), min_size=2, max_size=20))
def test_uniformity_is_between_0_and_1_and_knows_no_order_or_scale(counts):
    assert 0 <= uniformity(counts) <= 1
    assert uniformity(counts) == uniformity(sorted(counts)) == pytest.approx(uniformity([3 * one for one in counts]))


def test_other_dimensions_count_tasks_or_dialogues():
    tally = tally_of(["explicit", None, "partial_information", "", "explicit"])
    assert (tally, tally_of([None])) == ("explicit:2|partial_information:1", "")
    found = fold("information", [("explicit:2", "verified", 2), ("", "candidate", 5)])
    assert (found["verified"], found["candidate"]) == ({"explicit": 4}, {})
    found = fold("calls", [(9, "in_review", 1), (10, "pooled", 2), (200, "escalated", 3), (0, "rejected", 4)])
    assert (found["in_review"], found["rejected"]) == ({"9": 1, "10+": 5}, {"0": 4})
    assert fold("tasks", [(5, "candidate", 1), (4, "candidate", 1)])["candidate"] == {"5+": 1, "4": 1}
    assert fold("category", [(None, "candidate", 3), ("Travel", "candidate", 1)])["candidate"] == {"Travel": 1}


def test_what_is_released_and_reviewed_again_stays_and_nothing_counts_twice():
    counts = {
        "candidate": Counter(chat=1), "in_review": Counter(chat=2), "verified": Counter(chat=3, clarify=1),
        "rejected": Counter(chat=9), "released": Counter(chat=2, clarify=4),
    }  # fmt: skip
    assert reached(counts, Counter(chat=2)) == {"chat": 5, "clarify": 1}
    assert expected(counts) == {"chat": 6, "clarify": 1}


def test_what_is_released_and_all_in_review_again_is_expected_once():
    counts = {
        "candidate": Counter(), "in_review": Counter(chat=3), "verified": Counter(), "released": Counter(chat=3),
    }  # fmt: skip
    assert expected(counts) == {"chat": 3}
    assert [gap.missing for gap in gaps_of(["chat"], expected(counts), {"chat": 5})] == [2]


def test_the_largest_gap_comes_first_then_the_shorter_sequence():
    wanted = {"chat": 2, "single_tool": 5, "chat,chat": 2, "clarify": 1}
    gaps = gaps_of(CELLS, {"single_tool": 2, "clarify": 3}, wanted)
    assert [(gap.value, gap.missing) for gap in gaps] == [("single_tool", 3), ("chat", 2), ("chat,chat", 2)]


def test_waiting_dialogues_fill_gaps_once():
    gaps = [Gap("chat", 0, 1), Gap("chat,clarify", 1, 3)]
    waiting = ["clarify", "chat,chat", "chat", "chat,clarify,chat", "chat,clarify", "chat,clarify"]
    assert first_for_gaps(gaps, enumerate(waiting)) == [1, 3, 4]


def test_difficulties_are_short_labels_of_the_dialogue_and_its_tasks():
    tasks = [
        {"id": f"t{n}", "steps": [], "labels": {"difficulty": value}} for n, value in enumerate(["hard", 3, "x" * 61])
    ]
    tasks += [{"id": "t9", "steps": [], "labels": {"difficulty": ["a", "b"]}}, {"id": "t10", "steps": []}]
    document = {"labels": {"difficulty": "hard"}, "tasks": tasks}
    assert difficulties_of(document) == ["hard", "hard", "3"]
    assert tally_of(difficulties_of(document)) == "3:1|hard:2"
    assert fold("difficulty", [("3:1|hard:2", "verified", 2)])["verified"] == {"3": 2, "hard": 4}
    assert tally_of(f"{n:050}" for n in range(9)) == ""
