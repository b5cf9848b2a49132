"""Pages of imports: list and upload, progress, report."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import get_valid_filename
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import Conflict, DomainError
from annotator.models import JobState, Project
from annotator.presentation.document import present
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, project_page, takes
from annotator.views.uploads import stores_files
from benchmark.core.formats.examples import example_archive
from benchmark.models import ImportBatch
from benchmark.services.imports import requests
from benchmark.services.imports.recognising import confirm_preview
from benchmark.services.imports.report import read_report
from benchmark.views.forms import FORMAT_TITLES, ImportForm, PreviewForm
from benchmark.views.import_report import report_words
from benchmark.views.import_words import preview_words
from benchmark.views.paging import page_of, watches
from reviews.services.protocols.versions import current_protocol, stage_titles

PAGE = 50
#: Dialogues that people have worked on, listed above the checkbox that reopens them.
NAMED = 20


@stores_files
@project_page
@require_http_methods(["GET", "POST"])
@takes("before", "after")
def import_list(request: PageRequest) -> HttpResponse:
    """Show the project's imports and the form for the next one."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    form = ImportForm(request.POST or None, request.FILES or None, stages=_stages(project))
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["file"]
        try:
            batch = requests.start_import(
                actor=request.user,
                project=project,
                upload=upload,
                filename=upload.name,
                native_format=form.cleaned_data["native_format"],
                preview=not form.cleaned_data["native_format"],
                dry_run=form.cleaned_data["dry_run"],
                revise=form.cleaned_data["revise"],
                reopen=form.cleaned_data["reopen"],
                reopen_at=form.cleaned_data["reopen_at"],
                at_conflicts=form.cleaned_data["at_conflicts"],
                suggest_dependencies=form.cleaned_data["suggest_dependencies"],
            )
        except DomainError as refusal:
            field = refusal.details.get("field")
            form.add_error(field if field in form.fields else "file", refusal.sentence)
        else:
            return _to(batch)
    rows = requests.list_imports(actor=request.user, project=project)
    page = page_of(rows, request, size=PAGE)
    context = {
        "project": project,
        "form": form,
        "page": page,
        "formats": FORMAT_TITLES.items(),
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Imports"), "")],
    }
    return render(request, "benchmark/import_list.html", context, status=422 if form.is_bound else 200)


@project_page
@require_safe
def import_examples(request: PageRequest) -> HttpResponse:
    """Download the example files of all formats."""
    require_administrator(actor=request.user, project=request.project)
    return HttpResponse(
        example_archive(),
        content_type="application/zip",
        headers={"Content-Disposition": 'attachment; filename="examples.zip"', "X-Content-Type-Options": "nosniff"},
    )


@project_page
@require_http_methods(["GET", "POST"])
@takes("record")
def import_preview(request: PageRequest, public_id: str) -> HttpResponse:
    """Show what a file has, to confirm or correct it: its format, its fields, its first dialogues."""
    project = request.project
    batch = requests.load_import(actor=request.user, project=project, public_id=public_id)
    if not batch.preview:
        return _to(batch)
    context = {
        "project": project,
        "batch": batch,
        "job": batch.job,
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Imports"), f"/p/{project.slug}/imports/"),
            (batch.filename, ""),
        ],
    }
    if watches(request, "preview-state"):
        if batch.job.ended:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/import_preview.html#state", context)
    found = batch.job.result if batch.job.state == JobState.DONE else None
    if not found:
        if request.method == "POST":
            raise Conflict(_("The preview hasn’t ended. Wait for it, or upload the file again."))
        return render(request, "benchmark/import_preview.html", context)
    chosen = ("dry_run", "revise", "reopen", "reopen_at", "at_conflicts", "suggest_dependencies")
    options = {name: getattr(batch, name) for name in chosen}
    initial = {"native_format": found["format"], "remember": True, **options}
    form = PreviewForm(
        request.POST if request.method == "POST" else None, found=found, initial=initial, stages=_stages(project)
    )
    if request.method == "POST" and form.is_valid():
        try:
            started = confirm_preview(
                actor=request.user,
                batch=batch,
                native_format=form.cleaned_data["native_format"],
                mapping=form.mapping,
                remember=form.cleaned_data["remember"],
                # In another format, the fields are others; so it is shown first.
                preview="again" in request.POST or form.cleaned_data["native_format"] != (found["format"] or "openai"),
                **{name: form.cleaned_data[name] for name in options},
            )
        except DomainError as refusal:
            field = refusal.details.get("field")
            form.add_error(field if field in form.fields else None, refusal.sentence)
        else:
            return _to(started)
    shown = one_of(request.GET, "record", [str(n + 1) for n in range(len(found["dialogues"]))]) or "1"
    dialogue = found["dialogues"][int(shown) - 1] if found["dialogues"] else None
    context |= preview_words(found, batch.filename) | {
        "form": form,
        "found": found,
        "shown": int(shown),
        "dialogue": dialogue,
        "view": present(dialogue["document"], []) if dialogue and dialogue["document"] else None,
    }
    return render(request, "benchmark/import_preview.html", context, status=422 if form.is_bound else 200)


@project_page
@require_http_methods(["GET", "POST"])
@takes("severity", "outcome", "check", "before", "after")
def import_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one import: its progress, the counts of its records, its report."""
    project = request.project
    batch = requests.load_import(actor=request.user, project=project, public_id=public_id)
    if batch.preview and request.method != "POST":
        return _to(batch)
    if request.method == "POST":
        again = requests.repeat_import(actor=request.user, batch=batch, reopen="reopen" in request.POST)
        return _to(again)
    if watches(request, "import-state"):
        # The last response to a page that polls is the whole page, with its report.
        if batch.job.ended:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/import_detail.html#state", _state(project, batch))
    context = (
        _state(project, batch)
        | report_words(request, batch)
        | {
            "trail": [
                (project.name, f"/p/{project.slug}/"),
                (_("Imports"), f"/p/{project.slug}/imports/"),
                (batch.filename, ""),
            ]
        }
    )
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


def _stages(project: Project) -> list[tuple[str, str]]:
    """Return key and title of the stages in which a review can start."""
    protocol = current_protocol(project)
    return [(stage.key, stage.title) for stage in protocol.entry_stages] if protocol else []


def _to(batch: ImportBatch) -> HttpResponse:
    """Go to the page of an import or a preview."""
    name = "import-preview" if batch.preview else "import-detail"
    return redirect(name, slug=batch.project.slug, public_id=batch.public_id)


def _state(project: Any, batch: ImportBatch) -> dict[str, Any]:
    return {
        "project": project,
        "batch": batch,
        "job": batch.job,
        "may_repeat": requests.may_repeat(batch),
        "reopen_at": stage_titles(project).get(batch.reopen_at, batch.reopen_at),
        "worked_on": requests.worked_on(batch)[:NAMED],
        "worked_on_count": requests.worked_on(batch).count(),
        "figures": [
            (_("Read"), batch.read),
            (_("Created"), batch.created),
            (_("Revised"), batch.revised),
            (_("Unchanged"), batch.unchanged),
            (_("Rejected"), batch.rejected),
            (_("With errors"), batch.with_errors),
            *([(_("Suggestions"), batch.suggestions)] if batch.suggestions else []),
        ],
    }
