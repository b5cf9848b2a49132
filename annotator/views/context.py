"""What every page needs: the theme, the person's roles, the project's navigation."""

from collections.abc import Iterable
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext

from annotator.models import Project, User
from annotator.services.access.permissions import MemberState, member_state
from annotator.services.accounts.accounts import demo_people
from annotator.services.notices.notices import unread_count
from annotator.views.maintenance import maintenance_sentence

#: Projects in the menu; the list of projects has the others.
MAX_PROJECTS = 20


def chrome(request: HttpRequest) -> dict[str, Any]:
    """For all pages, the theme, messages and so on; for those of a project, also the project and its navigation."""
    theme = request.COOKIES.get("theme", "auto")
    context: dict[str, Any] = {
        "theme": theme if theme in ("light", "dark") else "auto",
        "demo": settings.DEMO,
        "maintenance": maintenance_sentence(),
        "unread_notices": 0,
        "unknown_filters": getattr(request, "unknown_filters", []),
    }
    # An error page may be rendered before the user is known.
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        # Lazy: partials do not show the bar.
        context["unread_notices"] = partial(unread_count, user)
    if settings.DEMO and user is not None and not user.is_authenticated:
        context["demo_people"] = demo_people()
    project = getattr(request, "project", None)
    if project is not None:
        # Lazy, as above.
        member = cache(partial(_member_state, user))
        nav: Any = SimpleLazyObject(lambda: _entries(request, project, member()))
        context |= {
            "project": project,
            "projects": SimpleLazyObject(lambda: member().projects[:MAX_PROJECTS]),
            "nav": nav,
            "menu": SimpleLazyObject(lambda: _sections(nav)),
        }
    return context


def _member_state(user: object) -> MemberState:
    return member_state(user) if isinstance(user, User) else MemberState([], {})


def _entries(request: HttpRequest, project: Project, member: MemberState) -> list[dict[str, Any]]:
    """Return the bar's entries for one person."""
    roles = member.roles.get(project.pk, frozenset())
    here = (request.resolver_match.url_name or "") if request.resolver_match else ""
    current = _entry_of(here)
    return [
        {
            "label": gettext(label),
            "action": action,
            "url": url,
            "current": name == current,
            "in_menu": bar is None or (bool(bar) and not roles.intersection(bar)),
            "section": gettext(section),
        }
        for (name, label, action, needed, bar, section), url in zip(
            settings.PROJECT_BAR, _urls(project.slug), strict=True
        )
        if not needed or roles.intersection(needed)
    ]


def _sections(entries: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the entries of the project's menu by section."""
    inside = [one for one in entries if one["in_menu"]]
    return [(section, list(of)) for section, of in groupby(inside, key=lambda one: one["section"])]


@lru_cache(maxsize=256)
def _urls(slug: str) -> list[str]:
    """Return the URL of each entry of a project."""
    return [reverse(name, args=[slug]) for name, *_ in settings.PROJECT_BAR]


def _entry_of(page: str) -> str:
    """Return the entry of a page: its own, else that of the page whose name begins the same way."""
    names = [name for name, *_ in settings.PROJECT_BAR]
    if page in names:
        return page
    stem = page.replace("revision-", "dialogue-").partition("-")[0]
    return next((name for name in names if name.partition("-")[0] == stem), "")
