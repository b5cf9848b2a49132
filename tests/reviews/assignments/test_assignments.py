"""Decisions of administrators: reassign, hand over, prioritise; and the work of members who leave."""

import pytest

from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Role
from annotator.services.history.events import broken_links
from annotator.services.members import end_role, grant_role
from reviews.models import ClaimState, Priority, Slot, SlotState
from reviews.services.assignments import lists
from reviews.services.assignments.changes import hand_over, prioritise, reassign
from reviews.services.cycles.start import supersede_cycle
from reviews.services.queue.absence import release_slots_of_former_members
from reviews.services.queue.claims import claim_next, claim_slot
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.statistics import throughput
from reviews.services.statistics.all_counts import fold_all
from reviews.services.submission.submit import submit_review
from tests.factories import Team, claim_and_submit, make_item, open_slot
from tests.reviews.gold.gold_team import answer_with, certain, gold_team, make_gold, take

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


@pytest.fixture
def item(team: Team) -> Dialogue:
    return make_item(team, "cross_check")


def test_a_slot_is_taken_from_one_and_reserved_for_another(team: Team, item: Dialogue) -> None:
    claim = claim_slot(actor=team.annotators[1], slot=open_slot(item))
    slot = reassign(actor=team.administrator, slot=claim.slot, to=team.annotators[2], reason="On holiday.")
    claim.refresh_from_db()
    assert (claim.state, slot.state, slot.reserved_for) == (ClaimState.WITHDRAWN, SlotState.OPEN, team.annotators[2])
    with pytest.raises(Conflict, match="was reassigned"):
        load_slot_work(actor=team.annotators[1], public_id=slot.public_id)
    with pytest.raises(Conflict, match="Your draft is kept"):
        submit_review(actor=team.annotators[1], slot=slot, token=claim.token, verdict="approve")
    taken = claim_next(actor=team.annotators[2], project=team.project)
    assert taken is not None
    assert taken.slot_id == slot.pk
    assert item.events.order_by("-number")[0].after["reason"] == "On holiday."
    assert broken_links(item) == []


def test_it_is_not_given_to_whoever_may_not_have_it(team: Team, item: Dialogue) -> None:
    slot = open_slot(item)
    for person, words in (
        (team.annotator, "A dialogue can’t be reviewed by its owner"),
        (team.administrator, "needs the role annotator or senior reviewer"),
        (team.outsider, "needs the role"),
    ):
        with pytest.raises(Invalid, match=words):
            reassign(actor=team.administrator, slot=slot, to=person)
    claim_slot(actor=team.annotators[1], slot=slot)
    other = Slot.objects.get(dialogue=item, stage="cross_check", state=SlotState.OPEN)
    with pytest.raises(Invalid, match="already one of the reviewers"):
        reassign(actor=team.administrator, slot=other, to=team.annotators[1])
    with pytest.raises(Conflict, match="already working on this item"):
        reassign(actor=team.administrator, slot=slot, to=team.annotators[1])


def test_both_reviews_are_not_reserved_for_one_person(team: Team, item: Dialogue) -> None:
    first, second = Slot.objects.filter(dialogue=item, stage="cross_check").order_by("index")
    reassign(actor=team.administrator, slot=first, to=team.annotators[1])
    with pytest.raises(Invalid, match="already assigned to this person"):
        reassign(actor=team.administrator, slot=second, to=team.annotators[1])
    # Nor do they come to hold the other one by the queue.
    taken = claim_next(actor=team.annotators[1], project=team.project)
    assert taken is not None
    assert taken.slot_id == first.pk


def test_only_administrators_decide(team: Team, item: Dialogue) -> None:
    for act in (
        lambda: reassign(actor=team.senior, slot=open_slot(item), to=team.annotators[1]),
        lambda: hand_over(actor=team.senior, dialogue=item, to=team.annotators[1]),
        lambda: prioritise(actor=team.senior, dialogue=item, priority=Priority.HIGH),
    ):
        with pytest.raises(Denied):
            act()


def test_what_is_done_is_not_reassigned(team: Team) -> None:
    item = make_item(team, "self_check_single")
    review = claim_and_submit(team.annotator, item)
    with pytest.raises(Conflict, match="finished or cancelled"):
        reassign(actor=team.administrator, slot=review.slot, to=team.annotators[1])


