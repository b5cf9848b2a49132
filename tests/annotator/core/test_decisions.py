"""The decision tree as a page shows it: steps and what they prune, pages of branches, trajectories, the lint."""

import json
import random
from math import comb, factorial
from pathlib import Path
from typing import Any

import pytest

from annotator.core.decision_tree import (
    BRANCHES_SHOWN,
    Blocked,
    TaskGraph,
    TrajectoryProblem,
    explore,
    look_at_published,
    optimal_list,
    read_path,
    read_task,
    read_trajectory,
    replay,
    write_path,
    write_trajectory,
)
from annotator.core.graph import TOO_MANY, Count, Obstacle, Topology
from annotator.core.schema import read_document
from annotator.templatetags.components import counted
from benchmark.core.formats import FORMATS
from tests.paper_example import call, slides_document, trajectory


def slides(**needs: str | None) -> TaskGraph:
    task = read_task(read_document(slides_document(**needs))["tasks"][0])
    assert isinstance(task, TaskGraph)
    return task


def blocked(**needs: str | None) -> Blocked:
    task = read_task(read_document(slides_document(**needs))["tasks"][0])
    assert isinstance(task, Blocked)
    return task


def alike(size: int, *, chained: bool = False, names: str = "work") -> TaskGraph:
    """Calls of one tool that differ in their arguments; independent, or each after the one before."""
    steps = [
        {
            "id": f"c{i}",
            "type": "call",
            "name": names,
            "arguments": {"n": i},
            "depends_on": [{"id": f"c{i - 1}"}] if chained and i else [],
        }
        for i in range(size)
    ]
    task = read_task({"id": "t1", "steps": steps})
    assert isinstance(task, TaskGraph)
    return task


def at(task: TaskGraph, path: str = "", **options: Any) -> Any:
    return explore(task, read_path(path), **options)


def follow(task: TaskGraph, value: Any) -> Any:
    return replay(task, read_trajectory(json.dumps(value)))


# --- the example of the paper -----------------------------------------------------------------------------------------


def test_the_slides_have_five_paths_three_batches_and_two_optimal_ones() -> None:
    task = slides()
    assert task.topology == Topology.MIXED
    assert (task.tally.total, task.tally.fewest, task.tally.optimal) == (Count(5), 3, Count(2))
    assert [[card.id for card in column] for column in task.columns] == [["s0", "s1"], ["s2"], ["s3"]]
    assert list(optimal_list(task).addresses) == ["s1;s0,s2;s3", "s0,s1;s2;s3"]
    assert optimal_list(task).more is None


def test_stepping_prunes_as_figure_3_does() -> None:
    """First [1], which leaves three of the five paths; then [0], which leaves one; then it runs to its end."""
    task = slides()
    start = at(task)
    assert [(row.path, str(row.paths), row.optimal, row.fewest) for row in start.branches] == [
        ("s0", "1", False, 4),
        ("s1", "3", True, 3),
        ("s0,s1", "1", True, 3),
    ]
    assert (start.number, start.up, start.levels) == (1, None, ())

    after_1 = at(task, "s1")
    (level,) = after_1.levels
    assert (level.pruned_branches, level.pruned_paths, level.left) == (2, Count(2), Count(3))
    assert [[card.id for card in calls] for calls in level.pruned] == [["s0"], ["s0", "s1"]]
    assert [row.path for row in after_1.branches] == ["s1;s0", "s1;s2", "s1;s0,s2"]
    assert after_1.optimal_left == Count(1)

    after_0 = at(task, "s1;s0")
    assert (after_0.levels[1].pruned_paths, after_0.left, after_0.levels[1].lost_optimum) == (Count(2), Count(1), True)
    assert [row.path for row in after_0.branches] == ["s1;s0;s2"]
    assert after_0.levels[1].before == after_0.up == "s1"
    assert after_0.extra == 1

    end = at(task, "s1;s0;s2;s3")
    assert (end.ended, end.extra, end.levels[2].pruned_branches, end.levels[3].chosen.ends) == (True, 1, 0, True)
    assert at(task, "s1;s0,s2;s3").extra == 0


