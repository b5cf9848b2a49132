"""Undo of a change of many items: previewed, made once, and only where nothing has happened since."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotator.core.roles import Role
from annotator.errors import Conflict, Denied
from annotator.models import Dialogue, Membership
from annotator.services.dialogues.tags import change_tags, read_tags
from annotator.services.history.events import broken_links
from annotator.services.jobs import jobs
from reviews.models import AssignmentPlan, PlanChange, Priority, Slot
from reviews.services.assignments import plans
from reviews.services.assignments.changes import prioritise
from reviews.services.assignments.planning import why_blind
from reviews.services.assignments.plans import confirm_plan, make_plan, make_undo
from reviews.services.queue.claims import claim_slot, release
from tests.consistency import assert_consistent
from tests.factories import Team, claim_and_submit, give_role, make_dialogue, make_item, open_slot
from tests.pages import one_line
from tests.racing import lost, overlap, race, won

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def change(team: Team, action: str, dialogues: list[Dialogue], **more: Any) -> AssignmentPlan:
    """Preview a change and make it."""
    keys = [one.pk for one in dialogues]
    made = make_plan(actor=team.administrator, project=team.project, action=action, dialogues=keys, **more)
    return confirm(team, made)


def confirm(team: Team, made: AssignmentPlan) -> AssignmentPlan:
    return confirm_plan(actor=team.administrator, project=team.project, public_id=made.public_id)


def undo(team: Team, made: AssignmentPlan) -> AssignmentPlan:
    """Preview the undo."""
    return make_undo(actor=team.administrator, project=team.project, public_id=made.public_id)


def test_assignments_return_to_who_had_them(team: Team) -> None:
    claimed, reserved, free = (make_item(team, "self_check_single") for _ in range(3))
    claim_slot(actor=team.annotators[1], slot=open_slot(claimed))
    change(team, "reassign", [reserved], to=[team.annotators[2].public_id])
    made = change(team, "free", [claimed, reserved])
    back = undo(team, made)
    assert Slot.objects.filter(reserved_for__isnull=False).count() == 0
    confirm(team, back)
    assert open_slot(claimed).reserved_for == team.annotators[1]
    assert open_slot(reserved).reserved_for == team.annotators[2]
    given = change(team, "reassign", [free], to=[team.annotators[3].public_id])
    confirm(team, undo(team, given))
    assert open_slot(free).reserved_for is None
    assert_consistent(team.project)


def test_priority_owner_and_tags_are_restored(team: Team) -> None:
    item, bare = make_item(team, "cross_check"), make_dialogue(team.project)
    first, second = Slot.objects.filter(dialogue=item, state="open").order_by("pk")
    prioritise(actor=team.administrator, dialogue=item, priority=Priority.LOW, slots=[second.pk])
    confirm(team, undo(team, change(team, "prioritise", [item], priority=Priority.HIGH)))
    assert list(Slot.objects.filter(state="open").order_by("pk").values_list("priority", flat=True)) == [1, 2]

    Dialogue.objects.filter(pk=item.pk).update(owner=None)
    Slot.objects.filter(pk=first.pk).update(reserved_for=team.annotators[3], owner=None)
    handed = change(team, "hand_over", [item], to=[team.annotators[3].public_id])
    # An owner may not cross-check the dialogue, so the reservation ended.
    first.refresh_from_db()
    assert first.reserved_for is None
    confirm(team, undo(team, handed))
    item.refresh_from_db()
    first.refresh_from_db()
    assert (item.owner, first.owner, first.reserved_for) == (None, None, team.annotators[3])

    change_tags(actor=team.senior, dialogue=item, add=["a"])
    tagged = change(team, "tag", [item, bare], tags=["a", "b"])
    confirm(team, undo(team, tagged))
    assert read_tags([item.pk, bare.pk]) == {item.pk: ["a"]}
    untagged = change(team, "untag", [item, bare], tags=["a", "c"])
    confirm(team, undo(team, untagged))
    assert read_tags([item.pk, bare.pk]) == {item.pk: ["a"]}
    assert broken_links(item) == []


def test_what_has_changed_since_is_not_undone_and_says_why(team: Team) -> None:
    worked, submitted, moved, same = (make_item(team, "self_check_single") for _ in range(4))
    person = team.annotators[1]
    made = change(team, "reassign", [worked, submitted, moved, same], to=[person.public_id])
    # Claimed and released: the slot looks as before, but somebody has worked on it.
    claim = claim_slot(actor=person, slot=open_slot(worked))
    release(actor=person, token=claim.token)
    Slot.objects.filter(pk=claim.slot_id).update(reserved_for=person)
    claim_and_submit(person, submitted)
    change(team, "reassign", [moved], to=[team.annotators[2].public_id])
    back = undo(team, made)
    assert dict(map(tuple, back.refused)) == {
        worked.external_id: "Somebody has worked on it since.",
        submitted.external_id: "It has been submitted.",
        moved.external_id: "Its assignee has changed since.",
    }
    confirm(team, back)
    assert open_slot(same).reserved_for is None
    assert open_slot(moved).reserved_for == team.annotators[2]


def test_an_item_does_not_return_to_somebody_who_has_left(team: Team) -> None:
    item = make_item(team, "self_check_single")
    change(team, "reassign", [item], to=[team.annotators[1].public_id])
    made = change(team, "reassign", [item], to=[team.annotators[2].public_id])
    Membership.objects.filter(user=team.annotators[1]).update(ended_at=timezone.now())
    back = undo(team, made)
    assert back.items == []
    assert back.refused[0][1] == "Ann2, to whom it would return, is no longer a member of this project."


def test_a_change_is_undone_once_and_within_a_week(team: Team) -> None:
    item = make_dialogue(team.project)
    preview = make_plan(actor=team.administrator, project=team.project, action="tag", dialogues=[item.pk], tags=["x"])
    with pytest.raises(Conflict, match="isn’t done yet"):
        undo(team, preview)
    made = confirm(team, preview)
    with pytest.raises(Denied):
        make_undo(actor=team.senior, project=team.project, public_id=made.public_id)
    first, second = undo(team, made), undo(team, made)
    confirm(team, first)
    confirm(team, first)
    with pytest.raises(Conflict, match="already been undone"):
        confirm(team, second)
    with pytest.raises(Conflict, match="already been undone"):
        undo(team, made)
    with pytest.raises(Conflict, match="An undo can’t be undone"):
        undo(team, first)
    [told] = team.project.events.filter(kind="assignments.undone")
    assert told.after["undoes"] == made.public_id
    late = change(team, "tag", [item], tags=["x"])
    AssignmentPlan.objects.filter(pk=late.pk).update(confirmed_at=timezone.now() - timedelta(days=7, minutes=1))
    with pytest.raises(Conflict, match="for 7 days"):
        undo(team, late)


def test_what_changes_between_preview_and_confirmation_stops_the_undo(team: Team) -> None:
    one, two = make_dialogue(team.project), make_dialogue(team.project)
    made = change(team, "tag", [one, two], tags=["x"])
    back = undo(team, made)
    change_tags(actor=team.senior, dialogue=two, remove=["x"])
    with pytest.raises(Conflict, match="Its tags have changed") as error:
        confirm(team, back)
    assert len(error.value.details["changed"]) == 1
    assert read_tags([one.pk]) == {one.pk: ["x"]}
    again = undo(team, made)
    confirm(team, again)
    assert read_tags([one.pk]) == {}


def test_many_are_undone_by_a_job(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "AT_ONCE", 2)
    monkeypatch.setattr(plans, "CHUNK", 2)
    items = [make_dialogue(team.project) for _ in range(5)]
    made = change(team, "tag", items, tags=["x"])
    assert made.job is not None
    with pytest.raises(Conflict, match="isn’t done yet"):
        undo(team, made)
    jobs.run(made.job.pk)
    assert PlanChange.objects.filter(plan=made).count() == 5
    back = confirm(team, undo(team, made))
    assert back.job is not None
    change_tags(actor=team.senior, dialogue=items[3], remove=["x"])
    change_tags(actor=team.senior, dialogue=items[3], add=["y"])
    jobs.run(back.job.pk)
    back.refresh_from_db()
    assert (back.result["done"], back.result["skipped"]) == (4, [[items[3].external_id, "Its tags have changed."]])
    assert read_tags([one.pk for one in items]) == {items[3].pk: ["y"]}


def test_the_page_offers_previews_and_makes_the_undo(team: Team, client: Client) -> None:
    client.force_login(team.administrator)
    item = make_item(team, "self_check_single")
    made = change(team, "prioritise", [item], priority=Priority.HIGH)
    base = f"/p/{team.project.slug}/assignments/"
    page = f"{base}plans/{made.public_id}/"
    assert page in one_line(client.get(base))
    assert "Undo (within 7 days)" in one_line(client.get(page))
    preview = client.post(f"{page}undo/")
    shown = one_line(client.get(preview["Location"]))
    assert "Undo: Set priority" in shown
    assert "<strong>1</strong> item will change" in shown
    assert client.post(preview["Location"]).status_code == 302
    assert open_slot(item).priority == Priority.NORMAL
    after = one_line(client.get(page))
    assert "has undone this change" in after
    assert "Undo (within" not in after
    assert page not in one_line(client.get(base))


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_two_undos_at_once_undo_once(team: Team) -> None:
    items = [make_dialogue(team.project) for _ in range(3)]
    made = change(team, "tag", items, tags=["x"])
    first, second = undo(team, made), undo(team, made)
    results = race(lambda: confirm(team, first), lambda: confirm(team, second))
    assert len(won(results)) == 1
    [error] = lost(results)
    assert "already been undone" in str(error)
    assert AssignmentPlan.objects.filter(undoes=made, confirmed_at__isnull=False).count() == 1
    assert all(one.events.filter(kind="dialogue.tags_changed").count() == 2 for one in items)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_an_undo_and_a_claim_come_one_after_the_other(team: Team) -> None:
    item, person = make_item(team, "self_check_single"), team.annotators[1]
    made = change(team, "reassign", [item], to=[person.public_id])
    back = undo(team, made)
    slot = open_slot(item)
    # The claim is in progress when the undo is confirmed: the undo waits, and then says what has changed.
    claim, refused = overlap(lambda: claim_slot(actor=person, slot=slot), lambda: confirm(team, back))
    assert claim.slot_id == slot.pk
    assert isinstance(refused, Conflict)
    assert "is now working on it" in refused.sentence
    # The undo is in progress when the slot is claimed: the claim waits, and the slot is open to everyone then.
    other = make_item(team, "self_check_single")
    made = change(team, "reassign", [other], to=[team.annotators[2].public_id])
    back = undo(team, made)
    _, late = overlap(lambda: confirm(team, back), lambda: claim_slot(actor=team.annotators[3], slot=open_slot(other)))
    assert late.slot.dialogue_id == other.pk
    assert_consistent(team.project)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_tags_added_at_once_are_all_kept(team: Team) -> None:
    item = make_dialogue(team.project)
    names = [f"t{number}" for number in range(4)]
    results = race(*(lambda name=name: change_tags(actor=team.senior, dialogue=item, add=[name]) for name in names))
    assert lost(results) == []
    assert read_tags([item.pk]) == {item.pk: names}
    assert broken_links(item) == []


def test_tags_of_a_dialogue_that_is_reviewed_blind_stay_and_the_others_are_undone(team: Team) -> None:
    blind, changed, seen = make_item(team, "cross_check"), make_item(team, "cross_check"), make_dialogue(team.project)
    person = give_role(team.project, team.annotators[1], Role.ADMINISTRATOR)
    keys = [blind.pk, changed.pk, seen.pk]
    made = make_plan(actor=person, project=team.project, action="tag", dialogues=keys, tags=["x"])
    confirm_plan(actor=person, project=team.project, public_id=made.public_id)
    for item in (blind, changed):
        claim_slot(actor=person, slot=open_slot(item))
    change_tags(actor=team.senior, dialogue=changed, remove=["x"])
    back = make_undo(actor=person, project=team.project, public_id=made.public_id)
    # The same sentence for both: another one would say what a colleague has changed.
    assert len(back.refused) == 2
    assert {why for _, why in back.refused} == {why_blind()}
    confirm_plan(actor=person, project=team.project, public_id=back.public_id)
    assert read_tags(keys) == {blind.pk: ["x"]}
