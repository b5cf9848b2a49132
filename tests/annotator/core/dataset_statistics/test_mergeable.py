"""Counts that are made in parts and merged."""

from hypothesis import given
from hypothesis import strategies as st

from annotator.core.mergeable import Distribution, SampledCounts

KEYS = st.lists(st.text("abcdef", max_size=3), max_size=60)


def counted(keys: list[str], limit: int = 8) -> SampledCounts:
    found = SampledCounts(limit)
    for key in keys:
        found.add(key)
    return found


def state(counts: SampledCounts) -> tuple[int, int, dict[object, int]]:
    return counts.level, counts.total, dict(counts.items())


@given(KEYS, KEYS, st.randoms(use_true_random=False))
def test_neither_order_nor_parts_change_sampled_counts(first: list[str], second: list[str], random: object) -> None:
    whole = counted(first + second)
    shuffled = first + second
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert state(counted(shuffled)) == state(whole)
    assert state(counted(first).merge(counted(second))) == state(whole)
    assert state(counted(second).merge(counted(first))) == state(whole)
    assert len(dict(whole.items())) <= 8
    for key, times in whole.items():
        assert times == (first + second).count(str(key))


def test_a_full_sample_estimates_the_number_of_keys() -> None:
    found = counted([f"key {n}" for n in range(20_000)] * 2, limit=1_000)
    assert not found.exact
    assert found.total == 40_000
    # The relative standard error is 3.8 %.
    assert 17_000 < found.distinct < 23_000
    assert {times for _key, times in found.items()} == {2}


def test_equal_counts_are_listed_by_key() -> None:
    found = counted(["b", "a", "c", "c"])
    assert found.most_common(2) == [("c", 2), ("a", 1)]
    assert (found.exact, found.distinct, found.total) == (True, 3, 4)


def test_quantiles_are_numbers_that_occur() -> None:
    found = Distribution()
    for value in (3, 1, 4, 2, 10, 5, 6, 7, 8, 9):
        found.add(value)
    assert found.summary() == {"count": 10, "median": 5, "p90": 9, "largest": 10}
    assert Distribution().summary() == {"count": 0, "median": None, "p90": None, "largest": None}


def test_large_numbers_are_rounded_down_to_three_digits() -> None:
    found = Distribution()
    for value in (999, 1_009, 123_456):
        found.add(value)
    assert found.counts == {999: 1, 1_000: 1, 123_000: 1}
