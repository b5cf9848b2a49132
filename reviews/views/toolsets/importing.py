"""The page that imports a toolset: read a description, look at what it becomes, save it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.core.schema.exact_json import loads
from annotator.core.tools.checks import check_tools
from annotator.core.tools.sources.model import ReadTools
from annotator.errors import Conflict, DomainError, Invalid
from annotator.presentation.dialogue import pretty
from annotator.presentation.tool_parameters import shown_functions
from annotator.services.access.permissions import require_administrator
from annotator.services.toolsets.importing import import_toolset, read_content, read_description
from annotator.services.toolsets.storing import MAX_NAME
from annotator.translation import translated
from annotator.views.pages import PageRequest, project_page, takes
from annotator.views.uploads import takes_files
from reviews.views.toolsets.forms import KIND_TITLES, DetailsForm, SourceForm
from reviews.views.toolsets.shown import shown_findings

#: Notes that the page shows.
NOTED = 50


@takes_files
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def toolset_import(request: PageRequest) -> HttpResponse:
    """Read a description of tools and show what it becomes; then save it as a toolset."""
    require_administrator(actor=request.user, project=request.project)
    if request.method == "POST" and "tools" in request.POST:
        return _save(request)
    form = SourceForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            kind, read = read_description(form.cleaned_data["text"], form.cleaned_data["kind"])
        except DomainError as refusal:
            form.add_error("file" if form.cleaned_data["file"] else "text", refusal.sentence)
        else:
            details = DetailsForm(project=request.project, initial={"name": read.name[:MAX_NAME]})
            return _preview(request, read, details, kind=str(KIND_TITLES[kind]))
    context = {"form": form, "kinds": list(KIND_TITLES.values())} | _page(request)
    return render(request, "reviews/toolsets/import.html", context, status=422 if form.errors else 200)


def _save(request: PageRequest) -> HttpResponse:
    form = DetailsForm(request.POST, project=request.project)
    tools = request.POST["tools"]
    if form.is_valid():
        try:
            toolset = import_toolset(actor=request.user, project=request.project, tools=tools, details=form.details())
        except (Invalid, Conflict) as refusal:
            field = refusal.details.get("field")
            form.add_error(field if field in form.fields else None, refusal.sentence)
        else:
            messages.success(request, _("The toolset is saved."))
            return redirect("toolset", slug=request.project.slug, public_id=toolset.public_id)
    try:
        read_content(tools)
    except Invalid as refusal:
        if not form.non_field_errors():
            form.add_error(None, refusal.sentence)
        return _preview(request, None, form, text=tools)
    return _preview(request, ReadTools(loads(tools)), form, text=tools)


def _preview(
    request: PageRequest, read: ReadTools | None, form: DetailsForm, *, kind: str = "", text: str = ""
) -> HttpResponse:
    """Show what will be saved. ``read``: None if the JSON that somebody typed is not a list of functions."""
    tools = read.tools if read else []
    notes = read.notes if read else []
    context = {
        "form": form,
        "kind": kind,
        "tools": shown_functions(tools),
        "text": text or pretty(tools),
        "notes": [(note.place, translated(note.message)) for note in notes[:NOTED]],
        "more_notes": max(0, len(notes) - NOTED),
        "found": shown_findings(check_tools(tools)),
    }
    return render(
        request, "reviews/toolsets/import_preview.html", context | _page(request), status=422 if form.errors else 200
    )


def _page(request: PageRequest) -> dict[str, object]:
    project = request.project
    return {
        "project": project,
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Toolsets"), f"/p/{project.slug}/toolsets/"),
            (_("Import a toolset"), ""),
        ],
    }
