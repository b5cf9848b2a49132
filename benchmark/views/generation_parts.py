"""What the pages of generations share: reading their forms, doing what these ask for, and what all pages show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.editing.scope import line_ends
from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Role, User
from annotator.translation import translated
from annotator.views.pages import PageRequest
from benchmark.core.generation.kinds import AnyState
from benchmark.models import CallState, Generation, GenerationStatus
from benchmark.services.generation.reading import is_busy
from benchmark.services.generation.requests import continue_generation, pause_generation
from benchmark.services.generation.separation import read_separation
from benchmark.views.generation_claims import CLAIM_ACTS, claim_context
from benchmark.views.generations import trail_of
from benchmark.views.inference_forms import BudgetForm

#: Does what a form asks for, given the person, the generation, the form, and how many events the page showed.
Act = Callable[[User, Generation, QueryDict, int], None]


@dataclass
class Outcome:
    """What a form of the page did. ``refused``: why nothing, unless a field of ``budget`` says so."""

    budget: BudgetForm
    done: bool = False
    refused: DomainError | None = None

    @property
    def status(self) -> int:
        """The HTTP status of the page."""
        return 409 if isinstance(self.refused, Conflict) else 422 if self.refused or self.budget.errors else 200


def act_in(request: PageRequest, generation: Generation, own_acts: Mapping[str, Act]) -> Outcome:
    """Do what the form asks for, if one was sent. ``own_acts``: those of this page. Raises Denied."""
    outcome = Outcome(
        BudgetForm(
            request.POST if request.POST.get("act") == "continue" else None,
            initial={"token_budget": generation.token_budget, "cost_budget": generation.cost_budget},
        )
    )
    budget = outcome.budget
    if request.method != "POST" or (budget.is_bound and not budget.is_valid()):
        return outcome
    try:
        _act(request, generation, budget, own_acts)
        outcome.done = True
    except (Invalid, Conflict) as refusal:
        name = refusal.details.get("field")
        if budget.is_bound and name in budget.fields:
            budget.add_error(name, refusal.sentence)
        else:
            outcome.refused = refusal
    return outcome


def _act(request: PageRequest, generation: Generation, budget: BudgetForm, own_acts: Mapping[str, Act]) -> None:
    posted, actor = request.POST, request.user
    act = posted.get("act", "")
    if act in CLAIM_ACTS:
        CLAIM_ACTS[act](actor=actor, generation=generation)
    elif act == "stop":
        pause_generation(actor=actor, generation=generation)
    elif act == "continue":
        continue_generation(actor=actor, generation=generation, budget=budget.budget, send_again="send_again" in posted)
    elif act in own_acts:
        own_acts[act](actor, generation, posted, number_of(posted, "seen"))
    else:
        raise Invalid(_("There is no such action on this page."), field="act")


def unchanged(request: PageRequest, generation: Generation) -> HttpResponse | None:
    """Answer a poll that needs no new parts: the whole page again when people can act, nothing if all is shown."""
    if not is_busy(generation):
        return HttpResponseClientRefresh()
    if request.headers.get("X-Known") == _version_of(generation):
        return HttpResponse(status=204)
    return None


def progress_context(request: PageRequest, generation: Generation) -> dict[str, Any]:
    """Return what the part of a page shows that is loaded again and again while models are asked."""
    return {
        "project": request.project, "generation": generation, "version": _version_of(generation),
        "busy": is_busy(generation), "ended": has_ended(generation), "figures": _figures_of(generation),
        "acts": False,
    }  # fmt: skip


def page_context(request: PageRequest, generation: Generation, state: AnyState) -> dict[str, Any]:
    """Return what a whole page shows: the above, the claim, and what acting would mean for the reviews."""
    progress = progress_context(request, generation)
    open_ = not progress["busy"] and not progress["ended"]
    claimed = claim_context(request, generation)
    separation = None
    if not progress["ended"]:
        separation = read_separation(actor=request.user, generation=generation, state=state)
    return progress | claimed | {
        "separation": separation, "shows_claim": bool(claimed["claim"] or separation or open_),
        "reason": translated(generation.reason) if generation.reason else "",
        "unanswered": open_ and generation.calls.filter(state=CallState.ASKED).exists(),
        "players": list(generation.role_models.select_related("endpoint").order_by("pk")),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "can_continue": open_ and generation.status != GenerationStatus.WAITING,
        "trail": trail_of(request.project, (generation.name, "")),
    }  # fmt: skip


def has_ended(generation: Generation) -> bool:
    """Return whether nothing in it can change any more."""
    return generation.status in (GenerationStatus.DONE, GenerationStatus.FAILED)


def _version_of(generation: Generation) -> str:
    """Return what changes whenever the page would show something else while models are asked."""
    return f"{generation.status}-{generation.updated_at.timestamp()}-{generation.requests}"


def _figures_of(generation: Generation) -> list[tuple[str, str]]:
    """Return what it has used, with its limits."""
    tokens, cost = f"{generation.tokens:,}", f"{generation.cost:.4f}"
    if generation.token_budget is not None:
        tokens += f" / {generation.token_budget:,}"
    if generation.cost_budget is not None:
        cost += f" / {generation.cost_budget.normalize():f}"
    return [(_("Answers of models"), f"{generation.requests:,}"), (_("Tokens"), tokens), (_("Cost"), cost)]


def number_of(posted: QueryDict, name: str) -> int:
    """Return a whole number of a form. Raises Invalid."""
    given = posted.get(name, "")
    if not (given.isascii() and given.isdigit() and len(given) < 9):
        raise Invalid(_("Reload the page and try again."), field=name)
    return int(given)


def text_of_form(posted: QueryDict) -> str:
    """Return the text of a form. Raises Invalid if it is blank."""
    text = line_ends(posted.get("text", ""))
    if not text.strip():
        raise Invalid(_("Enter a text."), field="text")
    return text
