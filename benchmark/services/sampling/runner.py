"""The job that samples trajectories, query by query, and then starts to make cases of them."""

from functools import partial
from typing import Any

from django.utils.translation import gettext_noop

from annotator.core.text import message
from annotator.errors import Conflict, DomainError
from annotator.models import Dialogue
from annotator.services.jobs.jobs import Running, job_kind
from benchmark.core.constructing import Options
from benchmark.core.sampling import SourceQuery, setup_of
from benchmark.models import Chooser, Generation, GenerationStatus, QueryOutcome, SampledQuery, Sampling
from benchmark.services.constructing.requests import start_constructing
from benchmark.services.constructing.sources import Request
from benchmark.services.generation.asking import EndpointAsker, beating
from benchmark.services.generation.attempts import fail_attempt
from benchmark.services.generation.notices import tell_waiting
from benchmark.services.generation.reading import lock_generation, read_state
from benchmark.services.generation.recordings import RecordedAsker
from benchmark.services.generation.requests import start_generation
from benchmark.services.generation.stepping import work_on
from benchmark.services.inference.requests import Budget
from benchmark.services.sampling.players import players_from_json
from benchmark.services.sampling.requests import KIND, counts_of, used_by

#: Retries of one step of an attempt.
RETRIES = 2


@job_kind(KIND, gettext_noop("Sampling of trajectories"), queue="models")
def run_sampling(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``sampling``. What pauses an attempt, such as a budget, fails the job; it can be continued.

    After a kill it goes on: attempts and their calls are rows.
    """
    rows = Sampling.objects.select_related("project", "requester")
    sampling = rows.get(public_id=running.job.parameters["sampling"])
    queries = list(sampling.queries.order_by("pk").values_list("pk", "outcome"))
    asker = asker_of(sampling, running)
    try:
        for done, (pk, outcome) in enumerate(queries, 1):
            if outcome == QueryOutcome.OPEN:
                _sample(running, sampling, pk, asker)
            with running.chunk() as chunk:
                chunk.advance(done=done, total=len(queries))
    finally:
        asker.close()
    with running.chunk():
        waiting = Generation.objects.filter(query__sampling=sampling, status=GenerationStatus.WAITING)
        if (first := waiting.select_related("project").order_by("pk").first()) is not None:
            tell_waiting(first)
        return {"sampling": sampling.public_id, **counts_of(sampling), **_make_cases(running, sampling)}


def asker_of(sampling: Sampling, running: Running) -> EndpointAsker | RecordedAsker:
    """Return what answers the attempts: the recorded answers, if there are any, else the endpoints."""
    if sampling.recording:
        return RecordedAsker.of(sampling.recording, exact=True)
    return EndpointAsker(partial(beating, running))


def _sample(running: Running, sampling: Sampling, query_id: int, asker: EndpointAsker | RecordedAsker) -> None:
    """Make attempts at a query until one solves it, none is left, or people must act."""
    while True:
        with running.chunk():
            attempt = _next_attempt(sampling, query_id)
        if attempt is None:
            return
        attempt = work_on(
            generation_id=attempt.pk, asker=asker, transaction=running.chunk,
            even_if_stopped=partial(running.chunk, even_if_cancelled=True),
        )  # fmt: skip
        if attempt.status == GenerationStatus.PAUSED:
            why = attempt.reason or message("A person has paused it.")
            raise Conflict(message("%(name)s is paused. %(why)s", name=attempt.name, why=why))


def _next_attempt(sampling: Sampling, query_id: int) -> Generation | None:
    """Return the attempt to go on with; None if there is nothing to do for the query."""
    attempts = list(Generation.objects.filter(query=query_id).order_by("pk").values_list("pk", flat=True))
    # The attempt before its query, as where an attempt ends, so that neither waits for the other.
    last = lock_generation(attempts[-1]) if attempts else None
    rows = SampledQuery.objects.select_for_update(of=("self",), no_key=True).select_related("toolset_revision")
    query = rows.get(pk=query_id)
    if query.outcome != QueryOutcome.OPEN or (last is not None and last.job is not None and not last.job.ended):
        return None
    if last is not None and last.status == GenerationStatus.WAITING:
        state = read_state(last)
        if not state.stuck:
            # People play a role.
            return None
        fail_attempt(last, state, message("It used up its retries. %(why)s", why=last.reason or ""))
    if last is not None and last.status != GenerationStatus.FAILED:
        return _resume(sampling, last)
    if len(attempts) >= sampling.attempts:
        query.outcome = QueryOutcome.UNSOLVED
        query.save(update_fields=["outcome"])
        return None
    return _start(sampling, query, len(attempts) + 1)


def _resume(sampling: Sampling, attempt: Generation) -> Generation:
    budget = _budget(sampling, attempt.pk)
    attempt.status, attempt.reason = GenerationStatus.RUNNING, None
    attempt.token_budget, attempt.cost_budget = budget.tokens, budget.cost
    attempt.save(update_fields=["status", "reason", "token_budget", "cost_budget"])
    return attempt


def _start(sampling: Sampling, query: SampledQuery, number: int) -> Generation:
    name = _free_name(sampling, query, number)
    source = SourceQuery(query.name, query.document, query.toolset_revision.tools())
    seed = Options.from_json(sampling.options).seed + number - 1
    return start_generation(
        actor=sampling.requester, project=sampling.project, toolset=query.toolset_revision, query=query,
        setup=setup_of(source, name=name, seed=seed, retries=RETRIES), chooser=Chooser.FIRST,
        players=players_from_json(sampling.project, sampling.players, number), budget=_budget(sampling),
        idempotent=sampling.idempotent, work=False,
    )  # fmt: skip


def _free_name(sampling: Sampling, query: SampledQuery, number: int) -> str:
    """Return the name of an attempt; an earlier sampling or a dialogue may have used some."""
    begin = f"{query.name}-a"
    made = Generation.objects.filter(project=sampling.project, name__startswith=begin)
    dialogues = Dialogue.objects.filter(project=sampling.project, external_id__startswith=begin)
    taken = {*made.values_list("name", flat=True), *dialogues.values_list("external_id", flat=True)}
    while f"{begin}{number}" in taken:
        number += 1
    return f"{begin}{number}"


def _budget(sampling: Sampling, attempt: int | None = None) -> Budget:
    """Return what other attempts have left of the budget."""
    tokens, cost = used_by(sampling, attempt)
    return Budget(
        None if sampling.token_budget is None else max(sampling.token_budget - tokens, 0),
        None if sampling.cost_budget is None else max(sampling.cost_budget - cost, 0),
    )


def _make_cases(running: Running, sampling: Sampling) -> dict[str, Any]:
    """Start to make cases of the solved queries; if that can't be, say why."""
    if not sampling.queries.filter(outcome=QueryOutcome.SOLVED).exists():
        return {}
    request = Request(Options.from_json(sampling.options), only_verified=False, sampling=sampling.public_id)
    try:
        started = start_constructing(
            actor=running.job.requester, project=sampling.project, request=request,
            wake_worker=running.job.parameters["wake_worker"],
        )  # fmt: skip
    except DomainError as refusal:
        return {"refusal": refusal.message.to_json()}
    return {"job": started.public_id}
