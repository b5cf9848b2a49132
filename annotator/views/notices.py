"""A person's notices: the list, one or all of them read, and what comes by mail."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from annotator.core.schema.exact_json import dumps
from annotator.errors import Conflict, Invalid
from annotator.models import NoticeKind
from annotator.services.accounts import notice_settings as chosen
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import cursor_of
from annotator.services.notices import notices
from annotator.views.forms import NoticeSettingsForm
from annotator.views.pages import PageRequest, posted, takes


@login_required
@require_http_methods(["GET", "POST"])
@takes("show", "kind", "before", "after")
def notice_list(request: PageRequest) -> HttpResponse:
    """Notices, newest first; a POST marks all that the page knew of as read."""
    if request.method == "POST":
        count = notices.mark_all_read(actor=request.user, through=request.POST.get("through"))
        messages.success(request, f"{count} notice{'s are' if count != 1 else ' is'} marked as read.")
        return redirect("notice-list")
    unread = one_of(request.GET, "show", ["unread"]) == "unread"
    kind = one_of(request.GET, "kind", NoticeKind.values)
    page = notices.list_notices(
        actor=request.user,
        unread=unread,
        kind=kind,
        before=request.GET.get("before"),
        after=request.GET.get("after"),
    )
    context = {
        "notices": page.rows,
        "older": _link(request, "after", page.after),
        "newer": _link(request, "before", page.before),
        "only_unread": unread,
        "kind": kind,
        "kinds": NoticeKind.choices,
        "through": cursor_of(page.rows[0]) if page.rows else "",
        "any_unread": any(row.read_at is None for row in page.rows),
    }
    template = "annotator/notice_list.html#results" if request.htmx else "annotator/notice_list.html"
    return render(request, template, context)


@login_required
@require_POST
def notice_read(request: PageRequest, public_id: str) -> HttpResponse:
    """Mark a notice as read, and go where it leads or back to where one was."""
    notice = notices.mark_read(actor=request.user, public_id=public_id)
    back = request.POST.get("next", "")
    if "open" in request.POST:
        back = notice.target
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return redirect("notice-list")
    return redirect(back)


@login_required
@require_http_methods(["GET", "POST"])
def notice_settings(request: PageRequest) -> HttpResponse:
    """Which kinds come in the daily mail."""
    form = NoticeSettingsForm(posted(request), initial=_shown(request))
    status = 422 if form.is_bound else 200
    if form.is_valid():
        mine = form.cleaned_data
        try:
            saved = chosen.change_settings(actor=request.user, **mine)
        except Invalid as error:
            form.add_error(error.details.get("field"), error.sentence)
        except Conflict as error:
            # Nothing is overwritten unseen: the next try is against what there is now.
            status = error.status
            again = request.POST.copy()
            again.setlist("daily", error.details["daily"])
            again["seen"] = dumps(_shown(request)["seen"]).decode()
            form = NoticeSettingsForm(again)
            if form.is_valid():
                form.add_error(error.details["field"], error.sentence)
        else:
            other = (set(saved.daily), saved.time_zone) != (set(mine["daily"]), mine["time_zone"])
            beside = " What another window has changed stays." if other else ""
            messages.success(request, f"Saved.{beside} The next daily mail follows this.")
            return redirect("notice-settings")
    return render(request, "annotator/notice_settings.html", {"form": form}, status=status)


def _shown(request: PageRequest) -> dict[str, Any]:
    now = chosen.settings_of(request.user)
    shown = {"daily": now.daily, "time_zone": now.time_zone}
    return shown | {"seen": shown}


def _link(request: PageRequest, name: str, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    query = request.GET.copy()
    for other in ("before", "after"):
        query.pop(other, None)
    query[name] = cursor
    return f"{request.path}?{query.urlencode()}"
