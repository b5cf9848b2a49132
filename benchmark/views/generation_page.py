"""The page of a generation: the conversation of its roles, and what people do in it."""

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.models import User
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import Purpose
from benchmark.models import Generation
from benchmark.services.generation import people
from benchmark.services.generation.reading import load_generation, read_state
from benchmark.services.generation.repeats import Repeat, find_repeats
from benchmark.services.generation.revising import replace_plan
from benchmark.views.generation_parts import (
    Act,
    act_in,
    number_of,
    page_context,
    progress_context,
    text_of_form,
    unchanged,
)
from benchmark.views.generation_view import GenerationView, present_generation, problem_of
from benchmark.views.generations import cell_words
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
    outcome = act_in(request, generation, _ACTS)
    if outcome.done:
        return redirect("generation", slug=project.slug, public_id=public_id)
    if request.method == "POST":
        generation = load_generation(actor=request.user, project=project, public_id=public_id)
    if watches(request, "generation-state"):
        return unchanged(request, generation) or _watched(request, generation)
    state = read_state(generation)
    shared = page_context(request, generation, state)
    view = present_generation(generation, state, open_=not shared["busy"] and not shared["ended"])
    typed = {name: request.POST.get(name, "") for name in _TYPED}
    context = shared | _words(view) | {
        "view": view, "refused": outcome.refused, "typed": typed, "budget": outcome.budget,
        # People who have lost the claim keep what they have typed.
        "acts": shared["mine"] or (outcome.refused is not None and typed["act"] in _ACTS),
        "candidates": _candidates(request, generation, view) if view.wait == "choose" else [],
        "cell": cell_words(generation.cell),
        "result": (_("Open the dialogue"), generation.dialogue.get_absolute_url()) if generation.dialogue else None,
    }  # fmt: skip
    return render(request, "benchmark/generation/page.html", context, status=outcome.status)


def _watched(request: PageRequest, generation: Generation) -> HttpResponse:
    view = present_generation(generation, read_state(generation), open_=False)
    context = progress_context(request, generation) | {"view": view}
    return render(request, "benchmark/generation/page.html#state", context)


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


_ACTS: dict[str, Act] = {
    "choose": _choose,
    "reject": _reject,
    "write": _write,
    "accept": _accept,
    "plan": _change_plan,
    "retry": _retry,
    "back": _go_back,
}
