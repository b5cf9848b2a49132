"""Claiming: in what order, by whom, for how long, and how a slot comes back."""

from datetime import UTC, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Notice, Role, User
from annotator.services.members import end_role
from reviews.models import Claim, ClaimState, Priority, QueueCursor, Slot, SlotState
from reviews.services.assignments.changes import free_claim, hand_over, prioritise, reassign
from reviews.services.queue.claims import claim_next, claim_slot, expire_overdue, heartbeat, release, skip
from reviews.services.queue.order import rewind_cursors
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission.submit import submit_review
from tests.factories import (
    Team,
    begin,
    claim_and_submit,
    give_role,
    make_dialogue,
    make_dialogues,
    make_item,
    make_team,
    make_user,
    open_slot,
)

pytestmark = pytest.mark.django_db


def take(person: User, team: Team, stage: str | None = None) -> Claim:
    claim = claim_next(actor=person, project=team.project, stage=stage)
    assert claim is not None
    return claim


def overdue(claim: Claim) -> None:
    """Let a claim's lease run out."""
    Claim.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def items(team: Team, count: int) -> list[Dialogue]:
    return begin(team.project, make_dialogues(team.project, count))


# --- order ------------------------------------------------------------------------------------------------------------


def test_items_come_in_the_order_they_came_in(team: Team) -> None:
    dialogues = items(team, 4)
    taken = [take(person, team).slot.dialogue_id for person in team.annotators]
    assert taken == [dialogue.pk for dialogue in dialogues[:3]]


def test_what_one_holds_comes_first(team: Team) -> None:
    items(team, 2)
    first = take(team.annotator, team)
    assert take(team.annotator, team).pk == first.pk
    assert Claim.objects.count() == 1


def test_what_one_holds_in_another_stage_does_not_stand_in_the_way(team: Team) -> None:
    make_item(team, "self_check_multi")
    begin(team.project, [make_dialogue(team.project)])
    multi = take(team.annotator, team, "self_check_multi")
    single = take(team.annotator, team, "self_check_single")
    assert multi.slot_id != single.slot_id


def test_high_priority_comes_first(team: Team) -> None:
    dialogues = items(team, 3)
    assert prioritise(actor=team.administrator, dialogue=dialogues[2], priority=Priority.HIGH) == 1
    assert take(team.annotator, team).slot.dialogue_id == dialogues[2].pk


def test_what_is_hurried_is_found_by_whoever_has_passed_it(team: Team) -> None:
    dialogues = items(team, 6)
    for dialogue in dialogues[3:5]:
        prioritise(actor=team.administrator, dialogue=dialogue, priority=Priority.HIGH)
    for _ in range(2):
        claim = take(team.annotator, team)
        skip(actor=team.annotator, token=claim.token)
    prioritise(actor=team.administrator, dialogue=dialogues[0], priority=Priority.HIGH)
    third = take(team.annotators[1], team)
    assert third.slot.priority == Priority.HIGH


def test_what_is_nearest_to_its_end_comes_first(team: Team) -> None:
    begin(team.project, [make_dialogue(team.project)])
    near = make_item(team, "cross_check")
    assert take(team.annotators[1], team).slot.dialogue_id == near.pk


def test_ones_own_second_check_comes_before_others_items(team: Team) -> None:
    other = make_item(team, "cross_check")
    own = make_dialogue(team.project)
    begin(team.project, [own])
    claim_and_submit(team.annotators[1], own)
    assert take(team.annotators[1], team).slot.dialogue_id == own.pk
    assert take(team.annotators[2], team).slot.dialogue_id == other.pk


def test_an_item_of_two_reviewers_goes_to_two_people(team: Team) -> None:
    item = make_item(team, "cross_check")
    first, second = take(team.annotators[1], team), take(team.annotators[2], team)
    assert first.slot.dialogue_id == second.slot.dialogue_id == item.pk
    assert first.slot_id != second.slot_id


def test_nothing_is_left(team: Team) -> None:
    items(team, 1)
    take(team.annotator, team)
    assert claim_next(actor=team.annotators[1], project=team.project) is None


def test_a_project_without_a_protocol_has_no_work() -> None:
    team = make_team()
    make_dialogue(team.project)
    assert claim_next(actor=team.annotator, project=team.project) is None


