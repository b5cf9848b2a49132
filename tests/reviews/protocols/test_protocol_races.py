"""Races of the transitions that rounds, approvals in a row, audits and migrations add.

The same tests run on both databases. On SQLite writers take turns; on PostgreSQL they really meet.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from annotator.errors import Conflict, DomainError
from annotator.models import Dialogue, Event, Job
from annotator.models.content import DialogueStatus
from annotator.services.history.events import broken_links
from annotator.services.jobs import jobs
from reviews.models import Claim, Cycle, DiscrepancyAlarm, Draw, Review, SentBackStratum, Slot, SlotState, StageRun
from reviews.services.cycles.migration import JOB as MIGRATION
from reviews.services.cycles.migration import start_migration
from reviews.services.cycles.sending_back import JOB as SENDING_BACK
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_next, claim_slot
from reviews.services.sampling.draws import close_population_and_draw, draw_where_upstream_is_done, tend_rounds
from reviews.services.sampling.rounds import read_rounds
from reviews.services.statistics.alarms import watch_discrepancies
from reviews.services.statistics.counters import recount, stored_counters, write_deltas
from reviews.services.submission.submit import submit_review
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_item,
    make_team,
    open_slot,
)
from tests.racing import lost, race, won

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 3


def submitting(claim: Claim, verdict: str = "", **more: Any) -> Callable[[], Review]:
    return partial(submit_review, actor=claim.person, slot=claim.slot, token=claim.token, verdict=verdict, **more)


def consistent(team: Team) -> None:
    assert stored_counters(team.project) == recount(team.project)
    for item in Dialogue.objects.filter(project=team.project):
        assert broken_links(item) == []
        unfinished = StageRun.objects.filter(cycle__dialogue=item, state__in=["open", "pooled", "drawn"])
        assert unfinished.count() == (0 if item.status in ("verified", "rejected", "candidate") else 1)
    for draw in Draw.objects.filter(project=team.project, algorithm=2, closing=False):
        ended = Event.objects.filter(kind="round.ended", after__draw=draw.public_id)
        assert ended.count() == (0 if draw.round_ended_at is None else 1)


def wild(items: int, fraction: float) -> Team:
    """A project whose items wait for their first round."""
    team = make_team(annotators=4, seniors=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=fraction)
    for n in range(items):
        item = make_dialogue(team.project)
        begin(team.project, [item])
        claim_and_submit(team.annotators[n % 4], item, "approve")
    return team


def holding(team: Team, items: int | None = None) -> list[Claim]:
    """Everybody for whom a slot of the round is reserved has claimed it."""
    slots = Slot.objects.filter(project=team.project, stage="rounds", state=SlotState.OPEN).order_by(
        "dialogue", "index"
    )
    out = []
    for slot in slots:
        assert slot.reserved_for is not None
        out.append(claim_slot(actor=slot.reserved_for, slot=slot))
    return out


# --- rounds -----------------------------------------------------------------------------------------------------------


def test_rounds_drawn_at_once_are_one_round() -> None:
    team = wild(4, 0.5)
    by_hand = partial(close_population_and_draw, actor=team.administrator, project=team.project)
    tended = partial(tend_rounds, project_id=team.project.pk, stage="rounds")
    results = race(by_hand, tended, by_hand, draw_where_upstream_is_done)
    assert all(isinstance(error, Conflict) for error in lost(results))
    [draw] = Draw.objects.filter(project=team.project)
    assert (draw.number, draw.population_size, draw.sample_size) == (1, 4, 2)
    assert Slot.objects.filter(stage="rounds").count() == 4
    consistent(team)


def test_the_last_reviews_of_a_round_end_it_once() -> None:
    """Two items, four reviewers, one moment: the last to commit finds the round done and draws the next."""
    for _ in range(ROUNDS):
        team = wild(4, 0.5)
        tend_rounds(project_id=team.project.pk, stage="rounds")
        results = race(*(submitting(claim, "approve") for claim in holding(team)))
        assert lost(results) == []
        first, second = Draw.objects.filter(project=team.project).order_by("number")
        assert first.round_ended_at is not None
        assert second.strata == {"unseen": [2, 2], "seen": [2, 0]}
        consistent(team)


def test_the_last_reviews_of_the_last_round_let_everything_go_on_once() -> None:
    for _ in range(ROUNDS):
        team = wild(2, 1.0)
        tend_rounds(project_id=team.project.pk, stage="rounds")
        results = race(
            *(submitting(claim, "approve") for claim in holding(team)),
            partial(tend_rounds, project_id=team.project.pk, stage="rounds"),
        )
        assert lost(results) == []
        assert list(Draw.objects.filter(project=team.project).order_by("number").values_list("closing", flat=True)) == [
            False,
            True,
        ]
        assert set(Dialogue.objects.filter(project=team.project).values_list("status", flat=True)) == {"verified"}
        consistent(team)


def test_a_dispute_settled_while_the_other_item_passes() -> None:
    for _ in range(ROUNDS):
        team = wild(2, 1.0)
        tend_rounds(project_id=team.project.pk, stage="rounds")
        one, two, three, four = holding(team)
        submitting(one, "approve")()
        submitting(two, "escalate", reason="It is odd.")()
        submitting(three, "approve")()
        item = one.slot.dialogue
        expert = claim_slot(actor=team.senior, slot=open_slot(item)) if team.senior.pk not in (
            item.owner_id, item.head.author_id if item.head else None
        ) else None  # fmt: skip
        assert expert is not None
        results = race(submitting(four, "approve"), submitting(expert, "approve"))
        assert lost(results) == []
        first, second = Draw.objects.filter(project=team.project).order_by("number")
        assert first.round_ended_at is not None
        assert second.strata["unseen"] == [1, 1]
        found = read_rounds(team.project)[0]
        assert (found.seen, found.disputes, found.errors) == (2, 1, 0)
        consistent(team)


def test_an_item_that_comes_as_a_round_is_drawn_is_in_it_or_in_the_next() -> None:
    for _ in range(ROUNDS):
        team = wild(2, 0.5)
        late = make_dialogue(team.project)
        begin(team.project, [late])
        claim = claim_slot(actor=team.annotators[3], slot=open_slot(late))
        drawn, review = race(
            partial(close_population_and_draw, actor=team.administrator, project=team.project),
            submitting(claim, "approve"),
        )
        assert isinstance(drawn, Draw)
        assert isinstance(review, Review)
        for held in holding(team):
            submitting(held, "approve")()
        second = Draw.objects.get(project=team.project, number=2)
        assert second.items.filter(dialogue=late).exists()
        in_the_first = drawn.items.filter(dialogue=late).exists()
        found = StageRun.objects.filter(cycle__dialogue=late, draw_item__isnull=False).order_by("round")
        assert list(found.values_list("round", flat=True)) == ([1, 2] if in_the_first else [2])
        consistent(team)


# --- approvals in a row -----------------------------------------------------------------------------------------------


def test_the_second_approval_is_anothers() -> None:
    team = make_team(annotators=6, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    for _ in range(ROUNDS):
        item = make_dialogue(team.project)
        begin(team.project, [item])
        claim_and_submit(team.annotator, item, "approve")
        results = race(
            *(partial(claim_next, actor=person, project=team.project) for person in team.annotators[:3]),
        )
        assert lost(results) == []
        claims = [claim for claim in won(results) if claim is not None]
        assert len(claims) == 1
        assert claims[0].person != team.annotator
        submitting(claims[0], "approve")()
        item.refresh_from_db()
        assert item.stage == "validators"
        begun = Slot.objects.get(dialogue=item, state=SlotState.OPEN)
        claim_and_submit(team.annotators[4], item, "approve")
        claim_and_submit(team.annotators[5], item, "approve")
        assert begun.confirms == 0
    consistent(team)


# --- audits -----------------------------------------------------------------------------------------------------------


def test_audits_at_one_moment_send_back_once() -> None:
    for _ in range(2):
        team = make_team(annotators=3, seniors=3)
        adopt_c3(team, audit_fraction=0.5, send_back_above=0.2, send_back_audited=3)
        for _ in range(6):
            item = make_item(team, "cross_check")
            for person in team.annotators[1:3]:
                claim_and_submit(person, item, "approve")
        draw = close_population_and_draw(actor=team.administrator, project=team.project)
        assert draw is not None
        claims = [
            claim_slot(actor=person, slot=slot)
            for person, slot in zip(
                team.seniors, Slot.objects.filter(project=team.project, stage="expert", state="open"), strict=True
            )
        ]
        # Three audits, each of which alone sees too few: whichever is judged last sees all three.
        results = race(*(submitting(claim, "reject", reason="It is wrong.") for claim in claims))
        assert lost(results) == []
        sent = SentBackStratum.objects.get(draw=draw)
        assert (sent.audited, sent.errors, sent.items) == (3, 3, 3)
        job = Job.objects.get(kind=SENDING_BACK, project=team.project)
        results = race(partial(jobs.run, job.pk), partial(jobs.run, job.pk))
        assert lost(results) == []
        again = Cycle.objects.filter(project=team.project, number=2)
        assert again.count() == 3
        consistent(team)


def test_an_alarm_is_raised_once() -> None:
    team = make_team()
    adopt_c3(team)
    write_deltas(project_id=team.project.pk, deltas={"compared:cross_check": 30, "discrepant:cross_check": 10})
    results = race(*[partial(watch_discrepancies, team.project)] * 4)
    assert lost(results) == []
    assert DiscrepancyAlarm.objects.count() == 1
    assert Event.objects.filter(kind="protocol.discrepancy_alarm").count() == 1


# --- migrations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settles", [True, False])
def test_a_review_against_being_moved(settles: bool) -> None:
    """A review submitted while its item is moved follows one version or the other, never a mixture."""
    for _ in range(ROUNDS):
        team = make_team(annotators=4, seniors=2)
        adopt_c3(team)
        item = make_item(team, "cross_check")
        if settles:
            claim_and_submit(team.annotators[1], item, "approve")
        claim = claim_slot(actor=team.annotators[2], slot=open_slot(item, team.annotators[2]))
        version = adopt_c3(team, audit_fraction=0.3)
        job = start_migration(actor=team.administrator, project=team.project)
        review, done = race(submitting(claim, "approve"), partial(jobs.run, job.pk))
        assert isinstance(review, Review)
        assert done.state == "done"
        cycle = Cycle.objects.get(dialogue=item)
        assert cycle.protocol == version
        for slot in Slot.objects.filter(dialogue=item, state__in=[SlotState.OPEN, SlotState.CLAIMED]):
            assert slot.protocol == version
        consistent(team)


def test_a_review_against_its_stage_beginning_anew() -> None:
    for _ in range(ROUNDS):
        team = make_team(annotators=4, seniors=2)
        adopt_c3(team)
        item = make_item(team, "cross_check")
        claim = claim_slot(actor=team.annotators[2], slot=open_slot(item))
        adopt_c3(team, cross_check_reviewers=1)
        job = start_migration(actor=team.administrator, project=team.project)
        review, done = race(submitting(claim, "fix", document=changed(current(item))), partial(jobs.run, job.pk))
        assert isinstance(review, Review | DomainError)
        assert done.result == {"restart": 1}
        item.refresh_from_db()
        assert item.status == DialogueStatus.IN_REVIEW
        assert Slot.objects.filter(dialogue=item, state=SlotState.OPEN).count() == 1
        consistent(team)


def test_two_workers_move_each_item_once() -> None:
    team = make_team(annotators=4, seniors=2)
    adopt_c3(team)
    for _ in range(6):
        make_item(team, "self_check_single")
    adopt_c3(team, audit_fraction=0.3)
    job = start_migration(actor=team.administrator, project=team.project)
    results = race(partial(jobs.run, job.pk), partial(jobs.run, job.pk))
    assert lost(results) == []
    assert Event.objects.filter(kind="cycle.migrated").count() == 6
    assert Job.objects.get(kind=MIGRATION).result == {"stay": 6}
    consistent(team)
