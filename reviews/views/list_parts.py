"""Parts of the page with the list of dialogues: its address, headings, columns and orders."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotator.core.metadata import MAX_KEY
from annotator.models import Dialogue
from annotator.services.dialogues.metadata import metadata_of
from annotator.services.dialogues.sorting import SORTS

#: Orders in which the largest value is more interesting, so that comes first.
_DOWN_FIRST = frozenset({"changed", "tasks", "calls", "errors", "warnings"})


@dataclass(frozen=True)
class Heading:
    """The head of a column by which the list can be sorted. ``direction``: ascending, descending or blank."""

    label: str
    href: str
    direction: str


def address_of(path: str, query: QueryDict, **changed: str) -> str:
    """Return the address of the list with some parameters changed; the page and the total are left out.

    A blank value removes a parameter.
    """
    kept = QueryDict(mutable=True)
    for name in query:
        values = [value for value in query.getlist(name) if value]
        if values and name not in ("after", "before", "count", *changed):
            kept.setlist(name, values)
    for name, value in changed.items():
        if value:
            kept[name] = value
    return f"{path}?{kept.urlencode()}" if kept else path


def headings(path: str, query: QueryDict, sort: str) -> dict[str, Heading]:
    """Return the heads of columns by order; a second click on one reverses it."""
    current, down = sort.removeprefix("-") or "imported", sort.startswith("-")
    found = {}
    for name, (_field, label) in SORTS.items():
        is_current = name == current
        wants_down = not down if is_current else name in _DOWN_FIRST
        direction = ("descending" if down else "ascending") if is_current else ""
        found[name] = Heading(str(label), address_of(path, query, sort=f"-{name}" if wants_down else name), direction)
    return found


def sort_choices() -> list[tuple[str, str]]:
    """Return (value, label) of each order; the first value is blank, because it is the default."""
    choices = []
    for name, (_field, label) in SORTS.items():
        choices.append(("" if name == "imported" else name, str(label)))
        choices.append((f"-{name}", _("%(order)s, descending") % {"order": label}))
    return choices


def columns_of(query: QueryDict) -> list[str]:
    """Return the keys of metadata chosen as columns, each once; the list shows the first MAX_COLUMNS."""
    return list(dict.fromkeys(key for key in query.getlist("column") if 0 < len(key) <= MAX_KEY and "\x00" not in key))


def column_values(rows: list[Dialogue], columns: list[str]) -> Mapping[int, list[list[tuple[str, str]]]]:
    """Return the cells of each row: for each column, (value, “key=value”)."""
    if not columns:
        return {}
    found = metadata_of([row.pk for row in rows], columns)
    return {
        row.pk: [[(value, f"{key}={value}") for value in found.get(row.pk, {}).get(key, [])] for key in columns]
        for row in rows
    }
