"""Garbage is collected between requests."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from annotator.config.garbage import MANY, collect


class Knot:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _only_by_hand() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def left(many: int) -> "weakref.ref[Knot]":
    return [weakref.ref(Knot()) for _ in range(many)][-1]


def test_what_a_few_requests_leave_is_collected_together() -> None:
    few = left(MANY // 10)
    collect()
    assert few() is not None
    many = left(MANY)
    collect()
    assert (few(), many()) == (None, None)


def test_what_outlived_many_rounds_is_collected_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_threshold", lambda: (50_000, 3, 1))
    knot = Knot()
    gc.collect(0)
    gone = weakref.ref(knot)
    del knot
    for _ in range(20):
        left(MANY)
        collect()
    assert gone() is None
