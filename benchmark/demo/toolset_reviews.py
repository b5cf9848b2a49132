"""The review of the demo's toolsets: those of the candidates are verified, the imported one is in review."""

from annotator.models import Dialogue, Project, Toolset, User
from benchmark.demo.clock import Clock
from reviews.models import Slot, SlotState
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import waive_all
from reviews.services.toolset_review.sending import send_to_review
from reviews.services.toolset_review.settings import start_toolset_review

#: Minutes for one review of a toolset.
_MINUTES = 6


def play(project: Project, people: dict[str, User], clock: Clock, *, unfinished: str) -> None:
    """Send all toolsets to review. All but the one with the name ``unfinished`` are verified."""
    administrator = people["ingrid"]
    review = start_toolset_review(actor=administrator, project=project)
    toolsets = Toolset.objects.filter(project=project).select_related("head").order_by("pk")
    send_to_review(actor=administrator, project=project, toolsets=list(toolsets))
    annotators = [people[name] for name in ("amina", "boris", "chen", "dilara")]
    for turn, item in enumerate(Dialogue.objects.filter(project=review).order_by("pk")):
        if item.external_id == unfinished:
            continue
        for person in (annotators[turn % 4], annotators[(turn + 1) % 4], people[("yuki", "thandiwe")[turn % 2]]):
            _approve(person, item, clock)


def _approve(person: User, item: Dialogue, clock: Clock) -> None:
    slot = Slot.objects.filter(dialogue=item, state=SlotState.OPEN).order_by("index")[0]
    claim = claim_slot(actor=person, slot=slot)
    clock.advance(60 * _MINUTES)
    waive_all(actor=person, slot=slot, reason="Clear enough: the description of the function says it.")
    submit_review(actor=person, slot=slot, token=claim.token, verdict="approve")
