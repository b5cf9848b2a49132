"""Pages of lists, as query strings."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from annotator.services.database.keyset import BY_TIME, read_page
from annotator.views.pages import PageRequest

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Page(Generic[M]):
    """Rows in display order, and the query strings of the previous and next pages."""

    rows: list[M]
    previous: str = ""
    following: str = ""


def page_of(
    rows: QuerySet[M],
    request: HttpRequest,
    *,
    size: int,
    newest_first: bool = True,
    by: tuple[str, ...] = BY_TIME,
) -> Page[M]:
    """Return the page of ``rows`` that a query string names. Raises UnknownFilter if no list produced it."""
    page = read_page(
        rows,
        after=request.GET.get("after"),
        before=request.GET.get("before"),
        size=size,
        newest_first=newest_first,
        by=by,
    )
    return Page(
        page.rows,
        previous=f"?before={page.before}" if page.before else "",
        following=f"?after={page.after}" if page.after else "",
    )


def watches(request: PageRequest, target: str) -> bool:
    """Return whether a request is the regular poll of the part with that id."""
    return bool(request.htmx) and (request.htmx.target or "").rpartition("#")[2] == target
