"""Whole numbers by cell: how many are right, of how many."""

from collections.abc import ItemsView


class Tally:
    """Counts by cell, in the order in which the cells were named or first added to."""

    def __init__(self, *cells: str) -> None:
        self._counts: dict[str, tuple[int, int]] = dict.fromkeys(cells, (0, 0))

    def add(self, cell: str, right: int, of: int = 1) -> None:
        done, total = self._counts.get(cell, (0, 0))
        self._counts[cell] = (done + right, total + of)

    def items(self) -> ItemsView[str, tuple[int, int]]:
        return self._counts.items()

    def __getitem__(self, cell: str) -> tuple[int, int]:
        return self._counts.get(cell, (0, 0))

    def as_json(self) -> dict[str, list[int]]:
        """Return [right, of] by cell, cells sorted."""
        return {cell: list(self._counts[cell]) for cell in sorted(self._counts)}


def rate(right: int, of: int) -> float:
    return right / of if of else 0.0
