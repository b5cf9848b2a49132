"""What people do in a generation: choose, edit, reject, write a role's answer, retry, and go back."""

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Invalid
from annotator.models import Role, User
from annotator.services.access.permissions import roles_in
from benchmark.core.generation import pipeline
from benchmark.core.generation.state import Source, State, Unusable
from benchmark.models import CallState, Generation, GenerationStatus
from benchmark.services.generation.permissions import require_contributor
from benchmark.services.generation.proposals import store_outcomes
from benchmark.services.generation.reading import lock_generation, read_state
from benchmark.services.generation.requests import start_work, tell

#: Characters that a person can write.
MAX_TEXT = 40_000


def choose_candidate(
    *, actor: User, generation: Generation, candidate: str, text: str = "", seen: int | None = None, work: bool = True
) -> Generation:
    """Choose a candidate of the request; ``text``: as the person edited it.

    ``seen``: the number of events that the person has seen. Raises Denied; Conflict if there are others meanwhile, or a
    job works on it; Invalid for a text that can't be sent.
    """
    _require_text(text)
    return _change(
        actor, generation, seen, "generation.chosen",
        lambda state: pipeline.choose(state, candidate, _source(actor), text.strip()), work=work,
    )  # fmt: skip


def reject_candidates(
    *, actor: User, generation: Generation, reason: str, seen: int | None = None, work: bool = True
) -> Generation:
    """Ask for other candidates, for a reason. Raises Denied, Conflict and Invalid."""
    if not reason.strip():
        raise Invalid(_("Say why, so that the next ones are better."), field="reason")
    _require_text(reason)
    return _change(
        actor, generation, seen, "generation.rejected", lambda state: pipeline.reject(state, reason, _source(actor)),
        work=work,
    )  # fmt: skip


def write_answer(
    *, actor: User, generation: Generation, text: str, seen: int | None = None, work: bool = True
) -> Generation:
    """Write the next answer instead of the role whose turn it is: a message, the planner's JSON, a verdict (empty if
    the plan is correct), results as JSON, or a text. Raises Denied, Conflict and Invalid.
    """
    _require_text(text)
    return _change(
        actor, generation, seen, "generation.written",
        lambda state: pipeline.advance(state, text, _source(actor), state.setup.settings), work=work,
    )  # fmt: skip


def retry_step(*, actor: User, generation: Generation, seen: int | None = None, work: bool = True) -> Generation:
    """Ask again after the retries were used up. Raises Denied, Conflict and Invalid."""
    return _change(
        actor, generation, seen, "generation.retried", lambda state: pipeline.retry(state, _source(actor)), work=work
    )


def go_back(
    *, actor: User, generation: Generation, events: int, seen: int | None = None, work: bool = False
) -> Generation:
    """Go back to where the dialogue was after so many events. Calls stay recorded. Raises Denied, Conflict, Invalid."""
    return _change(
        actor,
        generation,
        seen,
        "generation.back",
        lambda state: pipeline.back_to(state, events, state.setup.settings),
        work=work,
    )


def _source(actor: User) -> Source:
    return Source("person", who=actor.public_id)


def _require_text(text: str) -> None:
    if "\0" in text or len(text) > MAX_TEXT:
        raise Invalid(_("A text can have %(most)s characters, and no NUL.") % {"most": f"{MAX_TEXT:,}"}, field="text")


def _change(
    actor: User, generation: Generation, seen: int | None, kind: str, change: Callable[[State], State], *, work: bool
) -> Generation:
    """Change the state, and let a job go on with it (``work``), or leave it paused.

    Only an administrator's change ends a pause, because the requests that follow cost money.
    """
    require_contributor(actor=actor, project=generation.project)
    with transaction.atomic():
        generation = lock_generation(generation.pk)
        if generation.status in (GenerationStatus.DONE, GenerationStatus.FAILED):
            raise Conflict(_("The generation has ended, so nothing in it can change."))
        if generation.status == GenerationStatus.RUNNING and generation.job is not None and not generation.job.ended:
            raise Conflict(_("Models are being asked. Pause the generation first."))
        if generation.status == GenerationStatus.PAUSED:
            work = work and Role.ADMINISTRATOR in roles_in(generation.project, actor)
        state = read_state(generation)
        if seen is not None and seen != len(state.events):
            raise Conflict(_("The generation has gone on since you loaded it. Reload the page."))
        try:
            new = change(state)
        except Unusable as refusal:
            raise Invalid(refusal.problem.text, code=refusal.problem.code) from None
        except ValueError:
            raise Conflict(_("The generation waits for something else. Reload the page.")) from None
        store_outcomes(generation, state, new, person=actor)
        _skip_unanswered(generation, new)
        generation.state, generation.reason, generation.updated_at = new.to_json(), None, timezone.now()
        generation.status = GenerationStatus.RUNNING if work else GenerationStatus.PAUSED
        generation.save(update_fields=["state", "status", "reason", "updated_at"])
        tell(actor, generation, kind, events=len(new.events))
        if work:
            start_work(generation, actor=actor)
    return generation


def _skip_unanswered(generation: Generation, state: State) -> None:
    """Let the next call get a number of its own: what was sent for another state is not its answer."""
    why = message("Its answer is not needed any more.")
    generation.calls.filter(state=CallState.ASKED).update(state=CallState.FAILED, failure=why)
    last = generation.calls.order_by("-number").first()
    if last is not None:
        state.answers = max(state.answers, last.number)
