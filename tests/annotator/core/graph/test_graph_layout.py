"""Positions of the steps in a drawing, and the lines between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.graph import Graph
from annotator.core.graph.layout import BOX_HEIGHT, BOX_WIDTH, MAX_LANES, ROW_GAP, critical_chain, keep_apart, lay_out


def graph(text: str) -> Graph:
    """``"a b:a c:ab"``: b depends on a, c on both."""
    parts = [part.partition(":") for part in text.split()]
    return Graph.from_edges(
        [node for node, _, _ in parts], [(node, need) for node, _, needs in parts for need in needs]
    )


def boxes(drawing):
    return {box.id: (box.x, box.y) for box in drawing.boxes}


def lines(drawing):
    return {(line.node, line.needs): line for line in drawing.lines}


def test_two_calls_in_a_row():
    drawing = lay_out(graph("a b:a"))
    # Margin 12; a column is 150 wide with 64 between; the head of a column takes 26.
    assert boxes(drawing) == {"a": (12, 38), "b": (226, 38)}
    line = lines(drawing)["b", "a"]
    assert (line.path, line.at) == ("M162 61C194 61 194 61 226 61", (194, 61))
    assert line.critical
    assert not line.implied
    assert (drawing.width, drawing.height) == (388, 96)


def test_a_diamond_puts_its_ends_in_the_middle():
    drawing = lay_out(graph("a b:a c:a d:bc"))
    # b and c are 46 + 18 apart; a and d are halfway.
    assert boxes(drawing) == {"a": (12, 70), "b": (226, 38), "c": (226, 102), "d": (440, 70)}
    assert [box.id for box in drawing.boxes if box.critical] == ["a", "b", "d"]
    assert {pair for pair, line in lines(drawing).items() if line.critical} == {("b", "a"), ("d", "b")}


def test_an_implied_line_has_a_lane_beside_the_step_it_passes():
    drawing = lay_out(graph("a b:a c:ab"))
    line = lines(drawing)["c", "a"]
    assert line.implied
    assert not line.critical
    passed = next(box for box in drawing.boxes if box.id == "b")
    assert f"H{passed.x + BOX_WIDTH}" in line.path
    assert not passed.y <= line.at[1] <= passed.y + BOX_HEIGHT


def test_crossings_are_sorted_away():
    drawing = lay_out(graph("a b c:b d:a"))
    assert drawing.crossings == 0
    assert [column.ids for column in drawing.columns] == [("a", "b"), ("d", "c")]
    # The complete bipartite graph of two and two has a crossing in any order.
    assert lay_out(graph("a b c:ab d:ab")).crossings == 1


def test_extra_lines_move_no_step():
    plain = lay_out(graph("a b c:b"))
    drawing = lay_out(graph("a b c:b"), [("a", "b"), ("c", "a"), ("a", "c")])
    assert [box.column for box in drawing.boxes] == [box.column for box in plain.boxes] == [0, 0, 1]
    assert [(line.node, line.needs, line.drawn) for line in drawing.lines] == [
        ("c", "b", True), ("a", "b", False), ("c", "a", False), ("a", "c", False)
    ]  # fmt: skip
    beside = lines(drawing)["a", "b"]
    assert beside.path.startswith("M162 ")
    assert beside.at[0] > 162
    assert lines(drawing)["a", "c"].path.startswith("M226 ")
    with pytest.raises(KeyError):
        lay_out(graph("a"), [("a", "z")])


def test_nothing_and_one():
    assert lay_out(Graph((), ())).boxes == ()
    drawing = lay_out(graph("a"), [])
    assert (boxes(drawing), drawing.width, drawing.height) == ({"a": (12, 38)}, 174, 96)
    assert critical_chain(graph("a b")) == []


def test_the_longest_chain_is_the_earliest_of_several():
    assert critical_chain(graph("a b c:b d:a e:cd")) == [1, 2, 4]


def test_places_near_to_what_is_wanted():
    assert keep_apart([0, 10], [4]) == [0, 10]
    # Both want 5: they share it, 4 apart.
    assert keep_apart([5, 5], [4]) == [3, 7]
    assert keep_apart([9, 0, 0], [2, 2]) == [1, 3, 5]
    assert keep_apart([], []) == []


def test_a_thicket_is_drawn_with_arches_for_want_of_lanes():
    size = 64
    drawing = lay_out(Graph(tuple(f"s{i}" for i in range(size)), tuple((1 << i) - 1 for i in range(size))))
    assert len(drawing.lines) == size * (size - 1) // 2
    assert sum(line.path.count("H") for line in drawing.lines) <= MAX_LANES
    assert all(y >= 0 for line in drawing.lines for y in line.at)


@given(st.lists(st.integers(0, 2**12), max_size=12))
def test_boxes_never_overlap_and_lines_lead_forward(masks):
    shape = Graph(
        tuple(f"s{i}" for i in range(len(masks))), tuple(mask & ((1 << i) - 1) for i, mask in enumerate(masks))
    )
    drawing = lay_out(shape)
    assert drawing == lay_out(shape)
    for column in drawing.columns:
        tops = [box.y for node in column.ids for box in drawing.boxes if box.id == node]
        # Rounded to whole pixels, each on its own.
        assert all(below - above >= BOX_HEIGHT + ROW_GAP - 1 for above, below in pairwise(tops))
    columns = {box.id: box.column for box in drawing.boxes}
    assert all(columns[line.node] > columns[line.needs] for line in drawing.lines)
    assert columns == dict(shape.columns)
