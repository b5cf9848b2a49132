"""Changes of many assignments: what is previewed is what is done, or a sentence says what moved."""

import json
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core.text import Message
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Job, Notice, NoticeKind, User
from annotator.services.abilities import set_abilities
from annotator.services.database.filters import UnknownFilter
from annotator.services.dialogues.tags import set_tags
from annotator.services.jobs import jobs
from reviews.api.assignments import FILTERS
from reviews.models import AssignmentPlan, AssignmentRules, Claim, Priority, Slot, SlotState
from reviews.services.assignments import lists, member_removal, plans
from reviews.services.assignments.lists import Filters, list_slots, matching, read_people, read_stages
from reviews.services.assignments.plans import confirm_plan, make_plan
from reviews.services.queue.claims import claim_next, claim_slot, expire_overdue
from reviews.services.queue.notifications import notify_loss, notify_losses_last
from reviews.services.queue.pauses import pause
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    claim_and_submit,
    make_dialogue,
    make_dialogues,
    make_document,
    make_item,
    make_team,
    open_slot,
)
from tests.pages import one_line
from tests.racing import begin_meanwhile, lost, race

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


@pytest.fixture
def client(team: Team) -> Client:
    client = Client()
    client.force_login(team.administrator)
    return client


def plan(team: Team, action: str, slots: list[Slot], **more: Any) -> AssignmentPlan:
    return make_plan(
        actor=team.administrator, project=team.project, action=action, slots=[one.pk for one in slots], **more
    )


def confirm(team: Team, made: AssignmentPlan) -> AssignmentPlan:
    return confirm_plan(actor=team.administrator, project=team.project, public_id=made.public_id)


def first_slots(team: Team, count: int) -> list[Slot]:
    items = [make_item(team, "cross_check") for _ in range(count)]
    return [Slot.objects.get(dialogue=item, stage="cross_check", index=0) for item in items]


def test_a_preview_changes_nothing_and_says_who_cannot(team: Team) -> None:
    slots = first_slots(team, 2)
    done = claim_and_submit(team.annotators[1], slots[1].dialogue, "approve").slot
    made = plan(team, "reassign", [slots[0], done], to=[team.annotators[1].public_id])
    assert [row[:2] for row in made.items] == [[slots[0].pk, team.annotators[1].pk]]
    assert made.refused == [[done.dialogue.external_id, "It is done or cancelled."]]
    assert Slot.objects.get(pk=slots[0].pk).reserved_for is None
    mine = plan(team, "reassign", slots[:1], to=[team.annotator.public_id])
    assert mine.items == []
    assert "A dialogue can’t be reviewed by its owner" in mine.refused[0][1]
    with pytest.raises(Conflict, match="None of the selected items"):
        confirm(team, mine)


def test_what_was_previewed_is_done_once(team: Team) -> None:
    slots = first_slots(team, 3)
    made = plan(team, "reassign", slots, to=[team.annotators[1].public_id], reason="New pair")
    confirm(team, made)
    reserved = Slot.objects.filter(pk__in=[slot.pk for slot in slots], reserved_for=team.annotators[1])
    assert reserved.count() == 3
    event = slots[0].dialogue.events.order_by("-number")[0]
    assert (event.kind, event.after["reason"], event.actor) == ("slot.reassigned", "New pair", team.administrator)
    assert confirm(team, made).result == {"done": 3, "skipped": []}
    [told] = team.project.events.filter(kind="assignments.changed")
    assert told.after["items"] == 3


def test_what_moved_since_stops_all_of_it(team: Team) -> None:
    slots = first_slots(team, 2)
    made = plan(team, "reassign", slots, to=[team.annotators[1].public_id])
    claim_slot(actor=team.annotators[2], slot=slots[1])
    with pytest.raises(Conflict, match="1 item has changed since the preview") as error:
        confirm(team, made)
    assert "Ann3 is now working on it" in error.value.details["changed"][0]
    assert Slot.objects.get(pk=slots[0].pk).reserved_for is None


