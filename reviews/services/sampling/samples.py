"""Lists and checks the draws of a project."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.errors import Denied, Hidden
from annotator.models import Project, User
from annotator.services.access.permissions import OVERSEERS, require_role
from reviews.core.protocols import Stage
from reviews.models import Draw, StageRun, StageRunState
from reviews.services.sampling.draws import drawing_stages, member_line, members_of, recompute_draw
from reviews.services.sampling.rounds import is_under_way
from reviews.services.transitions.sealing import reviewed_blind

#: Draws listed on a page; a project with a draw a day has more after a year.
MAX_DRAWS = 400
REVIEWED_BLIND = gettext_lazy(
    "You are reviewing a dialogue of this draw blind, and the population would reveal its owner or history. "
    "You can see it when the stage has ended."
)


@dataclass(frozen=True, slots=True)
class Pool:
    """The items that wait for a draw of a stage, the stage's newest draw, and whether that is a round in progress."""

    stage: Stage
    waiting: int
    last: Draw | None
    under_way: bool


def list_pools(*, actor: User, project: Project) -> list[Pool]:
    """Return the pools of the stages that draw, in the order of the protocol. Raises Denied for all but overseers."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    pooled = StageRun.objects.filter(project=project, state=StageRunState.POOLED)
    waiting = dict(pooled.order_by().values_list("stage").annotate(Count("pk")))
    pools = []
    for stage in drawing_stages(project):
        last = Draw.objects.filter(project=project, stage=stage.key).order_by("-number").first()
        under_way = last is not None and stage.in_rounds and is_under_way(last)
        pools.append(Pool(stage, waiting.get(stage.key, 0), last, under_way))
    return pools


def all_draws(*, actor: User, project: Project) -> QuerySet[Draw]:
    """Return the draws, without their populations. Raises Denied for all but overseers."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    return Draw.objects.filter(project=project).select_related("actor")


def draws_changed_since(draws: QuerySet[Draw], moment: datetime) -> QuerySet[Draw]:
    """Narrow draws down to those that were made, carried out or, as rounds, ended since."""
    times = ("created_at", "carried_out_at", "round_ended_at")
    return draws.filter(Q(*((f"{name}__gte", moment) for name in times), _connector=Q.OR))


def load_draw(*, actor: User, project: Project, public_id: str) -> Draw:
    """Return a draw. Raises Denied for all but overseers, Hidden."""
    draw = all_draws(actor=actor, project=project).filter(public_id=public_id).first()
    if draw is None:
        raise Hidden(_("This draw doesn’t exist in the project."))
    return draw


def has_draws(project: Project) -> bool:
    """Return whether there are any draws."""
    return Draw.objects.filter(project=project).exists()


def list_draws(project: Project) -> list[Draw]:
    """Return the newest draws, newest first, without their populations."""
    return list(Draw.objects.filter(project=project).select_related("actor").order_by("-pk")[:MAX_DRAWS])


def check_draw(*, actor: User, project: Project, public_id: str) -> tuple[Draw, list[str]]:
    """Reproduce a draw from its record; return it and the differences as sentences.

    Reads the whole population. Raises Denied for others than senior reviewers and administrators, Hidden.
    """
    draw = load_draw(actor=actor, project=project, public_id=public_id)
    return draw, recompute_draw(draw)


def read_population(*, actor: User, project: Project, public_id: str) -> Iterator[bytes]:
    """Yield a draw's population as JSON lines. Raises what ``check_draw`` does, and Denied for blind reviewers."""
    draw = load_draw(actor=actor, project=project, public_id=public_id)
    if why := why_hidden(actor=actor, draw=draw):
        raise Denied(why)
    return (
        orjson.dumps(member_line(draw, member, drawn=drawn), option=orjson.OPT_APPEND_NEWLINE)
        for member, drawn in members_of(draw)
    )


def why_hidden(*, actor: User, draw: Draw) -> str:
    """Return why an overseer may not see a draw's population, as a sentence; blank if they may.

    Leaving out one member would not help: the sizes of all strata are known.
    """
    hides = draw.items.filter(dialogue__in=reviewed_blind(actor, draw.project)).exists()
    return str(REVIEWED_BLIND) if hides else ""
