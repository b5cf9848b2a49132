"""The pages of translations and rewritings: all texts side by side, and one of them to write."""

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import User
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.core.generation.kinds import Kind
from benchmark.models import Generation
from benchmark.services.generation import people
from benchmark.services.generation.reading import is_busy, load_generation, read_texts
from benchmark.views.generation_claims import claim_context
from benchmark.views.generation_parts import (
    Act,
    act_in,
    has_ended,
    number_of,
    page_context,
    progress_context,
    text_of_form,
    unchanged,
)
from benchmark.views.generations import trail_of
from benchmark.views.paging import watches
from benchmark.views.texts_view import present_text, present_texts, result_link


def texts_detail(request: PageRequest, generation: Generation) -> HttpResponse:
    """Show a translation or a rewriting; act in it."""
    project = request.project
    outcome = act_in(request, generation, _ACTS)
    if outcome.done:
        return redirect("generation", slug=project.slug, public_id=generation.public_id)
    if request.method == "POST":
        generation = load_generation(actor=request.user, project=project, public_id=generation.public_id)
    if watches(request, "texts-state"):
        return unchanged(request, generation) or _watched(request, generation)
    state = read_texts(generation)
    shared = page_context(request, generation, state)
    context = shared | {
        "view": present_texts(generation, state, by_model=bool(shared["players"])), "refused": outcome.refused,
        "budget": outcome.budget, "acts": shared["mine"] or shared["claim"] is None, "result": result_link(generation),
    }  # fmt: skip
    return render(request, "benchmark/generation/texts.html", context, status=outcome.status)


def _watched(request: PageRequest, generation: Generation) -> HttpResponse:
    players = generation.role_models.all()
    view = present_texts(generation, read_texts(generation), by_model=bool(players))
    context = progress_context(request, generation) | {"view": view, "players": players}
    return render(request, "benchmark/generation/texts.html#state", context)


def _retry(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    people.retry_step(actor=actor, generation=generation, seen=seen)


def _accept(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    people.accept_texts(actor=actor, generation=generation, seen=seen)


_ACTS: dict[str, Act] = {"retry": _retry, "accept": _accept}


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def generation_text(request: PageRequest, public_id: str, key: str) -> HttpResponse:
    """Show one text of a translation or rewriting; write it."""
    project = request.project
    generation = load_generation(actor=request.user, project=project, public_id=public_id)
    state = read_texts(generation) if generation.kind != Kind.DIALOGUE else None
    text = state.setup.by_key.get(key) if state is not None else None
    if state is None or text is None:
        raise Hidden(_("There is no such text in the generation."))
    refused: DomainError | None = None
    if request.method == "POST":
        try:
            people.write_text(
                actor=request.user, generation=generation, key=key, text=text_of_form(request.POST),
                seen=number_of(request.POST, "seen"),
            )  # fmt: skip
        except (Invalid, Conflict) as refusal:
            refused = refusal
        else:
            return redirect("generation", slug=project.slug, public_id=public_id)
        generation = load_generation(actor=request.user, project=project, public_id=public_id)
        state = read_texts(generation)
    line = present_text(state, text, {})
    there = reverse("generation", args=[project.slug, public_id])
    claimed = claim_context(request, generation)
    closed = has_ended(generation) or is_busy(generation)
    context = claimed | {
        "shows_text_only": closed or (claimed["claim"] is not None and not claimed["mine"]),
        "project": project, "generation": generation, "line": line, "setup": state.setup, "seen": len(state.events),
        "typed": request.POST.get("text", line.written or line.refused),
        "error": refused.sentence if refused else "", "busy": is_busy(generation),
        "trail": trail_of(project, (generation.name, there), (line.about, "")),
    }  # fmt: skip
    status = 409 if isinstance(refused, Conflict) else 422 if refused else 200
    return render(request, "benchmark/generation/text.html", context, status=status)