def test_several_people_share_by_what_they_have(team: Team) -> None:
    slots = first_slots(team, 6)
    confirm(team, plan(team, "reassign", slots[:2], to=[team.annotators[1].public_id]))
    made = plan(team, "reassign", slots[2:], to=[one.public_id for one in team.annotators[1:3]])
    # One has two already: the other gets two before they take turns.
    assert [row[1] for row in made.items].count(team.annotators[2].pk) == 3
    confirm(team, made)
    load = {one.person.pk: one.waiting for one in read_people(team.project)}
    assert (load[team.annotators[1].pk], load[team.annotators[2].pk]) == (3, 3)


def test_both_reviews_of_an_item_do_not_go_to_one_person(team: Team) -> None:
    item = make_item(team, "cross_check")
    both = list(Slot.objects.filter(dialogue=item, stage="cross_check"))
    made = plan(team, "reassign", both, to=[team.annotators[1].public_id])
    assert len(made.items) == 1
    assert "assigned to this person" in made.refused[0][1]


def test_nothing_is_given_to_somebody_paused(team: Team) -> None:
    slots = first_slots(team, 1)
    pause(actor=team.administrator, project=team.project, person=team.annotators[1])
    made = plan(team, "reassign", slots, to=[team.annotators[1].public_id])
    assert "somebody who is paused" in made.refused[0][1]


def test_nothing_is_given_to_somebody_without_its_language_or_skill(team: Team) -> None:
    one, other = team.annotators[1:3]
    english, law = first_slots(team, 2)
    Dialogue.objects.filter(pk=english.dialogue_id).update(language="en")
    Dialogue.objects.filter(pk=law.dialogue_id).update(language="")
    set_tags(actor=team.administrator, dialogue=law.dialogue, tags=["skill-law"])
    set_abilities(actor=team.administrator, project=team.project, user=one, languages=["zh"], skills=[])
    set_abilities(actor=team.administrator, project=team.project, user=other, languages=[], skills=["rail"])
    made = plan(team, "reassign", [english, law], to=[one.public_id])
    assert [item[:2] for item in made.items] == [[law.pk, one.pk]]
    assert "This dialogue is in English" in made.refused[0][1]
    both = plan(team, "reassign", [english, law], to=[one.public_id, other.public_id])
    assert [item[:2] for item in both.items] == [[english.pk, other.pk], [law.pk, one.pk]]
    assert "needs a skill" in plan(team, "reassign", [law], to=[other.public_id]).refused[0][1]


def test_freeing_hurrying_and_handing_over(team: Team) -> None:
    slots = first_slots(team, 2)
    claim_slot(actor=team.annotators[1], slot=slots[0])
    freed = plan(team, "free", slots)
    assert (len(freed.items), len(freed.refused)) == (1, 1)
    confirm(team, freed)
    assert Slot.objects.get(pk=slots[0].pk).state == SlotState.OPEN
    hurried = plan(team, "prioritise", slots, priority=Priority.HIGH)
    confirm(team, hurried)
    assert set(Slot.objects.filter(stage="cross_check").values_list("priority", flat=True)) == {Priority.HIGH}
    assert "has this priority" in plan(team, "prioritise", slots, priority=Priority.HIGH).refused[0][1]
    handed = plan(team, "hand_over", slots, to=[team.annotators[3].public_id])
    confirm(team, handed)
    slots[0].dialogue.refresh_from_db()
    assert slots[0].dialogue.owner == team.annotators[3]


