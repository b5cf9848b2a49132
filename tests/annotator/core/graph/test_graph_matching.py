"""Matching trajectories: exactly the legal paths, repeated tools, deviations and what would have been legal."""

import json
from collections.abc import Sequence
from itertools import chain, pairwise, permutations
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.graph import (
    Count,
    Graph,
    Matcher,
    Obstacle,
    Waiting,
    count_paths,
    optimal_paths,
    paths,
)
from tests.annotator.core.graph.graph_cases import SLIDES, acyclic, chains, fence, graph, independent

Call = dict[str, Any]


def call(name: str, **arguments: Any) -> Call:
    return {"name": name, "arguments": arguments}


def named(one: Graph, names: Sequence[str] | None = None) -> list[Call]:
    """A reference call for each id: of the tool given, or of one that is called like the id; no arguments."""
    tools = one.ids if names is None else names
    return [{"id": node, **call(name)} for node, name in zip(one.ids, tools, strict=True)]


def batches(*texts: str) -> list[list[Call]]:
    return [[call(name) for name in text.split()] for text in texts]


def accepted_by_definition(one: Graph, names: Sequence[str], predicted: Sequence[Sequence[str]]) -> bool:
    """Whether some legal path has these tools in its batches."""
    tool = dict(zip(one.ids, names, strict=True))
    wanted = [sorted(batch) for batch in predicted]
    return any([sorted(tool[node] for node in batch) for batch in path] == wanted for path in paths(one))


class TestAccepts:
    @given(acyclic(5))
    def test_every_legal_path_and_its_optimality(self, one: Graph) -> None:
        matcher = Matcher(one, named(one))
        optimal = set(optimal_paths(one))
        for path in paths(one):
            report = matcher.match([[call(node) for node in batch] for batch in path])
            assert (report.matched, report.progress, report.deviation) == (True, 1.0, None)
            assert report.optimal == (path in optimal)

    @given(acyclic(4))
    def test_nothing_but_legal_paths(self, one: Graph) -> None:
        matcher = Matcher(one, named(one))
        legal = set(paths(one))
        for candidate in paths(independent(len(one.ids))):
            report = matcher.match([[call(node) for node in batch] for batch in candidate])
            assert report.matched == (candidate in legal)

    @given(acyclic(5), st.data())
    def test_with_repeated_tools_exactly_what_some_path_explains(self, one: Graph, data: st.DataObject) -> None:
        names = [data.draw(st.sampled_from("ab")) for _ in one.ids]
        matcher = Matcher(one, named(one, names))
        order = data.draw(st.permutations(names))
        cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(order) - 1)))))
        edges = [0, *(cut for cut in cuts if cut < len(order)), len(order)]
        predicted = [order[a:b] for a, b in pairwise(edges) if a < b]
        report = matcher.match([[call(name) for name in batch] for batch in predicted])
        assert report.matched == accepted_by_definition(one, names, predicted)

    @given(acyclic(4), st.data())
    def test_a_loose_comparer_is_a_bipartite_matching(self, one: Graph, data: st.DataObject) -> None:
        # Predicted call n may match the reference calls drawn for it, and for no others.
        allowed = [data.draw(st.sets(st.sampled_from(one.ids))) for _ in one.ids] if one.ids else []
        reference = [{"id": node, "name": "t", "arguments": {"id": node}} for node in one.ids]
        matcher = Matcher(
            one, reference, lambda given, meant: meant["arguments"]["id"] in allowed[given["arguments"]["number"]]
        )
        for path in paths(one):
            sizes = [len(batch) for batch in path]
            numbers = iter(range(len(one.ids)))
            predicted = [[call("t", number=next(numbers)) for _ in range(size)] for size in sizes]
            explained = any(
                [len(batch) for batch in other] == sizes and _assigned(other, allowed) for other in paths(one)
            )
            assert matcher.match(predicted).matched == explained

    def test_no_calls(self) -> None:
        report = Matcher(independent(0), []).match([])
        assert (report.matched, report.progress, report.optimal) == (True, 1.0, True)


def _assigned(path: Sequence[Sequence[str]], allowed: Sequence[set[str]]) -> bool:
    """Whether the calls of each batch can be given to the predicted ones in its places."""
    start = 0
    for batch in path:
        places = range(start, start + len(batch))
        if not any(
            all(node in allowed[place] for node, place in zip(order, places, strict=True))
            for order in permutations(batch)
        ):
            return False
        start += len(batch)
    return True


