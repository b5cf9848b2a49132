"""Keyset pages of lists: the key of a row is its place, so page 1,000 costs what page 1 costs."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from annotator.views.pages import PageRequest

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Place:
    """Where in a list a page begins: behind one key, or before another."""

    after: int = 0
    before: int = 0


@dataclass(frozen=True)
class Page(Generic[M]):
    """Rows in the order they are shown, and the query strings of the pages beside them."""

    rows: list[M]
    previous: str = ""
    following: str = ""


def place_of(request: HttpRequest) -> Place:
    """The place a query string names; an unreadable one is the beginning, so that an old link still opens."""
    return Place(after=_key(request, "after"), before=_key(request, "before"))


def page_of(rows: QuerySet[M], place: Place, *, size: int, ascending: bool = False) -> Page[M]:
    """One page of ``rows``, newest first unless ``ascending``."""
    backwards = bool(place.before)
    upwards = ascending != backwards
    key = place.before or place.after
    if key:
        rows = rows.filter(**{"pk__gt" if upwards else "pk__lt": key})
    found = list(rows.order_by("pk" if upwards else "-pk")[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    has_previous = more if backwards else bool(place.after and found)
    has_following = more if not backwards else bool(found)
    return Page(
        found,
        previous=f"?before={_pk(found[0])}" if has_previous else "",
        following=f"?after={_pk(found[-1])}" if has_following else "",
    )


def watches(request: PageRequest, target: str) -> bool:
    """Whether a request is the every-second look of the part with that id at itself."""
    return bool(request.htmx) and (request.htmx.target or "").rpartition("#")[2] == target


def _pk(row: Any) -> int:
    return int(row.pk)


def _key(request: HttpRequest, name: str) -> int:
    raw = request.GET.get(name, "")
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 19 else 0
