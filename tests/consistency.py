"""What must be true of a project's rows at every moment, whatever the outcome of a race."""

from collections.abc import Iterator
from itertools import pairwise

from annotator.models import Dialogue, Event, Project
from annotator.services.integrity.history_checks import history_problems
from reviews.models import Claim, ClaimState, Cycle, CycleState, Review, Slot, SlotState, StageRun, StageRunState
from reviews.services.statistics.counters import recount, stored_counters


def assert_consistent(project: Project) -> None:
    """One holder a slot, one review a finished slot, one event a settled run, unbroken chains, true counters."""
    for slot in Slot.objects.filter(project=project):
        live = Claim.objects.filter(slot=slot, state=ClaimState.LIVE)
        if slot.state == SlotState.CLAIMED:
            assert [claim.person_id for claim in live] == [slot.holder_id]
        else:
            assert not live.exists(), f"{slot} is {slot.state} and claimed"
        assert Review.objects.filter(slot=slot).exists() == (slot.state == SlotState.DONE)
    for item in Dialogue.objects.filter(project=project):
        assert Cycle.objects.filter(dialogue=item, state=CycleState.ACTIVE).count() <= 1
    for run in StageRun.objects.filter(project=project, state=StageRunState.SETTLED):
        settled = Event.objects.filter(
            dialogue=run.cycle.dialogue, kind="stage.settled", after__stage=run.stage, after__round=run.round
        )
        assert settled.count() == (0 if run.outcome == "not_drawn" else 1)
    assert [*history_problems(project)] == []
    assert stored_counters(project) == recount(project)


def claimed_twice(project: Project) -> Iterator[str]:
    """Slots that two claims held at one moment, as the claims that are kept tell it."""
    for slot in Slot.objects.filter(project=project).prefetch_related("claims"):
        claims = sorted(slot.claims.all(), key=lambda claim: claim.created_at)
        for one, next_one in pairwise(claims):
            if one.ended_at is None or one.ended_at > next_one.created_at:
                yield f"{slot}: {one.person_id} until {one.ended_at}, {next_one.person_id} from {next_one.created_at}"
