"""What views share: a signed-in user, a project one may see, a page or its partial."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django_htmx.middleware import HtmxDetails

from annotator.models import Project, Role, User
from annotator.services.access.permissions import load_membership

P = ParamSpec("P")


class PageRequest(HttpRequest):
    """A request that a signed-in person made. ``roles`` are theirs in ``project``."""

    user: User
    htmx: HtmxDetails
    project: Project
    roles: frozenset[Role]


def project_page(
    view: Callable[Concatenate[PageRequest, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Sign-in first, then the project behind ``slug``: what the person may not see is a 404 before any view runs."""

    @login_required
    @wraps(view)
    def wrapper(request: PageRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.project, request.roles = load_membership(actor=request.user, slug=slug)
        return view(request, *args, **kwargs)

    return wrapper


def takes(*names: str) -> Callable[[Callable[P, HttpResponseBase]], Callable[P, HttpResponseBase]]:
    """Name the parameters that a page reads from its query string; `FilterMiddleware` refuses all others."""

    def mark(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
        view.takes = frozenset(names)  # type: ignore[attr-defined]
        return view

    return mark


def posted(request: HttpRequest) -> QueryDict | None:
    """What a form is bound to: what was posted, be it empty; None where nothing was."""
    return request.POST if request.method == "POST" else None
