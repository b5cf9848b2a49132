"""Training: only its items until a person has passed, results known by hand, and that nothing counts."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Draft, Event, Notice, Role, User, Waiver
from annotator.services.dialogues.revisions import check_document
from reviews.models import (
    Claim,
    ClaimState,
    GoldItem,
    Review,
    Slot,
    SlotState,
    TrainingResult,
)
from reviews.services.assignments.takers import read_takers
from reviews.services.queue.claims import claim_next, claim_slot, release, skip
from reviews.services.queue.trainees import list_training_items, standing_of
from reviews.services.queue.training_claims import NotReady
from reviews.services.statistics.agreement import AGREEMENT
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import read_counters, recount, stored_counters
from reviews.services.statistics.workload import WORK
from reviews.services.training.comparison import read_comparison
from reviews.services.training.decisions import change_training, decide_trainee, try_again
from reviews.services.training.items import (
    add_training_item,
    move_training_item,
    retire_training_item,
)
from tests.factories import Team, changed, make_item, open_slot
from tests.pages import one_line
from tests.reviews.gold.gold_team import STAGE, answer_with, gold_team, make_gold, verified

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return gold_team()


def add(team: Team, source: Dialogue | None = None, **more: Any) -> GoldItem:
    return add_training_item(
        actor=team.administrator, project=team.project, source=source or verified(team), stage=STAGE, **more
    )


def switch_on(team: Team, *, items: int = 2, mark: int = 1, attempts: int = 2, **more: Any) -> list[GoldItem]:
    """A training of so many items, each with one error that the answer has fixed."""
    made = [add(team) for _ in range(items)]
    settings = {"stage": STAGE, "length": items, "pass_mark": mark, "attempts": attempts, "enabled": True} | more
    change_training(actor=team.administrator, project=team.project, **settings)
    return made


def take(person: User, team: Team, **more: Any) -> Claim:
    claim = claim_next(actor=person, project=team.project, **more)
    assert claim is not None
    return claim


def answer(person: User, claim: Claim, *, right: bool) -> Review:
    """Fix the error as the known answer does, or approve the item with it."""
    if not right:
        return answer_with(person, claim, "approve")
    return answer_with(person, claim, "fix", document=changed(claim.slot.revision.document()))


def state_of(team: Team, person: User) -> tuple[str, int, int]:
    """State, items submitted, and items right."""
    standing = standing_of(project=team.project, person=person)
    assert standing is not None
    return standing.state, standing.done, standing.right


def test_a_new_member_gets_only_training_items_in_order_until_they_pass(team: Team) -> None:
    items = switch_on(team, items=2, mark=1)
    ordinary = make_item(team, STAGE)
    person = team.annotators[4]
    with pytest.raises(NotReady, match="after the training"):
        claim_slot(actor=person, slot=open_slot(ordinary))
    first = take(person, team)
    assert first.slot.dialogue_id == items[0].dialogue_id
    release(actor=person, token=first.token)
    assert take(person, team, stage="self_check_single").slot_id == first.slot_id
    answer(person, first, right=False)
    assert state_of(team, person) == ("training", 1, 0)
    second = take(person, team)
    assert second.slot.dialogue_id == items[1].dialogue_id
    answer(person, second, right=True)
    assert state_of(team, person) == ("passed", 2, 1)
    assert take(person, team, stage=STAGE).slot.dialogue_id == ordinary.pk
    assert Event.objects.filter(kind="training.passed", actor=person).count() == 1
    [notice] = Notice.objects.filter(person=team.administrator, target__endswith="/training/")
    assert notice.text == f"{person} passed the training with 1 of 2 items right."


def test_work_is_not_assigned_to_people_in_training_unless_one_insists(team: Team) -> None:
    switch_on(team, items=1)
    make_item(team, STAGE)
    trainee = team.annotators[4]
    roles = [(trainee, frozenset({Role.ANNOTATOR}))]
    [slot] = Slot.objects.filter(state="open", is_gold=False).select_related("protocol")[:1]
    takers = read_takers(team.project, [slot], roles)
    assert takers.why_not(slot, *roles[0]) == "Gets only training items until the training is passed."
    assert takers.why_not(slot, *roles[0], all_the_same=True) == ""
    assert takers.unfit(slot) == {trainee.pk}
    answer(trainee, take(trainee, team), right=True)
    assert read_takers(team.project, [slot], roles).why_not(slot, *roles[0]) == ""


def test_who_fails_may_try_again_and_then_an_administrator_decides(team: Team) -> None:
    items = switch_on(team, items=1, mark=1, attempts=2)
    spare = add(team)
    person = team.annotators[4]
    ordinary = make_item(team, STAGE)
    answer(person, take(person, team), right=False)
    with pytest.raises(NotReady, match="Start it again"):
        claim_next(actor=person, project=team.project)
    try_again(actor=person, project=team.project)
    try_again(actor=person, project=team.project)
    # What they have not seen comes first.
    second = take(person, team)
    assert [items[0].dialogue_id, spare.dialogue_id].index(second.slot.dialogue_id) == 1
    answer(person, second, right=False)
    with pytest.raises(NotReady, match="Ask an administrator"):
        claim_next(actor=person, project=team.project)
    with pytest.raises(Conflict, match="Ask an administrator"):
        try_again(actor=person, project=team.project)
    decide = {"actor": team.administrator, "project": team.project, "public_id": person.public_id}
    decide_trainee(**decide, state="training")
    # The same item again, in a slot of its own.
    third = take(person, team)
    assert third.slot.dialogue_id == items[0].dialogue_id
    answer(person, third, right=False)
    assert TrainingResult.objects.filter(person=person).count() == 3
    standing = standing_of(project=team.project, person=person)
    assert standing is not None
    assert (standing.state, standing.attempt, standing.left) == ("failed", 1, 1)
    decide_trainee(**decide, state="passed")
    assert take(person, team, stage=STAGE).slot.dialogue_id == ordinary.pk


def test_an_item_is_right_only_without_unnecessary_changes(team: Team) -> None:
    switch_on(team, items=2, mark=2)
    person = team.annotators[4]
    claim = take(person, team)
    document = changed(claim.slot.revision.document())
    document["tasks"][0]["user_message"] += " Please."
    review = answer_with(person, claim, "fix", document=document)
    result = TrainingResult.objects.get(review=review)
    assert (result.verdict_right, result.false_changes, result.right) == (True, 1, False)


def test_who_has_worked_before_is_exempt_or_trained_as_the_administrator_chooses(team: Team) -> None:
    made = add(team)
    # The annotators 1 and 2 have reviewed the source of the item.
    settings = {"stage": STAGE, "length": 1, "pass_mark": 1, "attempts": 1}
    change_training(actor=team.administrator, project=team.project, enabled=True, **settings)
    assert state_of(team, team.annotators[1])[0] == "exempt"
    assert state_of(team, team.annotators[4])[0] == "training"
    decide_trainee(
        actor=team.administrator, project=team.project, public_id=team.annotators[1].public_id, state="training"
    )
    assert take(team.annotators[1], team).slot.dialogue_id == made.dialogue_id
    # Exempt again: the item in progress ends.
    decide_trainee(
        actor=team.administrator, project=team.project, public_id=team.annotators[1].public_id, state="exempt"
    )
    assert Slot.objects.get(dialogue=made.dialogue_id).state == SlotState.CANCELLED
    assert Claim.objects.get(slot__dialogue=made.dialogue_id).state == ClaimState.WITHDRAWN
    assert standing_of(project=team.project, person=team.senior) is None


def test_nothing_of_it_is_counted(team: Team) -> None:
    source = verified(team)
    make_item(team, STAGE)
    fold_all()
    person = team.annotators[4]
    before = read_counters(team.project), read_counters(team.project, with_gold=True, viewer=person)
    work = WORK.stored(team.project)
    add(team, source)
    change_training(
        actor=team.administrator, project=team.project, stage=STAGE, length=1, pass_mark=1, attempts=1, enabled=True
    )
    answer(person, take(person, team), right=True)
    fold_all()
    assert (read_counters(team.project), read_counters(team.project, with_gold=True, viewer=person)) == before
    assert stored_counters(team.project) == recount(team.project)
    assert WORK.stored(team.project) == work
    assert WORK.recount(team.project) == []
    assert AGREEMENT.recount(team.project) == []
    [shown] = Dialogue.objects.filter(project=team.project, published=False)
    assert not Dialogue.objects.visible_to(team.administrator).filter(pk=shown.pk).exists()
    source.refresh_from_db()
    assert source.gold_role == ""


def test_no_dialogue_is_both_hidden_gold_and_training(team: Team) -> None:
    trained, tested = verified(team), verified(team)
    item = add(team, trained)
    make_gold(team, tested)
    with pytest.raises(Conflict, match="part of the training"):
        make_gold(team, trained)
    with pytest.raises(Conflict, match="already part"):
        add(team, tested)
    retire_training_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    make_gold(team, trained)


def test_a_retired_item_does_not_count_and_the_training_gets_shorter(team: Team) -> None:
    items = switch_on(team, items=2, mark=2)
    person = team.annotators[4]
    held = take(person, team)
    retire_training_item(actor=team.administrator, project=team.project, public_id=items[0].public_id)
    answer(person, held, right=False)
    assert not TrainingResult.objects.exists()
    assert read_comparison(actor=person, project=team.project, slot=held.slot.public_id).result is None
    answer(person, take(person, team), right=True)
    assert state_of(team, person) == ("passed", 1, 1)


def test_the_comparison_is_for_its_person_and_for_overseers(team: Team) -> None:
    switch_on(team)
    person = team.annotators[4]
    claim = take(person, team)
    with pytest.raises(Hidden):
        read_comparison(actor=person, project=team.project, slot=claim.slot.public_id)
    answer(person, claim, right=True)
    for reader in (person, team.senior, team.administrator):
        found = read_comparison(actor=reader, project=team.project, slot=claim.slot.public_id)
        assert found.result is not None
        assert found.result.right
    with pytest.raises(Hidden):
        read_comparison(actor=team.annotators[5], project=team.project, slot=claim.slot.public_id)


def test_settings_that_nobody_can_pass_are_refused(team: Team) -> None:
    settings = {"stage": STAGE, "length": 2, "pass_mark": 1, "attempts": 1, "enabled": True}
    for wrong, field in (
        ({}, "length"),
        ({"pass_mark": 3}, "pass_mark"),
        ({"attempts": 0}, "attempts"),
        ({"stage": "expert"}, "stage"),
    ):
        with pytest.raises(Invalid) as refused:
            change_training(actor=team.administrator, project=team.project, **(settings | wrong))
        assert refused.value.details["field"] == field
    with pytest.raises(Denied):
        change_training(actor=team.senior, project=team.project, **settings)


def test_items_are_put_in_order(team: Team) -> None:
    first, second, third = (add(team) for _ in range(3))
    move = {"actor": team.administrator, "project": team.project}
    move_training_item(**move, public_id=third.public_id, up=True)
    move_training_item(**move, public_id=first.public_id, up=True)
    assert list_training_items(team.project) == [first, third, second]


def test_skipping_gives_the_same_item_again(team: Team) -> None:
    switch_on(team)
    person = team.annotators[4]
    claim = take(person, team)
    skip(actor=person, token=claim.token)
    assert take(person, team).slot_id == claim.slot_id


# --- pages ------------------------------------------------------------------------------------------------------------


def test_the_pages_of_a_training_from_setup_to_passing(team: Team, client: Client) -> None:
    source = verified(team)
    client.force_login(team.administrator)
    slug = team.project.slug
    preview = client.get(reverse("training-new", args=[slug]), {"dialogue": source.external_id, "stage": STAGE})
    assert "Or plant an error" in preview.content.decode()
    sent = {"dialogue": source.external_id, "stage": STAGE, "show": "as_it_came"}
    assert client.post(reverse("training-new", args=[slug]), sent).status_code == 302
    settings = {"stage": STAGE, "length": "2", "pass_mark": "1", "attempts": "2", "enabled": "on"}
    refused = client.post(reverse("training-settings", args=[slug]), settings)
    assert refused.status_code == 422
    assert "an attempt needs 2. Add items." in refused.content.decode()
    client.post(reverse("training-settings", args=[slug]), settings | {"length": "1"})
    person = team.annotators[4]
    client.force_login(person)
    assert "Review 1 item." in client.get(reverse("training", args=[slug])).content.decode()
    work = client.post(reverse("work-next", args=[slug]), follow=True)
    assert work.status_code == 200
    slot = Slot.objects.get(holder=person)
    page = client.post(reverse("workspace-submit", args=[slot.public_id]), {"verdict": "approve"}, follow=True)
    assert page.redirect_chain == [(reverse("training-result", args=[slug, slot.public_id]), 302)]
    text = page.content.decode()
    assert "1 of 1 items, 0 right, pass mark 1" in text
    assert "Your answer beside the known answer" in text
    assert "missed" in text
    assert "Start again" in text
    asked = client.post(reverse("work-next", args=[slug]), follow=True)
    assert asked.redirect_chain == [(reverse("training", args=[slug]), 302)]
    client.post(reverse("training-again", args=[slug]))
    client.post(reverse("work-next", args=[slug]))
    again = Slot.objects.get(holder=person, round=2)
    answer(person, Claim.objects.get(slot=again), right=True)
    passed = client.get(reverse("training-result", args=[slug, again.public_id])).content.decode()
    assert "You have passed the training." in passed
    client.force_login(team.administrator)
    overview = client.get(reverse("training", args=[slug])).content.decode()
    assert source.external_id in overview
    assert "Passed" in overview
    who = reverse("training-person", args=[slug, person.public_id])
    assert client.get(who).content.decode().count("training/results/") == 2
    client.post(who, {"state": "training"})
    assert state_of(team, person)[0] == "training"


def my_work(person: User) -> str:
    client = Client()
    client.force_login(person)
    return one_line(client.get("/"))


def test_my_work_says_where_a_trainee_is_and_has_one_button(team: Team) -> None:
    switch_on(team, items=2, mark=1, attempts=2)
    make_item(team, STAGE)
    person = team.annotators[4]
    page = my_work(person)
    assert "Training: 0 of 2 done, pass mark 1" in page
    assert (page.count("Start training"), page.count("/next/"), page.count("Claim next")) == (1, 1, 0)
    for _ in range(2):
        claim = take(person, team)
        assert f"Continue {claim.slot.dialogue.external_id}" in my_work(person)
        answer(person, claim, right=False)
    page = my_work(person)
    assert "Training: 2 of 2 done, pass mark 1" in page
    assert (page.count("Start again"), page.count("/next/"), page.count("1 attempt left")) == (1, 0, 1)
    try_again(actor=person, project=team.project)
    answer(person, take(person, team), right=True)
    assert "Continue the training" in my_work(person)
    answer(person, take(person, team), right=True)
    page = my_work(person)
    assert "You have passed with 2 of 2 items right." in page
    assert ">Start <kbd" in page
    # After the first real review it says nothing more.
    answer_with(person, take(person, team), "approve")
    assert "Training:" not in my_work(person)
    assert "Training:" not in my_work(team.senior)


def test_programs_read_the_training_and_are_refused_with_a_sentence(team: Team, client: Client) -> None:
    switch_on(team, items=1, mark=1, attempts=1)
    person = team.annotators[4]
    answer(person, take(person, team), right=False)
    client.force_login(person)
    slug = team.project.slug
    mine = client.get(reverse("api-training", args=[slug])).json()
    assert (mine["enabled"], mine["mine"]["state"], mine["mine"]["left"]) == (True, "failed", 0)
    refused = client.post(reverse("api-claim", args=[slug]), {}, content_type="application/json")
    assert refused.status_code == 409
    assert "You have not passed the training. Ask an administrator" in refused.content.decode()
    own = client.get(reverse("api-training-person", args=[slug, person.public_id])).json()
    assert [one["right"] for one in own["results"]] == [False]
    client.force_login(team.administrator)
    address = reverse("api-training", args=[slug])
    settings = {"stage": STAGE, "length": 1, "pass_mark": 1, "attempts": 2, "enabled": True}
    changed_to = client.post(address, settings, content_type="application/json").json()
    assert {name: changed_to[name] for name in settings} == settings
    refused = client.post(address, settings | {"length": 2}, content_type="application/json")
    assert (refused.status_code, "an attempt needs 2. Add items." in refused.content.decode()) == (422, True)
    # There is an attempt left now.
    client.force_login(person)
    for _ in range(2):
        again = client.post(reverse("api-training-again", args=[slug]), content_type="application/json").json()
        assert (again["mine"]["state"], again["mine"]["attempt"]) == ("training", 2)


def test_all_of_the_workspace_works_on_a_training_item(team: Team, client: Client) -> None:
    """The item is in no list, so a draft of it was not found: it could be opened, but no error could be fixed."""
    switch_on(team, items=1, mark=1)
    person = team.annotators[4]
    slot = take(person, team).slot
    client.force_login(person)

    def post(page: str, **sent: Any) -> str:
        draft = Draft.objects.filter(author=person).first()
        response = client.post(
            reverse(f"workspace-{page}", args=[slot.public_id]),
            {"seen": draft.version if draft else 0, "at": "/tasks/t1"} | sent,
            headers={"HX-Request": "true"},
        )
        assert response.status_code == 200, response.content
        return one_line(response)

    client.get(reverse("workspace", args=[slot.public_id]))
    wrong = "Sunny tomorrow."
    assert wrong in post("edit", op="set", anchor="/tasks/t1/steps/s1/text", value=wrong)
    assert wrong not in post("undo")
    assert wrong in post("redo")
    assert wrong not in post("reset")
    assert "Which day is meant?" in post("comment", anchor="/tasks/t1", text="Which day is meant?", panel="comments")
    call = Draft.objects.get(author=person).document()["tasks"][0]["steps"][0]
    post(
        "edit",
        op="set_arguments",
        anchor="/tasks/t1/steps/s0",
        text=json.dumps(dict.fromkeys(call["arguments"], "Rome")),
        **{"as": "json"},
    )
    found = check_document(
        Draft.objects.get(author=person).document(),
        slot.revision.toolset_revision,
        project=team.project,
        stage="submit",
    )
    [warning] = [one for one in found if one.severity == "warning"][:1]
    where = {"check": warning.check, "anchor": warning.anchor, "value_hash": warning.value_hash}
    assert "It is a joke." in post("waive", reason="It is a joke.", **where)
    post("unwaive", **where)
    post("reset")
    known = GoldItem.training.get().answer.document()["tasks"][0]["steps"][1]["text"]
    post("edit", op="set", anchor="/tasks/t1/steps/s1/text", value=known)
    sent = {"verdict": "fix", "seen": Draft.objects.get(author=person).version, "token": slot.claims.get().token}
    done = client.post(reverse("workspace-submit", args=[slot.public_id]), sent)
    assert done.status_code == 302, one_line(done)
    assert TrainingResult.objects.get().right


def test_nobody_has_waived_a_planted_error(team):
    """A newcomer read that a colleague had waived the warning at the error that they should find."""
    source = verified(team)
    planted = source.head.document()
    call = next(step for step in planted["tasks"][0]["steps"] if step["type"] == "call")
    call["arguments"] = dict.fromkeys(call["arguments"], "Atlantis")
    item = add(team, source, document=planted)
    shown = item.stage_run.entry_revision
    found = check_document(shown.document(), shown.toolset_revision, project=team.project, stage="submit")
    assert "warning" in {one.severity for one in found}
    assert not Waiver.objects.filter(dialogue=item.dialogue).exists()
