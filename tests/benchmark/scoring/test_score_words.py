"""The words that pages use for figures and slices."""

import pytest

from benchmark.views.score_words import cell_words, title


@pytest.mark.parametrize(
    ("name", "cell", "words"),
    [
        ("policy", "multi_tool", "Multi-tool"),
        ("type", "拒", "Chat"),
        ("information", "First Turn", "Explicit"),
        ("turn_subtype", "指代理解", "Coreferential reference"),
        ("topology", "cs", "Mixed"),
        ("turn_type", "False", "no"),
        ("language", "zh", "Chinese"),
        ("language", "fr", "fr"),
        ("order", "0", "1"),
        ("layer", "9", "10"),
        ("task_type", "Mixed Multi-Tool", "Mixed Multi-Tool"),
        ("challenge", "3", "3"),
        ("overall", "1", "delay 1"),
        ("overall", "cross#2", "cross, 2 tasks"),
        ("overall", "all", "all"),
    ],
)
def test_cells_are_shown_in_words(name, cell, words):
    assert cell_words(name, cell) == words


def test_a_figure_of_the_whole_is_named_without_its_cell():
    assert title("policy", "all") == "Policy"
    assert title("policy", "chat") == "Policy: Chat"
    assert title("AP", "as_in_the_paper") == "AP: as in the paper"
