"""Start, continue and read samplings of trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import Case, Count, Prefetch, Sum, When
from django.utils.translation import gettext as _

from annotator.core.schema import SchemaProblem
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Project, Toolset, User
from annotator.services.dialogues.executions import execution_of
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import start_job
from annotator.services.toolsets.storing import ensure_toolset_revision
from benchmark.core.constructing import Options
from benchmark.core.generation.purposes import Role
from benchmark.core.generation.records import Recorded
from benchmark.core.sampling import (
    MAX_ATTEMPTS,
    MAX_QUERIES,
    SourceQuery,
    query_problem,
    read_queries,
    without_constraints,
)
from benchmark.core.single_task_queries import query_of_single_task
from benchmark.models import Generation, QueryOutcome, SampledQuery, Sampling
from benchmark.services.constructing.sources import list_sources
from benchmark.services.generation.permissions import require_generator
from benchmark.services.generation.requests import Player, check_players
from benchmark.services.inference.requests import Budget
from benchmark.services.sampling.players import players_from_json, players_to_json

KIND = "sampling"


def read_query_file(project: Project, content: bytes) -> list[SourceQuery]:
    """Return the queries of a file. Raises Invalid, with the line, for the field ``queries``."""
    rows = Toolset.objects.filter(project=project, head__isnull=False).select_related("head")
    known = {one.name: (one.head.tools(), one.head.implementation()) for one in rows if one.head}
    try:
        if b"\0" in content or b"\\u0000" in content:
            raise ValueError(_("The file has a NUL character. Remove it."))
        return read_queries(content, known)
    except ValueError as error:
        raise Invalid(str(error), field="queries") from None


def queries_of_project(project: Project, names: Sequence[str]) -> list[SourceQuery]:
    """Return constrained cases and single tasks of a project as queries, without constraints and trajectories.

    Raises Invalid for ids of others, and for those without code or expected results, or whose tools keep a state.
    """
    rows = list_sources(project, only_verified=False) | list_sources(project, only_verified=False, kind="single_task")
    rows = rows.filter(external_id__in=names[: MAX_QUERIES + 1])
    found = {one.external_id: one for one in rows.select_related("head__toolset_revision").defer("search_text")}
    queries = []
    for name in names:
        if name not in found:
            sentence = _("There is no constrained case or single task “%(name)s” of which others can be made.")
            raise Invalid(sentence % {"name": name[:80]}, field="sources")
        queries.append(_query_of(found[name]))
    return queries


def _query_of(dialogue: Dialogue) -> SourceQuery:
    assert dialogue.head is not None  # noqa: S101 - published dialogues have one
    document, revision, name = dialogue.head.document(), dialogue.head.toolset_revision, dialogue.external_id
    try:
        if document["kind"] == "single_task":
            ran = execution_of(document, CompiledToolset.of(revision.content))
            query = query_of_single_task(name, document, revision.tools(), revision.implementation(), ran)
        else:
            query = SourceQuery(name, without_constraints(document), revision.tools())
        problem = query_problem(query)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise Invalid(f"{dialogue.external_id}: {problem}", field="sources")
    return replace(query, source=dialogue.pk)


def start_sampling(
    *,
    actor: User | None,
    project: Project,
    queries: Sequence[SourceQuery],
    attempts: int,
    options: Options,
    players: Mapping[Role, Player],
    records: Sequence[Recorded] = (),
    budget: Budget | None = None,
    idempotent: bool = False,
    wake_worker: bool = True,
) -> Sampling:
    """Start to sample a trajectory for each query, and then to make cases of them (``options``).

    ``attempts``: at most, for each query. ``records``: recorded answers instead of models. A query that has a
    trajectory is solved already. Raises Denied for anyone but administrators, Invalid for what can't be sampled, and
    Conflict if another sampling has not ended.
    """
    require_generator(actor=actor, project=project)
    budget = budget or Budget()
    if not 1 <= attempts <= MAX_ATTEMPTS:
        raise Invalid(_("There are 1 to %(most)s attempts.") % {"most": MAX_ATTEMPTS}, field="attempts")
    if not 0 < len(queries) <= MAX_QUERIES:
        raise Invalid(_("Give 1 to %(most)s queries.") % {"most": f"{MAX_QUERIES:,}"}, field="queries")
    check_players(players, project, budget)
    with transaction.atomic():
        _require_none_in_progress(project)
        sampling = Sampling.objects.create(
            project=project, requester=actor, attempts=attempts, idempotent=idempotent, token_budget=budget.tokens,
            cost_budget=budget.cost, players=players_to_json(players), options=options.as_json(),
            recording=b"".join(one.to_line() for one in records).decode(),
        )  # fmt: skip
        SampledQuery.objects.bulk_create([_row(actor, sampling, one) for one in queries], batch_size=50)
        append_event(
            actor=actor, project=project, kind="sampling.started",
            after={"sampling": sampling.public_id, "queries": len(queries), "attempts": attempts},
        )  # fmt: skip
        _start_work(sampling, actor, wake_worker)
    return sampling


def _row(actor: User | None, sampling: Sampling, query: SourceQuery) -> SampledQuery:
    try:
        revision = ensure_toolset_revision(
            actor=actor, project=sampling.project, tools=query.tools, name=f"Tools of {query.name}"
        )
    except SchemaProblem as problem:
        raise Invalid(f"{query.name}: {problem}", field="queries") from None
    solved = query.document["reference_trajectory"] is not None
    return SampledQuery(
        sampling=sampling, name=query.name, source_id=query.source, toolset_revision=revision, document=query.document,
        outcome=QueryOutcome.SOLVED if solved else QueryOutcome.OPEN,
    )  # fmt: skip


def continue_sampling(
    *, actor: User | None, sampling: Sampling, budget: Budget | None = None, wake_worker: bool = True
) -> Sampling:
    """Go on with a sampling whose job has ended: with the queries that are open, then with cases of the solved ones.

    ``budget``: the limits from now on, in total. Raises Denied, Conflict and Invalid, as ``start_sampling``.
    """
    require_generator(actor=actor, project=sampling.project)
    with transaction.atomic():
        _require_none_in_progress(sampling.project)
        sampling = Sampling.objects.select_for_update(no_key=True).select_related("project").get(pk=sampling.pk)
        if budget is not None:
            check_players(players_from_json(sampling.project, sampling.players, 1), sampling.project, budget)
            sampling.token_budget, sampling.cost_budget = budget.tokens, budget.cost
            sampling.save(update_fields=["token_budget", "cost_budget"])
        _start_work(sampling, actor, wake_worker)
    return sampling


def _require_none_in_progress(project: Project) -> None:
    # One at a time; the lock keeps two from starting together.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if Sampling.objects.in_progress().filter(project=project).exists():
        raise Conflict(_("Other trajectories are being sampled. Wait until that has ended."))


def _start_work(sampling: Sampling, actor: User | None, wake_worker: bool) -> None:
    sampling.job = start_job(
        actor=actor, project=sampling.project, kind=KIND, wake_worker=wake_worker,
        parameters={"sampling": sampling.public_id, "wake_worker": wake_worker},
    )  # fmt: skip
    sampling.save(update_fields=["job"])


def last_sampling(project: Project) -> Sampling | None:
    """Return the last sampling of a project."""
    return Sampling.objects.filter(project=project).select_related("job").defer("recording").order_by("-pk").first()


def queries_of(sampling: Sampling, most: int | None = None) -> list[SampledQuery]:
    """Return the first queries of a sampling with their attempts, without documents; unsolved ones first."""
    attempts = Generation.objects.defer("state", "setup").order_by("pk")
    rows = sampling.queries.defer("document").prefetch_related(Prefetch("generations", attempts))
    unsolved, open_ = (When(outcome=one, then=place) for place, one in enumerate(_FIRST))
    return list(rows.order_by(Case(unsolved, open_, default=len(_FIRST)), "pk")[:most])


_FIRST = (QueryOutcome.UNSOLVED, QueryOutcome.OPEN)


def counts_of(sampling: Sampling) -> dict[str, int]:
    """Return how many queries have each outcome."""
    found = dict.fromkeys(QueryOutcome.values, 0)
    rows = sampling.queries.order_by().values_list("outcome").annotate(count=Count("pk"))
    return found | dict(rows)


def used_by(sampling: Sampling, without: int | None = None) -> tuple[int, Any]:
    """Return the tokens and the cost of all attempts but one (``without``: its key)."""
    rows = Generation.objects.filter(query__sampling=sampling)
    if without is not None:
        rows = rows.exclude(pk=without)
    sums = rows.aggregate(read=Sum("input_tokens"), wrote=Sum("output_tokens"), cost=Sum("cost"))
    return (sums["read"] or 0) + (sums["wrote"] or 0), sums["cost"] or 0