def test_a_new_owner_gets_what_waits_for_the_owner(team: Team) -> None:
    item = make_item(team, "self_check_multi")
    hand_over(actor=team.administrator, dialogue=item, to=team.annotators[2], reason="Left us.")
    assert claim_next(actor=team.annotator, project=team.project) is None
    taken = claim_next(actor=team.annotators[2], project=team.project)
    assert taken is not None
    assert taken.slot.dialogue_id == item.pk
    item.refresh_from_db()
    assert item.owner == team.annotators[2]
    assert item.events.order_by("-number")[0].kind == "dialogue.owner_changed"
    with pytest.raises(Invalid, match="isn’t a member of this project"):
        hand_over(actor=team.administrator, dialogue=item, to=team.outsider)


def test_a_new_owner_does_not_cross_check_it_and_the_old_one_may(team: Team, item: Dialogue) -> None:
    hand_over(actor=team.administrator, dialogue=item, to=team.annotators[2])
    assert claim_next(actor=team.annotators[2], project=team.project) is None
    assert claim_next(actor=team.annotator, project=team.project) is not None


def test_nothing_waits_for_people_who_have_gone(team: Team) -> None:
    item = make_item(team, "self_check_multi")
    assert release_slots_of_former_members() == 0
    end_role(actor=team.administrator, project=team.project, user=team.annotator, role=Role.ANNOTATOR)
    assert release_slots_of_former_members() == 1
    taken = claim_next(actor=team.annotators[1], project=team.project)
    assert taken is not None
    assert taken.slot.dialogue_id == item.pk


def test_nothing_waits_for_people_who_have_another_role_by_now(team: Team) -> None:
    """An owner who becomes a senior reviewer stays a member, and nobody else was given what waited for them."""
    item, others = make_item(team, "self_check_multi"), make_item(team, "self_check_single")
    hand_over(actor=team.administrator, dialogue=others, to=team.annotators[1])
    claim_and_submit(team.annotators[1], others)
    grant_role(actor=team.administrator, project=team.project, user=team.annotator, role=Role.SENIOR_REVIEWER)
    assert release_slots_of_former_members() == 0
    end_role(actor=team.administrator, project=team.project, user=team.annotator, role=Role.ANNOTATOR)
    assert release_slots_of_former_members() == 1
    assert release_slots_of_former_members() == 0
    taken = claim_next(actor=team.annotators[2], project=team.project, stage="self_check_multi")
    assert taken is not None
    assert taken.slot.dialogue_id == item.pk
    assert item.events.order_by("-number")[0].after["reason"] == "role"


def test_what_came_back_to_its_owner_waits_for_the_next_one(team: Team) -> None:
    item = make_item(team, "self_check_multi")
    supersede_cycle(actor=team.administrator, dialogue=item, reason="Again.", force=True, for_owner=True)
    hand_over(actor=team.administrator, dialogue=item, to=team.annotators[1])
    slot = open_slot(item)
    assert (slot.stage, slot.reserved_for) == ("self_check_single", team.annotators[1])


def test_what_is_hurried_is_hurried_through_all_stages(team: Team) -> None:
    item = make_item(team, "self_check_single")
    prioritise(actor=team.administrator, dialogue=item, priority=Priority.HIGH)
    for _ in range(2):
        claim_and_submit(team.annotator, item)
    assert set(Slot.objects.filter(dialogue=item).values_list("priority", flat=True)) == {Priority.HIGH}


def test_priorities_are_counted_and_recorded(team: Team, item: Dialogue) -> None:
    assert prioritise(actor=team.administrator, dialogue=item, priority=Priority.HIGH) == 2
    assert prioritise(actor=team.administrator, dialogue=item, priority=Priority.HIGH) == 0
    assert item.events.order_by("-number")[0].after == {"priority": "high"}


def test_a_person_s_share_is_what_the_list_and_the_statistics_say(monkeypatch: pytest.MonkeyPatch) -> None:
    team = gold_team()
    # Its past is a copy of what the first three have done.
    make_gold(team)
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    # Sealed until a colleague has submitted too.
    claim_and_submit(team.annotators[1], make_item(team, "cross_check"), "approve")
    certain(monkeypatch, team)
    answer_with(team.annotators[3], take(team.annotators[3], team), "approve")
    assert take(team.annotators[4], team).slot.is_gold
    fold_all()
    told = {one.pseudonym: one.total for one in throughput.read_people(project=team.project)}
    load = lists.read_people(team.project)
    assert {one.person.pseudonym: one.done for one in load if one.done} == told
    assert [told[person.pseudonym] for person in team.annotators[1:3]] == [2, 2]
    assert lists.list_slots(project=team.project, filters=lists.Filters()).rows == []
    assert {one.held for one in load} == {0}
