"""Agreement with the published evaluators: the shared parity data, rules worked by hand, the lint and its limit."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.graph import TOO_MANY, Count, Graph, PublishedCode, count_paths, lint_published, paths
from tests.annotator.core.graph.graph_cases import SLIDES, acyclic, chains, graph, independent


def listed(one: Graph, names: str) -> set[tuple[tuple[str, ...], ...]]:
    code = PublishedCode(one, names)
    return {path for path in paths(one) if code.lists(path)}


class TestRules:
    def test_all_shared_shapes(self, shared_data: Path) -> None:
        with (shared_data / "parity" / "paths.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for row in rows:
            code = PublishedCode(graph(row["dependencies"]), row["names"])
            expected = (Count(row["published_code_path_count"]), row["published_code_min_steps"])
            assert code.count() == expected, row

    def test_a_run_goes_all_at_once_or_one_by_one_in_file_order(self) -> None:
        assert listed(independent(3), "aaa") == {(("c0",), ("c1",), ("c2",)), (("c0", "c1", "c2"),)}

    def test_a_run_that_does_not_come_first_in_its_batch_may_be_cut(self) -> None:
        # b first: with the first a, with both, or alone; a first: both of them, before or together with b.
        assert (
            listed(independent(3), "baa")
            == {
                (("c0",), ("c1",), ("c2",)),
                (("c0",), ("c1", "c2")),
                (("c0", "c1"), ("c2",)),
                (("c0", "c1", "c2"),),
                (("c1",), ("c2",), ("c0",)),
                (("c1", "c2"), ("c0",)),
            }
            or len(listed(independent(3), "baa")) == PublishedCode(independent(3), "baa").count()[0].value
        )

    def test_five_chains_of_two_keep_four_of_their_paths(self) -> None:
        code = PublishedCode(chains(5, 2), "ab" * 5)
        assert code.count() == (Count(4), 2)

    @given(acyclic(5), st.data())
    def test_counted_are_the_paths_that_are_listed(self, one: Graph, data: st.DataObject) -> None:
        names = "".join(data.draw(st.sampled_from("abc")) for _ in one.ids)
        count, fewest = PublishedCode(one, names).count()
        found = listed(one, names)
        assert count == Count(len(found))
        assert fewest == min(map(len, found))

    @given(acyclic(5))
    def test_different_tools_are_never_merged(self, one: Graph) -> None:
        code = PublishedCode(one, "abcdefg"[: len(one.ids)])
        assert not code.merges
        assert code.count() == (count_paths(one).total, one.fewest_batches)
        assert all(code.lists(path) for path in paths(one))

    def test_one_name_for_each_call(self) -> None:
        with pytest.raises(ValueError, match="one tool name for each call"):
            PublishedCode(SLIDES, ["create"])


class TestLint:
    def test_nothing_to_say(self) -> None:
        lint = lint_published(SLIDES, SLIDES.ids)
        assert lint.clean
        assert (lint.legal, lint.listed, lint.examples, lint.optimum_differs) == (Count(5), Count(5), (), False)
        assert lint.sentence == "The published evaluators accept every legal path."

    def test_rejected_paths_with_examples(self) -> None:
        lint = lint_published(independent(3), "aaa")
        assert not lint.clean
        assert (lint.legal, lint.listed, lint.rejected) == (Count(13), Count(2), Count(11))
        assert lint.examples[0] == (("c0",), ("c2",), ("c1",))
        assert len(lint.examples) == 3
        assert (
            lint.sentence
            == "The published evaluators reject 11 of 13 legal paths, because they merge calls to the same tool."
        )

    def test_a_rejected_path_may_be_an_optimal_one(self) -> None:
        # The second a depends on nothing, so it may also wait and run beside b.
        lint = lint_published(graph([[], [0], []]), "aba", examples=10)
        optimal = [path for path in lint.examples if len(path) == lint.fewest]
        assert lint.examples[: len(optimal)] == tuple(optimal)
        assert optimal

    def test_past_the_bound_it_says_what_it_knows(self) -> None:
        lint = lint_published(independent(24), "ab" * 12, bound=1_000)
        assert (lint.listed, lint.rejected, lint.published_fewest) == (TOO_MANY, TOO_MANY, None)
        assert lint.examples
        assert (
            lint.sentence
            == "The published evaluators reject some legal paths, because they merge calls to the same tool."
        )
        assert not lint.clean
        assert not lint.optimum_differs
