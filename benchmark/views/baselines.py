"""Human baselines: an administrator asks a member, who answers the entries of a release as a model would."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import DomainError, Hidden
from annotator.services.access.permissions import require_administrator
from annotator.views.pages import PageRequest, posted, project_page, takes
from benchmark.core.inference.asking import MAX_CALLS
from benchmark.models import BaselineEntry, BaselineState
from benchmark.services.inference import baselines
from benchmark.services.inference.options import Options
from benchmark.services.runs import boards
from benchmark.services.runs.uploads import families_of
from benchmark.views.entry_view import message_view
from benchmark.views.inference_forms import BaselineForm
from benchmark.views.paging import watches
from benchmark.views.runs import release_trail
from benchmark.views.score_words import shown_json


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def baseline_start(request: PageRequest, public_id: str) -> HttpResponse:
    """Ask a member of the project to answer a release."""
    project = request.project
    release = boards.load_overseen(actor=request.user, project=project, public_id=public_id)
    require_administrator(actor=request.user, project=project)
    people = baselines.list_people(project)
    form = BaselineForm(posted(request), families=families_of(release), people=people)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            inference = baselines.start_baseline(
                actor=request.user, release=release, person=data["person"], family=data["family"], name=data["name"],
                mode=form.mode, options=Options(**form.options_given()),
            )  # fmt: skip
        except DomainError as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return redirect("inference", slug=project.slug, public_id=inference.public_id)
    context = {
        "project": project,
        "release": release,
        "form": form,
        "trail": release_trail(request, release, (_("Human baseline"), "")),
    }
    return render(request, "benchmark/baseline_start.html", context, status=422 if form.errors else 200)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def baseline(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the next entry to the person who answers it; POST sends a reply, or adds a call to the form."""
    project, person = request.project, request.user
    inference = baselines.load_baseline(actor=person, project=project, public_id=public_id)
    polls = watches(request, "baseline-wait")
    entry = baselines.next_entry(inference, with_ask=not polls)
    if polls:
        prepares = entry is None and not inference.total and not inference.job.ended
        waits = prepares or (entry is not None and entry.state == BaselineState.SENT and not _failed(entry))
        return HttpResponse(status=204) if waits else HttpResponseClientRefresh()
    given, error = _Reply(), ""
    if request.method == "POST" and "again" in request.POST:
        baselines.process_again(actor=person, inference=inference, place=_number(request, "place"))
        return redirect("baseline", slug=project.slug, public_id=public_id)
    if request.method == "POST":
        given = _Reply.of(request)
        if "send" in request.POST:
            try:
                baselines.send_reply(
                    actor=person, inference=inference, place=_number(request, "place"),
                    number=_number(request, "number"), text=given.text,
                    calls=[(name, arguments) for name, arguments in given.calls if name],
                )  # fmt: skip
            except DomainError as refusal:
                if isinstance(refusal, Hidden):
                    raise
                error = str(refusal.sentence)
            else:
                return redirect("baseline", slug=project.slug, public_id=public_id)
    context: dict[str, Any] = {
        "project": project,
        "inference": inference,
        "entry": entry,
        "failed": entry is not None and _failed(entry),
        "errors": [error] if error else [],
        "trail": [
            (project.name, f"/p/{project.slug}/"), (_("Releases"), reverse("release-list", args=[project.slug])),
            (inference.release.version, reverse("release-detail", args=[project.slug, inference.release.public_id])),
            (inference.name, ""),
        ],
    }  # fmt: skip
    if entry is not None and entry.ask is not None:
        tools = [tool["function"] for tool in entry.ask["tools"]]
        rows = given.calls or ([("", "")] if tools else [])
        context |= {
            "said": [message_view(number, one) for number, one in enumerate(entry.ask["messages"], 1)],
            "tools": [(tool["name"], tool["description"], shown_json(tool["parameters"])) for tool in tools],
            "names": [tool["name"] for tool in tools],
            "rows": [*rows, ("", "")] if "add" in request.POST and len(rows) < MAX_CALLS else rows,
            "text": given.text,
        }
    return render(request, "benchmark/baseline.html", context, status=422 if error else 200)


class _Reply:
    """What a form has: a text, and calls as (tool, arguments)."""

    def __init__(self, text: str = "", calls: Sequence[tuple[str, str]] = ()) -> None:
        self.text, self.calls = text, list(calls)

    @classmethod
    def of(cls, request: PageRequest) -> "_Reply":
        names, arguments = request.POST.getlist("tool"), request.POST.getlist("arguments")
        return cls(request.POST.get("text", ""), list(zip(names, arguments, strict=False))[:MAX_CALLS])


def _failed(entry: BaselineEntry) -> bool:
    """Return whether the job that processes the latest reply ended without doing it."""
    return entry.state == BaselineState.SENT and entry.job is not None and entry.job.ended


def _number(request: PageRequest, name: str) -> int:
    """Return a number of the form. Raises Hidden: no page produces another value."""
    text = request.POST.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Hidden(_("There is no such entry in the baseline."))
    return int(text)
