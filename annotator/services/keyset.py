"""Pages by key: they cost the same at any depth, and what comes in meanwhile moves nothing."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class KeyPage(Generic[Row]):
    """Rows, newest first. ``older``: the key to read on before, ``newer``: the one to read on after; None at an end."""

    rows: list[Row]
    older: int | None
    newer: int | None


def read_key(raw: str | None) -> int | None:
    """A key from a query string; None for whatever is none, so that any link opens some page."""
    return int(raw) if raw and raw.isascii() and raw.isdigit() and len(raw) <= 18 else None


def newest_first(rows: QuerySet[Row], *, before: int | None, after: int | None, size: int) -> KeyPage[Row]:
    """The ``size`` rows before a key, or those after it (nothing there: the newest); without one, the newest."""
    if after is not None:
        found = list(rows.filter(pk__gt=after).order_by("pk")[: size + 1])
        more, found = len(found) > size, found[:size][::-1]
        if found:
            return KeyPage(found, older=found[-1].pk, newer=found[0].pk if more else None)
        before = None
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: size + 1])
    more, found = len(found) > size, found[:size]
    # Beyond the oldest there is nothing; the way back is there all the same.
    newer = None if before is None else found[0].pk if found else before - 1
    return KeyPage(found, older=found[-1].pk if more else None, newer=newer)