def test_hidden_slots_are_nobodys(team: Team) -> None:
    dialogue = items(team, 1)[0]
    Slot.objects.update(state=SlotState.HIDDEN)
    assert claim_next(actor=team.annotator, project=team.project) is None
    with pytest.raises(Hidden):
        claim_slot(actor=team.annotator, slot=Slot.objects.get(dialogue=dialogue))


# --- cursors ----------------------------------------------------------------------------------------------------------


def test_a_cursor_follows_the_claims(team: Team) -> None:
    items(team, 2)
    claim = take(team.annotator, team)
    cursor = QueueCursor.objects.get(person=team.annotator)
    assert (cursor.stage, cursor.position) == ("self_check_single", claim.slot.position)


def test_whoever_finds_nothing_ahead_looks_from_the_beginning(team: Team) -> None:
    items(team, 3)
    claim = take(team.annotator, team)
    release(actor=team.annotator, token=claim.token)
    QueueCursor.objects.filter(person=team.annotator).update(position=2**62)
    again = take(team.annotator, team)
    assert again.slot_id == claim.slot_id


def test_cursors_go_back_to_the_beginning(team: Team) -> None:
    items(team, 1)
    take(team.annotator, team)
    assert rewind_cursors() == 1
    assert QueueCursor.objects.get(person=team.annotator).position == 0


# --- who may ----------------------------------------------------------------------------------------------------------


def test_an_outsider_finds_no_project(team: Team) -> None:
    items(team, 1)
    with pytest.raises(Hidden):
        claim_next(actor=team.outsider, project=team.project)
    with pytest.raises(Hidden):
        claim_slot(actor=team.outsider, slot=Slot.objects.get())


def test_whoever_was_deactivated_finds_none_either(team: Team) -> None:
    items(team, 1)
    end_role(actor=team.administrator, project=team.project, user=team.annotator, role=Role.ANNOTATOR)
    with pytest.raises(Hidden):
        claim_next(actor=team.annotator, project=team.project)
    team.annotators[1].is_active = False
    with pytest.raises(Hidden):
        claim_next(actor=team.annotators[1], project=team.project)


def test_a_stage_takes_its_role(team: Team) -> None:
    make_item(team, "expert")
    assert claim_next(actor=team.administrator, project=team.project) is None
    with pytest.raises(Denied, match="“Expert verification”"):
        claim_next(actor=team.annotator, project=team.project, stage="expert")
    with pytest.raises(Invalid, match=r"no stage “nonsense”. Its stages are: self_check_single"):
        claim_next(actor=team.annotator, project=team.project, stage="nonsense")
    assert take(team.senior, team).slot.stage == "expert"


def test_owner_and_author_do_not_cross_check_their_own(team: Team) -> None:
    item = make_item(team, "cross_check")
    assert claim_next(actor=team.annotator, project=team.project) is None
    with pytest.raises(Denied, match="A dialogue can’t be reviewed by its owner"):
        claim_slot(actor=team.annotator, slot=open_slot(item))
    Slot.objects.filter(dialogue=item).update(owner=None, revision_author=team.annotator)
    with pytest.raises(Denied, match="A revision can’t be reviewed by its author"):
        claim_slot(actor=team.annotator, slot=open_slot(item))
    assert claim_next(actor=team.annotator, project=team.project) is None


