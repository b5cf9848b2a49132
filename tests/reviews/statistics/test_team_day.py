"""The day of a team: figures of each person, items held for long, and one click to reassign."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import User
from annotator.services.dialogues import drafts
from reviews.models import Claim, SlotState
from reviews.services.assignments import team_day
from reviews.services.assignments.team_day import MemberDay, read_team_day, take_from
from reviews.services.queue.claims import claim_next, claim_slot, skip
from reviews.services.queue.goals import read_goals, set_goal
from reviews.services.queue.pauses import pause
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.statistics.all_counts import fold_all
from tests.factories import Team, begin, claim_and_submit, make_dialogues, make_item, open_slot

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def day_of(team: Team, person: User, reader: User | None = None, **more: Any) -> MemberDay:
    found = read_team_day(
        actor=reader or team.administrator, project=team.project, now=timezone.now() + timedelta(**more)
    )
    return next(one for one in found if one.person == person)


def held_by(person: User, team: Team) -> Claim:
    claim = claim_next(actor=person, project=team.project)
    assert claim is not None
    return claim


def test_what_each_person_did_skipped_and_holds(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 3))
    person = team.annotator
    claim = held_by(person, team)
    skip(actor=person, token=claim.token)
    skipped = claim.slot.dialogue
    claim = held_by(person, team)
    assert claim.slot.dialogue != skipped
    claim_and_submit(person, claim.slot.dialogue)
    held = held_by(person, team)
    set_goal(actor=person, project=team.project, person=person, reviews=4)
    day = day_of(team, person)
    assert (day.active, day.today, day.week, day.goal, day.skipped, day.share) == (True, 1, 1, 4, 1, 25)
    [one] = day.held
    assert (one.claim.pk, one.median, one.long, day.may_need_help) == (held.pk, None, False, False)
    assert not day_of(team, person, minutes=6).active
    # Senior reviewers see the figures, but not who holds what.
    assert (day_of(team, person, team.senior).today, day_of(team, person, team.senior).held) == (1, [])
    with pytest.raises(Denied):
        read_team_day(actor=person, project=team.project, now=timezone.now())
    with pytest.raises(Hidden):
        read_team_day(actor=team.outsider, project=team.project, now=timezone.now())


def test_a_review_in_a_blind_stage_counts_when_the_stage_has_ended(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    assert day_of(team, team.annotators[1]).today == 0
    claim_and_submit(team.annotators[2], item, "approve")
    assert day_of(team, team.annotators[1]).today == day_of(team, team.annotators[2]).today == 1


def test_who_works_long_or_undoes_or_skips_much_may_need_help(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_day, "MIN_TIMES", 1)
    monkeypatch.setattr(team_day, "MANY_UNDONE", 1)
    first, *_ = begin(team.project, make_dialogues(team.project, 2))
    claim = held_by(team.annotator, team)
    Claim.objects.filter(pk=claim.pk).update(active_seconds=60)
    claim_and_submit(team.annotator, first)
    fold_all()
    late = held_by(team.annotators[1], team)
    Claim.objects.filter(pk=late.pk).update(active_seconds=180)
    assert not day_of(team, team.annotators[1]).may_need_help
    Claim.objects.filter(pk=late.pk).update(active_seconds=181)
    found = read_team_day(actor=team.administrator, project=team.project, now=timezone.now())
    assert [one.person for one in found if one.may_need_help] == [found[0].person] == [team.annotators[1]]
    assert found[0].held[0].long
    Claim.objects.filter(pk=late.pk).update(active_seconds=1)
    work = load_slot_work(actor=team.annotators[1], public_id=late.slot.public_id)
    draft = drafts.open_draft(
        actor=team.annotators[1], dialogue=work.dialogue, base=work.slot.revision, branch=work.branch
    )
    operation = {"op": "set", "anchor": "/tasks/t1/steps/s1/text", "value": "Warm."}
    draft = drafts.edit_draft(actor=team.annotators[1], draft=draft, operation=operation, seen=draft.version).draft
    drafts.undo(actor=team.annotators[1], draft=draft)
    [one] = day_of(team, team.annotators[1]).held
    assert (one.undone, one.often_undone) == (1, True)
    monkeypatch.setattr(team_day, "MANY_SKIPPED", 0)
    assert day_of(team, team.annotators[2]).may_need_help


def test_one_click_takes_an_item_from_its_holder_and_says_so(team: Team, client: Client) -> None:
    begin(team.project, make_dialogues(team.project, 1))
    claim = held_by(team.annotator, team)
    slot, name = claim.slot, claim.slot.dialogue.external_id
    page, address = (f"/p/{team.project.slug}/statistics/team/{end}" for end in ("", "reassign/"))
    sent = {"slot": slot.public_id, "holder": team.annotator.public_id}
    client.force_login(team.administrator)
    assert f"Reassign {name} to" in client.get(page).content.decode()
    told = client.post(address, sent | {"to": team.annotators[1].public_id}, follow=True).content.decode()
    assert f"{name} is assigned to {team.annotators[1]}." in told
    slot.refresh_from_db()
    assert (slot.state, slot.reserved_for) == (SlotState.OPEN, team.annotators[1])
    assert "Nothing was reassigned. Choose a person" in client.post(address, sent, follow=True).content.decode()
    again = client.post(address, sent | {"to": "everyone"}, follow=True).content.decode()
    assert "doesn’t hold the item any more" in again
    held_by(team.annotators[1], team)
    told = client.post(
        address, sent | {"holder": team.annotators[1].public_id, "to": "everyone"}, follow=True
    ).content.decode()
    assert f"{name} is open to everyone." in told
    slot.refresh_from_db()
    assert (slot.state, slot.reserved_for) == (SlotState.OPEN, None)


def test_only_people_who_can_take_an_item_are_offered(team: Team, client: Client) -> None:
    """The owner, the other reviewer, paused people and administrators can't review it."""
    item = make_item(team, "cross_check")
    people = team.annotators[1:]
    claim_and_submit(people[0], item, "approve")
    claim_slot(actor=people[1], slot=open_slot(item))
    [held] = day_of(team, people[1]).held
    assert held.takers == [people[2], team.senior]
    client.force_login(team.administrator)
    page = client.get(f"/p/{team.project.slug}/statistics/team/").content.decode()
    assert re.findall(r'<option value="(\w{12})">', page) == [people[2].public_id, team.senior.public_id]
    pause(actor=team.administrator, project=team.project, person=people[2], reason="Away")
    assert day_of(team, people[1]).held[0].takers == [team.senior]
    page = client.get(f"/p/{team.project.slug}/assignments/?state=held&stage=cross_check").content.decode()
    assert f"{team.administrator} (their role can’t review in Cross-check)" in page
    page = client.get(f"/p/{team.project.slug}/assignments/?state=held").content.decode()
    assert f"{team.administrator} (their role can’t review)" in page


