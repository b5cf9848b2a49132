"""Writing many rows at once, with keys known in advance: COPY on PostgreSQL, one prepared statement elsewhere.

For imports of whole files. No model instances are built: for thousands of rows a second, they would cost more than the
database.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, models

from annotator.core.schema.exact_json import dumps


def as_json(value: Any) -> str:
    """Return a JSON value as ``insert_rows`` takes it."""
    return dumps(value).decode()


def allocate_ids(model: type[models.Model], count: int) -> list[int]:
    """Reserve keys in the caller's transaction, before any row is written."""
    table, column = model._meta.db_table, model._meta.pk.column
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [connection.ops.quote_name(table), column])
            cursor.execute("SELECT nextval(%s) FROM generate_series(1, %s)", [cursor.fetchone()[0], count])
            return [row[0] for row in cursor.fetchall()]
        # SQLite: this transaction has the only write lock, and AUTOINCREMENT continues after the largest key ever
        # written.
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        found = cursor.fetchone()
        first = (found[0] if found else 0) + 1
        return list(range(first, first + count))


def ease_indexing() -> None:
    """Let PostgreSQL update the search index in large portions for the rest of the caller's transaction.

    It updates word by word, so a portion ten times as large costs little more.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL gin_pending_list_limit = '64MB'")
            cursor.execute("SET LOCAL work_mem = '64MB'")


def update_statistics(*tables: type[models.Model]) -> None:
    """Let PostgreSQL count the rows that were just written or deleted in bulk; elsewhere, do nothing.

    It does so by itself once a minute at most. Until then it may believe that a table is still empty, and join
    thousands of rows by reading the whole table for each of them.
    """
    if connection.vendor == "postgresql":
        names = ", ".join(connection.ops.quote_name(table._meta.db_table) for table in tables)
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {names}")


def insert_rows(
    model: type[models.Model],
    names: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    *,
    constants: Mapping[str, Any] | None = None,
) -> None:
    """Insert rows in the caller's transaction.

    ``names`` are the attribute names (``project_id``, ``title``) of each row's values; ``constants`` are the same in
    every row; every other field gets its default. JSON values are given as text (``as_json``). Raises IntegrityError.
    """
    if not rows:
        return
    fields = {field.attname: field for field in model._meta.concrete_fields}
    fixed = _fixed_values(fields, names, constants or {})
    quote = connection.ops.quote_name
    table = quote(model._meta.db_table)
    columns = ", ".join(quote(fields[name].column or name) for name in (*names, *fixed))
    tail = tuple(fixed.values())
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Django wraps only the errors of execute(), but the caller expects its IntegrityError here too.
            with connection.wrap_database_errors, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row + tail)
            return
        marks = ", ".join(["%s"] * (len(names) + len(fixed)))
        cursor.executemany(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})",  # noqa: S608 - names of our own tables and columns
            [row + tail for row in rows],
        )


def _fixed_values(
    fields: Mapping[str, "models.Field[Any, Any]"], names: Sequence[str], constants: Mapping[str, Any]
) -> dict[str, Any]:
    fixed = {}
    for attname, field in fields.items():
        if attname in names or (field.primary_key and attname not in constants):
            continue
        value = constants[attname] if attname in constants else field.get_default()
        if isinstance(value, datetime):
            value = connection.ops.adapt_datetimefield_value(value)
        elif isinstance(field, models.JSONField) and not isinstance(value, str):
            value = as_json(value)
        # Columns that stay null can be left out.
        if value is not None:
            fixed[attname] = value
    return fixed