def test_what_makes_no_sense_is_refused(team: Team) -> None:
    slots = first_slots(team, 1)
    for words, action, chosen, more in (
        ("Choose one of these actions", "delete", slots, {}),
        ("No items selected", "free", [], {}),
        ("Choose who gets the items", "reassign", slots, {}),
        ("one owner", "hand_over", slots, {"to": [one.public_id for one in team.annotators[:2]]}),
        ("Choose a priority", "prioritise", slots, {}),
        ("no longer a member", "reassign", slots, {"to": [team.outsider.public_id]}),
        ("at most 500", "free", slots, {"reason": "x" * 501}),
    ):
        with pytest.raises(Invalid, match=words):
            plan(team, action, chosen, **more)
    with pytest.raises(Denied):
        make_plan(actor=team.senior, project=team.project, action="free", slots=[slots[0].pk])
    made = plan(team, "prioritise", slots, priority=Priority.HIGH)
    other = make_team()
    with pytest.raises(Hidden):
        confirm_plan(actor=other.administrator, project=other.project, public_id=made.public_id)
    # A slot of another project is not there.
    assert make_plan(actor=other.administrator, project=other.project, action="free", slots=[slots[0].pk]).items == []


def test_many_are_done_by_a_job_and_what_moves_meanwhile_is_left_out(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "AT_ONCE", 2)
    monkeypatch.setattr(plans, "CHUNK", 2)
    slots = first_slots(team, 5)
    made = confirm(team, plan(team, "reassign", slots, to=[team.annotators[1].public_id]))
    assert made.job is not None
    claim_slot(actor=team.annotators[2], slot=slots[3])
    job = jobs.run(made.job.pk)
    assert (job.state, job.result) == ("done", {"done": 4, "left_out": 1})
    made.refresh_from_db()
    assert made.result["done"] == 4
    assert "now working on it" in made.result["skipped"][0][1]
    assert Job.objects.filter(kind=plans.JOB).count() == 1
    told = Notice.objects.filter(person=team.annotators[1], kind=NoticeKind.ASSIGNMENT)
    assert told.count() == 4


@pytest.mark.parametrize("at_once", [2, 100])
def test_who_gets_many_is_told_once(team: Team, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(plans, "MAX_SINGLE_NOTICES", 2)
    monkeypatch.setattr(plans, "AT_ONCE", at_once)
    monkeypatch.setattr(plans, "CHUNK", 2)
    slots = first_slots(team, 4)
    made = confirm(team, plan(team, "reassign", slots, to=[team.annotators[1].public_id], reason="New pair"))
    if made.job is not None:
        claim_slot(actor=team.annotators[2], slot=slots[3])
        jobs.run(made.job.pk)
    [notice] = Notice.objects.filter(person=team.annotators[1], kind=NoticeKind.ASSIGNMENT)
    assert notice.text == f"{4 if made.job is None else 3} dialogues are now assigned to you. New pair"
    dialogues = [Slot.objects.select_related("dialogue").get(pk=one.pk) for one in slots]
    handed = confirm(team, plan(team, "hand_over", dialogues, to=[team.annotators[3].public_id]))
    if handed.job is not None:
        jobs.run(handed.job.pk)
    [notice] = Notice.objects.filter(person=team.annotators[3], kind=NoticeKind.ASSIGNMENT)
    assert notice.text == "You now own 4 more dialogues."


# --- lists ------------------------------------------------------------------------------------------------------------


def test_lists_show_what_is_held_reserved_and_waiting(team: Team) -> None:
    first, second = first_slots(team, 2)
    claim_slot(actor=team.annotators[1], slot=first)
    confirm(team, plan(team, "reassign", [second], to=[team.annotators[2].public_id]))

    def shown(**filters: str) -> list[int]:
        return [row.slot.pk for row in list_slots(project=team.project, filters=Filters(**filters)).rows]

    assert shown(state="held") == [first.pk]
    assert shown(state="held", person=team.annotators[2].public_id) == []
    assert shown(state="reserved") == [second.pk]
    assert shown(state="reserved", person=team.annotators[2].public_id) == [second.pk]
    assert len(shown(state="waiting", stage="cross_check")) == 2
    assert shown(state="waiting", stage="expert") == []
    [row] = list_slots(project=team.project, filters=Filters()).rows
    assert row.claim is not None
    assert not row.overdue
    stages = {stage.key: (stage.open, stage.claimed) for stage in read_stages(team.project)}
    assert stages["cross_check"] == (3, 1)


def test_pages_follow_one_another_urgent_ones_first(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 7))
    slots = list(Slot.objects.order_by("position"))
    confirm(team, plan(team, "prioritise", slots[4:5], priority=Priority.HIGH))
    confirm(team, plan(team, "prioritise", slots[0:1], priority=Priority.LOW))
    filters, after, seen = Filters(state="waiting", stage="self_check_single"), "", []
    while True:
        page = list_slots(project=team.project, filters=filters, after=after, size=3)
        seen += [row.slot.pk for row in page.rows]
        after = page.after
        if not after:
            break
    assert seen == [slots[at].pk for at in (4, 1, 2, 3, 5, 6, 0)]
    assert matching(project=team.project, filters=filters, limit=100) == seen
    with pytest.raises(UnknownFilter, match="isn’t a valid page of this list"):
        list_slots(project=team.project, filters=filters, after="nonsense")


