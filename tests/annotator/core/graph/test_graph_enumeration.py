"""Listing legal paths: order, laziness, optimal ones without dead ends, the decision tree."""

from itertools import islice

import pytest
from hypothesis import given

from annotator.core.graph import (
    Count,
    DecisionTree,
    Graph,
    NotLegal,
    after,
    legal_batches,
    optimal_batches,
    optimal_paths,
    paths,
    ready_calls,
)
from tests.annotator.core.graph.graph_cases import SLIDES, acyclic, brute_paths, chains, independent, needs_of


class TestPaths:
    def test_the_slides_of_the_paper(self) -> None:
        assert list(paths(SLIDES)) == [
            (("create",), ("rank",), ("detail",), ("slide",)),
            (("rank",), ("create",), ("detail",), ("slide",)),
            (("rank",), ("detail",), ("create",), ("slide",)),
            (("rank",), ("create", "detail"), ("slide",)),
            (("create", "rank"), ("detail",), ("slide",)),
        ]
        assert list(optimal_paths(SLIDES)) == [
            (("rank",), ("create", "detail"), ("slide",)),
            (("create", "rank"), ("detail",), ("slide",)),
        ]

    @given(acyclic(5))
    def test_the_same_as_the_definition_in_the_same_order(self, one: Graph) -> None:
        expected = list(brute_paths(needs_of(one)))
        assert list(paths(one)) == expected
        assert list(optimal_paths(one)) == [path for path in expected if len(path) == one.fewest_batches]

    def test_the_first_paths_of_very_many(self) -> None:
        first, second = islice(paths(independent(64)), 2)
        assert first == tuple((f"c{i}",) for i in range(64))
        assert second[-2:] == (("c63",), ("c62",))
        assert next(optimal_paths(chains(10, 5)))[0] == tuple(f"c{i}" for i in range(0, 50, 5))
        assert next(iter(legal_batches(independent(64)))) == ("c0",)

    def test_nothing_left(self) -> None:
        assert list(paths(independent(0))) == [()]
        assert list(paths(SLIDES, 15)) == [()]
        assert list(legal_batches(SLIDES, 15)) == list(optimal_batches(SLIDES, 15)) == []


class TestAfter:
    def test_what_is_done_and_what_is_ready(self) -> None:
        done = after(SLIDES, [["rank"], ["detail", "create"]])
        assert done == 0b111
        assert ready_calls(SLIDES, done) == ("slide",)

    @pytest.mark.parametrize(
        ("batches", "sentence"),
        [
            ([["detail"]], "Batch 1: detail needs rank to run first."),
            ([["rank", "detail"]], "Batch 1: detail needs rank to run first."),
            ([["rank"], ["rank"]], "Batch 2: rank has already run."),
            ([["rank", "rank"]], "Batch 1: rank is listed twice."),
            ([["rank"], []], "Batch 2 is empty."),
            ([["rank"], ["nothing"]], "Batch 2: there is no call nothing."),
        ],
    )
    def test_what_is_not_legal(self, batches: list[list[str]], sentence: str) -> None:
        with pytest.raises(NotLegal, match=f"^{sentence}$"):
            after(SLIDES, batches)


class TestDecisionTree:
    def test_the_stepping_of_the_paper_prunes_to_one_path(self) -> None:
        tree = DecisionTree(SLIDES)
        first = list(tree.branches())
        assert [(one.batch, one.paths, one.optimal) for one in first] == [
            (("create",), Count(1), False),
            (("rank",), Count(3), True),
            (("create", "rank"), Count(1), True),
        ]
        after_rank = list(tree.branches(first[1].done, 1))
        assert [(one.batch, one.paths, one.fewest) for one in after_rank] == [
            (("create",), Count(1), 4),
            (("detail",), Count(1), 4),
            (("create", "detail"), Count(1), 3),
        ]
        then = tree.walk([["rank"], ["create"]])
        assert (tree.tally(then).total, tree.optimal_below(then, 2)) == (Count(1), Count(0))
        assert [(one.batch, one.ends) for one in tree.branches(tree.walk([["rank"], ["create", "detail"]]), 2)] == [
            (("slide",), True)
        ]

    @given(acyclic(5))
    def test_branches_share_out_the_paths(self, one: Graph) -> None:
        tree = DecisionTree(one)
        branches = list(tree.branches())
        assert len(branches) == tree.branch_count()
        if one.ids:
            assert sum(branch.paths.value or 0 for branch in branches) == tree.tally().total.value
            assert [branch for branch in branches if branch.optimal] == list(tree.optimal_branches())

    def test_wide_states_are_opened_lazily(self) -> None:
        tree = DecisionTree(independent(24))
        assert tree.branch_count() == 2**24 - 1
        assert next(tree.branches()).batch == ("c0",)
        assert [one.batch for one in tree.optimal_branches()] == [tuple(f"c{i}" for i in range(24))]
        assert list(tree.optimal_branches(1, 1)) == []
