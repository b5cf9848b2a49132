"""What the form of a new generation begins with: a cell, and the verified dialogue that it continues."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotator.models import Dialogue
from annotator.services.database.filters import UnknownFilter, one_of
from annotator.views.pages import PageRequest
from benchmark.core.generation.cells import FAR_RELATION, HIDING, MAX_TASKS, POLICIES
from benchmark.services.generation.layers import (
    OFFERED,
    Offer,
    builds_in_layers,
    cell_needed_first,
    continuable_dialogues,
    offer_pasts,
)


def past_given(request: PageRequest) -> Dialogue | None:
    """Return the dialogue to continue, as the query string or the posted form names it. Raises UnknownFilter."""
    rows = continuable_dialogues(request.project)
    given = request.POST if request.method == "POST" else request.GET
    named = given.get("past", "").replace("\0", "").strip()
    found = rows.filter(public_id=named).first() if named else None
    if request.method != "POST" and found is None:
        one_of(request.GET, "past", lambda: rows.order_by("external_id").values_list("public_id", flat=True)[:OFFERED])
    return found


def cell_given(request: PageRequest, past: Dialogue | None) -> list[str]:
    """Return the policies of the query string or of the posted form; else of what is continued. Raises
    UnknownFilter.
    """
    if request.method == "POST":
        posted = [request.POST.get(f"policy_{number}", "") for number in range(1, MAX_TASKS + 1)]
        return [one for one in posted if one in POLICIES]
    given = [one for one in request.GET.get("cell", "").split(",") if one.strip()]
    if len(given) > MAX_TASKS:
        raise UnknownFilter(_("“cell” names at most %(most)s policies.") % {"most": MAX_TASKS}, ["cell"])
    return [one_of({"cell": one}, "cell", POLICIES) for one in given] or (past.policy_list if past else [])


def pasts_of(request: PageRequest, cell: Sequence[str], past: Dialogue | None) -> list[Offer]:
    """Return what can be continued into a cell; first the given one."""
    offers = offer_pasts(project=request.project, policies=cell)
    if past is None or any(one.dialogue == past for one in offers):
        return offers
    return [Offer(past, continued=False), *offers]


def needed_first(request: PageRequest, cell: Sequence[str]) -> str:
    """Return the cell that must be verified before this one can begin, as a query string has it; blank if none."""
    if not builds_in_layers(request.project):
        return ""
    return ",".join(cell_needed_first(project=request.project, policies=cell))


def initial_of(cell: Sequence[str], past: Dialogue | None) -> dict[str, Any]:
    """Return the first values of the form."""
    # A long-range dependency needs two tasks before it (rule of C3-Bench).
    far = {f"relations_{number}": list(HIDING) for number in range(3, MAX_TASKS + 1)}
    near = {"relations_2": [one for one in HIDING if one != FAR_RELATION]}
    return near | far | _of_past(past) | {f"policy_{number}": policy for number, policy in enumerate(cell, 1)}


def _of_past(past: Dialogue | None) -> dict[str, Any]:
    if past is None or past.head is None:
        return {}
    toolset = past.head.toolset_revision.toolset
    return {"past": past.public_id, "language": past.language, "toolset": toolset.public_id}
