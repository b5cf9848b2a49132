"""Lists and checks the draws of a project."""

from collections.abc import Iterator

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.errors import Denied, Hidden
from annotator.models import Project, User
from annotator.services.access.permissions import OVERSEERS, require_role
from reviews.models import Draw
from reviews.services.sampling.draws import member_line, members_of, recompute_draw
from reviews.services.transitions.sealing import reviewed_blind

#: Draws listed on a page; a project with a draw a day has more after a year.
MAX_DRAWS = 400
REVIEWED_BLIND = gettext_lazy(
    "You are reviewing a dialogue of this draw blind, and the population would reveal its owner or history. "
    "You can see it when the stage has ended."
)


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
    draw = _draw(actor, project, public_id)
    return draw, recompute_draw(draw)


def read_population(*, actor: User, project: Project, public_id: str) -> Iterator[bytes]:
    """Yield a draw's population as JSON lines. Raises what ``check_draw`` does, and Denied for blind reviewers."""
    draw = _draw(actor, project, public_id)
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


def _draw(actor: User, project: Project, public_id: str) -> Draw:
    require_role(actor=actor, project=project, roles=OVERSEERS)
    draw = Draw.objects.filter(project=project, public_id=public_id).first()
    if draw is None:
        raise Hidden(_("This draw doesn’t exist in the project."))
    return draw
