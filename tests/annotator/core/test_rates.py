"""Rate limits: never more than the count in a window, always admitted below it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core import rates
from annotator.core.rates import Limited, MemoryCounts, Rate, read_rate


@given(st.integers(1, 5), st.sampled_from([1, 60]), st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 200))))
def test_a_window_admits_exactly_its_count(count: int, seconds: int, requests: list[tuple[str, int]]) -> None:
    counts, rate = MemoryCounts(), Rate(count, seconds)
    admitted: dict[tuple[str, int], int] = {}
    asked: dict[tuple[str, int], int] = {}
    for name, now in sorted(requests, key=lambda one: one[1]):
        window = name, now // seconds
        limit = Limited("person", name, rate)
        found = limit.counted(*counts.count([limit], now), now)
        asked[window] = asked.get(window, 0) + 1
        admitted[window] = admitted.get(window, 0) + found.admitted
        assert found.left == count - admitted[window]
        assert now + found.seconds_left == (now // seconds + 1) * seconds
    assert admitted == {window: min(count, number) for window, number in asked.items()}


def test_rates_are_read_strictly_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [read_rate(text) for text in ("100/minute", "1/second", "7/hour", "0")] == [
        Rate(100, 60), Rate(1, 1), Rate(7, 3600), None,
    ]  # fmt: skip
    for wrong in ("", "100", "0/minute", "-1/minute", "1/day", "1 / minute", "1e3/minute", "9999999999/hour", "١/hour"):
        with pytest.raises(ValueError, match=r"^" + wrong):
            read_rate(wrong)
    monkeypatch.setattr(rates, "MAX_NAMES", 2)
    counts = MemoryCounts()
    used = [counts.count([Limited("address", name, Rate(1, 60))], 0) for name in "abcabc"]
    assert used == [[1], [1], [1], [2], [2], [1]]
