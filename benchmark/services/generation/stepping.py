"""Let a generation go on until it is complete, waits for people, or is paused.

A call is stored before it is sent, and its answer before it is used. So after a kill, answered calls are read from the
database, and nothing is asked for that is there. A call that was sent but has no answer may have been paid: it is sent
again only if the endpoints answer a repeated request once, or a person says so.

Recorded answers cost nothing, so many of them are stored and used in one transaction.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from functools import cached_property, reduce
from operator import or_
from typing import Any

from django.db.models import Q
from django.utils import timezone

from annotator.core.text import Message, message
from benchmark.core.generation.kinds import Kind, core_of
from benchmark.core.generation.purposes import ROLE_OF, Purpose
from benchmark.core.generation.records import request_hash
from benchmark.core.generation.state import Source, Turn, Unusable
from benchmark.core.generation.templates import TemplateProblem, render
from benchmark.core.generation.tool_runs import calls_to_run
from benchmark.core.scoring.transcripts import text_of
from benchmark.models import CallState, Chooser, Generation, GenerationStatus, ModelCall, PromptTemplate, RoleModel
from benchmark.services.generation.asking import Asker, tokens_of
from benchmark.services.generation.attempts import fail_attempt
from benchmark.services.generation.finishing import store_candidate
from benchmark.services.generation.notices import tell_requester, tell_waiting
from benchmark.services.generation.players import PARAMETERS
from benchmark.services.generation.proposals import store_outcomes
from benchmark.services.generation.reading import in_sampling, lock_generation, read_any_state
from benchmark.services.generation.running_tools import ToolResult, ToolRun, code_of
from benchmark.services.inference.client import Answered, Halted, Refused, Unanswered
from benchmark.services.inference.options import Options

#: Opens a transaction that is rolled back if the work is no longer this worker's.
Transaction = Callable[[], AbstractContextManager[Any]]
#: Recorded answers that are used in one transaction, which locks the generation.
_AT_ONCE = 100
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
    result: ToolResult | None = None
    while True:
        with transaction():
            generation = lock_generation(generation_id)
            mine = generation.status == GenerationStatus.RUNNING and job_id in (None, generation.job_id)
            found = _Steps(generation, asker).go_on(result) if mine else None
        result = None
        if isinstance(found, ToolRun):
            # Without a lock, because it takes a while; after a kill it is simply run again.
            result = found.run()
        elif found is not None:
            _ask(asker, found, even_if_stopped)
        elif not mine or generation.status != GenerationStatus.RUNNING:
            return generation


def _ask(asker: Asker, call: ModelCall, even_if_stopped: Transaction) -> None:
    """Send a call, and store what comes of it."""
    player = call.generation.role_models.get(role=call.role)
    try:
        answered = asker.ask(call, Options.of(player.options))
    except (Refused, Halted) as error:
        with even_if_stopped():
            _store_failure(call, error)
    else:
        with even_if_stopped():
            _store_answer(call, player, answered)


class _Steps:
    """The steps of one transaction."""

    def __init__(self, generation: Generation, asker: Asker) -> None:
        self._generation, self._asker, self._replayed = generation, asker, 0
        self._core, self._state = core_of(generation.kind), read_any_state(generation)
        runs = generation.kind == Kind.DIALOGUE and self._state.setup.run_tools
        self._code = code_of(generation) if runs else None

    def go_on(self, result: ToolResult | None = None) -> ModelCall | ToolRun | None:
        """Use what is answered; return the call to send or the tools to run, or None if there is nothing to do now.

        ``result``: of tools that ran; it is dropped if the state has changed meanwhile. The generation stays running if
        there are more recorded answers.
        """
        if self._generation.project.archived_at is not None:
            return self._stop(GenerationStatus.PAUSED, message("The project is archived, so nothing changes in it."))
        if result is not None and result.events == len(self._state.events):
            why = self._take(result)
            if why is not None and not result.may_help and self._generation.query_id is not None:
                fail_attempt(self._generation, self._state, why)
                return None
            if why is not None:
                return self._stop(GenerationStatus.PAUSED, why)
        while (turn := self._core.waits_for(self._state)) is not None:
            if turn.purpose is None:
                scripted = self._generation.chooser == Chooser.FIRST
                decided = self._core.decide(self._state) if scripted else None
                if decided is None:
                    return self._stop(GenerationStatus.WAITING, turn.why)
                self._go_to(decided)
                continue
            if self._code is not None and calls_to_run(self._state, self._code):
                self._save(GenerationStatus.RUNNING, None)
                return ToolRun(self._state, self._code)
            call = self._calls.get(self._state.answers + 1)
            if call is None or call.state != CallState.ANSWERED:
                call = self._send(turn, turn.purpose, call)
                if call is None or call.state != CallState.ANSWERED:
                    return call
            self._use(call)
            if self._replayed == _AT_ONCE:
                self._save(GenerationStatus.RUNNING, None)
                return None
        store_candidate(self._generation, self._state)
        return None

    @cached_property
    def _calls(self) -> dict[int, ModelCall]:
        """Calls whose answers are not used yet, by number."""
        rows = self._generation.calls.filter(number__gt=self._state.answers).select_related("template")
        return {one.number: one for one in rows}

    @cached_property
    def _players(self) -> dict[str, RoleModel]:
        return {one.role: one for one in self._generation.role_models.select_related("endpoint")}

    @cached_property
    def _templates(self) -> dict[str, PromptTemplate]:
        used = (Q(purpose=purpose, number=number) for purpose, number in self._generation.templates.items())
        rows = PromptTemplate.objects.filter(reduce(or_, used, Q(pk__in=[])), project=self._generation.project_id)
        return {one.purpose: one for one in rows}

    def _take(self, result: ToolResult) -> Message | None:
        """Use what tools returned; return a sentence if it can't be used."""
        if result.problem is not None:
            return result.problem
        try:
            self._go_to(self._core.advance(self._state, result.text, Source("program")))
        except Unusable as refusal:
            return refusal.problem.text
        return None

    def _use(self, call: ModelCall) -> None:
        source = Source("model", call.model, call.template.sha256, call.number)
        self._go_to(self._core.advance(self._state, text_of(call.answer), source))

    def _go_to(self, state: Any) -> None:
        store_outcomes(self._generation, self._state, state)
        self._state = state

    def _send(self, turn: Turn, purpose: Purpose, known: ModelCall | None) -> ModelCall | None:
        generation = self._generation
        player = self._players.get(ROLE_OF[purpose])
        if player is None:
            text = message("No model plays the role %(role)s. Write its answer.", role=ROLE_OF[purpose].value)
            return self._stop(GenerationStatus.WAITING, text)
        template = self._templates[purpose]
        try:
            prompt = render(purpose, template.content, turn.values)
        except TemplateProblem as problem:
            text = message("The prompt “%(purpose)s” can’t be used. %(problem)s", purpose=purpose.value,
                           problem=problem.message)  # fmt: skip
            return self._stop(GenerationStatus.PAUSED, text)
        why = _unanswered(generation, known) or (None if self._asker.replays else _used_up(generation, player, prompt))
        if why is not None:
            return self._stop(GenerationStatus.PAUSED, why)
        call = self._call(known, purpose, player, template, prompt)
        if self._asker.replays:
            return self._replay(call, player)
        self._save(GenerationStatus.RUNNING, None)
        call.save()
        return call

    def _replay(self, call: ModelCall, player: RoleModel) -> ModelCall | None:
        """Store a call with its recorded answer; without one, pause and return None."""
        self._replayed += 1
        try:
            answered = self._asker.ask(call, Options.of(player.options))
        except Halted as error:
            call.state, call.failure = CallState.FAILED, error.message
            call.save()
            return self._stop(GenerationStatus.PAUSED, error.message)
        call.replayed = True
        _count(self._generation, call, answered, Decimal(0))
        call.save()
        return call

    def _call(
        self, known: ModelCall | None, purpose: Purpose, player: RoleModel, template: PromptTemplate, prompt: str
    ) -> ModelCall:
        parameters = _parameters(Options.of(player.options))
        fields = {
            "purpose": purpose, "template": template, "endpoint": player.endpoint, "model": player.model,
            "parameters": parameters, "prompt": prompt, "state": CallState.ASKED, "asked_at": timezone.now(),
            "request_sha256": request_hash(player.model, prompt, parameters), "failure": None,
        }  # fmt: skip
        if known is None:
            return ModelCall(generation=self._generation, number=self._state.answers + 1, **fields)
        known.attempts += 1
        for name, value in fields.items():
            setattr(known, name, value)
        return known

    def _stop(self, status: GenerationStatus, reason: Message | None) -> ModelCall | None:
        """Store why nothing can be sent; return None."""
        self._save(status, reason)
        if status == GenerationStatus.WAITING:
            # A sampling tries again by itself, and says at its end what waits.
            if not in_sampling(self._generation):
                tell_waiting(self._generation)
        else:
            tell_requester(self._generation)
        return None

    def _save(self, status: GenerationStatus, reason: Message | None) -> None:
        generation = self._generation
        generation.state, generation.status, generation.reason = self._state.to_json(), status, reason
        generation.updated_at = timezone.now()
        generation.save(update_fields=["state", "status", "reason", "updated_at", *Generation.USED])


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


