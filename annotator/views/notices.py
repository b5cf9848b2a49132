"""A person's notices: list, mark as read, mail settings."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
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
    """Show notices, newest first. A POST marks all that the page listed as read."""
    if request.method == "POST":
        count = notices.mark_all_read(actor=request.user, through=request.POST.get("through"))
        messages.success(
            request,
            ngettext("Marked %(count)d notice as read.", "Marked %(count)d notices as read.", count) % {"count": count},
        )
        return redirect("notice-list")
    show = one_of(request.GET, "show", ["unread"])
    kind = one_of(request.GET, "kind", NoticeKind.values)
    page = notices.list_notices(
        actor=request.user,
        unread=show == "unread",
        kind=kind,
        before=request.GET.get("before"),
        after=request.GET.get("after"),
    )
    context = {
        "notices": page.rows,
        "older": _link(request, "after", page.after),
        "newer": _link(request, "before", page.before),
        "show": show,
        "shows": [("unread", _("Unread"))],
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
    """Mark a notice as read. Go to its target, or back to the page before."""
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
    """Choose which kinds of notices come in the daily mail."""
    form = NoticeSettingsForm(posted(request), initial=_shown(request))
    status = 422 if form.is_bound else 200
    if form.is_valid():
        mine = form.cleaned_data
        try:
            saved = chosen.change_settings(actor=request.user, **mine)
        except Invalid as error:
            form.add_error(error.details.get("field"), error.sentence)
        except Conflict as error:
            # The next save starts from the current settings, so it overwrites nothing unseen.
            status = error.status
            again = request.POST.copy()
            again.setlist("daily", error.details["daily"])
            again["seen"] = dumps(_shown(request)["seen"]).decode()
            form = NoticeSettingsForm(again)
            if form.is_valid():
                form.add_error(error.details["field"], error.sentence)
        else:
            other = (set(saved.daily), saved.time_zone) != (set(mine["daily"]), mine["time_zone"])
            messages.success(
                request,
                _("Saved, together with the changes from another window. They apply from the next daily mail.")
                if other
                else _("Saved. The changes apply from the next daily mail."),
            )
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
