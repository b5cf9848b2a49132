"""Following a prediction by names, and as the papers describe it."""

import json
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.graph.dag import positions
from benchmark.core.formats.answer_nodes import ANSWER, ASK
from benchmark.core.scoring.legal import Level, follow, follow_strictly, pruned_tree
from benchmark.core.scoring.predictions import PredictedCall, Round
from benchmark.core.scoring.references import UnusableReference
from benchmark.core.scoring.walk import walk
from tests.benchmark.scoring.scoring_cases import RIGHT, TASKS, call, calls, node, reference, said


def task_of(*nodes):
    return reference(tasks=[("Mixed Multi-Tool", list(nodes))]).tasks[0]


def outcome(task, *rounds):
    found = walk(task, rounds)
    return found.right, found.stop, found.rounds, found.optimal


MIXED = task_of(*TASKS[1][1])


@pytest.mark.parametrize("index", range(3))
def test_right_predictions_are_right_and_optimal(index):
    task = reference().tasks[index]
    assert outcome(task, *RIGHT[index]) == (True, None, len(RIGHT[index]), True)
    found = follow(task, RIGHT[index], lambda made, due: True)
    assert (found.right, found.matched, found.optimal) == (True, len(task.nodes), True)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([], (False, "empty_reply", 1, False)),
        ([said("")], (False, "empty_reply", 1, False)),
        ([said(" ")], (False, "not_in_candidates", 1, False)),
        ([Round(error="malformed_calls")], (False, "malformed_calls", 1, False)),
        ([calls("find")], (False, "empty_reply", 2, False)),
        ([calls("find", "find", "find")], (False, "not_in_candidates", 1, False)),
        ([calls("find"), calls("find"), calls("send"), said()], (True, None, 4, False)),
        ([calls("find", "send")], (False, "not_in_candidates", 1, False)),
        # A call by this name fits like any other and ends nothing.
        (
            [calls("find", "find"), calls("send"), calls(ANSWER), calls("find"), calls("find")],
            (False, "not_in_candidates", 4, False),
        ),
    ],
)
def test_each_reply_must_fit_a_path_that_is_left(rounds, expected):
    assert outcome(MIXED, *rounds) == expected


def test_more_calls_than_the_graph_has_nodes_are_past_it():
    task = task_of(node("ask"), node("answer", 0))
    assert outcome(task, said("?"), calls(ANSWER), calls("find"))[1] == "past_the_graph"


def test_after_a_question_the_paths_that_call_instead_are_still_open_to_the_published_code():
    task = task_of(node("ask"), node("read"), node("answer", 0, 1))
    # Some path calls first and asks second, so three texts in a row are right, without the call.
    texts = [said("Which?"), said("Which?"), said()]
    assert outcome(task, *texts) == (True, None, 3, False)
    assert not follow(task, texts, lambda made, due: True).right
    assert task.fewest_rounds == 3
    assert task.published_fewest == 2


def test_a_batch_maps_to_ready_calls_in_any_order_and_arguments_tell_equal_tools_apart():
    swapped = [calls(call("find", q="b"), call("find", q="a")), calls("send"), said()]
    assert follow_strictly(MIXED, swapped)
    assert follow_strictly(MIXED, [calls(call("find", q="b")), calls(call("find", q="a")), calls("send"), said()])
    twice = [calls(call("find", q="b")), calls(call("find", q="b"))]
    wrong = follow(MIXED, twice, lambda made, due: json.loads(made.arguments) == due)
    assert (wrong.right, wrong.matched) == (False, 1)
    assert "already run" in wrong.deviation.sentence


def test_strict_arguments_are_equal_values():
    task = task_of(node("find", q="a", n=1), node("answer", 0))
    for text in ('{"q": "a", "n": 1}', '{"n": 1.0, "q": "a"}'):
        assert follow_strictly(task, [calls(PredictedCall("find", text)), said()])
    for text in ('{"q": "a", "n": true}', '{"q": "a"}', '{"q": "a", "n": NaN}', "{", "[" * 100_000):
        assert not follow_strictly(task, [calls(PredictedCall("find", text)), said()])


