"""Pages of generations: the list, a new one, its page, its recorded answers, and figures of all."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.errors import DomainError, Hidden
from annotator.models import Dialogue, Project, Role, User
from annotator.presentation.components.labels import words_of
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, add_refusal, posted, project_page, takes
from annotator.views.uploads import takes_files
from benchmark.core.scoring.transcripts import text_of
from benchmark.models import Generation, GenerationStatus
from benchmark.services.generation.claims import holders
from benchmark.services.generation.layers import builds_in_layers, may_be_continued, set_layers
from benchmark.services.generation.permissions import CONTRIBUTORS
from benchmark.services.generation.proposals import read_figures
from benchmark.services.generation.reading import list_calls, list_generations, load_generation
from benchmark.services.generation.recordings import MAX_FILE, read_recording, start_from_records
from benchmark.services.generation.records import recorded_answers
from benchmark.services.generation.requests import start_generation
from benchmark.services.inference.endpoints import list_endpoints
from benchmark.views.generation_cells import cell_given, initial_of, needed_first, past_given, pasts_of
from benchmark.views.generation_forms import GenerationForm
from benchmark.views.paging import page_of

PAGE = 50
#: Numbers of calls have fewer digits.
_DIGITS = 9


def cell_words(cell: str) -> str:
    """Return the policies of a cell in words."""
    return " → ".join(words_of("policy", one) for one in cell.split(","))


def _what(row: Generation) -> str:
    """Return the cell of a dialogue, or what else is generated."""
    return cell_words(row.cell) if row.cell else words_of("generation_kind", row.kind)


def trail_of(project: Project, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the way to a page about generations."""
    listed = reverse("generation-list", args=[project.slug]) if more else ""
    return [(project.name, f"/p/{project.slug}/"), (_("Generations"), listed), *more]


@project_page
@require_safe
@takes("status", "cell", "before", "after")
def generation_list(request: PageRequest) -> HttpResponse:
    """List generations, the newest first."""
    project = request.project
    rows = list_generations(actor=request.user, project=project)
    cells = rows.exclude(cell="").order_by("cell").values_list("cell", flat=True).distinct()
    status = one_of(request.GET, "status", GenerationStatus.values)
    cell = one_of(request.GET, "cell", lambda: list(cells))
    chosen = {name: value for name, value in (("status", status), ("cell", cell)) if value}
    page = page_of(rows.filter(**chosen).order_by().select_related("requester"), request, size=PAGE)
    claimed = holders(page.rows)
    query = "".join(f"&{name}={value}" for name, value in chosen.items())
    context = {
        "project": project, "rows": [(row, _what(row), claimed.get(row.pk)) for row in page.rows],
        "previous": page.previous and page.previous + query, "following": page.following and page.following + query,
        "status": status, "cell": cell, "cells": [(one, cell_words(one)) for one in cells],
        "statuses": [(one, words_of("generation", one)) for one in GenerationStatus.values],
        "is_admin": Role.ADMINISTRATOR in request.roles, "trail": trail_of(project),
        "layers": builds_in_layers(project),
    }  # fmt: skip
    return render(request, "benchmark/generation/list.html", context)


@project_page
@require_POST
def generation_layers(request: PageRequest) -> HttpResponse:
    """Choose whether each new task continues verified ones."""
    set_layers(actor=request.user, project=request.project, layers=request.POST.get("layers") == "1")
    messages.success(request, _("Saved."))
    return redirect("generation-list", slug=request.project.slug)