def test_only_what_can_still_be_optimal() -> None:
    task = slides()
    assert [row.path for row in at(task, only_optimal=True).branches] == ["s1", "s0,s1"]
    gone = at(task, "s0", only_optimal=True)
    assert (gone.branches, gone.ended, gone.extra) == ((), False, 1)


@pytest.mark.parametrize(
    ("path", "held", "words"),
    [
        ("s9", "", "Batch 1: there is no call s9."),
        ("s1;s3", "s1", "Batch 2: s3 needs s0, s2 to run first."),
        ("s1;s1", "s1", "Batch 2: s1 has already run."),
        ("s0,s0", "", "Batch 1: s0 is listed twice."),
        (";;", "", "Batch 1: there is no call ."),
        ("s1;s0,s2;s3;s4", "s1;s0,s2;s3", "Batch 4: there is no call s4."),
        ("<b>", "", "Batch 1: there is no call <b>."),
    ],
)
def test_an_address_that_leads_nowhere_is_followed_as_far_as_it_holds(path: str, held: str, words: str) -> None:
    view = at(slides(), path)
    assert (view.path, view.problem) == (held, words)


def test_calls_of_a_batch_may_stand_in_any_order() -> None:
    assert at(slides(), " s1 , s0 ").path == "s0,s1"
    assert write_path(read_path("a,b;c")) == "a,b;c"
    assert read_path("  ") == []


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_pages_of_branches_are_reached_without_those_before() -> None:
    task = alike(64)
    view = at(task)
    assert (view.total, len(view.branches), view.page_before, view.page_after) == (2**64 - 1, 20, None, "from=20")
    last = at(task, start=2**64 - 2)
    assert [len(row.calls) for row in last.branches] == [64]
    assert (last.page_after, last.shown) == (None, f"{2**64 - 1:,}–{2**64 - 1:,} / {2**64 - 1:,}")
    assert at(task, start=2**70).start == 0
    seen = [row.path for start in range(0, 64, BRANCHES_SHOWN) for row in at(alike(6), start=start).branches]
    assert seen[:63] == [row.path for row in at(alike(6)).branches] + seen[20:63]
    assert len(set(seen[:63])) == 63


def test_a_graph_that_cannot_be_counted_is_said_to_be() -> None:
    """An order of 48 calls drawn at random: past the bound, and still a page."""
    draw = random.Random(1)
    steps = [
        {
            "id": f"c{i}",
            "type": "call",
            "name": f"tool{i}",
            "arguments": {},
            "depends_on": [{"id": f"c{j}"} for j in range(i) if draw.random() < 0.1],
        }
        for i in range(48)
    ]
    task = read_task({"id": "t1", "steps": steps})
    assert isinstance(task, TaskGraph)
    view = at(task)
    assert not task.tally.total.exact
    assert len(view.branches) == BRANCHES_SHOWN
    assert len(optimal_list(task).addresses) >= 1


def test_many_optimal_paths_come_a_few_at_a_time() -> None:
    """A chain of six and six calls beside it: each of those may run in any of six batches."""
    steps = [
        {"id": f"c{i}", "type": "call", "name": "x", "arguments": {}, "depends_on": [{"id": f"c{i - 1}"}] if i else []}
        for i in range(6)
    ] + [{"id": f"d{i}", "type": "call", "name": "y", "arguments": {}, "depends_on": []} for i in range(6)]
    task = read_task({"id": "t1", "steps": steps})
    assert isinstance(task, TaskGraph)
    assert task.tally.optimal == Count(6**6)
    first, second = optimal_list(task), optimal_list(task, 40)
    assert (len(first.addresses), first.more, len(second.addresses), second.more) == (20, 40, 40, 60)
    assert second.addresses[:20] == first.addresses
    most = optimal_list(task, 10**9)
    assert (len(most.addresses), most.more) == (400, None)


def test_long_arguments_stand_in_the_list_of_calls_only() -> None:
    steps = [
        {"id": f"c{i}", "type": "call", "name": "x", "arguments": {"text": "word " * 4000, "n": i}, "depends_on": []}
        for i in range(5)
    ]
    task = read_task({"id": "t1", "steps": steps})
    assert isinstance(task, TaskGraph)
    assert [row.with_arguments for row in at(task).branches][:4] == [True, True, False, False]


