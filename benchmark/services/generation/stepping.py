"""Let a generation go on until it is complete, waits for people, or is paused.

A call is stored before it is sent, and its answer before it is used. So after a kill, answered calls are read from the
database, and nothing is asked for that is there. A call that was sent but has no answer may have been paid: it is sent
again only if the endpoints answer a repeated request once, or a person says so.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

from django.db.models import F
from django.utils import timezone

from annotator.core.text import Message, message
from benchmark.core.generation.pipeline import advance, choose, first_usable
from benchmark.core.generation.purposes import ROLE_OF, Purpose
from benchmark.core.generation.records import request_hash
from benchmark.core.generation.state import Source, Stage, State, Turn
from benchmark.core.generation.templates import TemplateProblem, render
from benchmark.core.generation.turns import waits_for
from benchmark.core.scoring.transcripts import text_of
from benchmark.models import CallState, Chooser, Generation, GenerationStatus, ModelCall, PromptTemplate, RoleModel
from benchmark.services.generation.asking import Asker, tokens_of
from benchmark.services.generation.finishing import store_candidate
from benchmark.services.generation.proposals import store_outcomes
from benchmark.services.generation.reading import lock_generation, read_state
from benchmark.services.inference.client import Answered, Halted, Refused, Unanswered
from benchmark.services.inference.options import Options

#: Opens a transaction that is rolled back if the work is no longer this worker's.
Transaction = Callable[[], AbstractContextManager[Any]]
#: Options that are parameters of a request, beside ``extra``.
PARAMETERS = ("temperature", "seed", "max_tokens")
#: Tokens of a reply, where no option limits them, as far as the budget needs to know in advance.
_REPLY_TOKENS = 1_000


def work_on(
    *,
    generation_id: int,
    asker: Asker,
    transaction: Transaction,
    even_if_stopped: Transaction,
    job_id: int | None = None,
) -> Generation:
    """Let a generation go on; return it as it is at the end. ``even_if_stopped``: for answers, which may be paid.

    ``job_id``: the job that works on it. It ends when a later one has taken its place.
    """
    while True:
        with transaction():
            generation = lock_generation(generation_id)
            call = None
            if generation.status == GenerationStatus.RUNNING and job_id in (None, generation.job_id):
                call = _Steps(generation, asker).go_on()
        if call is None:
            return generation
        try:
            answered = asker.ask(call, _options(generation, call))
        except (Refused, Halted) as error:
            with even_if_stopped():
                _store_failure(generation_id, call, error)
        else:
            with even_if_stopped():
                _store_answer(generation, call, answered, replayed=asker.replays)


class _Steps:
    """The steps of one transaction."""

    def __init__(self, generation: Generation, asker: Asker) -> None:
        self._generation, self._asker = generation, asker
        self._state = read_state(generation)
        self._settings = self._state.setup.settings

    def go_on(self) -> ModelCall | None:
        """Use what is answered; return the call to send, or None if nothing can be sent now."""
        if self._generation.project.archived_at is not None:
            return self._stop(GenerationStatus.PAUSED, message("The project is archived, so nothing changes in it."))
        while (turn := waits_for(self._state)) is not None:
            if turn.purpose is None:
                if self._state.stage is not Stage.CHOOSE or self._generation.chooser != Chooser.FIRST:
                    return self._stop(GenerationStatus.WAITING, turn.why)
                self._go_to(choose(self._state, first_usable(self._state), Source("program")))
                continue
            call = self._generation.calls.filter(number=self._state.answers + 1).first()
            if call is None or call.state != CallState.ANSWERED:
                return self._send(turn, turn.purpose, call)
            self._use(call)
        store_candidate(self._generation, self._state)
        return None

    def _use(self, call: ModelCall) -> None:
        source = Source("model", call.model, call.template.sha256, call.number)
        self._go_to(advance(self._state, text_of(call.answer), source, self._settings))

    def _go_to(self, state: State) -> None:
        store_outcomes(self._generation, self._state, state)
        self._state = state

    def _send(self, turn: Turn, purpose: Purpose, known: ModelCall | None) -> ModelCall | None:
        generation = self._generation
        player = generation.role_models.filter(role=ROLE_OF[purpose]).select_related("endpoint").first()
        if player is None:
            text = message("No model plays the role %(role)s. Write its answer.", role=ROLE_OF[purpose].value)
            return self._stop(GenerationStatus.WAITING, text)
        template = PromptTemplate.objects.get(
            project=generation.project_id, purpose=purpose, number=generation.templates[purpose]
        )
        try:
            prompt = render(purpose, template.content, turn.values)
        except TemplateProblem as problem:
            text = message("The prompt “%(purpose)s” can’t be used. %(problem)s", purpose=purpose.value,
                           problem=problem.message)  # fmt: skip
            return self._stop(GenerationStatus.PAUSED, text)
        why = _unanswered(generation, known) or (None if self._asker.replays else _used_up(generation, player, prompt))
        if why is not None:
            return self._stop(GenerationStatus.PAUSED, why)
        self._save(GenerationStatus.RUNNING, None)
        return self._stored_call(known, purpose, player, template, prompt)

    def _stored_call(
        self, known: ModelCall | None, purpose: Purpose, player: RoleModel, template: PromptTemplate, prompt: str
    ) -> ModelCall:
        parameters = _parameters(Options.of(player.options))
        fields = {
            "purpose": purpose, "template": template, "endpoint": player.endpoint, "model": player.model,
            "parameters": parameters, "prompt": prompt, "state": CallState.ASKED, "asked_at": timezone.now(),
            "request_sha256": request_hash(player.model, prompt, parameters), "failure": None,
        }  # fmt: skip
        if known is None:
            number = self._state.answers + 1
            return ModelCall.objects.create(generation=self._generation, number=number, **fields)
        known.attempts += 1
        for name, value in fields.items():
            setattr(known, name, value)
        known.save()
        return known

    def _stop(self, status: GenerationStatus, reason: Message | None) -> ModelCall | None:
        """Store why nothing can be sent; return None."""
        self._save(status, reason)
        return None

    def _save(self, status: GenerationStatus, reason: Message | None) -> None:
        generation = self._generation
        generation.state, generation.status, generation.reason = self._state.to_json(), status, reason
        generation.updated_at = timezone.now()
        generation.save(update_fields=["state", "status", "reason", "updated_at"])


def _unanswered(generation: Generation, call: ModelCall | None) -> Message | None:
    """Return a sentence if a call was sent and has no answer, and may not be sent again."""
    if call is None or call.state != CallState.ASKED or generation.idempotent:
        return None
    return _may_be_paid(call)


def _may_be_paid(call: ModelCall) -> Message:
    return message(
        "Request %(number)s was sent, but its answer did not arrive, so it may have been paid. Continue and send it "
        "again, or write the answer.",
        number=call.number,
    )


def _used_up(generation: Generation, player: RoleModel, prompt: str) -> Message | None:
    """Return a sentence if another request could exceed the budget."""
    average = generation.output_tokens // generation.requests if generation.requests else _REPLY_TOKENS
    tokens = tokens_of(prompt), player.options.get("max_tokens") or average
    cost = generation.cost + player.cost_of(*tokens)
    budget, limit = generation.token_budget, generation.cost_budget
    if (budget is None or generation.tokens + sum(tokens) <= budget) and (limit is None or cost <= limit):
        return None
    return message(
        "The budget is used up after %(count)s requests. Raise it and continue, or write the answer.",
        count=f"{generation.requests:,}",
    )


def _options(generation: Generation, call: ModelCall) -> Options:
    return Options.of(generation.role_models.get(role=call.role).options)


def _parameters(options: Options) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in PARAMETERS}
    return {name: value for name, value in given.items() if value is not None} | options.extra


def _store_answer(generation: Generation, call: ModelCall, answered: Answered, *, replayed: bool) -> None:
    # In the order of what people do, so that neither waits for the other.
    lock_generation(generation.pk)
    player = generation.role_models.get(role=call.role)
    cost = Decimal(0) if replayed else player.cost_of(answered.input_tokens, answered.output_tokens)
    call.state, call.answer, call.answered_as = CallState.ANSWERED, dict(answered.message), answered.model
    call.input_tokens, call.output_tokens, call.cost = answered.input_tokens, answered.output_tokens, cost
    call.milliseconds, call.replayed, call.answered_at = answered.milliseconds, replayed, timezone.now()
    call.save()
    Generation.objects.filter(pk=generation.pk).update(
        requests=F("requests") + 1, input_tokens=F("input_tokens") + call.input_tokens,
        output_tokens=F("output_tokens") + call.output_tokens, cost=F("cost") + cost,
    )  # fmt: skip


def _store_failure(generation_id: int, call: ModelCall, error: Refused | Halted) -> None:
    """Store why a call has no answer, and pause the generation if it still waits for it."""
    generation = lock_generation(generation_id)
    if isinstance(error, Unanswered):
        # The call stays as sent.
        why, changed = _may_be_paid(call), ["attempts"]
    else:
        changed = ["state", "failure", "attempts"]
        why = error.message if isinstance(error, Halted) else message("The endpoint refused. %(why)s", why=str(error))
        call.state, call.failure = CallState.FAILED, why
    call.save(update_fields=changed)
    if generation.status == GenerationStatus.RUNNING and read_state(generation).answers + 1 == call.number:
        generation.status, generation.reason, generation.updated_at = GenerationStatus.PAUSED, why, timezone.now()
        generation.save(update_fields=["status", "reason", "updated_at"])