class TestArguments:
    def test_canonical_json_decides(self) -> None:
        one = graph([[]])
        matcher = Matcher(one, [{"id": "c0", **call("t", a=1, b={"x": [1.0, "é"], "y": None})}])
        assert matcher.match([[call("t", b={"y": None, "x": [1, "é"]}, a=1.0)]]).matched
        report = matcher.match([[call("t", a=1)]])
        assert report.deviation is not None
        assert report.deviation.obstacle == Obstacle.ARGUMENTS
        assert report.deviation.sentence == "Batch 1, call 1: its arguments differ from those of c0; ready: c0."

    def test_the_comparer_is_asked_only_for_the_same_tool_and_once_for_equal_calls(self) -> None:
        asked = []

        def loosely(given: Any, meant: Any) -> bool:
            asked.append((given["name"], meant["id"]))
            return str(given["arguments"]["q"]).lower() == meant["arguments"]["q"]

        reference = [{"id": node, **call(name, q="a")} for node, name in zip(("c0", "c1", "c2"), "sst", strict=True)]
        trajectory = [[call("s", q="A"), call("t", q="A")], [call("s", q="A")]]
        assert Matcher(independent(3), reference, loosely).match(trajectory).matched
        assert asked == [("s", "c0"), ("t", "c2"), ("s", "c0")]

    def test_calls_and_graph_belong_together(self) -> None:
        with pytest.raises(ValueError, match="one reference call for each call"):
            Matcher(SLIDES, named(SLIDES)[:3])


class TestAmbiguity:
    def test_which_call_was_meant_shows_later(self) -> None:
        # Both a are ready and equal; b needs the first, c the second.
        one = graph([[], [], [0], [1]])
        matcher = Matcher(one, named(one, "aabc"))
        state = matcher.step(matcher.start(), batches("a")[0])
        assert sorted(state.possible) == [0b01, 0b10]
        for second in "bc":
            assert matcher.match(batches("a", second, "a", "c" if second == "b" else "b")).matched
        report = matcher.match(batches("a", "b", "c"))
        assert report.deviation is not None
        assert report.progress == 0.5
        assert report.deviation.sentence == "Batch 3, call 1: c3 depends on c1, which has not run; ready: c1."

    def test_interchangeable_calls_are_one_state(self) -> None:
        one = chains(10, 5)
        matcher = Matcher(one, named(one, "abcde" * 10))
        state = matcher.start()
        for batch in ["a a a a a", "b b b", "a a a a a c c", "b b b b b b b"]:
            state = matcher.step(state, [call(name) for name in batch.split()])
            assert state.deviation is None
            assert len(state.possible) == 1
        assert state.matched == 22

    def test_too_many_ways_to_understand_a_batch_end_undecided(self) -> None:
        one = fence(64)
        matcher = Matcher(one, named(one, "ab" * 32))
        deviation = matcher.match([[call("a")] * 16]).deviation
        assert deviation is not None
        assert deviation.obstacle == Obstacle.NOT_DECIDED
        assert "more than 2,000 ways" in deviation.sentence