# --- what has no tree -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needs", "title", "words", "places"),
    [
        ({"s1": None}, "The tool graph isn’t annotated", "Annotate the dependencies of s1, even", ["s1"]),
        (
            {"s1": None, "s2": None},
            "The tool graph isn’t annotated",
            "Annotate the dependencies of s1, s2, even",
            ["s1", "s2"],
        ),
        ({"s1": "s3"}, "The tool graph has errors", "in a cycle: s1 → s3 → s2 → s1.", ["s1"]),
        ({"s1": "s9"}, "The tool graph has errors", "s1 depends on “s9”, which is not a step of this task.", ["s1"]),
        ({"s1": "s1"}, "The tool graph has errors", "s1 depends on itself.", ["s1"]),
        ({"s2": "s1 s1"}, "The tool graph has errors", "s2 lists its dependency on s1 twice.", ["s2"]),
    ],
)
def test_why_there_is_no_tree(needs: dict[str, str | None], title: str, words: str, places: list[str]) -> None:
    why = blocked(**needs)
    assert why.title == title
    assert words in why.sentences[0]
    assert why.places == tuple((f"/tasks/t1/steps/{step}", step) for step in places)


def test_a_task_without_calls() -> None:
    why = read_task({"id": "t1", "steps": []})
    assert isinstance(why, Blocked)
    assert (why.title, why.places) == ("This task has no calls", (("/tasks/t1", "Task"),))


# --- trajectories -----------------------------------------------------------------------------------------------------


def test_an_optimal_trajectory() -> None:
    outcome = follow(slides(), trajectory("s1;s0,s2;s3"))
    assert [(row.outcome, [card.id for card in row.ran], str(row.left), str(row.pruned)) for row in outcome.rows] == [
        ("matched", ["s1"], "3", "2"),
        ("matched", ["s0", "s2"], "1", "2"),
        ("matched", ["s3"], "1", "0"),
    ]
    assert (outcome.report.matched, outcome.report.optimal, outcome.percent) == (True, True, "100 %")
    assert (outcome.deviation, outcome.address, outcome.rows[-1].ends) == (None, "s1;s0,s2;s3", True)


def test_a_legal_trajectory_that_takes_longer() -> None:
    outcome = follow(slides(), trajectory("s1;s0;s2;s3"))
    assert [row.optimal for row in outcome.rows] == [True, False, False, False]
    assert (outcome.report.matched, outcome.report.optimal, outcome.batches) == (True, False, 4)


def test_the_first_deviation_says_what_would_have_been_legal() -> None:
    outcome = follow(slides(), trajectory("s1;s3;s0"))
    assert [row.outcome for row in outcome.rows] == ["matched", "deviated", ""]
    assert (outcome.rows[1].deviating_call, outcome.percent, outcome.address) == (0, "25 %", "s1")
    assert outcome.deviation.obstacle is Obstacle.NOT_READY
    assert [one.card.id for one in outcome.ready] == ["s0", "s2"]
    assert [(one.card.id, one.needs) for one in outcome.waiting] == [("s3", ("s0", "s2"))]
    assert outcome.wrong_arguments is None


def test_wrong_arguments_stand_beside_those_expected() -> None:
    given = {"name": "get_ranking", "arguments": {"kind": "series"}}
    outcome = follow(slides(), [[call("s0"), given]])
    assert outcome.wrong_arguments == given
    assert [card.id for card in outcome.meant] == ["s1"]
    assert (outcome.rows[0].deviating_call, outcome.report.state.matched, outcome.address) == (1, 0, None)


def test_a_trajectory_that_ends_too_early() -> None:
    outcome = follow(slides(), trajectory("s0,s1"))
    assert outcome.deviation.obstacle is Obstacle.INCOMPLETE
    assert (outcome.percent, [one.card.id for one in outcome.ready]) == ("50 %", ["s2"])


