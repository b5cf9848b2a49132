"""Pages by key: they cost the same at any depth, and new rows do not move them.

Rows are ordered by time of creation and then by public id, so the order reveals nothing that the rows do not say.
Database keys would reveal which rows were written later than they claim. Other orders begin with a value and go on in
the same way. A cursor is a signed place in an order, so only cursors from a list in that order are accepted.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import BooleanField, F, Func, Model, QuerySet, Value

from annotator.services.database.filters import no_place

Row = TypeVar("Row", bound=Model)
Shown = TypeVar("Shown")

#: The order of rows with a public id.
BY_TIME = ("created_at", "public_id")
#: The order of rows without one; their readers may know when each was written.
BY_KEY = ("pk",)

_SALT = "annotator.keyset"
#: Longer than any cursor: a place has at most 200 characters of text.
_MAX_LENGTH = 2_000
_Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class KeyPage(Generic[Shown]):
    """The rows of a page, and the cursors of the previous and next pages (None if there is none)."""

    rows: list[Shown]
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Order:
    """An order of rows. ``by``: their fields; after the first, those of BY_TIME. ``newest_first``: downwards."""

    by: tuple[str, ...] = BY_TIME
    newest_first: bool = False


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

    Raises UnknownFilter for an invalid cursor, also one of another order.
    """
    order = Order(by, newest_first)
    for name, cursor in (("before", before), ("after", after)):
        if cursor and not is_cursor(cursor, by, newest_first=newest_first):
            raise no_place(name)
    back, start = _open(before, order), _open(after, order)
    if back is not None:
        found = list(_beyond(rows, back, by, downwards=not newest_first)[: size + 1])
        more, found = len(found) > size, found[:size][::-1]
        if found:
            return KeyPage(found, before=_seal(found[0], order) if more else None, after=_seal(found[-1], order))
        start = None
    found = list(_beyond(rows, start, by, downwards=newest_first)[: size + 1])
    more, found = len(found) > size, found[:size]
    earlier = None
    if start is not None:
        # After the last row there is nothing, but there is a way back.
        earlier = _seal(found[0], order) if found else _sign(_beside(start, below=newest_first), order)
    return KeyPage(found, before=earlier, after=_seal(found[-1], order) if more else None)


def is_cursor(raw: str, by: tuple[str, ...] = BY_TIME, *, newest_first: bool = False) -> bool:
    """Return whether the cursor comes from a list in this order."""
    return _open(raw, Order(by, newest_first)) is not None


def cursor_of(row: Model) -> str:
    """Return the cursor of a row's own place, for ``up_to``."""
    return _seal(row, Order())


def up_to(rows: QuerySet[Row], cursor: str | None) -> QuerySet[Row]:
    """Return the rows up to the place of a cursor, or all rows. Raises UnknownFilter for an invalid cursor."""
    place = _open(cursor, Order())
    if cursor and place is None:
        raise no_place("through")
    return rows if place is None else rows.filter(_RowComparison(BY_TIME, "<=", place))


def _beyond(rows: QuerySet[Row], place: _Place | None, by: tuple[str, ...], *, downwards: bool) -> QuerySet[Row]:
    rows = rows.order_by(*(f"-{name}" if downwards else name for name in by))
    if place is None:
        return rows
    return rows.filter(_RowComparison(by, "<" if downwards else ">", place))


class _RowComparison(Func):
    """``(field, …) > (value, …)``: lets the database start at the place, also among many equal first values.

    Django's own comparison of tuples becomes a chain of conditions on SQLite, which reads all rows before the place.
    """

    output_field = BooleanField()

    def __init__(self, by: tuple[str, ...], comparison: str, place: _Place) -> None:
        super().__init__(*map(F, by), *map(Value, place), comparison=comparison)

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        pieces = [compiler.compile(one) for one in self.source_expressions]
        left, right = pieces[: len(pieces) // 2], pieces[len(pieces) // 2 :]
        sides = [f"({', '.join(sql for sql, _ in side)})" for side in (left, right)]
        return f" {self.extra['comparison']} ".join(sides), [value for _, values in pieces for value in values]


def _beside(place: _Place, *, below: bool) -> _Place:
    """Return a place just below or above this one."""
    if len(place) == 1:
        return (place[0] - 1 if below else place[0] + 1,)
    *first, moment, _public_id = place
    return (*first, moment if below else moment + timedelta(microseconds=1), "")


def _seal(row: Model, order: Order) -> str:
    return _sign(tuple(getattr(row, name) for name in order.by), order)


class _Json:
    """JSON with the characters of other scripts as they are, which keeps cursors short."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


def _signer(order: Order) -> signing.Signer:
    first = "" if order.by in (BY_TIME, BY_KEY) else f".{order.by[0]}"
    return signing.Signer(salt=f"{_SALT}{first}{'.-' if order.newest_first else ''}")


def _sign(place: _Place, order: Order) -> str:
    values = [one.isoformat() if isinstance(one, datetime) else one for one in place]
    return _signer(order).sign_object(values, serializer=_Json)


def _open(cursor: str | None, order: Order) -> _Place | None:
    if not cursor or len(cursor) > _MAX_LENGTH:
        return None
    try:
        place = _signer(order).unsign_object(cursor, serializer=_Json)
    except signing.BadSignature:
        return None
    if len(place) != len(order.by):
        return None
    pairs = zip(order.by, place, strict=True)
    return tuple(datetime.fromisoformat(value) if name.endswith("_at") else value for name, value in pairs)
