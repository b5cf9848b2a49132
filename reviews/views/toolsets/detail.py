"""Pages of one toolset: its functions and code with the form that changes them, and its details."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.roles import Role
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Toolset, ToolsetRevision
from annotator.models.content import DialogueStatus
from annotator.presentation.tool_parameters import shown_functions
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of
from annotator.services.toolsets.details import change_details, details_of, load_toolset, newest, tags_of
from annotator.services.toolsets.subsets import feeds_of
from annotator.templatetags.components import job_progress
from annotator.views.pages import PageRequest, posted, project_page, takes
from reviews.services.cycles.toolset_changes import (
    NAMED,
    Change,
    change_toolset,
    last_job,
    preview_change,
    signature_problems,
)
from reviews.services.toolset_review.states import standings_of
from reviews.views.toolsets.draft import FunctionsDraft
from reviews.views.toolsets.forms import DetailsForm, ToolsetForm, entered
from reviews.views.toolsets.review import shown_standing
from reviews.views.toolsets.shown import findings_of, shown_changes, shown_findings

#: Revisions, and pairs of functions of which one feeds the other, that the page lists.
LISTED, FED = 50, 100


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("revision")
def toolset_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show a toolset. Administrators change it: first the page lists what the change affects, then it is saved."""
    toolset = load_toolset(project=request.project, public_id=public_id)
    job = last_job(toolset)
    if job is not None and (request.htmx.target or "").endswith(f"job-{job.public_id}"):
        if job.ended:
            return HttpResponseClientRefresh()
        return render(request, "components/job.html", job_progress(job, request.path))
    revision = newest(toolset)
    typed = ""
    change, draft, refused, status = None, FunctionsDraft(revision.tools()), "", 200
    form = ToolsetForm(posted(request))
    if request.method == "POST":
        require_administrator(actor=request.user, project=request.project)
        try:
            typed = request.POST.get("tools", "")
            draft = FunctionsDraft.posted(request.POST)
            typed = ""
            if draft.problem is not None:
                status = 422
            elif not draft.goes_on:
                form = _with_tools(request, draft.text)
                change = _change(request, toolset, form)
                if change is None:
                    return redirect("toolset", slug=request.project.slug, public_id=toolset.public_id)
        except DomainError as error:
            refused, status = error.sentence, error.status
    context = _shown(request, toolset, revision, draft) | {
        # JSON that cannot be read stays as it was typed.
        "typed": typed or draft.text,
        "form": form,
        "change": change,
        "changes": shown_changes(revision.content, change.text) if change else [],
        "affected": [(DialogueStatus(one).label, count) for one, count in change.affected] if change else [],
        "more": max(0, change.count - NAMED) if change else 0,
        "refused": refused,
        "job": job if job is not None and not (job.ended and not job.error) else None,
        "job_url": request.path if job is not None and not job.ended else "",
    }
    return render(request, "reviews/toolsets/detail.html", context, status=status)


def _shown(request: PageRequest, toolset: Toolset, revision: ToolsetRevision, draft: FunctionsDraft) -> dict[str, Any]:
    code = CompiledToolset.of(revision.content).implementation or {}
    values = {
        "source": code.get("source", ""),
        "class_name": code.get("class") or "",
        "load": code.get("load") or "",
        "seen": str(revision.number),
    }
    feeds = feeds_of(draft.text)
    revisions = list(toolset.revisions.select_related("author").defer("content").order_by("-number")[:LISTED])
    return {
        "project": request.project,
        "toolset": toolset,
        "tags": tags_of(toolset),
        "linked": toolset.source.startswith(("http://", "https://")),
        "revision": revision,
        "revisions": revisions,
        "compared": _compared(request, toolset, revisions),
        "tools": shown_functions(draft.tools),
        "changed": draft.tools != revision.tools(),
        "code": code,
        "problems": signature_problems(revision.content),
        "feeds": feeds[:FED],
        "more_feeds": max(0, len(feeds) - FED),
        "standing": shown_standing(
            standings_of(actor=request.user, project=request.project, toolsets=[toolset]).get(toolset.pk)
        ),
        "found": shown_findings(findings_of(draft.text)),
        # What was typed stays in its field.
        "values": {key: request.POST.get(key, value) for key, value in values.items()},
        "opened": draft.form(),
        "editable": Role.ADMINISTRATOR in request.roles,
        "trail": [
            (request.project.name, f"/p/{request.project.slug}/"),
            (_("Toolsets"), f"/p/{request.project.slug}/toolsets/"),
            (toolset.name, ""),
        ],
    }


def _with_tools(request: PageRequest, text: str) -> ToolsetForm:
    """Return the posted form, with the function that was open applied to the JSON."""
    data = request.POST.copy()
    data["tools"] = text
    return ToolsetForm(data)


def _compared(request: PageRequest, toolset: Toolset, revisions: list[ToolsetRevision]) -> dict[str, Any] | None:
    """Return what the revision named in the query string changed; None if none is named. Raises UnknownFilter."""
    number = one_of(request.GET, "revision", [str(one.number) for one in revisions if one.number > 1])
    if not number:
        return None
    before, after = toolset.revisions.filter(number__in=(int(number) - 1, int(number))).order_by("number")
    return {"number": after.number, "changes": shown_changes(before.content, after.content)}


def _change(request: PageRequest, toolset: Toolset, form: ToolsetForm) -> Change | None:
    """Return what the change affects, if the person has not seen exactly that yet; else save it and return None."""
    if not form.is_valid():
        raise Invalid(_("The form is not complete. Reload the page."))
    data = form.cleaned_data
    change = preview_change(
        actor=request.user, toolset=toolset, tools=data["tools"], implementation=form.implementation()
    )
    if "save" not in request.POST or data["previewed"] != change.sha256:
        return change
    change_toolset(
        actor=request.user,
        toolset=toolset,
        tools=data["tools"],
        implementation=form.implementation(),
        seen=data["seen"],
    )
    return None


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def toolset_details(request: PageRequest, public_id: str) -> HttpResponse:
    """Change what a toolset is called, its category, tags, licence and source."""
    toolset = load_toolset(project=request.project, public_id=public_id)
    require_administrator(actor=request.user, project=request.project)
    form = DetailsForm(posted(request), project=request.project, initial=entered(details_of(toolset)))
    if request.method == "POST" and form.is_valid():
        try:
            change_details(actor=request.user, toolset=toolset, details=form.details())
        except (Invalid, Conflict) as refusal:
            field = refusal.details.get("field")
            form.add_error(field if field in form.fields else None, refusal.sentence)
        else:
            messages.success(request, _("The details are saved."))
            return redirect("toolset", slug=request.project.slug, public_id=toolset.public_id)
    context = {
        "project": request.project,
        "toolset": toolset,
        "form": form,
        "trail": [
            (request.project.name, f"/p/{request.project.slug}/"),
            (_("Toolsets"), f"/p/{request.project.slug}/toolsets/"),
            (toolset.name, f"/p/{request.project.slug}/toolsets/{toolset.public_id}/"),
            (_("Details"), ""),
        ],
    }
    return render(request, "reviews/toolsets/details.html", context, status=422 if form.errors else 200)
