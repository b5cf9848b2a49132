"""Pages by key: a cursor is the place of the last row, so page 1,000 costs as much as page 1."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from annotator.errors import Invalid
from annotator.services.database.filters import moment_of
from annotator.services.database.keyset import BY_KEY, BY_TIME, Order, is_cursor, read_page

MAX_SIZE = 200
SINCE = "updated_since"
SINCE_MEANING = (
    "Only rows that were created or have changed since then, the moment itself included. A row may come again although "
    "nothing changed. To follow a list, note the time before you read its first page, and send that time less one "
    "minute the next time, because changes in progress have earlier times. Rows that no longer exist, or that you no "
    "longer see, are not reported."
)
#: Rows → those that may have changed since a moment.
Since = Callable[[QuerySet[Any], datetime], QuerySet[Any]]


class KeysetPagination(BasePagination):
    """``?cursor=`` (of the next page), ``?size=`` and ``?updated_since=``.

    Returns ``{"next": url or null, "results": […]}``. A view may say in ``since_meaning`` what counts as a change.
    """

    size = 50
    by: tuple[str, ...] = BY_TIME

    def paginate_queryset(  # type: ignore[override]
        self,
        queryset: QuerySet[Any],
        request: Request,
        view: APIView | None = None,
        since: Since | None = None,
        order: Order | None = None,
    ) -> list[Any]:
        """Return the rows of a page. ``since``: how to find changed rows; by default, by their time of creation.

        ``order``: instead of the usual one.
        """
        order = order or Order(self.by)
        self.request = request
        size = size_of(request, self.size)
        moment = moment_of(request.query_params, SINCE)
        if moment is not None:
            queryset = since(queryset, moment) if since else queryset.filter(created_at__gte=moment)
        cursor = request.query_params.get("cursor", "")
        if cursor and not is_cursor(cursor, order.by, newest_first=order.newest_first):
            raise Invalid(_("The cursor isn’t from this list. Leave it out to start at the first page."))
        page = read_page(queryset, after=cursor, size=size, by=order.by, newest_first=order.newest_first)
        self.next_cursor = page.after
        return page.rows

    def get_paginated_response(self, data: Any) -> Response:
        following = None
        if self.next_cursor is not None:
            following = replace_query_param(self.request.build_absolute_uri(), "cursor", self.next_cursor)
        return Response({"next": following, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["next", "results"],
            "properties": {"next": {"type": "string", "format": "uri", "nullable": True}, "results": schema},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        return [
            {
                "name": "cursor",
                "in": "query",
                "schema": {"type": "string"},
                "description": "From “next” of the previous page.",
            },
            {"name": "size", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": MAX_SIZE}},
            {
                "name": SINCE,
                "in": "query",
                "schema": {"type": "string", "format": "date-time"},
                "description": since_text(view),
            },
        ]


def answer_page(
    view: Any,
    request: Request,
    rows: QuerySet[Any],
    shape: type[BaseSerializer[Any]],
    since: Since | None = None,
    **options: Any,
) -> Response:
    """Return a page of rows in their shape. ``view`` has the ``pagination_class``; ``options`` are the shape's."""
    paginator = view.pagination_class()
    page = paginator.paginate_queryset(rows, request, view, since=since)
    answer: Response = paginator.get_paginated_response(shape(page, many=True, **options).data)
    return answer


class KeyPagination(KeysetPagination):
    """Pages of rows without public ids."""

    by = BY_KEY


def since_text(view: APIView) -> str:
    """Return what ``updated_since`` means in the list of a view."""
    return f"{SINCE_MEANING} {getattr(view, 'since_meaning', '')}".strip()


def size_of(request: Request, default: int) -> int:
    """Return the wanted number of rows of a page. Raises Invalid."""
    size = _number(request, "size", default)
    if not 1 <= size <= MAX_SIZE:
        raise Invalid(_("“size” must be from 1 to %(most)d.") % {"most": MAX_SIZE})
    return size


def _number(request: Request, name: str, default: int) -> int:
    raw = request.query_params.get(name)
    if raw in (None, ""):
        return default
    if not raw.isascii() or not raw.isdigit() or len(raw) > 18:
        raise Invalid(_("“%(name)s” must be a whole number.") % {"name": name})
    return int(raw)
