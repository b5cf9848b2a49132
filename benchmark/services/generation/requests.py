"""Start, continue and pause generations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Project, ToolsetRevision, User
from annotator.services.dialogues.revisions import check_settings
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import start_job
from benchmark.core.generation.pipeline import begin
from benchmark.core.generation.purposes import DIALOGUE_ROLES, Role
from benchmark.core.generation.state import Setup, Unusable
from benchmark.models import (
    CallState,
    Chooser,
    Endpoint,
    Generation,
    GenerationStatus,
    Recording,
    RoleModel,
    SampledQuery,
)
from benchmark.services.generation.attempts import require_free
from benchmark.services.generation.layers import continued_setup, lock_past, require_layers
from benchmark.services.generation.notices import tell_requester
from benchmark.services.generation.permissions import require_generator
from benchmark.services.generation.reading import lock_generation
from benchmark.services.generation.templates import newest_templates
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import Budget, check_options

KIND = "generation"


@dataclass(frozen=True, slots=True)
class Player:
    """The model that plays a role. Without an endpoint, its answers come from records. Prices: a million tokens."""

    model: str
    endpoint: Endpoint | None = None
    options: Options = field(default_factory=Options)
    input_price: Decimal = Decimal(0)
    output_price: Decimal = Decimal(0)


def start_generation(
    *,
    actor: User | None,
    project: Project,
    toolset: ToolsetRevision,
    setup: Mapping[str, Any],
    players: Mapping[Role, Player],
    past: Dialogue | None = None,
    chooser: Chooser = Chooser.PEOPLE,
    budget: Budget | None = None,
    idempotent: bool = False,
    query: SampledQuery | None = None,
    work: bool = True,
    wake_worker: bool = True,
) -> Generation:
    """Start to generate one dialogue.

    ``setup``: as in ``core.generation.state.Setup``, without the tools; unless ``run_tools`` is false, functions that
    have code are run. ``players``: a role without one is played by people. ``past``: a verified dialogue that the new
    tasks continue, with its tools, language and environment; the setup's first policies are its own. ``idempotent``:
    the endpoints answer a repeated request without charging it again. ``query``: of which it is an attempt. ``work``:
    start the job. Raises Denied for anyone but administrators, Invalid for what can't be generated, Conflict if the
    name is taken, an endpoint was removed, or the past can't be continued now.
    """
    require_generator(actor=actor, project=project)
    if toolset.project_id != project.pk:
        raise Hidden(_("There is no such toolset in the project."))
    has_code = query is not None or toolset.implementation() is not None
    with transaction.atomic():
        verified = None if past is None else lock_past(project=project, past=past, toolset=toolset)
        made = _setup(continued_setup(setup, verified), toolset, project, has_code=has_code)
        require_layers(project, tasks=len(made.policies), past=len(made.past))
        return create_generation(
            actor=actor, project=project, name=made.name, budget=budget, work=work, wake_worker=wake_worker,
            players={role: one for role, one in players.items() if role in DIALOGUE_ROLES},
            toolset_revision=toolset, past=verified, query=query, cell=",".join(made.policies), language=made.language,
            chooser=chooser, idempotent=idempotent, setup=made.to_json(), state=begin(made).to_json(),
        )  # fmt: skip


def create_generation(
    *,
    actor: User | None,
    project: Project,
    name: str,
    players: Mapping[Role, Player],
    budget: Budget | None = None,
    recording: str = "",
    work: bool = True,
    wake_worker: bool = True,
    **fields: Any,
) -> Generation:
    """Store a generation of any kind, and start its job (``work``). ``fields``: of the row, checked by the caller.

    ``recording``: the recorded answers, as JSON lines, from which it runs instead of asking models. Raises Invalid and
    Conflict, as ``start_generation``.
    """
    budget = budget or Budget()
    check_players(players, project, budget)
    templates = {purpose: one.number for purpose, one in newest_templates(project).items()}
    taken = Conflict(_("The project already has a dialogue or a generation “%(name)s”.") % {"name": name})
    if Dialogue.objects.filter(project=project, external_id=name).exists():
        raise taken
    with transaction.atomic():
        try:
            with transaction.atomic():
                generation = Generation.objects.create(
                    project=project, name=name, token_budget=budget.tokens, cost_budget=budget.cost, requester=actor,
                    templates=templates, **fields,
                )  # fmt: skip
        except IntegrityError:
            raise taken from None
        RoleModel.objects.bulk_create(
            RoleModel(
                generation=generation, role=role, endpoint=one.endpoint, model=one.model.strip(),
                options=one.options.as_json(), input_price=one.input_price, output_price=one.output_price,
            )
            for role, one in players.items()
        )  # fmt: skip
        if recording:
            Recording.objects.create(generation=generation, content=recording)
        tell(actor, generation, "generation.started", cell=generation.cell)
        if work:
            start_work(generation, actor=actor, wake_worker=wake_worker)
    return generation


def _setup(given: Mapping[str, Any], toolset: ToolsetRevision, project: Project, *, has_code: bool) -> Setup:
    settings = check_settings(project)
    # Without custom fields, which people fill in.
    checks = {"long_range_rule": settings.long_range_rule, "severities": dict(settings.severities)}
    try:
        runs = given.get("run_tools", True) and has_code
        setup = Setup.from_json({**given, "checks": checks, "run_tools": runs}, toolset.tools())
    except Unusable as refusal:
        raise Invalid(refusal.problem.text) from None
    except (TypeError, KeyError, AttributeError) as error:
        raise Invalid(_("This can’t be generated: %(why)s") % {"why": str(error)[:200]}) from None
    name = setup.name.strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise Invalid(_("A name has 1 to 200 characters."), field="name")
    return replace(setup, name=name)


def check_players(players: Mapping[Role, Player], project: Project, budget: Budget) -> None:
    """Raise Invalid, Hidden or Conflict for players that can't be asked, or whose cost can't be limited."""
    for player in players.values():
        _check_player(player, project)
    _require_prices(budget, players.values())


def _check_player(player: Player, project: Project) -> None:
    check_options(player.options)
    if not player.model.strip() or len(player.model.strip()) > 120:
        raise Invalid(_("Name the model, in at most 120 characters."))
    if player.endpoint is not None:
        if player.endpoint.project_id != project.pk:
            raise Hidden(_("There is no such endpoint in the project."))
        if not Endpoint.objects.filter(pk=player.endpoint.pk, removed_at__isnull=True).exists():
            raise Conflict(_("The endpoint was removed, so nothing can be asked there."))


def _require_prices(budget: Budget, players: Iterable[Player | RoleModel]) -> None:
    """Raise Invalid for a limit on the cost that would not hold, because the price of an endpoint is not known."""
    priced = [bool(one.input_price or one.output_price) for one in players if one.endpoint is not None]
    if budget.cost is not None and not (priced and all(priced)):
        raise Invalid(_("A limit on the cost needs the prices of the tokens."), field="cost_budget")


def continue_generation(
    *,
    actor: User | None,
    generation: Generation,
    budget: Budget | None = None,
    send_again: bool = False,
    work: bool = True,
    wake_worker: bool = True,
) -> Generation:
    """Continue a generation that is paused or whose job has ended.

    ``budget``: the limits from now on, in total. ``send_again``: also send a request that was sent and has no answer,
    which may be paid twice. Raises Denied; Invalid for a limit on the cost without prices; Conflict if it is in
    progress, waits for people, or has ended.
    """
    require_generator(actor=actor, project=generation.project)
    with transaction.atomic():
        generation = lock_generation(generation.pk)
        require_free(generation)
        stopped = generation.status == GenerationStatus.RUNNING and (generation.job is None or generation.job.ended)
        if generation.status != GenerationStatus.PAUSED and not stopped:
            raise Conflict(_("It is not paused: %(state)s.") % {"state": generation.get_status_display().lower()})
        if budget is not None:
            _require_prices(budget, generation.role_models.select_related("endpoint"))
            generation.token_budget, generation.cost_budget = budget.tokens, budget.cost
        if send_again and _waits_for_answer(generation):
            raise Conflict(_("The request is still on its way. Wait for its answer."))
        if send_again:
            why = message("Sent, but no answer arrived. It is sent again.")
            generation.calls.filter(state=CallState.ASKED).update(state=CallState.FAILED, failure=why)
        generation.status, generation.reason, generation.updated_at = GenerationStatus.RUNNING, None, timezone.now()
        generation.save(update_fields=["status", "reason", "updated_at", "token_budget", "cost_budget"])
        tell(actor, generation, "generation.continued")
        if work:
            start_work(generation, actor=actor, wake_worker=wake_worker)
    return generation


def pause_generation(*, actor: User | None, generation: Generation) -> Generation:
    """Pause a generation; the answer to a request on its way is still stored. Raises Denied, and Conflict if it has
    ended.
    """
    require_generator(actor=actor, project=generation.project)
    with transaction.atomic():
        generation = lock_generation(generation.pk)
        if generation.status in (GenerationStatus.DONE, GenerationStatus.FAILED):
            raise Conflict(_("It has ended already."))
        stop(generation, actor=actor)
        tell(actor, generation, "generation.paused")
    return generation


def stop(generation: Generation, *, actor: User | None = None) -> None:
    """Store that a person has paused a generation, and notify the one who started it."""
    generation.status, generation.reason = GenerationStatus.PAUSED, None
    generation.updated_at = timezone.now()
    generation.save(update_fields=["status", "reason", "updated_at"])
    tell_requester(generation, actor=actor)


def start_work(generation: Generation, *, actor: User | None, wake_worker: bool = True) -> None:
    """Start a job that works on a generation, unless one waits for an answer, after which it goes on.

    Any other job may have seen already that there was nothing to do. The caller has locked the generation.
    """
    if not _waits_for_answer(generation):
        generation.job = start_job(
            actor=actor, project=generation.project, kind=KIND, parameters={"generation": generation.public_id},
            wake_worker=wake_worker,
        )  # fmt: skip
        generation.save(update_fields=["job"])


def _waits_for_answer(generation: Generation) -> bool:
    asked = generation.calls.filter(state=CallState.ASKED)
    return generation.job is not None and not generation.job.ended and asked.exists()


def tell(actor: User | None, generation: Generation, kind: str, **after: Any) -> None:
    """Write an event about a generation."""
    append_event(
        actor=actor, project=generation.project, kind=kind,
        after={"generation": generation.public_id, "name": generation.name, **after},
    )  # fmt: skip
