"""The orders of the list of dialogues. Each has an index, so a page costs the same at any depth."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotator.services.database.filters import one_of
from annotator.services.database.keyset import BY_TIME, Order

#: Order → its first field and its label. Equal dialogues are in the order of import, then of their public ids.
SORTS = {
    "imported": ("created_at", _("Order of import")),
    "changed": ("updated_at", _("Last change")),
    "id": ("external_id", _("ID")),
    "title": ("title", _("Title")),
    "status": ("status", _("Status")),
    "tasks": ("task_count", _("Tasks")),
    "calls": ("call_count", _("Calls")),
    "errors": ("error_count", _("Errors")),
    "warnings": ("warning_count", _("Warnings")),
}
#: Values of ``sort`` in a query string; with “-”, downwards.
VALUES = [value for name in SORTS for value in (name, f"-{name}")]


def sort_of(query: Mapping[str, Any]) -> str:
    """Return the value of ``sort`` in a query string; blank for the order of import. Raises UnknownFilter."""
    found = one_of(query, "sort", VALUES)
    return "" if found == "imported" else found


def order_of(sort: str) -> Order:
    """Return the order of rows for a value of ``sort``."""
    name = sort.removeprefix("-") or "imported"
    first = SORTS[name][0]
    return Order(BY_TIME if first == BY_TIME[0] else (first, *BY_TIME), newest_first=sort.startswith("-"))
