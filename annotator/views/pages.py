"""Shared by views: a signed-in user, a visible project, names of query parameters, refusals in forms."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.forms import Form
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django_htmx.middleware import HtmxDetails

from annotator.errors import DomainError
from annotator.models import Project, Role, User
from annotator.services.access.permissions import load_membership
from annotator.services.notices.notices import mark_page_read

P = ParamSpec("P")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class PageRequest(HttpRequest):
    """A request that a signed-in person made. ``roles`` are theirs in ``project``."""

    user: User
    htmx: HtmxDetails
    project: Project
    roles: frozenset[Role]


def project_page(
    view: Callable[Concatenate[PageRequest, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Require sign-in and load the project behind ``slug``; a project that the person may not see is a 404."""

    @login_required
    @wraps(view)
    def wrapper(request: PageRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.user.is_changing = request.method not in SAFE_METHODS and not hasattr(view, "in_archive")
        request.project, request.roles = load_membership(actor=request.user, slug=slug)
        read_notices(request)
        return view(request, *args, **kwargs)

    return wrapper


def read_notices(request: PageRequest) -> None:
    """Mark the notices that lead to this page as read, if the person opens it: a GET of a whole page, no prefetch."""
    prefetched = "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", ""))
    if request.method == "GET" and not request.htmx and not prefetched:
        mark_page_read(actor=request.user, path=request.path)


def in_archive(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Let a page of a project change something while the project is archived."""
    view.in_archive = True  # type: ignore[attr-defined]
    return view


def takes(*names: str) -> Callable[[Callable[P, HttpResponseBase]], Callable[P, HttpResponseBase]]:
    """Name the parameters that a page reads from its query string; `FilterMiddleware` refuses all others."""

    def mark(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
        view.takes = frozenset(names)  # type: ignore[attr-defined]
        return view

    return mark


def add_refusal(form: Form, refusal: DomainError) -> None:
    """Show a refusal beside the field that it names, if the form has that; otherwise above the form."""
    name = refusal.details.get("field")
    form.add_error(name if name in form.fields else None, refusal.sentence)


def posted(request: HttpRequest) -> QueryDict | None:
    """Return the data to bind a form to: what was posted, even if empty, else None."""
    return request.POST if request.method == "POST" else None
