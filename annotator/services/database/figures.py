"""What the database says about itself: sizes, slow statements, version. Hand-written, since no model describes them.

PostgreSQL's own functions and views have no ORM. SQLite knows only the size of its file.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from annotator.services.database.statements import rows

#: Slow statements and large tables that are listed.
MOST = 8
#: Characters of a statement that are shown.
LONGEST = 300


@dataclass(frozen=True)
class TableSize:
    name: str
    #: With its indexes and large values.
    bytes: int
    #: An estimate.
    rows: int


@dataclass(frozen=True)
class SlowStatement:
    text: str
    calls: int
    #: Milliseconds of one call, and seconds of all.
    mean: float
    total: float


def database_bytes() -> int:
    """Return the size of the database."""
    if connection.vendor == "postgresql":
        [(size,)] = rows("SELECT pg_database_size(current_database())")
        return int(size)
    file, size = str(settings.DATABASES["default"]["NAME"]), 0
    for end in ("", "-wal"):
        with suppress(OSError):
            size += Path(file + end).stat().st_size
    return size


def largest_tables() -> list[TableSize]:
    """Return the largest tables; none with SQLite."""
    if connection.vendor != "postgresql":
        return []
    found = rows(
        "SELECT relname, pg_total_relation_size(relid) AS size, n_live_tup FROM pg_stat_user_tables"
        " ORDER BY size DESC LIMIT %s",
        [MOST],
    )
    return [TableSize(*row) for row in found]


def slow_statements() -> list[SlowStatement] | None:
    """Return the statements that took most time in total; None if the extension pg_stat_statements is not there.

    Constants are not part of them: the extension replaces each by ``$1``.
    """
    if connection.vendor != "postgresql":
        return None
    try:
        with transaction.atomic():
            if not rows("SELECT 1 FROM pg_extension WHERE extname = 'pg_stat_statements'"):
                return None
            found = rows(
                "SELECT query, calls, mean_exec_time, total_exec_time / 1000 FROM pg_stat_statements"
                " JOIN pg_database ON pg_database.oid = dbid WHERE datname = current_database()"
                " ORDER BY total_exec_time DESC LIMIT %s",
                [MOST],
            )
    except DatabaseError:
        # It is installed, but not among shared_preload_libraries, or this user may not read it.
        return None
    return [SlowStatement(" ".join(row[0].split())[:LONGEST], *row[1:]) for row in found]


def database_version() -> str:
    """Return name and version of the database server."""
    if connection.vendor != "postgresql":
        return f"SQLite {'.'.join(map(str, connection.Database.sqlite_version_info))}"  # type: ignore[attr-defined]
    number = connection.pg_version  # type: ignore[attr-defined]
    return f"PostgreSQL {number // 10000}.{number % 10000}"