def _parameters(options: Options) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in PARAMETERS}
    return {name: value for name, value in given.items() if value is not None} | options.extra


def _store_answer(call: ModelCall, player: RoleModel, answered: Answered) -> None:
    # In the order of what people do, so that neither waits for the other.
    generation = lock_generation(call.generation_id)
    _count(generation, call, answered, player.cost_of(answered.input_tokens, answered.output_tokens))
    call.save()
    generation.save(update_fields=Generation.USED)


def _count(generation: Generation, call: ModelCall, answered: Answered, cost: Decimal) -> None:
    """Note an answer in its call, and what it used in the generation, which the caller has locked."""
    call.state, call.answer, call.answered_as = CallState.ANSWERED, dict(answered.message), answered.model
    call.input_tokens, call.output_tokens, call.cost = answered.input_tokens, answered.output_tokens, cost
    call.milliseconds, call.answered_at = answered.milliseconds, timezone.now()
    generation.requests += 1
    generation.input_tokens += call.input_tokens
    generation.output_tokens += call.output_tokens
    generation.cost += cost


def _store_failure(call: ModelCall, error: Refused | Halted) -> None:
    """Store why a call has no answer, and pause the generation if it still waits for it."""
    generation = lock_generation(call.generation_id)
    if isinstance(error, Unanswered):
        # The call stays as sent.
        why, changed = _may_be_paid(call), ["attempts"]
    else:
        changed = ["state", "failure", "attempts"]
        why = error.message if isinstance(error, Halted) else message("The endpoint refused. %(why)s", why=str(error))
        call.state, call.failure = CallState.FAILED, why
    call.save(update_fields=changed)
    if generation.status == GenerationStatus.RUNNING and read_any_state(generation).answers + 1 == call.number:
        generation.status, generation.reason, generation.updated_at = GenerationStatus.PAUSED, why, timezone.now()
        generation.save(update_fields=["status", "reason", "updated_at"])
        tell_requester(generation)
