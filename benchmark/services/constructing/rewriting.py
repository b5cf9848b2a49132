"""The sentences of constructed cases, put into other words by a model before the cases are imported."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Self

from django.utils.translation import gettext as _

from annotator.errors import Hidden, Invalid
from annotator.models import Dialogue, Job, Project, ToolsetRevision
from benchmark.core.constructing import Made
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import Role
from benchmark.core.generation.state import MAX_RETRIES, Unusable
from benchmark.core.generation.texts.steps import begin
from benchmark.core.rewritten_cases import sentences_setup, source_of
from benchmark.models import Chooser, Endpoint, Generation
from benchmark.services.constructing.sources import Request
from benchmark.services.generation.requests import Player, create_generation
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import Budget

#: Cases whose sentences are rewritten at once: they are made again when the sentences are there.
MAX_CASES = 100
_NAME = "constrained-cases"


@dataclass(frozen=True)
class Rewriting:
    """Who rewrites the sentences, within which limits; as JSON, money is a text.

    ``endpoint``: its public id, blank if the answers come from records. ``options``: as of ``Options.as_json``.
    ``look``: people look at the sentences before they are used. ``work``: start the job that asks the model.
    """

    model: str
    endpoint: str = ""
    input_price: str = "0"
    output_price: str = "0"
    options: dict[str, Any] | None = None
    token_budget: int | None = None
    cost_budget: str | None = None
    retries: int = 2
    look: bool = False
    idempotent: bool = False
    work: bool = True

    @classmethod
    def of(cls, player: Player, budget: Budget, **more: Any) -> Self:
        cost = None if budget.cost is None else str(budget.cost)
        return cls(
            player.model, player.endpoint.public_id if player.endpoint else "", str(player.input_price),
            str(player.output_price), player.options.as_json(), budget.tokens, cost, **more,
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def player(self, project: Project) -> Player:
        """Return the model. Raises Hidden for an endpoint of another project."""
        endpoint = Endpoint.objects.filter(project=project, public_id=self.endpoint).first()
        if self.endpoint and endpoint is None:
            raise Hidden(_("There is no such endpoint in the project."))
        prices = Decimal(self.input_price), Decimal(self.output_price)
        return Player(self.model, endpoint, Options.of(self.options) if self.options else Options(), *prices)

    @property
    def budget(self) -> Budget:
        return Budget(self.token_budget, None if self.cost_budget is None else Decimal(self.cost_budget))


def check_rewriting(rewriting: Rewriting, project: Project, cases: int) -> None:
    """Raise Invalid or Hidden for what can't be rewritten."""
    if cases > MAX_CASES:
        sentence = _("The sentences of at most %(most)s cases can be rewritten at once. Name the sources.")
        raise Invalid(sentence % {"most": MAX_CASES}, field="sources")
    if not 0 <= rewriting.retries <= MAX_RETRIES:
        raise Invalid(_("There are 0 to %(most)s retries.") % {"most": MAX_RETRIES}, field="retries")
    rewriting.player(project)


def start_rewriting(*, job: Job, request: Request, made: Sequence[Made]) -> Generation:
    """Start to rewrite the sentences of cases that a job has made, in its transaction. Raises Invalid and Conflict."""
    project, asked = job.project, job.parameters
    rewriting = Rewriting(**asked["rewriting"])
    first = Dialogue.objects.filter(project=project, external_id=source_of(made[0]))
    toolset = ToolsetRevision.objects.get(pk__in=first.values("head__toolset_revision"))
    name = _free_name(project, request)
    origin = {
        "options": request.options.as_json(), "names": [source_of(one) for one in made],
        "only_verified": request.only_verified, "wake_worker": asked["wake_worker"],
    }  # fmt: skip
    try:
        setup = sentences_setup(name, made, retries=rewriting.retries, origin=origin)
    except Unusable as refusal:
        raise Invalid(refusal.problem.text) from None
    return create_generation(
        actor=job.requester, project=project, name=name, players={Role.WRITER: rewriting.player(project)},
        budget=rewriting.budget, kind=Kind.REWRITING.value, toolset_revision=toolset,
        language=setup.target, chooser=Chooser.PEOPLE if rewriting.look else Chooser.FIRST,
        idempotent=rewriting.idempotent, setup=setup.to_json(), state=begin(setup).to_json(), work=rewriting.work,
        wake_worker=asked["wake_worker"],
    )  # fmt: skip


def rewriting_name(seed: int) -> str:
    """Return the name of the rewriting of cases with a seed."""
    return f"{_NAME}-s{seed}"


def _free_name(project: Project, request: Request) -> str:
    name = rewriting_name(request.options.seed)
    used = Generation.objects.filter(project=project, name__startswith=name).count()
    return f"{name}-{used + 1}" if used else name
