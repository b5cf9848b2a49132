"""Pages of a release's entries over all runs: their statistics, what the runs answered, and sending an item back."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotator.errors import DomainError
from annotator.models import Role
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import BY_KEY
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.core.scoring.items import Flag
from benchmark.services.runs import boards, suspects
from benchmark.views.paging import page_of
from benchmark.views.runs import release_trail

PAGE = 50
#: Flag → a short name and what it means.
WORDS = {
    Flag.SAME_ANSWER: (
        gettext_lazy("Same other answer"),
        gettext_lazy("More than half of the runs give the same answer, and it is not the reference."),
    ),
    Flag.NONE_RIGHT: (gettext_lazy("None right"), gettext_lazy("No run is right.")),
    Flag.NEGATIVE: (
        gettext_lazy("Better runs fail"),
        gettext_lazy("Runs that have more of the other entries right are right here less often, beyond chance."),
    ),
    Flag.ALL_RIGHT: (gettext_lazy("All right"), gettext_lazy("Every run is right, so the entry tells no runs apart.")),
}


@project_page
@require_safe
@takes("flag", "before", "after")
def entry_list(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the entries of a release with their statistics over all runs."""
    project = request.project
    release = boards.load_overseen(actor=request.user, project=project, public_id=public_id)
    counts = suspects.count_flags(release)
    flag = one_of(request.GET, "flag", [one.value for one in WORDS])
    page = page_of(suspects.list_statistics(release, flag=flag), request, size=PAGE, newest_first=False, by=BY_KEY)
    kept = f"&{urlencode({'flag': flag})}" if flag else ""
    context = {
        "project": project,
        "release": release,
        "flag": flag,
        "flags": [(one.value, name, counts.get(one.value, 0)) for one, (name, _words) in WORDS.items()],
        "total": sum(counts.values()),
        "meaning": WORDS[Flag(flag)][1] if flag else "",
        "rows": [
            (one, WORDS[Flag(one.flag)][0] if one.flag else "", one.flag in suspects.SUSPECT) for one in page.rows
        ],
        "previous": f"{page.previous}{kept}" if page.previous else "",
        "following": f"{page.following}{kept}" if page.following else "",
        "trail": release_trail(request, release, (_("Entries"), "")),
    }
    return render(request, "benchmark/entry_list.html", context)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
def entry_detail(request: PageRequest, public_id: str, key: str) -> HttpResponse:
    """Show what all runs made of one entry; POST sends its item back to review."""
    project = request.project
    release = boards.load_overseen(actor=request.user, project=project, public_id=public_id)
    statistic = suspects.load_statistic(release, key)
    refused = ""
    if request.method == "POST":
        try:
            sent = suspects.send_back(actor=request.user, statistic=statistic)
        except DomainError as refusal:
            if refusal.status == 403:
                raise
            refused = str(refusal.sentence)
        else:
            messages.success(request, _("%(dialogue)s is in review again.") % {"dialogue": sent.external_id})
            return redirect("entry-detail", slug=project.slug, public_id=public_id, key=key)
    answers = suspects.answers_to(statistic)
    dialogue = statistic.item.dialogue if statistic.item else None
    context = {
        "project": project,
        "release": release,
        "statistic": statistic,
        "meaning": WORDS[Flag(statistic.flag)][1] if statistic.flag else "",
        "suspect": statistic.flag in suspects.SUSPECT,
        "answers": answers,
        "compared": any(one.said for one in answers),
        "dialogue": dialogue,
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "may_send": Role.ADMINISTRATOR in request.roles and dialogue is not None and dialogue.status == "verified",
        "refused": refused,
        "trail": release_trail(
            request, release, (_("Entries"), reverse("entry-list", args=[project.slug, release.public_id])),
            (statistic.entry, ""),
        ),
    }  # fmt: skip
    return render(request, "benchmark/entry_detail.html", context, status=409 if refused else 200)