def test_a_call_is_never_a_question():
    assert not follow(reference().tasks[2], [calls(ASK), calls("read"), said()], lambda made, due: True).right


def test_questions_in_any_order_have_a_bound():
    with pytest.raises(UnusableReference, match="too many questions"):
        _ = task_of(*[node("ask") for _ in range(16)], node("answer", *range(16))).fewest_rounds


# --- against the list of all paths -----------------------------------------------------------------------------------


def listed(code, done=0):
    """Every path of the published code below a state, in its order of enumeration, as lists of batches."""
    if done == (1 << len(code.names)) - 1:
        return [[]]
    found = []
    for move in sorted(code.moves(done), key=lambda one: (one.batches[0].bit_count(), list(positions(one.batches[0])))):
        found += [[*move.batches, *rest] for rest in listed(code, done | move.calls)]
    return found


def naive(task, rounds):
    """The same walk over the whole list of paths."""
    code = task.published
    paths = listed(code)
    fewest = min(map(len, paths))
    for step in count():
        one = rounds[step] if step < len(rounds) else Round()
        if one.error or (not one.calls and not one.content):
            return False, one.error or "empty_reply", step + 1, False
        names = sorted(each.name for each in one.calls)
        if one.calls and step >= len(task.nodes):
            return False, "past_the_graph", step + 1, False
        kept = None
        for path in paths:
            batch = path[step] if step < len(path) else 0
            tools = [code.names[i] for i in positions(batch)]
            if one.calls and sorted(tools) == names:
                kept = [other for other in paths if step < len(other) and other[step] == batch]
                break
            if not one.calls and ASK in tools:
                kept = paths
                break
            if not one.calls and ANSWER in tools:
                return True, None, step + 1, step + 1 == fewest
        if kept is None:
            return False, "not_in_candidates", step + 1, False
        paths = kept


@st.composite
def tasks_and_rounds(draw):
    size = draw(st.integers(1, 5))
    nodes = []
    for place in range(size):
        needs = draw(st.sets(st.integers(0, place - 1), max_size=2)) if place else set()
        nodes.append(node(draw(st.sampled_from(["find", "find", "read", "ask"])), *sorted(needs)))
    nodes.append(node("answer", *range(size)))
    reply = st.one_of(
        st.just(said("Which?")),
        st.lists(st.sampled_from(["find", "find", "read"]), min_size=1, max_size=3).map(lambda names: calls(*names)),
    )
    return nodes, draw(st.lists(reply, max_size=7))


@given(tasks_and_rounds())
@settings(max_examples=400, deadline=None)
def test_the_walk_agrees_with_the_list_of_all_paths(case):
    nodes, rounds = case
    task = task_of(*nodes)
    assert outcome(task, *rounds) == naive(task, rounds)


def test_what_could_come_in_each_round():
    # Two independent calls, then a third, then the answer: in any order, one by one or together.
    task = reference().tasks[1]
    one_by_one = [calls(call("find", q="b")), calls(call("find", q="?")), calls("send"), said("Done.")]
    # Nothing tells the two calls of one tool apart here, so one way is shown.
    first, second, *rest = pruned_tree(task, one_by_one)
    assert {first.made, second.made} == {(0,), (1,)}
    assert (first.ready, second.ready, rest) == ((0, 1), (0, 1), [Level((2,), (2,)), Level((3,), (3,))])
    assert pruned_tree(task, [calls("find", "find"), calls("send")]) == [Level((0, 1), (0, 1)), Level((2,), (2,))]
    # Up to the round that fits no path.
    early = pruned_tree(task, [calls("find"), calls("send"), said("Done.")])
    assert [(one.ready, len(one.made), one.fits) for one in early] == [((0, 1), 1, True), ((0, 1), 0, False)]
    asks = pruned_tree(reference().tasks[2], [said("Which?"), calls("read"), said("Done.")])
    assert asks == [Level((0,), (0,)), Level((1,), (1,)), Level((2,), (2,))]
    assert pruned_tree(task, []) == []