class TestDeviation:
    # ruff: noqa: E501
    @pytest.mark.parametrize(
        ("trajectory", "where", "obstacle", "sentence", "progress"),
        [
            (["rank", "slide"], (1, 0), Obstacle.NOT_READY, "Batch 2, call 1: slide depends on create, detail, which have not run; ready: create, detail.", 0.25),
            (["rank detail"], (0, 1), Obstacle.NOT_READY, "Batch 1, call 2: detail depends on rank, which has not run; ready: create, rank.", 0.0),
            (["rank", "create rank"], (1, 1), Obstacle.ALREADY_RAN, "Batch 2, call 2: rank has already run; ready: create, detail.", 0.25),
            (["rank rank"], (0, 1), Obstacle.TAKEN, "Batch 1, call 2: rank was already matched by an earlier call of the batch; ready: create, rank.", 0.0),
            (["rank", "search"], (1, 0), Obstacle.UNKNOWN_TOOL, "Batch 2, call 1: the task has no call to search; ready: create, detail.", 0.25),
            (["rank", ""], (1, None), Obstacle.EMPTY, "Batch 2: the batch has no calls; ready: create, detail.", 0.25),
            (["rank create", "detail"], (2, None), Obstacle.INCOMPLETE, "The trajectory ends with one call left to run; ready: slide.", 0.75),
            (["rank create", "detail", "slide", "slide"], (3, 0), Obstacle.ALREADY_RAN, "Batch 4, call 1: slide has already run; every call has run.", 1.0),
        ],
    )  # fmt: skip
    def test_where_why_and_what_would_have_been_legal(
        self,
        trajectory: list[str],
        where: tuple[int, int | None],
        obstacle: Obstacle,
        sentence: str,
        progress: float,
    ) -> None:
        report = Matcher(SLIDES, named(SLIDES)).match(batches(*trajectory))
        assert not report.matched
        assert not report.optimal
        assert report.deviation is not None
        found = (report.deviation.batch, report.deviation.call)
        assert (found, report.deviation.obstacle, report.deviation.sentence) == (where, obstacle, sentence)
        assert report.progress == progress

    def test_what_the_other_calls_wait_for(self) -> None:
        deviation = Matcher(SLIDES, named(SLIDES)).match(batches("slide")).deviation
        assert deviation is not None
        assert deviation.ready == ("create", "rank")
        assert deviation.waiting == (Waiting("detail", ("rank",)), Waiting("slide", ("create", "detail")))
        assert [str(one) for one in deviation.waiting] == [
            "detail depends on rank, which has not run.",
            "slide depends on create, detail, which have not run.",
        ]

    def test_a_state_after_a_deviation_stays(self) -> None:
        matcher = Matcher(SLIDES, named(SLIDES))
        state = matcher.step(matcher.start(), [call("slide")])
        assert matcher.step(state, [call("rank")]) == state

    def test_whether_the_optimum_is_still_open(self) -> None:
        matcher = Matcher(SLIDES, named(SLIDES))
        start = matcher.start()
        assert matcher.can_be_optimal(start)
        assert matcher.can_be_optimal(matcher.step(start, [call("rank")]))
        late = matcher.step(start, [call("create")])
        assert not matcher.can_be_optimal(late)
        assert not matcher.can_be_optimal(matcher.step(late, [call("slide")]))


def test_many_equal_calls_in_any_grouping() -> None:
    one = independent(24)
    matcher = Matcher(one, named(one, "a" * 24))
    for sizes in chain([[24], [1] * 24], ([first, 24 - first] for first in range(1, 24))):
        assert matcher.match([[call("a")] * size for size in sizes]).matched
    assert not matcher.match([[call("a")] * 25]).matched


def test_a_real_task_of_five_chains_of_two(shared_data: Path) -> None:
    with (shared_data / "wild" / "candidates.jsonl").open(encoding="utf-8") as lines:
        task = next(record for record in map(json.loads, lines) if record["id"] == "wild_tool_bench_9_t3")
    actions = [node["action"] for node in task["english_answer_list"][0]][:-1]
    # The author of an article is known only after reading it: five articles, then five authors.
    one = graph([[]] * 5 + [[i] for i in range(5)])
    reference = [{"id": node, **action} for node, action in zip(one.ids, actions, strict=True)]

    # Ω°(m) = C(m,2)^5; its differences summed up are all paths.
    maps, paths_by_formula = [comb(m, 2) ** 5 for m in range(11)], 0
    while maps:
        paths_by_formula += maps[0]
        maps = [right - left for left, right in pairwise(maps)]
    tally = count_paths(one)
    assert (tally.total, tally.fewest, tally.optimal) == (Count(paths_by_formula), 2, Count(1))

    matcher = Matcher(one, reference)
    whole = matcher.match([actions[:5], actions[5:]])
    assert (whole.matched, whole.optimal, whole.progress) == (True, True, 1.0)
    mixed = matcher.match([actions[:2], [actions[6], actions[2]], actions[3:6], [actions[7], actions[9], actions[8]]])
    assert (mixed.matched, mixed.optimal) == (True, False)
    early = matcher.match([actions[:2], [actions[8]]])
    assert early.progress == 0.2
    assert early.deviation is not None
    assert early.deviation.sentence.startswith(
        "Batch 2, call 1: c8 depends on c3, which has not run; ready: c2, c3, c4,"
    )
