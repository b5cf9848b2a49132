"""The page of a generation: the conversation of its roles, and what people do in it."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Role, User
from annotator.translation import translated
from annotator.views.pages import PageRequest, project_page, read_notices, takes
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import Purpose
from benchmark.models import CallState, Generation, GenerationStatus
from benchmark.services.generation import people
from benchmark.services.generation.claims import live_claim
from benchmark.services.generation.reading import is_busy, load_generation, read_state
from benchmark.services.generation.repeats import Repeat, find_repeats
from benchmark.services.generation.requests import continue_generation, pause_generation
from benchmark.services.generation.revising import replace_plan
from benchmark.views.generation_claims import CLAIM_ACTS, claim_context, version_of
from benchmark.views.generation_parts import figures_of, number_of, text_of_form
from benchmark.views.generation_view import GenerationView, present_generation, problem_of
from benchmark.views.generations import cell_words, trail_of
from benchmark.views.inference_forms import BudgetForm
from benchmark.views.paging import watches
from benchmark.views.texts_page import texts_detail

#: What a refused form keeps.
_TYPED = ("act", "candidate", "text", "reason")


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def generation_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show a generation; act in it."""
    project = request.project
    generation = load_generation(actor=request.user, project=project, public_id=public_id)
    if generation.kind != Kind.DIALOGUE:
        return texts_detail(request, generation)
    refused: DomainError | None = None
    budget = BudgetForm(
        request.POST if request.POST.get("act") == "continue" else None,
        initial={"token_budget": generation.token_budget, "cost_budget": generation.cost_budget},
    )
    if request.method == "POST" and (not budget.is_bound or budget.is_valid()):
        try:
            _act(request, generation, budget)
        except (Invalid, Conflict) as refusal:
            name = refusal.details.get("field")
            if budget.is_bound and name in budget.fields:
                budget.add_error(name, refusal.sentence)
            else:
                refused = refusal
        else:
            return redirect("generation", slug=project.slug, public_id=public_id)
        generation = load_generation(actor=request.user, project=project, public_id=public_id)
    busy = is_busy(generation)
    if watches(request, "generation-state"):
        return _watched(request, generation, busy=busy)
    read_notices(request)
    context = _context(request, generation, busy=busy)
    typed = {name: request.POST.get(name, "") for name in _TYPED}
    context |= _words(context["view"]) | {"refused": refused, "typed": typed, "budget": budget}
    # People who have lost the claim keep what they have typed.
    context["acts"] = context["mine"] or (refused is not None and typed["act"] in _ACTS)
    status = 409 if isinstance(refused, Conflict) else 422 if refused or budget.errors else 200
    return render(request, "benchmark/generation/page.html", context, status=status)


def _watched(request: PageRequest, generation: Generation, *, busy: bool) -> HttpResponse:
    """Answer a poll: nothing if the page shows what there is, and the whole page again when people can act."""
    if not busy:
        return HttpResponseClientRefresh()
    if request.headers.get("X-Known") == version_of(generation, live_claim(generation)):
        return HttpResponse(status=204)
    context = _context(request, generation, busy=busy)
    return render(request, "benchmark/generation/page.html#state", context | {"acts": False})


def _context(request: PageRequest, generation: Generation, *, busy: bool) -> dict[str, Any]:
    state = read_state(generation)
    ended = generation.status in (GenerationStatus.DONE, GenerationStatus.FAILED)
    view = present_generation(generation, state, open_=not busy and not ended)
    claimed = claim_context(request, generation, state)
    return claimed | {
        "project": request.project, "generation": generation, "view": view, "busy": busy, "ended": ended,
        "reason": translated(generation.reason) if generation.reason else "",
        "version": version_of(generation, claimed["claim"]),
        "candidates": _candidates(request, generation, view) if view.wait == "choose" else [],
        "cell": cell_words(generation.cell), "figures": figures_of(generation),
        "unanswered": not busy and generation.calls.filter(state=CallState.ASKED).exists(),
        "players": generation.role_models.select_related("endpoint").order_by("pk"),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "can_continue": not busy and not ended and generation.status != GenerationStatus.WAITING,
        "trail": trail_of(request.project, (generation.name, "")),
    }  # fmt: skip


