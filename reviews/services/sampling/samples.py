"""The samples a project has drawn, as a page lists them."""

from collections.abc import Iterator

import orjson

from annotator.errors import Denied, Hidden
from annotator.models import Project, User
from annotator.services.access.permissions import OVERSEERS, require_role
from reviews.models import Draw
from reviews.services.sampling.draws import member_line, members_of, recompute_draw
from reviews.services.transitions.sealing import reviewed_blind

#: Draws that a page lists; a project that is drawn from once a day has more after a year.
MAX_DRAWS = 400
REVIEWED_BLIND = (
    "You review a dialogue of this draw blind, and its population says whose work each dialogue is, or how it fared "
    "before. It is open to you when the stage has settled."
)


def has_draws(project: Project) -> bool:
    """Whether anything was drawn yet."""
    return Draw.objects.filter(project=project).exists()


def list_draws(project: Project) -> list[Draw]:
    """The newest draws, newest first; never their populations."""
    return list(Draw.objects.filter(project=project).select_related("actor").order_by("-pk")[:MAX_DRAWS])


def check_draw(*, actor: User, project: Project, public_id: str) -> tuple[Draw, list[str]]:
    """Draw again from what was recorded: the draw, and what does not come out the same, as sentences.

    Reads the whole population. Raises Denied for others than senior reviewers and administrators, Hidden.
    """
    draw = _draw(actor, project, public_id)
    return draw, recompute_draw(draw)


def read_population(*, actor: User, project: Project, public_id: str) -> Iterator[bytes]:
    """Everything a draw was made from, as lines of JSON. Raises what ``check_draw`` does, Denied for whoever reviews a
    member blind.
    """
    draw = _draw(actor, project, public_id)
    if why := why_hidden(actor=actor, draw=draw):
        raise Denied(why)
    return (
        orjson.dumps(member_line(draw, member, drawn=drawn), option=orjson.OPT_APPEND_NEWLINE)
        for member, drawn in members_of(draw)
    )


def why_hidden(*, actor: User, draw: Draw) -> str:
    """Why somebody who oversees the project does not see a draw's population, as a sentence; blank where they do.

    To leave out one member would not do: the sizes of all strata are known.
    """
    hides = draw.items.filter(dialogue__in=reviewed_blind(actor, draw.project)).exists()
    return REVIEWED_BLIND if hides else ""


def _draw(actor: User, project: Project, public_id: str) -> Draw:
    require_role(actor=actor, project=project, roles=OVERSEERS)
    draw = Draw.objects.filter(project=project, public_id=public_id).first()
    if draw is None:
        raise Hidden("There is no such draw in this project.")
    return draw
