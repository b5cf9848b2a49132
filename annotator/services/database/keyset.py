"""Pages by key: they cost the same at any depth, and new rows do not move them.

Rows are ordered by time of creation and then by public id, so the order reveals nothing that the rows do not say.
Database keys would reveal which rows were written later than they claim. A cursor is a signed place in that order, so
only cursors from a list are accepted.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from annotator.services.database.filters import no_place

Row = TypeVar("Row", bound=Model)
Shown = TypeVar("Shown")

#: The order of rows with a public id.
BY_TIME = ("created_at", "public_id")
#: The order of rows without one; their readers may know when each was written.
BY_KEY = ("pk",)

_SIGNER = signing.Signer(salt="annotator.keyset")
#: Longer than any cursor.
_MAX_LENGTH = 200
_Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class KeyPage(Generic[Shown]):
    """The rows of a page, and the cursors of the previous and next pages (None if there is none)."""

    rows: list[Shown]
    before: str | None
    after: str | None


def read_page(
    rows: QuerySet[Row],
    *,
    size: int,
    after: str | None = None,
    before: str | None = None,
    newest_first: bool = False,
    by: tuple[str, ...] = BY_TIME,
) -> KeyPage[Row]:
    """Return the ``size`` rows after a cursor, or those before it; by default the first.

    Raises UnknownFilter for an invalid cursor.
    """
    for name, cursor in (("before", before), ("after", after)):
        if cursor and not is_cursor(cursor, by):
            raise no_place(name)
    back, start = _open(before, by), _open(after, by)
    if back is not None:
        found = list(_beyond(rows, back, by, downwards=not newest_first)[: size + 1])
        more, found = len(found) > size, found[:size][::-1]
        if found:
            return KeyPage(found, before=_seal(found[0], by) if more else None, after=_seal(found[-1], by))
        start = None
    found = list(_beyond(rows, start, by, downwards=newest_first)[: size + 1])
    more, found = len(found) > size, found[:size]
    earlier = None
    if start is not None:
        # After the last row there is nothing, but there is a way back.
        earlier = _seal(found[0], by) if found else _sign(_beside(start, below=newest_first))
    return KeyPage(found, before=earlier, after=_seal(found[-1], by) if more else None)


def is_cursor(raw: str, by: tuple[str, ...] = BY_TIME) -> bool:
    """Return whether the cursor comes from a list in this order."""
    return _open(raw, by) is not None


def cursor_of(row: Model) -> str:
    """Return the cursor of a row's own place, for ``up_to``."""
    return _seal(row, BY_TIME)


def up_to(rows: QuerySet[Row], cursor: str | None) -> QuerySet[Row]:
    """Return the rows up to the place of a cursor, or all rows. Raises UnknownFilter for an invalid cursor."""
    place = _open(cursor, BY_TIME)
    if cursor and place is None:
        raise no_place("through")
    return rows if place is None else rows.exclude(_past(place, BY_TIME, "gt"))


def _beyond(rows: QuerySet[Row], place: _Place | None, by: tuple[str, ...], *, downwards: bool) -> QuerySet[Row]:
    rows = rows.order_by(*(f"-{name}" if downwards else name for name in by))
    if place is None:
        return rows
    # The extra condition lets the database start at the place instead of scanning to it.
    side = "lt" if downwards else "gt"
    return rows.filter(_past(place, by, side), **{f"{by[0]}__{side}e": place[0]})


def _past(place: _Place, by: tuple[str, ...], side: str) -> Q:
    first, *others = by
    condition = Q(**{f"{first}__{side}": place[0]})
    for name, value in zip(others, place[1:], strict=True):
        condition |= Q(**{first: place[0], f"{name}__{side}": value})
    return condition


def _beside(place: _Place, *, below: bool) -> _Place:
    """Return a place just below or above this one."""
    if isinstance(place[0], int):
        return (place[0] - 1 if below else place[0] + 1,)
    return (place[0] if below else place[0] + timedelta(microseconds=1), "")


def _seal(row: Model, by: tuple[str, ...]) -> str:
    return _sign(tuple(getattr(row, name) for name in by))


def _sign(place: _Place) -> str:
    return _SIGNER.sign_object([one.isoformat() if isinstance(one, datetime) else one for one in place])


def _open(cursor: str | None, by: tuple[str, ...]) -> _Place | None:
    if not cursor or len(cursor) > _MAX_LENGTH:
        return None
    try:
        place = _SIGNER.unsign_object(cursor)
    except signing.BadSignature:
        return None
    if len(place) != len(by):
        return None
    return (datetime.fromisoformat(place[0]), place[1]) if by == BY_TIME else tuple(place)
