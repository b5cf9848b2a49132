"""One statement over several tables, and model instances out of it: what ``select_related`` does, written out.

For the same few paths as ``services.database.statements``: to put such a join together takes the ORM longer, and to
plan it takes PostgreSQL longer, than to carry it out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import connection, models

from annotator.services.database.statements import Value, rows

_Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class Part:
    """One table of the statement: its alias there, its model, the attributes that are read (empty: all of them).

    What is not read (``without``: all but these are) is fetched when somebody asks for it, as after ``only``.
    """

    alias: str
    model: type[models.Model]
    names: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def read_joined(parts: tuple[Part, ...], tail: str, values: Sequence[Value], *, last: str = "NULL") -> list[list[Any]]:
    """One instance of each part for each row, and what ``last`` is worth. ``tail`` is the statement from FROM on."""
    columns, places = _plan(connection.vendor, parts)
    out = []
    for row in rows(f"SELECT {columns}, {last} {tail}", values):
        instances = []
        for model, names, begin, converters in places:
            fields = list(row[begin : begin + len(names)])
            for at, convert in converters:
                fields[at] = convert(fields[at])
            instances.append(model.from_db(connection.alias, names, fields))
        out.append([*instances, row[-1]])
    return out


@lru_cache(maxsize=64)
def _plan(
    vendor: str, parts: tuple[Part, ...]
) -> tuple[str, list[tuple[type[models.Model], list[str], int, list[tuple[int, _Convert]]]]]:
    """The columns to select, and for each part where its own begin and which of them need converting."""
    columns: list[str] = []
    places = []
    for part in parts:
        fields = [
            field
            for field in part.model._meta.concrete_fields
            if field.attname not in part.without and (not part.names or field.attname in part.names)
        ]
        converters = [(at, convert) for at, field in enumerate(fields) if (convert := _converter(field)) is not None]
        places.append((part.model, [field.attname for field in fields], len(columns), converters))
        columns += (f"{part.alias}.{connection.ops.quote_name(str(field.column))}" for field in fields)
    return ", ".join(columns), places


def _converter(field: "models.Field[Any, Any]") -> _Convert | None:
    """From what the driver gives to what the field holds; None where that is the same."""
    column = field.get_col(field.model._meta.db_table)
    steps = [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]
    if not steps:
        return None

    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value, column, connection)
        return value

    return convert