@takes_files
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("cell", "past")
def generation_start(request: PageRequest) -> HttpResponse:
    """Start to generate a dialogue. ``?cell=single_tool,chat`` fills in the policies, ``?past=`` what it continues."""
    project = request.project
    endpoints = list_endpoints(actor=request.user, project=project)
    past = past_given(request)
    cell = cell_given(request, past)
    form = GenerationForm(
        posted(request), request.FILES or None, project=project, endpoints=endpoints,
        pasts=pasts_of(request, cell, past), initial=initial_of(cell, past),
    )  # fmt: skip
    if form.is_bound and form.is_valid():
        try:
            generation = _start(request, form)
        except DomainError as refusal:
            add_refusal(form, refusal)
        else:
            return redirect("generation", slug=project.slug, public_id=generation.public_id)
    toolsets: Any = form.fields["toolset"]
    needed = needed_first(request, cell)
    context = {
        "project": project, "form": form, "toolsets": toolsets.queryset.exists(), "endpoints": endpoints.exists(),
        "layers": builds_in_layers(project), "needed": needed,
        "needed_words": cell_words(needed) if needed else "",
        "trail": trail_of(project, (_("New generation"), "")),
    }  # fmt: skip
    return render(request, "benchmark/generation/start.html", context, status=422 if form.is_bound else 200)


def _start(request: PageRequest, form: GenerationForm) -> Generation:
    data = form.cleaned_data
    given = {
        "actor": request.user, "project": request.project, "toolset": form.revision, "setup": form.setup,
        "past": form.continued, "chooser": data["chooser"], "budget": form.budget,
    }  # fmt: skip
    if data["records"]:
        return start_from_records(records=read_recording(data["records"].read(MAX_FILE + 1)), **given)
    return start_generation(players=form.players, idempotent=data["idempotent"], **given)


@project_page
@require_safe
def generation_records(request: PageRequest, public_id: str) -> HttpResponseBase:
    """Send the recorded answers of a generation, from which it runs again."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    generation = load_generation(actor=request.user, project=project, public_id=public_id)
    lines = (one.to_line() for one in recorded_answers(generation))
    response = StreamingHttpResponse(lines, content_type="application/jsonl")
    response["Content-Disposition"] = f'attachment; filename="{generation.public_id}.jsonl"'
    return response


@project_page
@require_safe
def generation_call(request: PageRequest, public_id: str, number: str) -> HttpResponse:
    """Show a recorded call: its prompt, its answer and what it cost."""
    project = request.project
    generation = load_generation(actor=request.user, project=project, public_id=public_id)
    known = number.isascii() and number.isdigit() and len(number) < _DIGITS
    call = list_calls(generation).filter(number=int(number)).first() if known else None
    if call is None:
        raise Hidden(_("There is no such request in the generation."))
    there = reverse("generation", args=[project.slug, public_id])
    title = f"{number}: {words_of('prompt', call.purpose)}"
    context = {
        "project": project, "call": call, "answer": text_of(call.answer) if call.answer else "", "title": title,
        "trail": trail_of(project, (generation.name, there), (title, "")),
    }  # fmt: skip
    return render(request, "benchmark/generation/call.html", context)


@project_page
@require_safe
def generation_figures(request: PageRequest) -> HttpResponse:
    """Show how much of what was generated was accepted, and how accurate the candidates are."""
    project = request.project
    figures = read_figures(actor=request.user, project=project)
    context = {
        "project": project, "figures": figures,
        "accuracy": [(one, cell_words(one["cell"])) for one in figures.accuracy],
        "trail": trail_of(project, (_("Acceptance"), "")),
    }  # fmt: skip
    return render(request, "benchmark/generation/figures.html", context)


def links_to_generation(actor: User, dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return links from a dialogue to its generation, for those who may see it, and to that of a next task."""
    slug, roles = dialogue.project.slug, roles_in(dialogue.project, actor)
    links = []
    public_id = Generation.objects.filter(dialogue=dialogue).values_list("public_id", flat=True).first()
    if public_id is not None and roles & CONTRIBUTORS:
        links.append((_("Generation"), reverse("generation", args=[slug, public_id])))
    if Role.ADMINISTRATOR in roles and may_be_continued(dialogue):
        start = reverse("generation-start", args=[slug])
        links.append((_("Generate the next task"), f"{start}?past={dialogue.public_id}"))
    return links
