"""What people do in a generation: choose, edit, reject, write a role's answer, retry, and go back."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.editing.scope import line_ends
from annotator.core.text import message
from annotator.errors import Conflict, Invalid
from annotator.models import Role, User
from benchmark.core.generation import pipeline
from benchmark.core.generation.kinds import AnyState, Kind, core_of
from benchmark.core.generation.state import Source, Unusable
from benchmark.core.generation.texts import steps
from benchmark.models import CallState, Generation, GenerationStatus
from benchmark.services.generation.attempts import require_free
from benchmark.services.generation.claims import end_claim, hold, lock_contributor, require_open
from benchmark.services.generation.proposals import store_outcomes
from benchmark.services.generation.reading import is_busy, lock_generation, read_any_state, waits_for_people
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
    """Ask again, also for texts, after the retries were used up. Raises Denied, Conflict and Invalid."""
    retry, texts = core_of(generation.kind).retry, generation.kind != Kind.DIALOGUE
    return _change(
        actor, generation, seen, "generation.retried", lambda state: retry(state, _source(actor)), work=work,
        texts=texts,
    )  # fmt: skip


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


def write_text(
    *, actor: User, generation: Generation, key: str, text: str, seen: int | None = None, work: bool = True
) -> Generation:
    """Write one of the texts of a translation or rewriting, also instead of what a model wrote.

    It goes on if it waited for people, and stays paused if it was paused. Raises Denied, Conflict and Invalid.
    """
    _require_text(text)
    return _change(
        actor, generation, seen, "generation.written",
        lambda state: steps.write(state, key, line_ends(text), _source(actor)),
        work=work and generation.status != GenerationStatus.PAUSED, texts=True,
    )  # fmt: skip


def accept_texts(*, actor: User, generation: Generation, seen: int | None = None, work: bool = True) -> Generation:
    """Use the texts as they are. Raises Denied, Conflict and Invalid."""
    return _change(
        actor, generation, seen, "generation.accepted", lambda state: steps.accept(state, _source(actor)), work=work,
        texts=True,
    )  # fmt: skip


def _source(actor: User) -> Source:
    return Source("person", who=actor.public_id)


def _require_text(text: str) -> None:
    if "\0" in text or len(text) > MAX_TEXT:
        raise Invalid(_("A text can have %(most)s characters, and no NUL.") % {"most": f"{MAX_TEXT:,}"}, field="text")


def _change(
    actor: User,
    generation: Generation,
    seen: int | None,
    kind: str,
    change: Callable[[Any], Any],
    *,
    work: bool,
    texts: bool = False,
) -> Generation:
    """Change the state, and let a job go on with it (``work``), or leave it paused. ``texts``: not of a dialogue.

    The actor must have claimed the generation; a free one is claimed. The claim ends if a model is next. Only an
    administrator's change ends a pause, because the requests that follow cost money.
    """
    with transaction.atomic():
        roles = lock_contributor(actor=actor, project=generation.project)
        generation = lock_generation(generation.pk)
        require_open(generation)
        require_free(generation)
        if is_busy(generation):
            raise Conflict(_("Models are being asked. Pause the generation first."))
        if generation.status == GenerationStatus.PAUSED:
            work = work and Role.ADMINISTRATOR in roles
        if texts == (generation.kind == Kind.DIALOGUE):
            raise Conflict(_("The generation waits for something else. Reload the page."))
        hold(actor=actor, generation=generation)
        state = read_any_state(generation)
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
        waits = waits_for_people(generation, new)
        generation.state, generation.updated_at = new.to_json(), timezone.now()
        if texts and work and waits:
            # The next text is a person's, too: no job is needed.
            work, turn = False, core_of(generation.kind).waits_for(new)
            generation.status = GenerationStatus.WAITING
            generation.reason = turn.why if turn and turn.purpose is None else generation.reason
        else:
            generation.status = GenerationStatus.RUNNING if work else GenerationStatus.PAUSED
            generation.reason = None
        generation.save(update_fields=["state", "status", "reason", "updated_at"])
        tell(actor, generation, kind, events=len(new.events))
        if not waits:
            end_claim(generation)
        if work:
            start_work(generation, actor=actor)
    return generation


def _skip_unanswered(generation: Generation, state: AnyState) -> None:
    """Let the next call get a number of its own: what was sent for another state is not its answer."""
    why = message("Its answer is not needed any more.")
    generation.calls.filter(state=CallState.ASKED).update(state=CallState.FAILED, failure=why)
    last = generation.calls.order_by("-number").first()
    if last is not None:
        state.answers = max(state.answers, last.number)