def test_a_search_that_finds_too_many_says_so(team: Team, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(team.project, [make_dialogue(team.project) for _ in range(3)])
    client.force_login(team.administrator)
    for most, said in ((2, True), (3, False)):
        monkeypatch.setattr(lists, "MANY", most)
        page = client.get(f"/p/{team.project.slug}/assignments/?state=waiting&q=weather").content.decode()
        assert page.count('name="slot"') == most
        assert ("More than 2 dialogues match" in page) == said


@pytest.mark.parametrize("items", [3, 30])
def test_a_list_asks_a_fixed_number_of_questions(team: Team, client: Client, items: int) -> None:
    begin(team.project, make_dialogues(team.project, items))
    claim_next(actor=team.annotators[1], project=team.project)
    for query in ("", "?state=waiting", "?state=reserved", "?state=waiting&q=d1"):
        client.get(f"/p/{team.project.slug}/assignments/{query}")
        with CaptureQueriesContext(connection) as captured:
            assert client.get(f"/p/{team.project.slug}/assignments/{query}").status_code == 200
        # However many people there are.
        assert len(captured) <= 28, query


def test_what_waits_for_one_person_is_counted_no_further_than_needed(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "MANY", 2)
    confirm(team, plan(team, "reassign", first_slots(team, 3), to=[team.annotators[1].public_id]))
    [load] = [one for one in read_people(team.project) if one.person == team.annotators[1]]
    assert load.waiting_words == "2+"


# --- pages and API ----------------------------------------------------------------------------------------------------


def test_the_page_previews_and_then_does(team: Team, client: Client) -> None:
    slots = first_slots(team, 2)
    base = f"/p/{team.project.slug}/assignments/"
    body = {"action": "reassign", "slot": [one.public_id for one in slots], "to": team.annotators[1].public_id}
    preview = client.post(f"{base}plan/", body)
    assert preview.status_code == 302
    page = one_line(client.get(preview["Location"]))
    assert "<strong>2</strong> items will change" in page
    claim_slot(actor=team.annotators[2], slot=slots[0])
    refused = client.post(preview["Location"])
    assert refused.status_code == 409
    assert "Update the preview" in one_line(refused)
    again = client.post(preview["Location"], {"again": "yes"})
    assert again["Location"] != preview["Location"]
    assert client.post(again["Location"]).status_code == 302
    assert "changed" in one_line(client.get(again["Location"]))
    assert Slot.objects.filter(reserved_for=team.annotators[1]).count() == 2


def test_all_that_a_list_shows_is_selected_by_its_filters(team: Team, client: Client) -> None:
    begin(team.project, make_dialogues(team.project, 60))
    body = {"action": "prioritise", "to_priority": "0", "all": "yes", "state": "waiting", "stage": "self_check_single"}
    preview = client.post(f"/p/{team.project.slug}/assignments/plan/", body)
    assert len(AssignmentPlan.objects.get().items) == 60
    assert client.post(preview["Location"]).status_code == 302
    assert Slot.objects.filter(priority=Priority.HIGH).count() == 60


def test_a_dialogue_is_searched_for_by_its_id_or_its_words(
    team: Team, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"lake-1": "Lucerne", "lake-2": "Lucerne", "hill": "Ghent"}
    items = [make_dialogue(team.project, make_document(city), external_id=name) for name, city in names.items()]
    begin(team.project, items[:2])
    crossed = make_item(team, "cross_check", make_document("Lucerne"), external_id="lake-3")
    base, api = f"/p/{team.project.slug}/assignments/", f"/api/projects/{team.project.slug}/assignments/"

    def found(query: str) -> set[str]:
        rows = {row["external_id"] for row in client.get(f"{api}?{query}").json()["slots"]}
        page = one_line(client.get(f"{base}?{query}"))
        assert all((f"Select {name}," in page) == (name in rows) for name in ("lake-1", "lake-2", "lake-3", "hill"))
        return rows

    assert found("state=waiting&q=lake-1") == {"lake-1"}
    # Of every stage: what is searched for is little.
    assert found("state=waiting&q=Lucerne") == {"lake-1", "lake-2", crossed.external_id}
    assert found("state=waiting&q=Lucerne&stage=cross_check") == {crossed.external_id}
    assert found("state=held&q=lake-1") == found("state=waiting&q=nowhere") == set()
    claim_next(actor=team.annotators[1], project=team.project, stage="cross_check")
    assert found("state=held&q=lake-3") == {"lake-3"}

    body = {"action": "prioritise", "to_priority": "0", "all": "yes", "state": "waiting", "q": "lake-2"}
    assert client.post(client.post(f"{base}plan/", body)["Location"]).status_code == 302
    assert [slot.dialogue for slot in Slot.objects.filter(priority=Priority.HIGH)] == [items[1]]
    monkeypatch.setattr(lists, "MANY", 1)
    assert found("state=waiting&q=Lucerne") == {"lake-1"}
    assert "More than 1 dialogues match" in one_line(client.get(f"{base}?state=waiting&q=Lucerne"))


def test_people_and_stages_are_paused_from_the_page(team: Team, client: Client) -> None:
    base = f"/p/{team.project.slug}/assignments/"
    client.post(f"{base}pause/", {"person": team.annotators[1].public_id, "reason": "Holiday"})
    client.post(f"{base}pause/", {"stage": "expert"})
    client.post(f"{base}rules/", {"most_held": "3", "absent_days": ""})
    page = one_line(client.get(base))
    assert "Holiday" in page
    assert page.count("Paused</span>") == 2
    assert 'value="3"' in page
    for field, typed, words in (
        ("most_held", "many", "Enter a whole number"),
        ("most_held", "501", "from 1 to 500"),
        ("absent_days", "0", "from 1 to 365"),
    ):
        refused = client.post(f"{base}rules/", {"most_held": "7", "absent_days": "9", field: typed})
        form = one_line(refused).partition("Assignment rules")[2].partition("</form>")[0]
        assert (refused.status_code, form.count("field-error"), form.count('aria-invalid="true"')) == (422, 1, 1)
        assert words in form
        assert f'name="{field}" value="{typed}"' in form
        other, kept = ("absent_days", "9") if field == "most_held" else ("most_held", "7")
        assert f'name="{other}" value="{kept}"' in form
    assert AssignmentRules.objects.get().most_held == 3
    assert client.post(f"{base}pause/", {"person": "nobody"}).status_code == 422


def test_a_rule_that_somebody_else_saved_meanwhile_stays(team: Team, client: Client) -> None:
    base = f"/p/{team.project.slug}/assignments/"
    seen = {"seen:most_held": "", "seen:absent_days": ""}
    assert 'name="seen:most_held" value=""' in one_line(client.get(base))
    client.post(f"{base}rules/", {"most_held": "4", "absent_days": "", **seen})
    mine = {"most_held": "", "absent_days": "none", **seen}
    assert 'name="seen:absent_days" value=""' in one_line(client.post(f"{base}rules/", mine))
    client.post(f"{base}rules/", mine | {"absent_days": "9"})
    assert AssignmentRules.objects.values_list("most_held", "absent_days").get() == (4, 9)
    client.post(f"{base}rules/", {"most_held": "", "absent_days": "9", "seen:most_held": "4", "seen:absent_days": "9"})
    assert AssignmentRules.objects.values_list("most_held", "absent_days").get() == (None, 9)


def test_machines_do_the_same(team: Team, client: Client) -> None:
    slots = first_slots(team, 1)
    base = f"/api/projects/{team.project.slug}/"

    def post(path: str, body: dict[str, Any] | None = None) -> Any:
        return client.post(base + path, json.dumps(body or {}), content_type="application/json")

    body = {"action": "reassign", "slots": [slots[0].public_id], "to": [team.annotators[1].public_id]}
    made = post("assignments/plans/", body)
    assert (made.status_code, made.json()["items"]) == (201, 1)
    assert post(f"assignments/plans/{made.json()['public_id']}/").json()["result"]["done"] == 1
    assert post(f"assignments/plans/{made.json()['public_id']}/").json()["result"]["done"] == 1
    found = client.get(f"{base}assignments/?state=reserved").json()
    assert found["slots"][0]["reserved_for"] == team.annotators[1].public_id
    assert any(one["waiting"] == 1 for one in found["people"])
    claim_next(actor=team.annotators[1], project=team.project)
    # Errors that the schema reports are left out.
    held = next(one.default for one in FILTERS if one.name == "state")
    found = client.get(f"{base}assignments/").json()
    assert found["slots"] == client.get(f"{base}assignments/?state={held}").json()["slots"]
    assert [one["holder"] for one in found["slots"]] == [team.annotators[1].public_id]
    paused = post("pauses/", {"stage": "expert", "reason": "Later"})
    assert paused.status_code == 201
    assert [one["stage"] for one in client.get(f"{base}pauses/").json()["results"]] == ["expert"]
    assert post(f"pauses/{paused.json()['public_id']}/end/").json()["ended_at"]
    assert post("assignments/plans/", {"action": "free", "slots": [], "colour": 1}).status_code == 400
    for kind, known in (("slots", slots[0].public_id), ("dialogues", slots[0].dialogue.public_id)):
        refused = post("assignments/plans/", {"action": "free", kind: [known, "misspelt"]})
        assert (refused.status_code, refused.json()["details"]["unknown"]) == (422, ["misspelt"])
    assert post("claims/").status_code in (201, 204)


# --- races ------------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_confirming_twice_at_once_does_it_once() -> None:
    team = make_team(annotators=4)
    adopt_c3(team)
    made = plan(team, "reassign", first_slots(team, 3), to=[team.annotators[1].public_id])
    results = race(*[partial(confirm, team, made)] * 3)
    assert lost(results) == []
    assert team.project.events.filter(kind="assignments.changed").count() == 1
    assert Slot.objects.filter(reserved_for=team.annotators[1]).count() == 3


@pytest.mark.django_db(transaction=True)
def test_reassigning_against_claiming() -> None:
    team = make_team(annotators=4)
    adopt_c3(team)
    for _ in range(4):
        [slot] = first_slots(team, 1)
        made = plan(team, "reassign", [slot], to=[team.annotators[1].public_id])
        changed, claimed = race(partial(confirm, team, made), partial(claim_slot, actor=team.annotators[2], slot=slot))
        slot.refresh_from_db()
        if isinstance(changed, Conflict):
            assert (slot.state, slot.holder) == (SlotState.CLAIMED, team.annotators[2])
        else:
            # Either it was reserved first and the claim was denied, or all of it happened before the claim's look.
            assert (slot.state, slot.reserved_for) == (SlotState.OPEN, team.annotators[1])
            assert isinstance(claimed, Exception)


@pytest.mark.django_db(transaction=True)
def test_pausing_somebody_against_their_claim() -> None:
    team = make_team(annotators=4)
    adopt_c3(team)
    for person in team.annotators:
        begin(team.project, make_dialogues(team.project, 1))
        paused, claim = race(
            partial(pause, actor=team.administrator, project=team.project, person=person),
            partial(claim_next, actor=person, project=team.project),
        )
        assert not isinstance(paused, Exception)
        assert isinstance(claim, Conflict) or claim.person == person
        # Whatever came first, nobody who is paused holds more than what they held.
        assert Slot.objects.filter(holder=person).count() == (0 if isinstance(claim, Conflict) else 1)


def test_a_change_that_cannot_be_is_refused_on_the_list_which_keeps_what_was_chosen(team: Team) -> None:
    slot = open_slot(make_item(team, "cross_check"))
    client = Client()
    client.force_login(team.administrator)
    people = [person.public_id for person in team.annotators[1:3]]
    sent = {"state": "waiting", "stage": "cross_check", "slot": [slot.public_id], "action": "hand_over", "to": people}
    answer = client.post(f"/p/{team.project.slug}/assignments/plan/", sent | {"reason": "On leave"})
    page = one_line(answer)
    assert answer.status_code == 422
    assert "A dialogue has one owner. Choose one person." in page
    ticked = (
        f'value="{slot.public_id}" aria-label="Select {slot.dialogue.external_id}, Cross-check" data-nav-item checked'
    )
    assert ticked in one_line(page)
    assert '<input type="radio" name="action" value="hand_over" data-change="hand_over" checked>' in page
    assert all(f'<option value="{person}" selected>' in page for person in people)
    assert 'value="On leave"' in page
    assert not AssignmentPlan.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_plan_does_not_hold_up_whoever_tells_the_same_person(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """It held the notice and waited for an item; a lease that ran out held that item and waited for the notice."""
    slots = []
    for _ in range(2):
        claim = claim_slot(actor=team.annotators[1], slot=open_slot(make_item(team, "cross_check")))
        slots.append(claim.slot)
    made = plan(team, "free", slots)
    Claim.objects.filter(slot=slots[1]).update(expires_at=claim.created_at)
    real, lapses = plans._act, []

    def act(*line: Any) -> None:
        real(*line)
        lapses.append(begin_meanwhile(expire_overdue))

    monkeypatch.setattr(plans, "_act", act)
    with pytest.raises(Conflict, match="has changed since the preview"):
        confirm(team, made)
    assert lapses[0].result() == 1
    monkeypatch.setattr(plans, "_act", real)
    confirm(team, plan(team, "free", slots[:1]))
    assert Notice.objects.filter(person=team.annotators[1], key__startswith="lost:").count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_ending_a_role_does_not_hold_up_whoever_tells_the_same_person(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It told of the first item before it had locked the second one."""
    person, lapses = team.annotators[1], []
    for _ in range(2):
        claim = claim_slot(actor=person, slot=open_slot(make_item(team, "cross_check")))
    Claim.objects.filter(pk=claim.pk).update(expires_at=claim.created_at)
    real = member_removal.open_to_everyone

    def free(**line: Any) -> None:
        real(**line)
        lapses.append(begin_meanwhile(expire_overdue))

    monkeypatch.setattr(member_removal, "open_to_everyone", free)
    with suppress(Conflict), transaction.atomic():
        member_removal.release_claims(team.administrator, team.project, person, frozenset())
    assert lapses[0].result() == 1
    assert not Claim.objects.filter(pk=claim.pk, state="live").exists()


def test_a_loss_that_is_taken_back_is_told_to_nobody(team: Team) -> None:
    def tell(person: User) -> None:
        notify_loss(actor=None, project=team.project, people=[person.pk], words=Message("It is gone."), target="/")

    with transaction.atomic(), notify_losses_last():
        with suppress(Conflict), transaction.atomic(), notify_losses_last():
            tell(team.annotators[1])
            raise Conflict("This item stays as it is.")
        with transaction.atomic(), notify_losses_last():
            tell(team.annotators[2])
        assert not Notice.objects.exists()
    assert Notice.objects.get().person == team.annotators[2]
