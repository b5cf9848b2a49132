"""Changes of many dialogues from their list: assign, owner, priority, send back and tags."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.roles import Role
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.tags import change_tags, read_tags
from reviews.models import AssignmentPlan, Cycle, Priority, Review, Slot, SlotState
from reviews.services.assignments import plans
from reviews.services.assignments.plans import confirm_plan, load_plan, make_plan
from reviews.services.queue.claims import claim_slot
from tests.consistency import assert_consistent
from tests.factories import Team, claim_and_submit, give_role, make_dialogue, make_item, open_slot
from tests.html_forms import HtmlForm
from tests.pages import one_line

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def plan(team: Team, action: str, dialogues: list[Dialogue], **more: Any) -> AssignmentPlan:
    keys = [one.pk for one in dialogues]
    return make_plan(actor=team.administrator, project=team.project, action=action, dialogues=keys, **more)


def confirm(team: Team, made: AssignmentPlan) -> AssignmentPlan:
    return confirm_plan(actor=team.administrator, project=team.project, public_id=made.public_id)


def test_dialogues_are_assigned_by_their_waiting_slots(team: Team) -> None:
    waiting, busy, candidate = (
        make_item(team, "cross_check"),
        make_item(team, "cross_check"),
        make_dialogue(team.project),
    )
    gold = make_dialogue(team.project, gold_role="gold")
    for slot in Slot.objects.filter(dialogue=busy, stage="cross_check"):
        claim_slot(actor=team.annotators[1 + slot.index], slot=slot)
    made = plan(team, "reassign", [waiting, busy, candidate, gold], to=[one.public_id for one in team.annotators[1:3]])
    assert len(made.items) == 2
    assert dict(map(tuple, made.refused)) == {
        busy.external_id: "It isn’t waiting: somebody is working on it.",
        candidate.external_id: "It isn’t waiting for a review.",
        gold.external_id: "It is a gold item.",
    }
    confirm(team, made)
    reserved = Slot.objects.filter(dialogue=waiting, stage="cross_check").values_list("reserved_for", flat=True)
    assert set(reserved) == {team.annotators[1].pk, team.annotators[2].pk}


def test_priority_owner_and_claims_change_for_selected_dialogues(team: Team) -> None:
    one, two = make_item(team, "cross_check"), make_item(team, "cross_check")
    confirm(team, plan(team, "prioritise", [one, two], priority=Priority.HIGH))
    assert set(Slot.objects.filter(state="open").values_list("priority", flat=True)) == {Priority.HIGH}
    confirm(team, plan(team, "hand_over", [one, two], to=[team.annotators[3].public_id]))
    assert set(Dialogue.objects.values_list("owner", flat=True)) == {team.annotators[3].pk}
    claim_slot(actor=team.annotators[1], slot=open_slot(one))
    confirm(team, plan(team, "free", [one]))
    assert not Slot.objects.filter(state=SlotState.CLAIMED).exists()


def test_dialogues_go_back_to_a_stage_and_their_reviews_are_kept(team: Team) -> None:
    under_review, claimed, candidate = (
        make_item(team, "cross_check"),
        make_item(team, "cross_check"),
        make_dialogue(team.project),
    )
    claim_and_submit(team.annotators[1], under_review, "approve")
    claim_slot(actor=team.annotators[1], slot=open_slot(claimed))
    for words, more in (
        ("Choose the stage", {"reason": "Dates"}),
        ("can’t be sent back to the stage “nowhere”", {"stage": "nowhere", "reason": "Dates"}),
        ("Enter a reason", {"stage": "cross_check", "reason": " "}),
    ):
        with pytest.raises(Invalid, match=words):
            plan(team, "send_back", [under_review], **more)
    made = plan(team, "send_back", [under_review, claimed, candidate], stage="cross_check", reason="Dates")
    assert [row[0] for row in made.items] == [under_review.pk]
    assert dict(map(tuple, made.refused)) == {
        claimed.external_id: "Somebody has claimed it. Open it to everyone first.",
        candidate.external_id: "It isn’t in review yet.",
    }
    confirm(team, made)
    under_review.refresh_from_db()
    assert (under_review.status, under_review.stage) == (DialogueStatus.IN_REVIEW, "cross_check")
    assert list(Cycle.objects.filter(dialogue=under_review).order_by("number").values_list("state", flat=True)) == [
        "superseded",
        "active",
    ]
    assert Review.objects.filter(dialogue=under_review).count() == 3
    assert Slot.objects.filter(dialogue=under_review, state="open").count() == 2
    assert "It already waits" in plan(team, "send_back", [under_review], stage="cross_check", reason="x").refused[0][1]
    # The cycle that starts in a later stage goes on like any other.
    for person in team.annotators[1:3]:
        claim_and_submit(person, under_review, "approve")
    # Now it waits for a draw, and can be sent back from there too.
    under_review.refresh_from_db()
    assert under_review.status == DialogueStatus.POOLED
    confirm(team, plan(team, "send_back", [under_review], stage="self_check_multi", reason="Dates"))
    assert Slot.objects.get(dialogue=under_review, state="open").stage == "self_check_multi"
    assert_consistent(team.project)


def test_an_administrator_sends_one_dialogue_back_from_its_page(team: Team, client: Client) -> None:
    item, candidate = make_item(team, "cross_check"), make_dialogue(team.project)
    address, other = (reverse("dialogue", args=[team.project.slug, one.public_id]) for one in (item, candidate))
    client.force_login(team.senior)
    assert 'id="send-back"' not in client.get(address).content.decode()
    client.force_login(team.administrator)
    assert 'id="send-back"' not in client.get(other).content.decode()
    form = HtmlForm(client, address, "send-back")
    plans_url = reverse("dialogue-plan", args=[team.project.slug])
    refused = form.send(plans_url, to_stage="self_check_single")
    assert (refused.status_code, item.public_id in refused.content.decode()) == (422, True)
    preview = form.send(plans_url, to_stage="self_check_single", reason="Dates").url
    assert "1</strong> item will change" in one_line(client.get(preview))
    client.post(preview)
    item.refresh_from_db()
    assert item.stage == "self_check_single"


def test_what_is_sent_back_to_a_self_check_waits_for_its_owner(team: Team) -> None:
    item = make_item(team, "cross_check")
    Dialogue.objects.filter(pk=item.pk).update(owner=team.annotators[3])
    confirm(team, plan(team, "send_back", [item], stage="self_check_single", reason="Dates"))
    assert Slot.objects.get(dialogue=item, state="open").reserved_for == team.annotators[3]


def test_a_review_since_the_preview_stops_sending_back(team: Team) -> None:
    item = make_item(team, "cross_check")
    made = plan(team, "send_back", [item], stage="self_check_single", reason="Dates")
    claim_and_submit(team.annotators[1], item, "approve")
    with pytest.raises(Conflict, match="It was reviewed, claimed or moved to another stage"):
        confirm(team, made)
    assert Cycle.objects.filter(dialogue=item).count() == 1


def test_tags_are_added_and_removed_in_bulk(team: Team) -> None:
    one, two, full = (make_dialogue(team.project) for _ in range(3))
    change_tags(actor=team.senior, dialogue=one, add=["hard", "x"])
    change_tags(actor=team.senior, dialogue=full, add=[f"t{number}" for number in range(20)])
    made = plan(team, "tag", [one, two], tags=["Hard"])
    assert made.refused == [[one.external_id, "It already has these tags."]]
    confirm(team, made)
    assert read_tags([one.pk, two.pk]) == {one.pk: ["hard", "x"], two.pk: ["hard"]}
    removal = plan(team, "untag", [one, two, full], tags=["x"])
    assert [why for _, why in removal.refused] == ["It has none of these tags."] * 2
    change_tags(actor=team.senior, dialogue=one, remove=["x"])
    with pytest.raises(Conflict, match="Its tags have changed"):
        confirm(team, removal)
    change_tags(actor=team.senior, dialogue=full, remove=["t0"])
    addition = plan(team, "tag", [two, full], tags=["more"])
    change_tags(actor=team.senior, dialogue=full, add=["t0"])
    with pytest.raises(Conflict, match="would have 21 tags"):
        confirm(team, addition)
    # Nothing of a change that fails is kept.
    assert read_tags([two.pk]) == {two.pk: ["hard"]}
    with pytest.raises(Invalid, match="at least one tag"):
        plan(team, "tag", [one])


def test_a_preview_leaves_out_what_would_have_too_many_tags(team: Team) -> None:
    full, free = make_dialogue(team.project), make_dialogue(team.project)
    change_tags(actor=team.administrator, dialogue=full, add=[f"t{n}" for n in range(19)])
    made = plan(team, "tag", [full, free], tags=["t0", "a", "b"])
    assert made.refused == [[full.external_id, "It would have 21 tags. A dialogue may have at most 20."]]
    confirm(team, made)
    assert read_tags([free.pk]) == {free.pk: ["a", "b", "t0"]}


def test_a_preview_reveals_no_tag_of_a_dialogue_reviewed_blind(team: Team) -> None:
    tagged, bare = make_item(team, "cross_check"), make_item(team, "cross_check")
    change_tags(actor=team.senior, dialogue=tagged, add=["wrong"])
    others = plan(team, "untag", [tagged], tags=["wrong"])
    blind = give_role(team.project, give_role(team.project, team.annotators[1], Role.ADMINISTRATOR))
    for item in (tagged, bare):
        claim_slot(actor=blind, slot=open_slot(item))
    for action in ("tag", "untag"):
        made = make_plan(
            actor=blind, project=team.project, action=action, dialogues=[tagged.pk, bare.pk], tags=["wrong"]
        )
        assert made.items == []
        assert len({why for _, why in made.refused}) == 1
    # A change from before the claim would say whether the dialogue has the tag.
    with pytest.raises(Hidden):
        load_plan(actor=blind, project=team.project, public_id=others.public_id)
    assert load_plan(actor=team.administrator, project=team.project, public_id=others.public_id) == others


def test_the_list_previews_what_is_ticked_or_all_that_matches(team: Team, client: Client) -> None:
    client.force_login(team.administrator)
    base = f"/p/{team.project.slug}/dialogues/"
    one, two, three = (make_dialogue(team.project) for _ in range(3))
    change_tags(actor=team.senior, dialogue=three, add=["old"])
    page = one_line(client.get(base))
    assert page.count('name="dialogue"') == 3
    body = {"action": "tag", "tags": "hard, new", "dialogue": [one.public_id]}
    preview = client.post(f"{base}plan/", body)
    assert "Tags: hard, new." in one_line(client.get(preview["Location"]))
    assert client.post(preview["Location"]).status_code == 302
    everything = client.post(f"{base}plan/", {"action": "tag", "tags": "all", "all": "yes", "tag": "old"})
    assert client.post(everything["Location"]).status_code == 302
    assert read_tags([one.pk, two.pk, three.pk]) == {one.pk: ["hard", "new"], three.pk: ["all", "old"]}
    refused = client.post(
        f"{base}plan/", {"action": "tag", "tags": "a!", "dialogue": [two.public_id], "tag": "old", "all_the_same": "on"}
    )
    assert refused.status_code == 422
    again = one_line(refused)
    assert "can’t be a tag" in again
    # The form keeps the selection, the filters and what was typed.
    assert f'name="dialogue" value="{two.public_id}"' in again
    assert '<input type="hidden" name="tag" value="old">' in again
    assert 'value="a!"' in again
    assert 'name="all_the_same" value="on" checked' in again
    client.force_login(team.senior)
    assert 'name="dialogue"' not in one_line(client.get(base))
    assert client.post(f"{base}plan/", body).status_code == 403


def test_too_many_dialogues_are_refused(team: Team, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MAX_SLOTS", 2)
    client.force_login(team.administrator)
    for _ in range(3):
        make_dialogue(team.project)
    body = {"action": "tag", "tags": "x", "all": "yes"}
    refused = client.post(f"/p/{team.project.slug}/dialogues/plan/", body)
    assert "More than 2 items are selected" in one_line(refused)


def test_programs_change_dialogues_by_ids_or_filters(team: Team, client: Client) -> None:
    client.force_login(team.administrator)
    one, two = make_item(team, "cross_check"), make_item(team, "cross_check")
    base = f"/api/projects/{team.project.slug}/assignments/plans/"

    def send(path: str, **body: Any) -> Any:
        return client.post(path, json.dumps(body), "application/json")

    made = send(base, action="tag", dialogues=[one.public_id], tags=["hard"]).json()
    assert made["items"] == 1
    assert send(f"{base}{made['public_id']}/").status_code == 200
    by_filter = send(base, action="prioritise", filters={"tag": "hard"}, priority=0).json()
    assert send(f"{base}{by_filter['public_id']}/").status_code == 200
    assert set(Slot.objects.filter(priority=0).values_list("dialogue", flat=True)) == {one.pk}
    back = send(base, action="send_back", filters={"stage": "cross_check"}, stage="self_check_single", reason="Dates")
    assert back.json()["items"] == 2
    both = send(base, action="tag", dialogues=[two.public_id], filters={}, tags=["x"])
    assert both.status_code == 422
    assert send(base, action="tag", filters={"colour": "red"}, tags=["x"]).status_code == 400
    assert send(base, action="tag", tags=["x"]).status_code == 422
    undo = send(f"{base}{made['public_id']}/undo/")
    assert (undo.status_code, undo.json()["undoes"], undo.json()["items"]) == (201, made["public_id"], 1)
    assert send(f"{base}{undo.json()['public_id']}/").status_code == 200
    assert read_tags([one.pk]) == {}
