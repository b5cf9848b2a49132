"""Work that a guideline outdates is sent back at the moment somebody takes it up."""

from functools import partial

import pytest

from annotator.errors import Conflict
from annotator.models import Job
from annotator.services.jobs import jobs
from annotator.services.projects import publish_guideline
from reviews.models import Claim, ClaimState, Cycle
from reviews.services.cycles import outdated
from reviews.services.cycles.start import supersede_cycle
from reviews.services.queue.claims import claim_slot, heartbeat
from tests.factories import Team, adopt_c3, make_item, make_team, open_slot
from tests.racing import overlap

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    publish_guideline(actor=team.administrator, project=team.project, text="# One", seen=0)
    return team


def test_what_somebody_takes_up_is_not_sent_back_from_under_them(team: Team) -> None:
    """Whether anybody was at work was asked before the lock: the claim that came meanwhile was taken away."""
    item = make_item(team, "cross_check")
    publish_guideline(actor=team.administrator, project=team.project, text="# Two", seen=1)
    scope = outdated.read_scope(project=team.project, number=2, policies=[], error_types=[])
    mark = outdated.mark_outdated(actor=team.administrator, project=team.project, scope=scope, reason="Dates.")
    outdated.start_send_back(actor=team.administrator, project=team.project, change=mark)
    claim, job = overlap(
        partial(claim_slot, actor=team.annotators[1], slot=open_slot(item)),
        partial(jobs.run, Job.objects.get(kind=outdated.JOB).pk),
    )
    assert job.result == {"sent_back": 0, "busy": 1}
    assert Claim.objects.get(pk=claim.pk).state == ClaimState.LIVE
    assert Cycle.objects.get(dialogue=item).number == 1


def test_whoever_comes_back_to_overdue_work_keeps_it(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    Claim.objects.filter(pk=claim.pk).update(expires_at=claim.created_at)
    _, anew = overlap(
        partial(heartbeat, actor=team.annotator, token=claim.token),
        partial(supersede_cycle, actor=team.administrator, dialogue=item, reason="Revised."),
    )
    assert isinstance(anew, Conflict)
    assert Claim.objects.get(pk=claim.pk).state == ClaimState.LIVE
