"""Every transition against itself and its rivals, at one moment, on connections of their own.

The same tests run on both databases. On SQLite writers take turns; on PostgreSQL they really meet.
"""

from collections import Counter as Tally
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Dialogue, Event, Revision, User
from annotator.models.content import DialogueStatus
from reviews.models import Claim, ClaimState, Cycle, Draw, DrawItem, ProtocolVersion, Review, Slot, SlotState, StageRun
from reviews.services.assignments.changes import hand_over, reassign
from reviews.services.cycles.start import supersede_cycle
from reviews.services.feedback import comments
from reviews.services.queue.claim_rows import lock_slot
from reviews.services.queue.claims import claim_next, claim_slot, expire_overdue, heartbeat, release, skip
from reviews.services.queue.eligibility import lock_eligibility
from reviews.services.queue.slot_work import load_claim, load_slot_work
from reviews.services.sampling.draws import close_population_and_draw, recompute_draw
from reviews.services.statistics.counters import COUNTERS, stored_counters, write_deltas
from reviews.services.statistics.workload import WORK
from reviews.services.submission import waivers
from reviews.services.submission.submit import submit_review
from reviews.services.submission.take_back import take_back
from tests.consistency import assert_consistent, claimed_twice
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogues,
    make_item,
    make_team,
    open_slot,
)
from tests.racing import lost, overlap, race, won

pytestmark = pytest.mark.django_db(transaction=True)

#: How often a race between two is run: each time they meet elsewhere.
ROUNDS = 6


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=8, seniors=2)
    adopt_c3(team)
    return team


def overdue(claim: Claim) -> None:
    Claim.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def consistent(team: Team) -> None:
    """What must be true at every moment, whatever the outcome."""
    assert_consistent(team.project)


def submitting(claim: Claim, verdict: str = "", **more: Any) -> Callable[[], Review]:
    return partial(submit_review, actor=claim.person, slot=claim.slot, token=claim.token, verdict=verdict, **more)


# --- claiming ----------------------------------------------------------------------------------


def work_through(person: User, team: Team) -> list[int]:
    """Claim one slot after the other, until nothing is left; finishing is written directly, to be quick."""
    taken = []
    while (claim := claim_next(actor=person, project=team.project)) is not None:
        taken.append(claim.slot_id)
        Claim.objects.filter(pk=claim.pk).update(state=ClaimState.SUBMITTED, ended_at=timezone.now())
        Slot.objects.filter(pk=claim.slot_id).update(state=SlotState.DONE)
    return taken


def claimed_by_many(people: int, items: int) -> None:
    team = make_team(annotators=people)
    adopt_c3(team)
    begin(team.project, make_dialogues(team.project, items))
    results = race(*(partial(work_through, person, team) for person in team.annotators))
    assert lost(results) == []
    taken = Tally(slot for result in results for slot in result)
    assert max(taken.values()) == 1
    # Nobody gives up early: items that were locked for one are found by the last to look.
    assert len(taken) == items
    assert Claim.objects.count() == items


def test_eight_people_never_hold_the_same_slot() -> None:
    claimed_by_many(8, 120)


@pytest.mark.postgres
@pytest.mark.slow
def test_sixteen_people_and_two_thousand_items() -> None:
    claimed_by_many(16, 2000)


def test_two_reviews_of_an_item_go_to_two_people(team: Team) -> None:
    items = [make_item(team, "cross_check") for _ in range(3)]
    results = race(*(partial(claim_next, actor=person, project=team.project) for person in team.annotators))
    assert lost(results) == []
    claims = [claim for claim in won(results) if claim is not None]
    assert len(claims) == 6
    assert len({claim.slot_id for claim in claims}) == 6
    for item in items:
        holders = Slot.objects.filter(dialogue=item, state=SlotState.CLAIMED).values_list("holder", flat=True)
        assert len(set(holders)) == len(holders) == 2
        assert team.annotator.pk not in holders
    consistent(team)


