"""Which legal paths each published evaluator rejects: values worked by hand, counts against listing, the bound.

``tests/benchmark/scoring/test_published_lint.py`` compares with the scorers.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.graph import TOO_MANY, Count, Graph, PublishedCode, argument_kinds, lint_published, paths
from annotator.core.graph.evaluators import Acceptance
from tests.annotator.core.graph.graph_cases import SLIDES, acyclic, chains, graph, independent

#: b waits for the second a; the first a is free.
BEHIND_THE_SECOND = graph([[], [], [1]])


@pytest.mark.parametrize(
    ("one", "names", "arguments", "legal", "c3", "wild"),
    [
        # Second before first: only WildToolBench's compares each step with the call that it took.
        (independent(2), "aa", "xy", 3, 0, 1),
        # Equal calls are the same to both.
        (independent(2), "aa", "xx", 3, 0, 0),
        # All at once, or three in a row, in any of 6 orders or only in that of the file.
        (independent(3), "aaa", "xyz", 13, 6, 11),
        # b stands between them, so the first a is taken for any of the two.
        (independent(3), "aba", "xyz", 13, 0, 5),
        # The second a alone, then b: b is not ready after the first a.
        (BEHIND_THE_SECOND, "aab", "xyz", 5, 2, 3),
        (BEHIND_THE_SECOND, "aab", "xxz", 5, 2, 2),
        # Five chains of two: the as, then the bs, each all at once or one by one (in any order, in that of the file).
        (chains(5, 2), "ab" * 5, "abcdefghij", 2_244_361, 2_244_361 - 121**2, 2_244_361 - 2**2),
        # Never ready together.
        (chains(1, 2), "aa", "xy", 1, 0, 0),
        (SLIDES, ["create", "rank", "detail", "slide"], "wxyz", 5, 0, 0),
    ],
)
def test_known_values(one: Graph, names: str, arguments: str, legal: int, c3: int, wild: int) -> None:
    lint = lint_published(one, names, argument_kinds(names, arguments))
    assert (lint.legal, lint.c3, lint.wild) == (Count(legal), Count(c3), Count(wild))
    assert (lint.c3_rejects, lint.wild_rejects) == (c3 > 0, wild > 0)
    assert (lint.clean, lint.alike) == (wild == 0, c3 == wild)


def test_examples_say_which_evaluator_rejects_them() -> None:
    lint = lint_published(BEHIND_THE_SECOND, "aab", examples=5)
    assert set(lint.by_both) == {(("c1",), ("c2",), ("c0",)), (("c1",), ("c0", "c2"))}
    assert lint.by_wild == ((("c1",), ("c0",), ("c2",)),)
    # The optimal one comes first.
    assert [len(path) for path in lint.by_both] == [2, 3]
    assert len(lint_published(independent(4), "aaaa", examples=3).by_both) == 3


def test_past_the_bound_it_says_what_it_knows() -> None:
    lint = lint_published(independent(24), "ab" * 12, bound=1_000)
    assert (lint.c3, lint.wild) == (TOO_MANY, TOO_MANY)
    assert (lint.c3_rejects, lint.wild_rejects) == (True, True)
    assert not lint.clean
    assert not lint.alike
    unknown = lint_published(independent(24), "ab" * 12, bound=1_000, examples=0)
    assert (unknown.c3_rejects, unknown.wild_rejects) == (None, None)
    # Many calls that are alike are few states.
    crowd = lint_published(independent(24), "a" * 24, bound=20_000, examples=0)
    assert (crowd.legal.value or 0) - (crowd.wild.value or 0) == 2


@given(acyclic(5), st.data())
def test_counts_are_those_of_the_paths_one_by_one(one: Graph, data: st.DataObject) -> None:
    names = [data.draw(st.sampled_from("ab")) for _ in one.ids]
    code = PublishedCode(one, names)
    for arguments in ([""] * len(names), [data.draw(st.sampled_from("xyz")) for _ in names]):
        acceptance = Acceptance(code, argument_kinds(names, arguments))
        assert acceptance.count() == Count(sum(acceptance.accepts(path) for path in paths(one)))
        # All ready calls at once is an optimal path, and always accepted.
        columns = [tuple(step for step in one.ids if one.columns[step] == n) for n in range(one.fewest_batches)]
        assert acceptance.accepts(tuple(columns))
