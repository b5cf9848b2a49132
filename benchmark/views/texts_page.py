"""The pages of translations and rewritings: all texts side by side, and one of them to write."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Role
from annotator.translation import translated
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.core.generation.kinds import Kind
from benchmark.models import CallState, Generation, GenerationStatus
from benchmark.services.generation import people
from benchmark.services.generation.claims import live_claim
from benchmark.services.generation.reading import is_busy, load_generation, read_texts
from benchmark.services.generation.requests import continue_generation, pause_generation
from benchmark.views.generation_claims import CLAIM_ACTS, claim_context, version_of
from benchmark.views.generation_parts import figures_of, number_of, text_of_form
from benchmark.views.generations import trail_of
from benchmark.views.inference_forms import BudgetForm
from benchmark.views.paging import watches
from benchmark.views.texts_view import present_text, present_texts, result_link

_PLACE = "texts-state"


def texts_detail(request: PageRequest, generation: Generation) -> HttpResponse:
    """Show a translation or a rewriting; act in it."""
    project = request.project
    refused: DomainError | None = None
    budget = BudgetForm(
        request.POST if request.POST.get("act") == "continue" else None,
        initial={"token_budget": generation.token_budget, "cost_budget": generation.cost_budget},
    )
    if request.method == "POST" and (not budget.is_bound or budget.is_valid()):
        try:
            _act(request, generation, budget)
        except (Invalid, Conflict) as refusal:
            refused = refusal
        else:
            return redirect("generation", slug=project.slug, public_id=generation.public_id)
        generation = load_generation(actor=request.user, project=project, public_id=generation.public_id)
    busy = is_busy(generation)
    watched = watches(request, _PLACE)
    if watched and not busy:
        return HttpResponseClientRefresh()
    if watched and request.headers.get("X-Known") == version_of(generation, live_claim(generation)):
        return HttpResponse(status=204)
    context = _context(request, generation, busy=busy) | {"refused": refused, "budget": budget}
    status = 409 if isinstance(refused, Conflict) else 422 if refused or budget.errors else 200
    template = "benchmark/generation/texts.html"
    return render(request, f"{template}#state" if watched else template, context, status=status)


def _act(request: PageRequest, generation: Generation, budget: BudgetForm) -> None:
    posted, actor = request.POST, request.user
    act = posted.get("act", "")
    if act in CLAIM_ACTS:
        CLAIM_ACTS[act](actor, generation)
    elif act == "stop":
        pause_generation(actor=actor, generation=generation)
    elif act == "continue":
        continue_generation(actor=actor, generation=generation, budget=budget.budget, send_again="send_again" in posted)
    elif act == "retry":
        people.retry_texts(actor=actor, generation=generation, seen=number_of(posted, "seen"))
    elif act == "accept":
        people.accept_texts(actor=actor, generation=generation, seen=number_of(posted, "seen"))
    else:
        raise Invalid(_("There is no such action on this page."), field="act")


def _context(request: PageRequest, generation: Generation, *, busy: bool) -> dict[str, Any]:
    state = read_texts(generation)
    ended = generation.status in (GenerationStatus.DONE, GenerationStatus.FAILED)
    claimed = claim_context(request, generation, state)
    return claimed | {
        "acts": claimed["mine"] or claimed["claim"] is None, "version": version_of(generation, claimed["claim"]),
        "project": request.project, "generation": generation, "view": present_texts(generation, state), "busy": busy,
        "ended": ended, "reason": translated(generation.reason) if generation.reason else "",
        "figures": figures_of(generation), "is_admin": Role.ADMINISTRATOR in request.roles,
        "unanswered": not busy and generation.calls.filter(state=CallState.ASKED).exists(),
        "player": generation.role_models.select_related("endpoint").first(),
        "can_continue": not busy and not ended and generation.status != GenerationStatus.WAITING,
        "result": result_link(generation), "trail": trail_of(request.project, (generation.name, "")),
    }  # fmt: skip


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
    ended = generation.status in (GenerationStatus.DONE, GenerationStatus.FAILED)
    there = reverse("generation", args=[project.slug, public_id])
    claimed = claim_context(request, generation, state)
    context = claimed | {
        "shows_text_only": ended or is_busy(generation) or (claimed["claim"] is not None and not claimed["mine"]),
        "project": project, "generation": generation, "line": line, "setup": state.setup, "seen": len(state.events),
        "typed": request.POST.get("text", line.written or line.refused),
        "error": refused.sentence if refused else "", "busy": is_busy(generation),
        "trail": trail_of(project, (generation.name, there), (line.about, "")),
    }  # fmt: skip
    status = 409 if isinstance(refused, Conflict) else 422 if refused else 200
    return render(request, "benchmark/generation/text.html", context, status=status)
