"""Pages of imports: list and upload, progress, report."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import get_valid_filename
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import DomainError
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import BY_KEY
from annotator.views.pages import PageRequest, project_page, takes
from annotator.views.uploads import takes_files
from benchmark.models import ImportBatch
from benchmark.services.imports import requests
from benchmark.services.imports.report import ROWS, read_report
from benchmark.views.forms import ImportForm
from benchmark.views.paging import page_of, watches

PAGE = 50
#: Dialogues that people have worked on, listed above the checkbox that reopens them.
NAMED = 20


@takes_files
@project_page
@require_http_methods(["GET", "POST"])
@takes("before", "after")
def import_list(request: PageRequest) -> HttpResponse:
    """Show the project's imports and the form for the next one."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["file"]
        try:
            batch = requests.start_import(
                actor=request.user,
                project=project,
                upload=upload,
                filename=upload.name,
                native_format=form.cleaned_data["native_format"],
                dry_run=form.cleaned_data["dry_run"],
                revise=form.cleaned_data["revise"],
                reopen=form.cleaned_data["reopen"],
            )
        except DomainError as refusal:
            form.add_error("file", refusal.sentence)
        else:
            return redirect("import-detail", slug=project.slug, public_id=batch.public_id)
    rows = requests.list_imports(actor=request.user, project=project)
    page = page_of(rows, request, size=PAGE)
    context = {
        "project": project,
        "form": form,
        "page": page,
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Imports"), "")],
    }
    return render(request, "benchmark/import_list.html", context, status=422 if form.is_bound else 200)


@project_page
@require_http_methods(["GET", "POST"])
@takes("severity", "before", "after")
def import_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one import: its progress, the counts of its records, its report."""
    project = request.project
    batch = requests.load_import(actor=request.user, project=project, public_id=public_id)
    if request.method == "POST":
        again = requests.repeat_import(actor=request.user, batch=batch, reopen="reopen" in request.POST)
        return redirect("import-detail", slug=project.slug, public_id=again.public_id)
    if watches(request, "import-state"):
        # The last response to a page that polls is the whole page, with its report.
        if batch.job.ended:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/import_detail.html#state", _state(project, batch))
    severity = one_of(request.GET, "severity", requests.SEVERITIES)
    notes = page_of(requests.notes_of(batch, severity=severity), request, size=PAGE, newest_first=False, by=BY_KEY)
    counts = batch.job.checkpoint.get("notes", {})
    context = _state(project, batch) | {
        "notes": notes,
        "severity": severity,
        "severities": [(name, counts.get(name, 0)) for name in requests.SEVERITIES],
        "total": sum(counts.get(name, 0) for name in requests.SEVERITIES),
        "more_in_file": counts.get("lines", 0) > counts.get("rows", 0),
        "rows_kept": ROWS,
        "filter": f"&{urlencode({'severity': severity})}" if severity else "",
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Imports"), f"/p/{project.slug}/imports/"),
            (batch.filename, ""),
        ],
    }
    return render(request, "benchmark/import_detail.html", context)


@project_page
@require_POST
def import_cancel(request: PageRequest, public_id: str) -> HttpResponse:
    """Stop an import and roll back what it has written."""
    batch = requests.load_import(actor=request.user, project=request.project, public_id=public_id)
    requests.cancel_import(actor=request.user, batch=batch)
    messages.info(request, _("The import stops at its next step. Nothing will be saved."))
    return redirect("import-detail", slug=request.project.slug, public_id=public_id)


@project_page
@require_safe
def import_report(request: PageRequest, public_id: str) -> HttpResponseBase:
    """Download the whole report as JSON lines."""
    batch = requests.load_import(actor=request.user, project=request.project, public_id=public_id)
    name = get_valid_filename(f"{batch.filename.partition('.')[0] or 'import'}-report.jsonl")
    return StreamingHttpResponse(
        read_report(batch),
        content_type="application/jsonl",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"},
    )


def _state(project: Any, batch: ImportBatch) -> dict[str, Any]:
    return {
        "project": project,
        "batch": batch,
        "job": batch.job,
        "may_repeat": requests.may_repeat(batch),
        "worked_on": requests.worked_on(batch)[:NAMED],
        "worked_on_count": requests.worked_on(batch).count(),
        "figures": [
            (_("Read"), batch.read),
            (_("Created"), batch.created),
            (_("Revised"), batch.revised),
            (_("Unchanged"), batch.unchanged),
            (_("Rejected"), batch.rejected),
            (_("With errors"), batch.with_errors),
        ],
    }
