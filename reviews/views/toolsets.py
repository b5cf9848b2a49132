"""Pages of toolsets: the list, and one toolset with its functions, its code, and the form that changes them."""

from typing import Any

from django import forms
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.roles import Role
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import DomainError
from annotator.models import Toolset, ToolsetRevision
from annotator.models.content import DialogueStatus
from annotator.presentation.dialogue import pretty
from annotator.services.database.keyset import read_page
from annotator.templatetags.components import job_progress
from annotator.views.pages import PageRequest, posted, project_page, takes
from reviews.services.cycles.toolset_changes import (
    NAMED,
    Change,
    change_toolset,
    last_job,
    last_revision,
    load_toolset,
    preview_change,
    signature_problems,
)

PAGE = 50
_WITH_CODE = '{"implementation":'


class ToolsetForm(forms.Form):
    """The functions and the code of a toolset. ``seen``: the number of the revision that the page showed."""

    tools = forms.CharField(label=gettext_lazy("Functions as JSON"), strip=False)
    source = forms.CharField(label=gettext_lazy("Code"), required=False, strip=False)
    class_name = forms.CharField(label=gettext_lazy("Class"), required=False, max_length=200)
    load = forms.CharField(label=gettext_lazy("Method that loads the state"), required=False, max_length=200)
    seen = forms.IntegerField(min_value=1)
    #: The hash of what the person has seen the effects of.
    previewed = forms.CharField(required=False, max_length=64)

    def implementation(self) -> dict[str, Any] | None:
        """Return the code with what names its parts; None if there is no code."""
        data = self.cleaned_data
        source = data["source"].replace("\r\n", "\n")
        if not source.strip():
            return None
        return {"source": source, "class": data["class_name"] or None, "load": data["load"] or None}


@project_page
@require_safe
@takes("before", "after")
def toolset_list(request: PageRequest) -> HttpResponse:
    """List the project's toolsets, newest first."""
    project = request.project
    rows = Toolset.objects.filter(project=project)
    page = read_page(rows, after=request.GET.get("after"), before=request.GET.get("before"), size=PAGE)
    revisions = ToolsetRevision.objects.filter(toolset__in=page.rows).order_by("number").defer("content")
    # In canonical text, the implementation comes before the tools.
    revisions = revisions.annotate(runs=ExpressionWrapper(Q(content__startswith=_WITH_CODE), BooleanField()))
    # The last one of each toolset stays.
    last = {revision.toolset_id: revision for revision in revisions}
    context = {
        "project": project,
        "rows": [(toolset, last[toolset.pk]) for toolset in page.rows],
        "previous": f"?before={page.before}" if page.before else "",
        "following": f"?after={page.after}" if page.after else "",
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Toolsets"), "")],
    }
    return render(request, "reviews/toolsets/list.html", context)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def toolset_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show a toolset. Administrators change it: first the page lists what the change affects, then it is saved."""
    toolset = load_toolset(project=request.project, public_id=public_id)
    job = last_job(toolset)
    if job is not None and (request.htmx.target or "").endswith(f"job-{job.public_id}"):
        if job.ended:
            return HttpResponseClientRefresh()
        return render(request, "components/job.html", job_progress(job, request.path))
    form = ToolsetForm(posted(request))
    change, refused, status = None, "", 200
    if request.method == "POST":
        status = 422
        try:
            change = _change(request, toolset, form)
            status = 200
        except DomainError as error:
            refused, status = error.sentence, error.status
        if change is None and not refused and form.is_valid():
            return redirect("toolset", slug=request.project.slug, public_id=toolset.public_id)
    revision = last_revision(toolset)
    compiled = CompiledToolset.of(revision.content)
    code = compiled.implementation or {}
    shown = {
        "tools": pretty(revision.tools()),
        "source": code.get("source", ""),
        "class_name": code.get("class") or "",
        "load": code.get("load") or "",
        "seen": str(revision.number),
    }
    context = {
        "project": request.project,
        "toolset": toolset,
        "revision": revision,
        "revisions": toolset.revisions.select_related("author").defer("content").order_by("-number")[:50],
        "tools": list(compiled.tools.values()),
        "code": code,
        "problems": signature_problems(revision.content),
        "form": form,
        # What was typed stays in its field.
        "values": {key: request.POST.get(key, value) for key, value in shown.items()},
        "change": change,
        "affected": [(DialogueStatus(status).label, count) for status, count in change.affected] if change else [],
        "more": max(0, change.count - NAMED) if change else 0,
        "refused": refused,
        "editable": Role.ADMINISTRATOR in request.roles,
        "job": job if job is not None and not (job.ended and not job.error) else None,
        "job_url": request.path if job is not None and not job.ended else "",
        "trail": [
            (request.project.name, f"/p/{request.project.slug}/"),
            (_("Toolsets"), f"/p/{request.project.slug}/toolsets/"),
            (toolset.name, ""),
        ],
    }
    return render(request, "reviews/toolsets/detail.html", context, status=status)


def _change(request: PageRequest, toolset: Toolset, form: ToolsetForm) -> Change | None:
    """Return what the change affects, if the person has not seen exactly that yet; else save it and return None."""
    valid = form.is_valid()
    data = form.cleaned_data
    change = preview_change(
        actor=request.user,
        toolset=toolset,
        tools=data.get("tools", ""),
        implementation=form.implementation() if valid else None,
    )
    if not valid or "save" not in request.POST or data["previewed"] != change.sha256:
        return change
    change_toolset(
        actor=request.user,
        toolset=toolset,
        tools=data["tools"],
        implementation=form.implementation(),
        seen=data["seen"],
    )
    return None