def test_one_slot_many_hands(team: Team) -> None:
    item = make_item(team, "self_check_single")
    slot = open_slot(item)
    results = race(*(partial(claim_slot, actor=person, slot=slot) for person in team.annotators))
    assert len(won(results)) == 1
    assert all(isinstance(error, Conflict) for error in lost(results))
    consistent(team)


def test_one_person_in_four_windows_holds_one_slot(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 6))
    results = race(*[partial(claim_next, actor=team.annotator, project=team.project)] * 4)
    assert lost(results) == []
    assert len({claim.pk for claim in won(results)}) == 1
    consistent(team)


def test_at_the_bound_of_comments_and_waivers_only_the_last_one_is_written(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comments, "MAX_COMMENTS", 3)
    monkeypatch.setattr(waivers, "MAX_WAIVERS", 3)
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    work = load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    key = {"check": "x", "anchor": "/tasks/t1", "reason": "Wanted."}
    for act, rows in (
        (lambda n: waivers.waive(actor=team.annotator, work=work, value_hash=str(n), **key), item.waivers),
        (lambda n: comments.add_comment(actor=team.annotator, work=work, anchor="", text=f"{n}."), item.comments),
    ):
        results = race(*(partial(act, n) for n in range(6)))
        assert [type(error) for error in lost(results)] == [Invalid] * 3
        assert rows.count() == 3