def test_the_goals_of_a_team_are_saved_together_or_not_at_all(team: Team, client: Client) -> None:
    one, two, three = team.annotators[:3]
    page, address = (f"/p/{team.project.slug}/statistics/team/{end}" for end in ("", "goals/"))
    set_goal(actor=team.administrator, project=team.project, person=three, reviews=9)
    client.force_login(team.administrator)
    [seen] = re.findall(r'name="seen" value="([^"]*)"', client.get(page).content.decode())
    # Somebody else changes a goal that is not changed here.
    set_goal(actor=team.administrator, project=team.project, person=three, reviews=8)
    typed = {"seen": seen, f"goal:{one.public_id}": "12", f"goal:{two.public_id}": "501"}
    refused = client.post(address, typed | {f"goal:{three.public_id}": "9"})
    text = refused.content.decode()
    assert refused.status_code == 422
    assert text.count("Enter a whole number from 1 to 500") == 1
    assert f'name="seen" value="{seen}"' in text
    assert all(f'value="{value}"' in text for value in ("12", "501"))
    assert read_goals(project=team.project, people=[one.pk, two.pk]) == {}
    told = client.post(address, typed | {f"goal:{two.public_id}": "7", f"goal:{three.public_id}": "9"}, follow=True)
    assert "2 daily goals changed." in told.content.decode()
    goals = read_goals(project=team.project, people=[one.pk, two.pk, three.pk])
    assert goals == {one.pk: 12, two.pk: 7, three.pk: 8}


def test_taking_an_item_is_refused_to_others_and_for_who_may_not_review_it(team: Team) -> None:
    item = make_item(team, "cross_check")
    slot = held_by(team.annotators[1], team).slot
    given = {"project": team.project, "slot": slot.public_id, "holder": team.annotators[1].public_id}
    refused: list[tuple[type[Exception], dict[str, Any]]] = [
        (Denied, {"actor": team.senior, "to": None}),
        (Hidden, {"actor": team.outsider, "to": None}),
        (Hidden, {"actor": team.administrator, "to": None, "slot": "none"}),
        (Conflict, {"actor": team.administrator, "to": None, "holder": team.annotator.public_id}),
        (Invalid, {"actor": team.administrator, "to": item.owner}),
    ]
    for kind, more in refused:
        with pytest.raises(kind):
            take_from(**given | more)
    slot.refresh_from_db()
    assert slot.holder == team.annotators[1]


def test_the_page_asks_as_often_for_many_items(team: Team, client: Client) -> None:
    begin(team.project, make_dialogues(team.project, 6))
    client.force_login(team.administrator)
    address = f"/p/{team.project.slug}/statistics/team/"

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    held_by(team.annotator, team)
    few = asked()
    held_by(team.annotators[1], team)
    held_by(team.annotators[2], team)
    assert asked() <= few
    file = b"".join(client.get(f"{address}?csv=team")).decode()
    assert file.splitlines()[0].lstrip("\ufeff") == "person,today,week,goal,skipped,held"
