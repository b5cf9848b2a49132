"""Prepared statements for the few paths that hold locks other people wait for: claim and submit.

The ORM compiles each statement again, which takes several times as long as executing it on these paths. ``compiled``
does so once for each query; ``insert`` and ``update`` write rows.

On PostgreSQL the statements are prepared, so each connection plans them once: planning the search for the next item
takes ten times as long as running it. (Other statements of the ORM are not: the best plan of a text search depends on
the word.)
"""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression
from django.utils import timezone

Row = tuple[Any, ...]
Value = int | str | bool | datetime | None

#: The most rows that a prepared statement inserts.
_FEW = 16
#: The attribute of a PostgreSQL connection with its cursor. The result of a statement is read before the next one
#: starts.
_KEPT = "assay_cursor"


def rows(statement: str, values: Sequence[Value] = ()) -> list[Row]:
    """Return the rows of a SELECT."""
    database = _database()
    cursor = _cursor(database)
    cursor.execute(statement, _adapted(database, values))
    found: list[Row] = cursor.fetchall()
    return found


def write(statement: str, values: Sequence[Value] = ()) -> int:
    """Execute a writing statement; return the number of changed rows."""
    database = _database()
    cursor = _cursor(database)
    cursor.execute(statement, _adapted(database, values))
    return int(cursor.rowcount)


def insert(instances: Sequence[models.Model]) -> None:
    """Write new rows of one model, and give each instance its key.

    Defaults and conversions are the fields' own, as in ``bulk_create``, which is for many rows: here each number of
    rows is a separate statement. No signals are sent.
    """
    if len(instances) > _FEW:
        type(instances[0])._default_manager.bulk_create(instances, batch_size=1000)
    if not 0 < len(instances) <= _FEW:
        return
    keys = _write_rows(instances)
    for instance, (key,) in zip(instances, keys, strict=True):
        _is_stored(instance, key)


def update(instance: models.Model, *names: str) -> None:
    """Write these fields of an existing row, like ``save(update_fields=…)`` without signals."""
    database = _database()
    fields, statement = _updating(database.vendor, type(instance), names)
    values = [field.get_db_prep_save(field.pre_save(instance, add=False), database) for field in fields]
    _cursor(database).execute(statement, [*values, instance.pk])


def _write_rows(instances: Sequence[models.Model]) -> list[Row]:
    database = _database()
    fields, statement = _insertion(database.vendor, type(instances[0]), len(instances))
    values = [
        field.get_db_prep_save(field.pre_save(instance, add=True), database)
        for instance in instances
        for field in fields
    ]
    cursor = _cursor(database)
    cursor.execute(statement, values)
    keys: list[Row] = cursor.fetchall()
    return keys


def _is_stored(instance: models.Model, key: Any) -> None:
    instance.pk = key
    instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS


class Clock(Expression):
    """The database's time at the start of the statement. SQLite uses this machine's clock, and rounds it."""

    output_field = models.DateTimeField()

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> Any:
        return ("statement_timestamp()" if connection.vendor == "postgresql" else "NULL"), []

    def convert_value(self, value: datetime | None, expression: Any, connection: Any) -> datetime:
        return timezone.now() if value is None else value


def database_time() -> datetime:
    """Return the database's current time."""
    if _database().vendor != "postgresql":
        return timezone.now()
    [(now,)] = rows("SELECT statement_timestamp()")
    return cast(datetime, now)


@lru_cache(maxsize=64)
def _insertion(vendor: str, model: type[models.Model], count: int) -> tuple[list["models.Field[Any, Any]"], str]:
    """Return the fields of a new row, and the statement that writes this many rows."""
    quote, meta = connection.ops.quote_name, model._meta
    fields = [field for field in meta.concrete_fields if field is not meta.auto_field]
    names = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join([f"({', '.join(['%s'] * len(fields))})"] * count)
    key = quote(str(meta.pk.column))
    return fields, f"INSERT INTO {quote(meta.db_table)} ({names}) VALUES {marks} RETURNING {key}"  # noqa: S608


@lru_cache(maxsize=64)
def _updating(
    vendor: str, model: type[models.Model], names: tuple[str, ...]
) -> tuple[list["models.Field[Any, Any]"], str]:
    """Return the fields with these names, and the statement that writes them to one row."""
    quote = connection.ops.quote_name
    fields = [field for field in model._meta.concrete_fields if field.name in names]
    columns = ", ".join(f"{quote(str(field.column))} = %s" for field in fields)
    return fields, f"UPDATE {quote(model._meta.db_table)} SET {columns} WHERE id = %s"  # noqa: S608 - our own names


def _database() -> BaseDatabaseWrapper:
    """Return this thread's connection; Django's proxy would look it up for every attribute."""
    return connections[DEFAULT_DB_ALIAS]


def _cursor(database: BaseDatabaseWrapper) -> Any:
    """Return Django's cursor (with its log and errors) around one that prepares statements and is kept with its
    connection."""
    if database.vendor != "postgresql":
        return database.cursor()
    # As Django does before it creates a cursor: a request's first statement may meet a connection that has ended.
    database.close_if_health_check_failed()
    database.ensure_connection()
    kept = vars(database.connection)
    if _KEPT not in kept:
        kept[_KEPT] = _preparing()(database.connection)
    return database._prepare_cursor(kept[_KEPT])  # type: ignore[attr-defined]


@cache
def _preparing() -> Any:
    # Imported here, since the PostgreSQL driver is not required with SQLite.
    from psycopg import RawCursor

    class PreparingCursor(RawCursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            super().execute(_numbered(query), params, prepare=True, **options)
            # For Django's log of queries; the driver does not keep the text of a prepared statement.
            self._query = cast(Any, SimpleNamespace(query=query.encode()))
            return self

    return PreparingCursor


@lru_cache(maxsize=512)
def _numbered(statement: str) -> bytes:
    """Return a statement with PostgreSQL's own marks. The driver would convert a long one again each time."""
    places = count(1)
    return re.sub("%[s%]", lambda mark: f"${next(places)}" if mark[0] == "%s" else "%", statement).encode()


def _adapted(database: BaseDatabaseWrapper, values: Sequence[Value]) -> list[Any]:
    adapt = database.ops.adapt_datetimefield_value
    return [adapt(value) if isinstance(value, datetime) else value for value in values]
