"""Any list of the API as a file: its pages are asked for one after the other, with the rights of the person."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.http import HttpRequest, QueryDict, StreamingHttpResponse
from django.http.request import HttpHeaders
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.filters import parameters_of
from annotator.api.pagination import MAX_SIZE
from annotator.api.rendering import FileNegotiation
from annotator.api.schema_view import description
from annotator.api.views import FILE, NOT_FOUND, REFUSALS
from annotator.core.schema.exact_json import dumps, loads
from annotator.services.database.filters import UnknownFilter, one_of
from benchmark.core.archives.table import NUMBER, TEXT, TEXTS, TableWriter
from benchmark.services.exports import TYPES, as_cell

#: Fields in which answers have their rows.
_ROWS = ("results", "slots")
_PREFIX = "/api/"
Rows = list[dict[str, Any]]


class ListExport(APIView):
    """A whole list of the API as a file: CSV, JSON lines or Parquet, with the fields of its rows as columns."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "list",
                required=True,
                description="The address of a list with its filters, without the host: "
                "/api/projects/demo/releases/?size=200.",
            ),
            OpenApiParameter("format", enum=list(TYPES), description="By default CSV."),
        ],
        responses={
            **{(200, kind.partition(";")[0]): FILE for kind in TYPES.values()},
            **{status: REFUSALS[status] for status in (403, 422)},
            404: NOT_FOUND,
        },
        operation_id="lists_export",
    )
    def get(self, request: Request) -> StreamingHttpResponse | Response:
        form = one_of(request.query_params, "format", TYPES, "csv")
        pages = _Pages(request._request, request.query_params.get("list", ""))
        refusal = pages.refusal
        if refusal is not None:
            return refusal
        return StreamingHttpResponse(_WRITERS[form](pages), content_type=TYPES[form])


class _Pages:
    """The rows of a list, page by page. ``columns``: field → type, from the description of the API.

    ``refusal``: the answer to the first page if it has no rows, such as a filter that does not exist.
    """

    def __init__(self, request: HttpRequest, listed: str) -> None:
        """``listed``: the path and query of the list. Raises UnknownFilter if there is no such list."""
        self._request = request
        parts = urlsplit(listed)
        self._path, self._match = parts.path, _list_at(listed)
        self._query = QueryDict(parts.query, mutable=True)
        self._query.setdefault("size", str(MAX_SIZE))
        self.columns = _columns(self._match)
        self._first = self._page()
        self.refusal = self._first if self._first.status_code != 200 else None

    def __iter__(self) -> Iterator[Rows]:
        """Yield the rows of each page. Raises RuntimeError if a later page is refused, so that the file ends early."""
        answer = self._first
        while True:
            page = loads(answer.rendered_content)
            yield next(page[name] for name in _ROWS if name in page)
            if page["next"] is None:
                return
            self._query["cursor"] = parse_qs(urlsplit(page["next"]).query)["cursor"][0]
            answer = self._page()
            if answer.status_code != 200:
                raise RuntimeError(f"page of {self._path} was refused with {answer.status_code}")

    def _page(self) -> Response:
        request = copy(self._request)
        request.GET = self._query.copy()  # type: ignore[assignment]
        request.method, request.path, request.path_info = "GET", self._path, self._path
        asked = {"QUERY_STRING": self._query.urlencode(), "REQUEST_METHOD": "GET", "HTTP_ACCEPT": "application/json"}
        request.META = self._request.META | asked
        request.headers = HttpHeaders(request.META)
        answer: Response = self._match.func(request, *self._match.args, **self._match.kwargs)
        return answer


def _list_at(listed: str) -> ResolverMatch:
    parts = urlsplit(listed) if listed.startswith(_PREFIX) else None
    try:
        match = resolve(parts.path) if parts is not None else None
    except Resolver404:
        match = None
    view = getattr(match.func, "cls", None) if match is not None else None
    if match is None or view is None or "cursor" not in parameters_of(view, "get"):
        sentence = _("“list” must be the address of a list of the API, with its filters. The lists are: %(known)s.")
        raise UnknownFilter(sentence % {"known": ", ".join(_lists())}, ["list"])
    return match


def _lists() -> list[str]:
    """Return the addresses of all lists, with the names of their variables."""
    paths = description()["paths"]
    listed = ((path, methods.get("get", {}).get("parameters", ())) for path, methods in paths.items())
    return [path for path, parameters in listed if any(one["name"] == "cursor" for one in parameters)]


def _columns(match: ResolverMatch) -> dict[str, str]:
    """Return the fields of a list's rows with the types of their columns."""
    schema = description()

    def followed(part: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in part:
            part = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
        return part

    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", match.route)
    answer = schema["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    fields = followed(answer)["properties"]
    rows = followed(next(followed(fields[name]) for name in _ROWS if name in fields)["items"])
    return {name: _type(followed(part), followed) for name, part in rows["properties"].items()}


def _type(part: Mapping[str, Any], followed: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> str:
    if part.get("type") == "integer":
        return NUMBER
    if part.get("type") == "array" and followed(part["items"]).get("type") == "string":
        return TEXTS
    return TEXT


def _csv(pages: _Pages) -> Iterator[bytes]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(pages.columns)
    for rows in pages:
        writer.writerows([as_cell(row.get(name)) for name in pages.columns] for row in rows)
        yield out.getvalue().encode()
        out.seek(0)
        out.truncate()


def _jsonl(pages: _Pages) -> Iterator[bytes]:
    for rows in pages:
        yield b"".join(dumps(row) + b"\n" for row in rows)


def _parquet(pages: _Pages) -> Iterator[bytes]:
    pieces: list[bytes] = []
    table = TableWriter(pages.columns, pieces.append)
    for rows in pages:
        for row in rows:
            table.add({name: _value(row.get(name), kind) for name, kind in pages.columns.items()})
        yield b"".join(pieces)
        pieces.clear()
    table.close()
    yield b"".join(pieces)


def _value(value: Any, kind: str) -> Any:
    """Return a value of a table: what is neither text, a whole number nor a list of texts is JSON text."""
    return value if value is None or kind != TEXT or isinstance(value, str) else dumps(value).decode()


_WRITERS: dict[str, Callable[[_Pages], Iterator[bytes]]] = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}
