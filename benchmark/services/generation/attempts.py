"""Generations that are attempts at a query: at their end, they solve it or not."""

from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.case_construction import CannotConstruct
from annotator.core.text import Message, message
from annotator.errors import Conflict
from benchmark.core.generation.state import State
from benchmark.core.sampling import SourceQuery, solved_query, trajectory_of
from benchmark.models import Generation, GenerationStatus, QueryOutcome, SampledQuery
from benchmark.services.generation.claims import end_claim
from benchmark.services.generation.reading import in_sampling


def store_attempt(generation: Generation, state: State) -> None:
    """Store whether a complete state solves its query, in the caller's transaction, which has locked the generation."""
    query = SampledQuery.objects.select_for_update(no_key=True, of=("self",)).get(generations=generation)
    trajectory = trajectory_of(state)
    if isinstance(trajectory, Message):
        fail_attempt(generation, state, trajectory)
        return
    try:
        document = solved_query(SourceQuery(query.name, query.document, state.setup.tools), trajectory)
    except CannotConstruct as problem:
        fail_attempt(generation, state, message("Not solved: %(why)s", why=str(problem)))
        return
    if query.outcome != QueryOutcome.SOLVED:
        query.outcome, query.reason, query.document = QueryOutcome.SOLVED, None, document
        query.save(update_fields=["outcome", "reason", "document"])
    _save(generation, state, GenerationStatus.DONE, None)


def require_free(generation: Generation) -> None:
    """Raise Conflict if a sampling works on its attempts now."""
    if in_sampling(generation):
        raise Conflict(_("A sampling works on this attempt. Wait until it has ended."))


def fail_attempt(generation: Generation, state: State, reason: Message) -> None:
    """Store why an attempt does not solve its query."""
    unsolved = SampledQuery.objects.filter(generations=generation).exclude(outcome=QueryOutcome.SOLVED)
    unsolved.update(reason=reason)
    _save(generation, state, GenerationStatus.FAILED, reason)


def _save(generation: Generation, state: State, status: GenerationStatus, reason: Message | None) -> None:
    generation.state, generation.status, generation.reason = state.to_json(), status, reason
    generation.updated_at = timezone.now()
    generation.save(update_fields=["state", "status", "reason", "updated_at", *Generation.USED])
    end_claim(generation)
