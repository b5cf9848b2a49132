"""Counting legal paths: hand-known values, against enumeration, all of the shared parity data, and the bound."""

import json
from collections import Counter
from itertools import pairwise, product
from math import factorial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.graph import TOO_MANY, Count, Graph, PathCounter, count_paths
from annotator.core.graph.elimination import plan
from annotator.core.graph.lattice import StepBound, partitions_by_length
from tests.annotator.core.graph.graph_cases import (
    SLIDES,
    acyclic,
    brute_paths,
    chains,
    dense,
    fan_in,
    fan_out,
    fence,
    graph,
    independent,
    needs_of,
)

#: Ordered set partitions of n things (OEIS A000670).
FUBINI = [1, 1, 3, 13, 75, 541, 4683, 47293]
FUBINI_24 = 2958279121074145472650648875
FUBINI_23 = 85438451336745709294580413


def above_of(one: Graph) -> list[int]:
    above = [0] * len(one.ids)
    for i, below in enumerate(one.ancestors):
        for j in range(len(one.ids)):
            above[j] |= (below >> j & 1) << i
    return above


class TestHandKnown:
    def test_the_slides_of_the_paper_have_five_paths_two_of_them_with_three_batches(self) -> None:
        tally = count_paths(SLIDES)
        assert (tally.total, tally.fewest, tally.most, tally.optimal) == (Count(5), 3, 4, Count(2))
        assert tally.by_length == (0, 0, 0, 2, 3)

    @pytest.mark.parametrize(("size", "number"), list(enumerate(FUBINI)))
    def test_independent_calls_are_ordered_set_partitions(self, size: int, number: int) -> None:
        assert count_paths(independent(size)).total == Count(number)

    def test_large_plain_shapes(self) -> None:
        assert count_paths(independent(24)).total == Count(FUBINI_24)
        # The one call all wait for, or that waits for all, is a batch of its own.
        assert count_paths(fan_in(24)).total == Count(FUBINI_23)
        assert count_paths(fan_out(24)).total == Count(FUBINI_23)
        assert count_paths(chains(1, 64)).total == Count(1)

    def test_two_chains_of_two(self) -> None:
        # Ω°(m) = C(m,2)²: 1, 9, 36. Two batches: 1; three: 9 − 3·1 = 6; four: 36 − 4·9 + 6·1 = 6.
        assert count_paths(chains(2, 2)).by_length == (0, 0, 1, 6, 6)

    def test_ten_chains_of_five_by_the_formula(self) -> None:
        # One chain of five has C(m, 5) maps into m batches, ten of them C(m, 5)^10.
        maps = [(factorial(m) // factorial(5) // factorial(m - 5) if m >= 5 else 0) ** 10 for m in range(51)]
        lengths = []
        while maps:
            lengths.append(maps[0])
            maps = [right - left for left, right in pairwise(maps)]
        assert count_paths(chains(10, 5)).by_length == tuple(lengths)

    def test_no_calls_have_one_empty_path(self) -> None:
        tally = count_paths(independent(0))
        assert (tally.total, tally.fewest, tally.most, tally.optimal) == (Count(1), 0, 0, Count(1))

    def test_lengths_that_cannot_be(self) -> None:
        tally = count_paths(SLIDES)
        assert [tally.of_length(k) for k in (0, 2, 3, 4, 5)] == [Count(0), Count(0), Count(2), Count(3), Count(0)]


class TestAgainstEnumeration:
    @given(acyclic())
    def test_every_length_of_every_small_graph(self, one: Graph) -> None:
        lengths = Counter(len(path) for path in brute_paths(needs_of(one)))
        tally = count_paths(one)
        assert tally.by_length is not None
        assert {k: n for k, n in enumerate(tally.by_length) if n} == lengths
        assert tally.exact
        assert tally.optimal == Count(lengths[one.fewest_batches])

    @given(acyclic(), st.data())
    def test_from_the_middle(self, one: Graph, data: st.DataObject) -> None:
        done: set[str] = set()
        for _ in range(data.draw(st.integers(0, len(one.ids)))):
            ready = [call for call, needs in needs_of(one).items() if call not in done and needs <= done]
            done.add(data.draw(st.sampled_from(ready)))
        mask = sum(1 << i for i, call in enumerate(one.ids) if call in done)
        expected = sum(1 for _ in brute_paths(needs_of(one), frozenset(done)))
        assert PathCounter(one).tally(mask).total == Count(expected)

    @given(acyclic(7))
    def test_both_ways_of_working_through_agree(self, one: Graph) -> None:
        everything, size = (1 << len(one.ids)) - 1, len(one.ids)
        if not size:
            return
        above = above_of(one)
        walked = partitions_by_length(everything, one.ancestors, above, StepBound(10**6), 10**6)
        elimination = plan(everything, one.ancestors, above)
        lengths, maps = [], [elimination.maps(m) for m in range(size + 1)]
        while maps:
            lengths.append(maps[0])
            maps = [right - left for left, right in pairwise(maps)]
        assert walked == lengths

    @given(acyclic(5), st.integers(0, 4))
    def test_order_polynomial_by_its_definition(self, one: Graph, batches: int) -> None:
        elimination = plan((1 << len(one.ids)) - 1, one.ancestors, above_of(one))
        place = {call: i for i, call in enumerate(one.ids)}
        maps = sum(
            all(found[place[call]] > found[place[needed]] for call, needed in one.edges())
            for found in product(range(batches), repeat=len(one.ids))
        )
        assert elimination.maps(batches) == maps

    def test_all_shared_shapes(self, shared_data: Path) -> None:
        with (shared_data / "parity" / "paths.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        assert len(rows) == 262
        for row in rows:
            tally = count_paths(graph(row["dependencies"]))
            found = (tally.total.value, tally.fewest, tally.optimal.value, tally.most)
            expected = tuple(row[key] for key in ("path_count", "optimal_steps", "optimal_path_count", "max_steps"))
            assert found == expected, row


class TestBound:
    def test_awkward_shapes_stay_exact(self) -> None:
        assert count_paths(fence(24)).total == Count(52395708318398582698509)
        assert count_paths(fence(64)).exact
        assert count_paths(dense(15, 0.4)).exact
        # Calls with the same neighbours are counted once: eight of each of the four corners of an N.
        blown = graph([[]] * 16 + [list(range(8))] * 8 + [list(range(16))] * 8)
        assert count_paths(blown, bound=20_000).exact

    @pytest.mark.parametrize("bound", [0, 10, 100, 1_000])
    @pytest.mark.parametrize("one", [dense(9, 0.3), fence(8), dense(8, 0.2, 3)], ids=["dense", "fence", "sparse"])
    def test_what_is_given_up_is_a_true_lower_bound(self, one: Graph, bound: int) -> None:
        whole, cut = count_paths(one), count_paths(one, bound)
        assert whole.by_length is not None
        assert cut.by_length is not None
        assert all(low <= true for low, true in zip(cut.by_length, whole.by_length, strict=True))
        assert cut.total.at_least is not None
        assert whole.total.value is not None
        assert cut.total.at_least <= whole.total.value
        if not cut.exact:
            assert cut.total.value is None
            assert str(cut.total) == f"more than {sum(cut.by_length):,}"
        assert cut.optimal.at_least is not None
        assert whole.optimal.value is not None
        assert 1 <= cut.optimal.at_least <= whole.optimal.value

    def test_sixty_four_tangled_calls_end_with_more_than(self) -> None:
        tally = count_paths(dense(64, 0.05), bound=100_000)
        assert not tally.exact
        assert str(tally.total).startswith("more than ")

    def test_more_calls_than_a_task_may_have(self) -> None:
        tally = count_paths(independent(65))
        assert (tally.total, tally.fewest, tally.most) == (TOO_MANY, 1, 65)
        assert tally.of_length(3) == TOO_MANY
        assert str(tally.total) == "too many to count"

    def test_how_counts_are_said(self) -> None:
        assert str(Count(47293)) == "47,293"
        assert str(Count(1001, exact=False)) == "more than 1,000"
        assert Count(1001, exact=False).value is None
        assert str(Count(1, exact=False)) == "too many to count"