def test_a_batch_that_can_be_read_in_several_ways() -> None:
    """Two equal calls, one of which something else waits for: which of them ran shows later."""
    steps = [
        {"id": "a", "type": "call", "name": "x", "arguments": {}, "depends_on": []},
        {"id": "b", "type": "call", "name": "x", "arguments": {}, "depends_on": []},
        {"id": "c", "type": "call", "name": "y", "arguments": {}, "depends_on": [{"id": "b"}]},
    ]
    task = read_task({"id": "t1", "steps": steps})
    assert isinstance(task, TaskGraph)
    x, y = {"name": "x", "arguments": {}}, {"name": "y", "arguments": {}}
    outcome = follow(task, [[x], [y], [x]])
    assert [row.readings for row in outcome.rows] == [2, 1, 1]
    assert [card.id for card in outcome.rows[1].ran] == ["c"]
    assert (outcome.report.matched, outcome.address) == (True, None)


A = {"name": "a", "arguments": {"x": 1}}
B = {"name": "b", "arguments": {}}


@pytest.mark.parametrize(
    ("value", "batches"),
    [
        ([[A, B], [A]], [[A, B], [A]]),
        ([A, B], [[A], [B]]),
        (A, [[A]]),
        ([{"name": "b"}], [[B]]),
        ([{"name": "a", "arguments": '{"x": 1}'}], [[A]]),
        ([{"type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}], [[A]]),
        (
            {
                "messages": [
                    {"role": "user", "content": "Do it."},
                    {"role": "assistant", "tool_calls": [{"function": A}, {"function": B}]},
                    {"role": "tool", "content": "1"},
                    {"role": "assistant", "content": "Done.", "tool_calls": None},
                ]
            },
            [[A, B]],
        ),
        ({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": A}]}, [[A]]),
        ([[A], []], [[A], []]),
    ],
)
def test_every_way_to_spell_a_trajectory(value: Any, batches: list[Any]) -> None:
    assert [list(batch) for batch in read_trajectory(json.dumps(value)).batches] == batches


def test_what_only_stands_for_an_answer_is_left_out() -> None:
    read = read_trajectory(json.dumps([[A], [{"name": "prepare_to_answer", "arguments": {"answer_type": "tool"}}]]))
    assert (len(read.batches), read.left_out) == (1, ("prepare_to_answer",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Enter a trajectory."),
        ('[[{"name": "a"}', "line 1, column 16"),
        ("[\n  {'name': 1}]", "line 2, column 4"),
        ("3", "The trajectory is not a list."),
        ("[]", "has no calls"),
        ("[3]", "Entry 1 is neither"),
        ("[[3]]", "Batch 1, call 1 has no name."),
        ('[{"name": ""}]', "Batch 1, call 1 has no name."),
        ('[{"tool_calls": 3}]', "“tool_calls” must be a list"),
        ('[[{"name": "a"}, {"name": "b", "arguments": 3}]]', "Batch 1, call 2 (b): the arguments must be an object."),
        (
            '[{"name": "b", "arguments": "{"}]',
            "(b): the arguments are not valid JSON. This is not JSON (line 1, column 2",
        ),
        ('[{"name": "b", "arguments": {"x": "\\ud800"}}]', "At /0/arguments/x: The text contains half of"),
        ('[{"name": "b", "arguments": {"x": NaN}}]', "NaN is not a JSON value"),
        ('[{"name": "\\ud800", "arguments": []}]', "At /0/name: The text contains half of"),
        ('[{"name": "prepare_to_answer"}]', "has no calls"),
        (json.dumps([{"name": "a"}] * 10_000), "10,000 calls. At most 256"),
        (json.dumps([[A] * 10_000]), "characters. The limit for JSON is 200,000"),
        ("[" * 100_000, "60 levels"),
    ],
)
def test_what_is_no_trajectory(text: str, words: str) -> None:
    with pytest.raises(TrajectoryProblem) as caught:
        read_trajectory(text)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600


def test_an_example_is_followed_to_its_end() -> None:
    for task in (slides(), alike(5), alike(5, chained=True)):
        text = write_trajectory(optimal_list(task).paths[0])
        assert replay(task, read_trajectory(text)).report.optimal


# --- the published evaluators -----------------------------------------------------------------------------------------


def test_where_no_tool_repeats_the_published_evaluators_agree() -> None:
    view = look_at_published(slides())
    assert (view.lint.clean, view.by_both, view.by_wild, view.repeated) == (True, (), (), ())


def test_what_each_published_evaluator_rejects() -> None:
    """Two calls of one tool: the other order is legal; only WildToolBench's evaluator rejects it."""
    view = look_at_published(alike(2))
    assert (view.lint.legal, view.repeated) == (Count(3), ("work",))
    assert view.evaluators == [("C3-Bench", Count(0), False), ("WildToolBench", Count(1), True)]
    assert (view.by_both, [one.address for one in view.by_wild]) == ((), ["c1;c0"])
    # A run of three can be cut nowhere.
    view = look_at_published(alike(3))
    assert [one.address for one in view.by_both] == ["c0;c1,c2", "c1;c0,c2", "c2;c0,c1"]
    assert [one.address for one in view.by_wild] == ["c0;c2;c1", "c1;c0;c2", "c1;c2;c0"]


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (Count(1), "path", "1 path"),
        (Count(0), "path", "0 paths"),
        (Count(3), "branch", "3 branches"),
        (Count(1), "next_batch", "1 legal next batch"),
        (Count(47_293), "path", "47,293 paths"),
        (Count(1_001, exact=False), "path", "more than 1,000 paths"),
        (TOO_MANY, "path", "too many paths"),
    ],
)
def test_counts_in_words(count: Count, noun: str, words: str) -> None:
    assert counted(count, noun) == words


# --- a real task ------------------------------------------------------------------------------------------------------


def test_the_ten_calls_of_a_real_task(shared_data: Path) -> None:
    """Not annotated as published; with its five chains of two it counts, and the published evaluators know few paths.

    Of five chains of two, Ω°(m) = C(m, 2)^5, so there are Σ_j (−1)^(k−j) C(k, j) C(j, 2)^5 paths of k batches.
    """
    lines = (shared_data / "wild" / "candidates.jsonl").read_text().splitlines()
    (line,) = (line for line in lines if '"wild_tool_bench_9_t3"' in line)
    (dialogue,) = FORMATS["wild"].read(json.loads(line))
    (task,) = dialogue.document["tasks"]
    why = read_task(task)
    assert isinstance(why, Blocked)
    assert why.title == "The tool graph isn’t annotated"
    steps = task["steps"]
    assert [step["type"] for step in steps] == ["call"] * 10 + ["answer"]
    for place, step in enumerate(steps):
        if place < 5:
            step["depends_on"] = []
        else:
            needed = [steps[place - 5]] if place < 10 else steps[5:10]
            step["depends_on"] = [{"id": one["id"], "kind": "parameter"} for one in needed]
    graph = read_task(task)
    assert isinstance(graph, TaskGraph)
    lengths = [sum((-1) ** (k - j) * comb(k, j) * comb(j, 2) ** 5 for j in range(k + 1)) for k in range(11)]
    assert (graph.topology, graph.tally.fewest, graph.tally.optimal) == (Topology.MIXED, 2, Count(1))
    assert graph.tally.total == Count(sum(lengths))
    assert at(graph).total == 31
    outcome = replay(graph, read_trajectory(write_trajectory(optimal_list(graph).paths[0])))
    assert (outcome.report.optimal, [str(row.left) for row in outcome.rows]) == (True, ["541", "1"])
    backwards = [[{"name": s["name"], "arguments": s["arguments"]}] for s in (steps[4], steps[9], steps[5])]
    deviating = follow(graph, backwards)
    assert (deviating.report.state.matched, deviating.deviation.obstacle) == (2, Obstacle.NOT_READY)
    published = look_at_published(graph)
    # Both accept calls all at once; one by one, WildToolBench's takes them in file order only, in each of two batches.
    assert (published.lint.legal, published.lint.wild) == (Count(2_244_361), Count(2_244_361 - 2**2))
    assert published.lint.c3 == Count(2_244_361 - (1 + factorial(5)) ** 2)
