"""Tables of statistics: one description for the page and for the file one downloads."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.http import HttpResponse

#: Begin a formula in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Column:
    """``kind``: text, count, share (0 to 1, shown as per cent), number (three digits) or seconds."""

    key: str
    head: str
    kind: str = "text"
    #: What stands there: an attribute of the row's item (``figure.low``; as a rule the key's own), or a function of it.
    of: str | Callable[[Any], Any] = ""

    def value(self, item: Any) -> Any:
        return self.of(item) if callable(self.of) else attrgetter(self.of or self.key)(item)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns. ``key`` is the name of its file, ``?csv=<key>``; the first column heads the row."""

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def listing(cls, items: Iterable[Any], *, key: str, caption: str, columns: Sequence[Column]) -> "Table":
        """A table with one row for each item, as the columns say."""
        return cls(key, caption, columns, [[column.value(item) for column in columns] for item in items])

    def shown(self) -> Iterator[list[tuple[str, bool]]]:
        """Each row as (what is shown, whether it is a number)."""
        for row in self.rows:
            yield [
                (shown(value, column.kind), column.kind != "text")
                for value, column in zip(row, self.columns, strict=True)
            ]

    def without(self, *keys: str) -> "Table":
        """The table without these columns."""
        kept = [place for place, column in enumerate(self.columns) if column.key not in keys]
        columns, *rows = ([row[place] for place in kept] for row in (self.columns, *self.rows))
        return Table(self.key, self.caption, columns, rows)

    def heads(self) -> list[tuple[str, bool]]:
        return [(column.head, column.kind != "text") for column in self.columns]


def shown(value: Any, kind: str) -> str:
    """A value as a person reads it; an en dash where there is none."""
    if value is None or value == "":
        return "–"
    if kind == "share":
        return f"{100 * value:.1f}\u00a0%"
    if kind == "number":
        return f"{value:.3f}".replace("-", "−")
    if kind == "count":
        return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    return duration(value) if kind == "seconds" else str(value)


def duration(seconds: float) -> str:
    """Seconds in words: “45 s”, “3 min 20 s”, “1 h 5 min”."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def bounds(kind: str, of: str, key: str = "{}") -> list[Column]:
    """The interval of a figure; ``key`` makes the columns' keys from “low” and “high”."""
    return [
        Column(key.format("low"), "95 % from", kind, f"{of}.low"),
        Column(key.format("high"), "to", kind, f"{of}.high"),
    ]


def figure_columns(kind: str, of: str) -> list[Column]:
    """Value, bounds, n, and how the interval was made or why there is none."""
    return [
        Column("value", "Value", kind, f"{of}.value"),
        *bounds(kind, of),
        Column("n", "n", "count", f"{of}.n"),
        note_column(of),
    ]


def note_column(of: str) -> Column:
    """How the interval of a figure was made, or why there is none."""
    figure = attrgetter(of)
    return Column(
        "note", "Interval, or why there is none", of=lambda one: figure(one).undefined or figure(one).interval
    )


def as_csv(table: Table, *, project: str) -> HttpResponse:
    """The table as a file: keys of the columns, then the values as they are, undefined ones empty."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{project}-{table.key}.csv"'
    writer = csv.writer(response, lineterminator="\r\n")
    writer.writerow([column.key for column in table.columns])
    for row in table.rows:
        writer.writerow([_cell(value) for value in row])
    return response


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    # Titles and names are what people typed; nothing of that is to be calculated.
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