@pytest.mark.parametrize("field", ["owner", "revision_author"])
def test_the_database_knows_it_too(team: Team, field: str) -> None:
    item = make_item(team, "cross_check")
    slots = Slot.objects.filter(dialogue=item, stage="cross_check", index=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        slots.update(**{field: team.annotators[1]}, state=SlotState.CLAIMED, holder=team.annotators[1])


def test_the_second_self_check_is_the_owners(team: Team) -> None:
    item = make_item(team, "self_check_multi")
    assert claim_next(actor=team.annotators[1], project=team.project) is None
    with pytest.raises(Denied, match="assigned to somebody else"):
        claim_slot(actor=team.annotators[1], slot=open_slot(item))
    assert take(team.annotator, team).slot.dialogue_id == item.pk


def test_one_person_gives_one_of_two_independent_reviews(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim = take(team.annotators[1], team)
    other = Slot.objects.get(dialogue=item, stage="cross_check", state=SlotState.OPEN)
    with pytest.raises(Denied, match="already one of the reviewers"):
        claim_slot(actor=team.annotators[1], slot=other)
    claim_and_submit(team.annotators[1], item, "approve")
    assert claim.slot_id != other.pk
    assert claim_next(actor=team.annotators[1], project=team.project) is None


def test_the_database_gives_nobody_both_reviews(team: Team) -> None:
    item = make_item(team, "cross_check")
    with pytest.raises(IntegrityError), transaction.atomic():
        Slot.objects.filter(dialogue=item, stage="cross_check").update(
            state=SlotState.CLAIMED, holder=team.annotators[1]
        )


def test_an_expert_has_not_reviewed_the_item_before(team: Team) -> None:
    second = give_role(team.project, make_user(), Role.SENIOR_REVIEWER)
    item = make_item(team, "cross_check")
    claim_and_submit(team.senior, item, "approve")
    claim_and_submit(team.annotators[1], item, "reject")
    assert open_slot(item).stage == "expert"
    assert claim_next(actor=team.senior, project=team.project) is None
    with pytest.raises(Denied, match="hasn’t reviewed this item before"):
        claim_slot(actor=team.senior, slot=open_slot(item))
    assert take(second, team).slot.dialogue_id == item.pk


# --- one slot, one person ---------------------------------------------------------------------------------------------


def test_a_slot_somebody_holds_is_not_to_be_had(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    with pytest.raises(Conflict, match="A colleague is working"):
        claim_slot(actor=team.annotators[1], slot=claim.slot)
    assert claim_slot(actor=team.annotator, slot=claim.slot).pk == claim.pk


def test_a_slot_that_is_done_is_not_to_be_had(team: Team) -> None:
    dialogue = items(team, 1)[0]
    review = claim_and_submit(team.annotator, dialogue)
    with pytest.raises(Conflict, match="needs no further review"):
        claim_slot(actor=team.annotators[1], slot=review.slot)


def test_the_database_allows_one_live_claim_a_slot(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    with pytest.raises(IntegrityError), transaction.atomic():
        Claim.objects.create(
            slot=claim.slot, person=team.annotators[1], project=team.project, stage=claim.stage, lease=claim.lease,
            created_at=claim.created_at, heartbeat_at=claim.heartbeat_at, expires_at=claim.expires_at,
        )  # fmt: skip


# --- leases -----------------------------------------------------------------------------------------------------------


def test_a_lease_lasts_as_long_as_the_stage_says(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    assert claim.expires_at - claim.created_at == timedelta(minutes=30)
    make_item(team, "expert")
    expert = take(team.senior, team)
    assert expert.expires_at - expert.created_at == timedelta(minutes=60)


def test_opening_its_page_prolongs_it_and_says_until_when_and_counts_no_time(team: Team, client: Client) -> None:
    """Without scripts there is no heartbeat: a page that was open lost its lease without a word."""
    items(team, 1)
    claim = take(team.annotator, team)
    client.force_login(team.annotator)
    for page in ("", "submit/?verdict=reject"):
        overdue(claim)
        text = client.get(f"/work/{claim.slot.public_id}/{page}").content.decode()
        held = Claim.objects.get()
        assert timedelta(minutes=29) < held.expires_at - timezone.now() <= claim.lease
        assert (
            f'This item is reserved for you until <time datetime="{held.expires_at.astimezone(UTC).isoformat()}"'
            in text
        )
        assert (held.heartbeat_at, held.active_seconds) == (claim.heartbeat_at, 0)
    # A request by htmx does not open a page; an open page has a heartbeat.
    overdue(claim)
    client.get(f"/work/{claim.slot.public_id}/?at=/", headers={"HX-Request": "true"})
    assert Claim.objects.get().expires_at < timezone.now()
    # One that was given up in the meantime, and that nobody else has taken, is theirs again.
    assert expire_overdue() == 1
    client.get(f"/work/{claim.slot.public_id}/")
    assert Claim.objects.get().state == "live"


def test_a_heartbeat_prolongs_it_and_counts_work_no_longer_than_time_has_passed(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    earlier = claim.heartbeat_at - timedelta(seconds=50)
    Claim.objects.filter(pk=claim.pk).update(heartbeat_at=earlier, expires_at=earlier + claim.lease)
    beaten = heartbeat(actor=team.annotator, token=claim.token, active_seconds=40)
    assert beaten.active_seconds == 40
    assert beaten.expires_at > earlier + claim.lease
    beaten = heartbeat(actor=team.annotator, token=claim.token, active_seconds=5000)
    assert beaten.active_seconds < 50
    assert heartbeat(actor=team.annotator, token=claim.token, active_seconds=-7).active_seconds >= 40


def test_a_foreign_token_opens_nothing(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    for act in (heartbeat, release, skip):
        with pytest.raises(Hidden):
            act(actor=team.annotators[1], token=claim.token)
    assert Claim.objects.get().state == ClaimState.LIVE


def test_whoever_claims_takes_over_what_was_left_lying(team: Team) -> None:
    items(team, 2)
    left = take(team.annotator, team)
    overdue(left)
    taken = take(team.annotators[1], team)
    assert taken.slot_id == left.slot_id
    left.refresh_from_db()
    assert left.state == ClaimState.EXPIRED
    assert Slot.objects.get(pk=left.slot_id).holder == team.annotators[1]


def test_nobody_takes_over_what_they_may_not_have(team: Team) -> None:
    make_item(team, "cross_check")
    overdue(take(team.annotators[1], team))
    assert claim_next(actor=team.annotator, project=team.project) is None


def test_ones_own_overdue_item_goes_on(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    overdue(claim)
    again = take(team.annotator, team)
    assert again.pk == claim.pk
    assert again.expires_at > timezone.now()


def test_a_certain_slot_can_be_taken_over_as_well(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    overdue(claim)
    assert claim_slot(actor=team.annotators[1], slot=claim.slot).person == team.annotators[1]
    with pytest.raises(Conflict, match="Your claim on this item has ended"):
        heartbeat(actor=team.annotator, token=claim.token)


def test_tidying_up_opens_what_was_left_lying(team: Team) -> None:
    items(team, 2)
    left, held = take(team.annotator, team), take(team.annotators[1], team)
    overdue(left)
    assert expire_overdue() == 1
    slot = Slot.objects.get(pk=left.slot_id)
    assert (slot.state, slot.holder, slot.position) == (SlotState.OPEN, None, left.slot.position)
    assert Slot.objects.get(pk=held.slot_id).state == SlotState.CLAIMED
    assert expire_overdue() == 0


def test_a_heartbeat_revives_what_nobody_else_has_taken(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    overdue(claim)
    expire_overdue()
    assert heartbeat(actor=team.annotator, token=claim.token).state == ClaimState.LIVE
    slot = Slot.objects.get(pk=claim.slot_id)
    assert (slot.state, slot.holder) == (SlotState.CLAIMED, team.annotator)


# --- giving back ------------------------------------------------------------------------------------------------------


def test_what_is_released_keeps_its_place(team: Team) -> None:
    dialogues = items(team, 2)
    claim = take(team.annotator, team)
    release(actor=team.annotator, token=claim.token)
    claim.refresh_from_db()
    assert claim.state == ClaimState.RELEASED
    assert claim.ended_at is not None
    assert take(team.annotators[1], team).slot.dialogue_id == dialogues[0].pk


def test_what_is_skipped_comes_again_after_everything_else(team: Team) -> None:
    dialogues = items(team, 3)
    claim = take(team.annotator, team)
    skip(actor=team.annotator, token=claim.token)
    for dialogue in dialogues[1:]:
        assert take(team.annotator, team, "self_check_single").slot.dialogue_id == dialogue.pk
        claim_and_submit(team.annotator, dialogue)
    assert take(team.annotator, team, "self_check_single").slot.dialogue_id == dialogues[0].pk


def test_who_skipped_an_item_gets_what_they_left_of_it_again_and_not_its_other_place(team: Team) -> None:
    first, second = (make_item(team, "cross_check") for _ in range(2))
    me = team.annotators[1]
    claim = take(me, team)
    assert claim.slot.dialogue_id == first.pk
    skip(actor=me, token=claim.token)
    assert take(me, team).slot.dialogue_id == second.pk
    claim_and_submit(me, second, "approve")
    beside = Slot.objects.get(stage_run=claim.slot.stage_run_id, index=1 - claim.slot.index)
    with pytest.raises(Conflict, match=f"in slot {claim.slot.public_id}"):
        claim_slot(actor=me, slot=beside)
    # The other place is a colleague's; nor is it taken over when their time has run out.
    other = take(team.annotators[2], team)
    assert other.slot.stage_run_id == claim.slot.stage_run_id
    overdue(other)
    again = take(me, team)
    assert again.slot_id == claim.slot_id != other.slot_id


def test_giving_back_twice_does_nothing(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    release(actor=team.annotator, token=claim.token)
    other = take(team.annotators[1], team)
    release(actor=team.annotator, token=claim.token)
    skip(actor=team.annotator, token=claim.token)
    assert Slot.objects.get().holder == team.annotators[1]
    other.refresh_from_db()
    assert other.state == ClaimState.LIVE


# --- loading ----------------------------------------------------------------------------------------------------------


def test_work_is_loaded_with_all_it_takes(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim = take(team.annotators[1], team)
    work = load_slot_work(actor=team.annotators[1], public_id=claim.slot.public_id)
    assert work.dialogue == item
    assert work.claim == claim
    assert work.stage.key == "cross_check"
    assert work.blind
    assert work.branch == f"slot-{claim.slot.public_id}"
    assert not work.expired


def test_work_of_others_is_hidden(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    for person in (team.annotators[1], team.senior, team.administrator, team.outsider):
        with pytest.raises(Hidden):
            load_slot_work(actor=person, public_id=claim.slot.public_id)
    with pytest.raises(Hidden):
        load_slot_work(actor=team.annotator, public_id="nonsense")


def test_overdue_work_is_said_to_be_so_while_nobody_else_has_it(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    overdue(claim)
    assert load_slot_work(actor=team.annotator, public_id=claim.slot.public_id).expired
    expire_overdue()
    assert load_slot_work(actor=team.annotator, public_id=claim.slot.public_id).expired
    take(team.annotators[1], team)
    with pytest.raises(Conflict, match="a colleague has claimed this item"):
        load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)


def test_what_became_of_ones_work_is_said(team: Team) -> None:
    dialogue = items(team, 1)[0]
    claim = take(team.annotator, team)
    public_id = claim.slot.public_id
    release(actor=team.annotator, token=claim.token)
    with pytest.raises(Conflict, match="You have released this item"):
        load_slot_work(actor=team.annotator, public_id=public_id)
    claim_and_submit(team.annotator, dialogue)
    with pytest.raises(Conflict, match="You have submitted your review"):
        load_slot_work(actor=team.annotator, public_id=public_id)


def test_whoever_left_the_project_loads_nothing(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    end_role(actor=team.administrator, project=team.project, user=team.annotator, role=Role.ANNOTATOR)
    with pytest.raises(Hidden):
        load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)


def test_who_loses_an_item_finds_one_notice_of_it_on_my_work(team: Team, client: Client) -> None:
    """It was gone from My work without a word."""
    items(team, 3)
    person = team.annotator
    lapsed = take(person, team)
    overdue(lapsed)
    assert take(team.annotators[1], team).slot_id == lapsed.slot_id
    [notice] = Notice.objects.filter(person=person)
    name = lapsed.slot.dialogue.external_id
    assert notice.text.startswith(f"Your claim on {name} expired")
    client.force_login(person)
    assert f"Your claim on {name}" in client.get("/").content.decode()
    assert client.get(notice.target).status_code == 409
    # Of what goes as well they are not told once more before they have read it.
    other = take(person, team)
    overdue(other)
    assert expire_overdue() == 1
    assert Notice.objects.filter(person=person).count() == 1
    assert client.get(f"/work/{other.slot.public_id}/").status_code == 200


def losses(person: User) -> int:
    return sum("no longer assigned to you" in row.text for row in Notice.objects.filter(person=person))


def test_who_decides_that_others_go_on_tells_whoever_was_at_it(team: Team) -> None:
    items(team, 1)
    claim = take(team.annotator, team)
    reassign(actor=team.administrator, slot=claim.slot, to=team.annotators[1])
    notice = Notice.objects.get(person=team.annotator)
    assert notice.text.startswith(f"{claim.slot.dialogue.external_id} is no longer assigned to you")
    assert not any(str(one) in notice.text for one in team.annotators)
    free_claim(actor=team.administrator, slot=claim.slot)
    assert losses(team.annotators[1]) == 1
    again = take(team.annotators[2], team)
    submit_review(actor=team.annotators[2], slot=again.slot, token=again.token)
    hand_over(actor=team.administrator, dialogue=again.slot.dialogue, to=team.annotator)
    assert losses(team.annotators[2]) == 1