def _candidates(
    request: PageRequest, generation: Generation, view: GenerationView
) -> list[tuple[Any, str, Repeat | None]]:
    """Return each candidate with what is wrong with it, and what it nearly repeats."""
    state = view.state
    shown = [one.messages for one in view.entries if one.messages and one.task == state.task + 1][:-1]
    repeats = find_repeats(
        actor=request.user, project=request.project, language=generation.language, first=not state.task,
        texts=[one["text"] for one in state.candidates], earlier=[text for found in shown for text, *_ in found],
    )  # fmt: skip
    return [(one, problem_of(one), repeat) for one, repeat in zip(state.candidates, repeats, strict=True)]


def _words(view: GenerationView) -> dict[str, str]:
    """Return what the forms of the page say about the text to write."""
    hints = {
        Purpose.ACTIONS: _(
            'JSON: {"action": "call", "calls": [{"name": "…", "arguments": {}, "uses": []}]}, '
            '{"action": "ask", "missing": "…"} or {"action": "finish"}.'
        ),
        Purpose.VERDICT: _("What is wrong with the actions. The planner’s model reads it and tries again."),
        Purpose.OBSERVATIONS: _('JSON with a result for each call, such as {"results": [{"temperature": 9}]}.'),
    }
    label = _("Write the request yourself") if view.asks_for_request else _("Write the answer yourself")
    if view.purpose == Purpose.VERDICT:
        label = _("Refuse the actions")
    hint = hints.get(Purpose(view.purpose), "") if view.purpose else ""
    return {"write_label": label, "write_hint": hint, "plan_hint": hints[Purpose.ACTIONS],
            "plan_label": _("Change the planner’s actions")}  # fmt: skip


def _act(request: PageRequest, generation: Generation, budget: BudgetForm) -> None:
    """Do what a form of the page asks for. Raises Invalid, Conflict and Denied."""
    posted, actor = request.POST, request.user
    act = posted.get("act", "")
    if act in CLAIM_ACTS:
        CLAIM_ACTS[act](actor, generation)
    elif act == "stop":
        pause_generation(actor=actor, generation=generation)
    elif act == "continue":
        continue_generation(actor=actor, generation=generation, budget=budget.budget, send_again="send_again" in posted)
    elif act in _ACTS:
        _ACTS[act](actor, generation, posted, number_of(posted, "seen"))
    else:
        raise Invalid(_("There is no such action on this page."), field="act")


def _choose(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    people.choose_candidate(
        actor=actor, generation=generation, candidate=posted.get("candidate", ""), text=text_of_form(posted), seen=seen
    )


def _reject(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    people.reject_candidates(actor=actor, generation=generation, reason=posted.get("reason", ""), seen=seen)


def _write(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    people.write_answer(actor=actor, generation=generation, text=text_of_form(posted), seen=seen)


def _accept(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    # A verdict without words says that the plan is correct.
    people.write_answer(actor=actor, generation=generation, text="", seen=seen)


def _change_plan(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    replace_plan(actor=actor, generation=generation, text=text_of_form(posted), seen=seen)


def _retry(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    people.retry_step(actor=actor, generation=generation, seen=seen)


def _go_back(actor: User, generation: Generation, posted: QueryDict, seen: int) -> None:
    people.go_back(actor=actor, generation=generation, events=number_of(posted, "events"), seen=seen)


_ACTS: dict[str, Callable[[User, Generation, QueryDict, int], None]] = {
    "choose": _choose,
    "reject": _reject,
    "write": _write,
    "accept": _accept,
    "plan": _change_plan,
    "retry": _retry,
    "back": _go_back,
}