def test_a_comment_sent_twice_at_once_is_one(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    work = load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    comment = partial(comments.add_comment_once, actor=team.annotator, work=work, anchor="", text="Which Paris?")
    assert lost(race(*[comment] * 6)) == []
    assert item.comments.count() == 1


def test_what_was_left_lying_goes_to_one(team: Team) -> None:
    item = make_item(team, "self_check_single")
    overdue(claim_slot(actor=team.annotator, slot=open_slot(item)))
    results = race(
        *(partial(claim_next, actor=person, project=team.project) for person in team.annotators[1:6]), expire_overdue
    )
    assert lost(results) == []
    claims = [claim for claim in results if isinstance(claim, Claim)]
    if not claims:
        # Tidying up held the slot while everybody asked. It is open now.
        claims = [claim_next(actor=team.annotators[1], project=team.project)]
    assert [isinstance(claim, Claim) for claim in claims] == [True]
    consistent(team)


def test_a_heartbeat_against_a_takeover(team: Team) -> None:
    for _ in range(ROUNDS):
        item = make_item(team, "self_check_single")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        overdue(claim)
        beat, taken = race(
            partial(heartbeat, actor=team.annotator, token=claim.token),
            partial(claim_slot, actor=team.annotators[1], slot=claim.slot),
        )
        assert isinstance(beat, Conflict) != isinstance(taken, Conflict)
        consistent(team)


def test_giving_back_against_taking_over(team: Team) -> None:
    for give_back in (release, skip, release):
        item = make_item(team, "self_check_single")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        overdue(claim)
        results = race(
            partial(give_back, actor=team.annotator, token=claim.token),
            partial(claim_slot, actor=team.annotators[1], slot=claim.slot),
            expire_overdue,
        )
        assert lost(results) == []
        assert Slot.objects.get(pk=claim.slot_id).holder == team.annotators[1]
        consistent(team)


# --- taking back ---------------------------------------------------------------------------------


def test_taking_back_against_the_review_that_settles(team: Team) -> None:
    """Whoever commits first wins: the stage has settled, or the colleague’s review waits for the second one."""
    first, second = team.annotators[1:3]
    for _ in range(ROUNDS):
        item = make_item(team, "cross_check")
        claim = claim_slot(actor=first, slot=open_slot(item))
        submit_review(
            actor=first, slot=claim.slot, token=claim.token, verdict="fix", document=changed(current(item), "Odd.")
        )
        other = claim_slot(actor=second, slot=open_slot(item, second))
        COUNTERS.fold()
        loaded = load_claim(actor=first, slot=claim.slot.public_id)
        undone, review, counted = race(
            partial(take_back, actor=first, claim=loaded), submitting(other, "approve"), WORK.fold
        )
        assert isinstance(review, Review)
        assert not isinstance(counted, Exception)
        item.refresh_from_db()
        if isinstance(undone, Claim):
            assert item.stage == "cross_check"
            submitting(claim, "approve")()
            item.refresh_from_db()
            assert item.status == DialogueStatus.POOLED
        else:
            assert isinstance(undone, Conflict)
            assert "This stage has ended" in undone.sentence
            assert item.status == DialogueStatus.ESCALATED
        assert_consistent(team.project)
        assert WORK.recount(team.project) == []


def test_taking_back_in_two_windows_and_submitting_again(team: Team) -> None:
    person = team.annotators[1]
    for _ in range(ROUNDS):
        item = make_item(team, "cross_check")
        claim = claim_slot(actor=person, slot=open_slot(item))
        submitting(claim, "approve")()
        loaded = [load_claim(actor=person, slot=claim.slot.public_id) for _ in range(2)]
        results = race(*(partial(take_back, actor=person, claim=one) for one in loaded), submitting(claim, "approve"))
        assert lost(results) == []
        assert Slot.objects.get(pk=claim.slot_id).holder == person
        consistent(team)


# --- handing in ----------------------------------------------------------------------------------


@pytest.mark.postgres
def test_a_claim_that_waited_for_another_to_end_begins_after_it(team: Team) -> None:
    """In the records too: the claims never overlap for one person or one slot."""
    first, second = team.annotators[:2]
    begin(team.project, make_dialogues(team.project, 2))
    held = claim_next(actor=first, project=team.project)
    assert held is not None
    _, taken = overlap(
        lambda: lock_slot(held.slot_id),
        lambda: claim_slot(actor=second, slot=held.slot),
        lambda: release(actor=first, token=held.token),
    )
    held.refresh_from_db()
    assert held.ended_at is not None
    assert held.ended_at <= taken.created_at
    assert list(claimed_twice(team.project)) == []

    _, own = overlap(
        lambda: lock_eligibility(actor=second, project=team.project),
        lambda: claim_next(actor=second, project=team.project),
        lambda: release(actor=second, token=taken.token),
    )
    taken.refresh_from_db()
    assert own.pk != taken.pk
    assert taken.ended_at is not None
    assert taken.ended_at <= own.created_at


def test_a_double_click_is_one_review(team: Team) -> None:
    for verdict in ("approve", "fix", "escalate"):
        item = make_item(team, "self_check_single")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        document = changed(current(item)) if verdict == "fix" else None
        act = submitting(claim, verdict, document=document, reason="Odd.")
        results = race(act, act, act)
        assert lost(results) == []
        assert len({review.pk for review in results}) == 1
        consistent(team)


def test_of_two_different_reviews_of_one_claim_one_is_stored_and_the_other_refused(team: Team) -> None:
    for _ in range(ROUNDS):
        item = make_item(team, "self_check_single")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        results = race(submitting(claim, "approve"), submitting(claim, "reject", reason="Odd."))
        [review], [error] = won(results), lost(results)
        assert isinstance(error, Conflict)
        assert error.details["review"]["public_id"] == review.public_id
        assert Review.objects.get(dialogue=item).verdict == review.verdict
    consistent(team)


def test_a_double_click_on_a_draft_is_one_review(team: Team) -> None:
    from annotator.services.dialogues.drafts import open_draft, replace_draft

    for _ in range(ROUNDS):
        item = make_item(team, "self_check_single")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        head = item.head
        assert head is not None
        draft = open_draft(actor=team.annotator, dialogue=item, base=head, branch="main")
        replace_draft(actor=team.annotator, draft=draft, document=changed(current(item)), operation="test")
        results = race(submitting(claim, "fix"), submitting(claim, "fix"))
        assert lost(results) == []
        assert len({review.pk for review in results}) == 1
        assert Revision.objects.filter(dialogue=item).count() == 2
    consistent(team)


@pytest.mark.parametrize(
    ("verdicts", "status", "runs"),
    [
        (("approve", "approve"), DialogueStatus.POOLED, 4),
        (("fix", "fix"), DialogueStatus.POOLED, 4),
        (("approve", "fix"), DialogueStatus.ESCALATED, 4),
        (("reject", "reject"), DialogueStatus.REJECTED, 3),
    ],
)
def test_both_reviewers_at_one_instant_settle_once(
    team: Team, verdicts: tuple[str, str], status: str, runs: int
) -> None:
    for _ in range(3):
        item = make_item(team, "cross_check")
        acts = []
        for person, verdict in zip(team.annotators[1:3], verdicts, strict=True):
            claim = claim_slot(actor=person, slot=open_slot(item, person))
            document = changed(current(item)) if verdict == "fix" else None
            acts.append(submitting(claim, verdict, document=document, reason="Said at once."))
        assert lost(race(*acts)) == []
        item.refresh_from_db()
        assert item.status == status
        assert StageRun.objects.filter(cycle__dialogue=item).count() == runs
        assert not Review.objects.filter(dialogue=item, sealed=True).exists()
        assert not Revision.objects.filter(dialogue=item, sealed=True).exists()
        assert not Event.objects.filter(dialogue=item, sealed=True).exists()
    consistent(team)


def test_a_late_review_against_a_takeover(team: Team) -> None:
    for _ in range(ROUNDS):
        item = make_item(team, "self_check_single")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        overdue(claim)
        submitted, taken, tidied = race(
            submitting(claim, "fix", document=changed(current(item))),
            partial(claim_slot, actor=team.annotators[1], slot=claim.slot),
            expire_overdue,
        )
        assert not isinstance(tidied, Exception)
        slot = Slot.objects.get(pk=claim.slot_id)
        if isinstance(submitted, Review):
            assert isinstance(taken, DomainError)
            assert (slot.state, slot.holder) == (SlotState.DONE, team.annotator)
        else:
            assert isinstance(submitted, Conflict)
            assert taken.person == team.annotators[1]
            assert (slot.state, slot.holder) == (SlotState.CLAIMED, team.annotators[1])
        consistent(team)


def test_a_review_against_being_reassigned(team: Team) -> None:
    for _ in range(ROUNDS):
        item = make_item(team, "cross_check")
        claim = claim_slot(actor=team.annotators[1], slot=open_slot(item))
        submitted, given = race(
            submitting(claim, "approve"),
            partial(reassign, actor=team.administrator, slot=claim.slot, to=team.annotators[3]),
        )
        assert isinstance(submitted, Conflict) != isinstance(given, Conflict)
        consistent(team)


def test_a_review_against_beginning_anew(team: Team) -> None:
    for force in (True, False, True, False):
        item = make_item(team, "self_check_single")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        submitted, anew = race(
            submitting(claim, "fix", document=changed(current(item))),
            partial(supersede_cycle, actor=team.administrator, dialogue=item, reason="Revised.", force=force),
        )
        assert force or isinstance(anew, Conflict)
        assert isinstance(submitted, Review | Conflict)
        assert isinstance(submitted, Review) or isinstance(anew, Cycle)
        consistent(team)


def test_a_settling_stage_against_a_new_owner(team: Team) -> None:
    for _ in range(ROUNDS):
        item = make_item(team, "self_check_multi")
        claim = claim_slot(actor=team.annotator, slot=open_slot(item))
        results = race(
            submitting(claim), partial(hand_over, actor=team.administrator, dialogue=item, to=team.annotators[4])
        )
        assert lost(results) == []
        item.refresh_from_db()
        assert item.owner == team.annotators[4]
        owners = set(Slot.objects.filter(dialogue=item, stage="cross_check").values_list("owner", flat=True))
        assert owners == {team.annotators[4].pk}
    consistent(team)


# --- drawing ----------------------------------------------------------------------------------


def pooled(team: Team) -> Dialogue:
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    return item


def test_a_draw_against_an_item_that_settles_late(team: Team) -> None:
    for _ in range(3):
        items = [pooled(team), pooled(team)]
        late = make_item(team, "cross_check")
        claim_and_submit(team.annotators[1], late, "approve")
        claim = claim_slot(actor=team.annotators[2], slot=open_slot(late, team.annotators[2]))
        drawn, review = race(
            partial(close_population_and_draw, actor=team.administrator, project=team.project),
            submitting(claim, "approve"),
        )
        assert isinstance(drawn, Draw)
        assert isinstance(review, Review)
        members = set(drawn.items.values_list("dialogue", flat=True))
        assert {item.pk for item in items} <= members
        late.refresh_from_db()
        assert (late.status == DialogueStatus.POOLED) == (late.pk not in members)
        assert recompute_draw(drawn) == []
        close_population_and_draw(actor=team.administrator, project=team.project)
    consistent(team)


def test_two_draws_at_once_share_nobody(team: Team) -> None:
    for _ in range(4):
        pooled(team)
    results = race(*[partial(close_population_and_draw, actor=team.administrator, project=team.project)] * 3)
    assert lost(results) == []
    assert [draw.population_size for draw in results if draw is not None] == [4]
    assert DrawItem.objects.count() == 4
    consistent(team)


# --- counting, adopting ----------------------------------------------------------------------------------


def test_folding_against_writing_and_folding(team: Team) -> None:
    project = team.project
    before = stored_counters(project)

    def write() -> None:
        for _ in range(30):
            write_deltas(project_id=project.pk, deltas={"left:x": 3, "done:x": -1})

    def fold() -> None:
        for _ in range(15):
            COUNTERS.fold()

    def read() -> None:
        seen = -1
        for _ in range(30):
            value = stored_counters(project).get("left:x", 0)
            # Only ever written upwards, and never seen half folded.
            assert value >= seen
            assert value % 3 == 0
            seen = value

    assert lost(race(write, write, fold, fold, read)) == []
    COUNTERS.fold()
    expected = Tally(before)
    expected.update({"left:x": 180, "done:x": -60})
    assert stored_counters(project) == dict(expected)


def test_adopting_at_once_gives_each_version_its_number(team: Team) -> None:
    results = race(*(partial(adopt_c3, team, audit_fraction=fraction) for fraction in (0.2, 0.3, 0.4)))
    assert lost(results) == []
    numbers = ProtocolVersion.objects.filter(project=team.project).order_by("number").values_list("number", flat=True)
    assert list(numbers) == [1, 2, 3, 4]


@pytest.mark.postgres
def test_a_killed_connection_leaves_nothing_half_done(team: Team) -> None:
    """The server ends the session in the middle of a submission: either all of it is there or nothing."""
    from reviews.services.submission import submit

    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    claim = claim_slot(actor=team.annotators[2], slot=open_slot(item, team.annotators[2]))
    settle = submit.settle_if_complete

    def settle_and_die(*arguments: Any) -> Any:
        outcome = settle(*arguments)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return outcome

    before = stored_counters(team.project)
    submit.settle_if_complete = settle_and_die
    try:
        results = race(submitting(claim, "approve"))
    finally:
        submit.settle_if_complete = settle
    assert len(lost(results)) == 1
    assert stored_counters(team.project) == before
    assert Slot.objects.get(pk=claim.slot_id).state == SlotState.CLAIMED
    consistent(team)
    assert submitting(claim, "approve")().verdict == "approve"
    consistent(team)
