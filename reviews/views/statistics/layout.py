"""Tables of statistics: one description for the page and for the CSV file."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _

from reviews.services.protocols.readers import in_reader_language

#: Begin a formula in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Column:
    """``kind``: text (translated when shown if it is of a preset), words (translated when shown), count, share (0 to 1,
    in per cent), number or seconds."""

    key: str
    head: str
    kind: str = "text"
    #: The value: an attribute of the row's item (``figure.low``; by default named as the key), or a function of it.
    of: str | Callable[[Any], Any] = ""

    @property
    def is_number(self) -> bool:
        return self.kind not in ("text", "words")

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
        """Return a table with one row for each item."""
        return cls(key, caption, columns, [[column.value(item) for column in columns] for item in items])

    def shown(self) -> Iterator[list[tuple[str, bool]]]:
        """Yield each row as (what is shown, whether it is a number)."""
        for row in self.rows:
            yield [
                (shown(value, column.kind), column.is_number) for value, column in zip(row, self.columns, strict=True)
            ]

    def without(self, *keys: str) -> "Table":
        """Return the table without these columns."""
        kept = [place for place, column in enumerate(self.columns) if column.key not in keys]
        columns, *rows = ([row[place] for place in kept] for row in (self.columns, *self.rows))
        return Table(self.key, self.caption, columns, rows)

    def heads(self) -> list[tuple[str, bool]]:
        return [(column.head, column.is_number) for column in self.columns]


def shown(value: Any, kind: str) -> str:
    """Return a value as people read it; an en dash if there is none."""
    if value is None or value == "":
        return "–"
    if kind == "share":
        return f"{100 * value:.1f}\u00a0%"
    if kind == "number":
        return f"{value:.3f}".replace("-", "−")
    if kind == "count":
        return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    if kind == "words":
        return _(value)
    return duration(value) if kind == "seconds" else in_reader_language(str(value))


def duration(seconds: float) -> str:
    """Return seconds in words: “45 s”, “3 min 20 s”, “1 h 5 min”."""
    whole = round(seconds)
    if whole < 60:
        return _("%(seconds)s s") % {"seconds": whole}
    if whole < 3600:
        parts = {"minutes": whole // 60, "seconds": whole % 60}
        return (_("%(minutes)s min %(seconds)s s") if whole % 60 else _("%(minutes)s min")) % parts
    minutes = round(whole / 60)
    parts = {"hours": minutes // 60, "minutes": minutes % 60}
    return (_("%(hours)s h %(minutes)s min") if minutes % 60 else _("%(hours)s h")) % parts


def bounds(kind: str, of: str, key: str = "{}") -> list[Column]:
    """Return the columns of a figure's interval; ``key`` makes their keys from “low” and “high”."""
    return [
        Column(key.format("low"), _("95 % interval from"), kind, f"{of}.low"),
        Column(key.format("high"), _("to"), kind, f"{of}.high"),
    ]


def figure_columns(kind: str, of: str) -> list[Column]:
    """Return the columns of value, bounds, n, and the method of the interval or why there is none."""
    return [
        Column("value", _("Value"), kind, f"{of}.value"),
        *bounds(kind, of),
        Column("n", "n", "count", f"{of}.n"),
        note_column(of),
    ]


def note_column(of: str) -> Column:
    """Return the column with the method of a figure's interval, or why there is none."""
    figure = attrgetter(of)
    return Column("note", _("Note"), "words", lambda one: figure(one).undefined or figure(one).interval)


def as_csv(table: Table, *, project: str) -> HttpResponse:
    """Return the table as a CSV file: the keys of the columns, then the raw values, undefined ones empty."""
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
    # Titles and names are typed by people; a spreadsheet must not calculate them.
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
