"""Groups from pairs: by hand, and against a search through all pairs."""

from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.grouping import Extent, Groups, extents

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(50, 100)), max_size=25)


def test_groups_by_hand() -> None:
    groups = Groups()
    for one, other in ((5, 3), (8, 9), (9, 5), (20, 21)):
        groups.join(one, other)
    assert groups.firsts() == {3: 3, 5: 3, 8: 3, 9: 3, 20: 20, 21: 20}
    assert (groups.count, len(groups)) == (2, 6)


def test_extents_by_hand() -> None:
    pairs = [(1, 2, 90), (2, 3, 70), (4, 5, 70)]
    assert extents(pairs, [70, 80, 100]) == [Extent(70, 2, 5), Extent(80, 1, 2), Extent(100, 0, 0)]


@given(PAIRS)
def test_groups_are_what_can_be_reached(pairs: list[tuple[int, int, int]]) -> None:
    groups = Groups()
    beside: dict[int, set[int]] = {}
    for one, other, _ in pairs:
        groups.join(one, other)
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)

    def reached(start: int) -> set[int]:
        found, waiting = {start}, [start]
        while waiting:
            new = beside[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    assert groups.firsts() == {member: min(reached(member)) for member in beside}
    assert groups.count == len(set(groups.firsts().values()))
    assert extents(pairs, [50]) == [Extent(50, groups.count, len(groups))]


def test_a_long_chain_takes_no_time() -> None:
    groups = Groups()
    for number in range(200_000, 0, -1):
        groups.join(number, number - 1)
    assert set(groups.firsts().values()) == {0}
