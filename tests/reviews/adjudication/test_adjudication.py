"""The expert's side by side: what is disputed, what a ruling must say, and the document it makes."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.comparison import Discrepancy, lookup
from annotator.core.schema import canonical
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Draft
from annotator.services.dialogues.drafts import edit_draft
from reviews.api.serializers import ReviewSerializer
from reviews.core.protocols import load_preset, read_protocol
from reviews.core.protocols.presets import MAJORITY_OF_THREE
from reviews.models import Review, Ruling
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.rulings import (
    Dispute,
    RulingLine,
    load_dispute,
    settle_document,
    with_value,
)
from tests.factories import (
    Team,
    changed,
    claim_and_submit,
    current,
    make_document,
    make_item,
    make_team,
    open_slot,
)
from tests.pages import one_line
from tests.reviews.rulings import disputed_anchors

pytestmark = pytest.mark.django_db

TEXT = "/tasks/t1/steps/s1/text"
MESSAGE = "/tasks/t1/user_message"
DAY = "/tasks/t1/steps/s0/arguments/date"


TEAM = {"seniors": 2}


def edited(document: dict[str, Any], *, text: str = "", message: str = "", date: str = "") -> dict[str, Any]:
    copy = deepcopy(document)
    task = copy["tasks"][0]
    if text:
        task["steps"][1]["text"] = text
    if message:
        task["user_message"] = message
    if date:
        task["steps"][0]["arguments"]["date"] = date
    return copy


def disputed(team: Team, left: dict[str, str] | None, right: dict[str, str] | None) -> Dialogue:
    """Two colleagues disagree: each fixes as said, or approves."""
    item = make_item(team, "cross_check", make_document("x"))
    for person, edit in ((team.annotators[1], left), (team.annotators[2], right)):
        document = edited(current(item), **edit) if edit else None
        claim_and_submit(person, item, "fix" if edit else "approve", document=document)
    item.refresh_from_db()
    return item


def dispute_of(item: Dialogue) -> Dispute:
    dispute = load_dispute(open_slot(item))
    assert dispute is not None
    return dispute


def ruling(choice: str, **more: Any) -> dict[str, Any]:
    return {"choice": choice, "reason_kind": "answer_wrong", "reason": "As observed."} | more


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_both_sides_and_the_places_on_which_they_differ(team: Team) -> None:
    item = disputed(team, {"text": "Clear."}, {"text": "Sunny.", "message": "Weather in Ghent x?"})
    dispute = dispute_of(item)
    places = {place.anchor: (place.left, place.right) for place in dispute.discrepancies}
    assert places == {
        MESSAGE: ("What is the weather like in Ghent x?", "Weather in Ghent x?"),
        TEXT: ("Clear.", "Sunny."),
    }
    assert dispute.base == current(item)
    assert set(disputed_anchors(open_slot(item))) == {MESSAGE, TEXT}
    assert dispute.words(TEXT)


class Walks(list[Discrepancy]):
    """Places that count how often somebody goes through them all."""

    count = 0

    def __iter__(self) -> Iterator[Discrepancy]:
        self.count += 1
        return super().__iter__()

    def __contains__(self, place: object) -> bool:
        self.count += 1
        return super().__contains__(place)


def test_rulings_on_thousands_of_places_look_each_up_once(team: Team) -> None:
    dispute = dispute_of(disputed(team, {"text": "Clear."}, {"text": "Sunny.", "message": "Weather in Ghent x?"}))
    places = Walks(dispute.discrepancies)
    dispute = replace(dispute, discrepancies=places)
    draft = edited(dispute.base, text="Grey.", message="How is it in Ghent?")
    for _ in range(50):
        for anchor, own in ((TEXT, "Grey."), (MESSAGE, "How is it in Ghent?")):
            line = with_value(RulingLine(anchor, "third", "answer_wrong"), dispute, draft, True)
            assert (line.value, dispute.place_at(anchor).anchor) == (own, anchor)
    assert places.count == 1


def test_what_the_expert_wrote_besides_is_held_against_all_places_at_once(team: Team) -> None:
    def both(document: dict[str, Any], text: str) -> dict[str, Any]:
        copy = edited(document, text=text)
        for task in copy["tasks"]:
            task["user_message"] += " Please."
        return copy

    item = make_item(team, "cross_check", make_document("x", tasks=4))
    before = current(item)
    for person, text in ((team.annotators[1], "Clear."), (team.annotators[2], "Sunny.")):
        claim_and_submit(person, item, "fix", document=both(before, text))
    slot, counts = open_slot(item), []
    for own in (1, 4):
        places = Walks(dispute_of(item).discrepancies)
        draft = deepcopy(before)
        for task in draft["tasks"][:own]:
            task["user_message"] = "Mine."
        text, _ = settle_document(
            slot=slot, text=canonical(draft), lines=[RulingLine(TEXT, "right", "answer_wrong")],
            kinds=frozenset({"answer_wrong"}), dispute=replace(dispute_of(item), discrepancies=places),
        )  # fmt: skip
        assert text.count("Mine.") == own
        counts.append(places.count)
    assert counts[0] == counts[1]


def test_sides_bear_no_names(team: Team) -> None:
    dispute = dispute_of(disputed(team, None, {"text": "Sunny."}))
    assert (dispute.left.title, dispute.right.title) == ("Reviewer 1", "Reviewer 2")
    assert (dispute.left.verdict, dispute.right.verdict) == ("approve", "fix")


def test_what_an_author_escalated_has_the_version_before_on_the_left(team: Team) -> None:
    item = make_item(team, "self_check_single", make_document("x"))
    before = current(item)
    claim_and_submit(team.annotator, item, "escalate", document=changed(before), reason="Unsure.")
    dispute = dispute_of(item)
    assert (dispute.left.title, dispute.left.document) == ("Before", before)
    assert (dispute.right.title, dispute.right.reason) == ("Reviewer", "Unsure.")
    assert [place.anchor for place in dispute.discrepancies] == [TEXT]


def test_a_dispute_about_the_verdict_has_no_places(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "reject", reason="Nobody asks this.")
    dispute = dispute_of(item)
    assert dispute.discrepancies == []
    assert dispute.right.reason == "Nobody asks this."


def of_three(team: Team, *reviews: str) -> tuple[Dialogue, str]:
    """An item of which three said “approve”, “reject” or what the answer is; and the page on which it is settled."""
    data = load_preset("c3").model_dump(mode="json")
    data["stages"][2] |= {"reviewers": 3, "outcomes": [row.model_dump(mode="json") for row in MAJORITY_OF_THREE]}
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    item = make_item(team, "cross_check", make_document("x"))
    for person, said in zip(team.annotators[1:], reviews, strict=True):
        fix = said not in ("approve", "reject")
        document = edited(current(item), text=said) if fix else None
        claim_and_submit(person, item, "fix" if fix else said, document=document)
    item.refresh_from_db()
    slot = open_slot(item)
    claim_slot(actor=team.senior, slot=slot)
    client = Client()
    client.force_login(team.senior)
    return item, one_line(client.get(reverse("workspace-settle", args=[slot.public_id])))


def test_a_third_reviewers_changes_are_disputed_where_the_first_two_changed_nothing() -> None:
    item, page = of_three(make_team(annotators=4), "approve", "reject", "Sunny.")
    dispute = dispute_of(item)
    assert (dispute.left.title, dispute.right.title) == ("Reviewer 1", "Reviewer 3")
    assert [(place.anchor, place.right) for place in dispute.discrepancies] == [(TEXT, "Sunny.")]
    assert [side.title for side in dispute.more] == ["Reviewer 2"]
    assert "Only the verdicts differ" not in page


def test_a_third_version_is_shown_beside_the_two() -> None:
    item, page = of_three(make_team(annotators=4), "Clear.", "Sunny.", "Rain by noon.")
    assert [side.title for side in dispute_of(item).more] == ["Reviewer 3"]
    assert "Changed by Reviewer 3: 1 place<" in page
    assert "noon" in page


# --- ruling -----------------------------------------------------------------------------------------------------------


def test_left_right_and_third(team: Team) -> None:
    item = disputed(
        team,
        {"text": "Clear.", "message": "Weather in Ghent x?", "date": "2025-05-02"},
        {"text": "Sunny.", "message": "Ghent x: the weather tomorrow?"},
    )
    review = claim_and_submit(
        team.senior, item,
        rulings={MESSAGE: ruling("right"), TEXT: ruling("left"), DAY: ruling("third", value="2025-05-03")},
    )  # fmt: skip
    assert review.verdict == "fix"
    task = current(item)["tasks"][0]
    assert task["user_message"] == "Ghent x: the weather tomorrow?"
    assert task["steps"][1]["text"] == "Clear."
    assert task["steps"][0]["arguments"] == {"city": "Ghent x", "date": "2025-05-03"}
    rows = {row.anchor: row for row in Ruling.objects.filter(review=review)}
    assert {anchor: row.choice for anchor, row in rows.items()} == {MESSAGE: "right", TEXT: "left", DAY: "third"}
    assert rows[DAY].value == "2025-05-03"
    assert rows[TEXT].reason_kind == "answer_wrong"


@pytest.mark.parametrize("third", [[1e20, -0.0, 40.0, 12345678901234567890123], "40", "null", "[1]"])
def test_a_third_value_keeps_its_kind(team: Team, third: Any) -> None:
    """Numbers, and a text of a program where others have numbers."""
    item = make_item(team, "cross_check", make_document("x"))
    for person, observed in ((team.annotators[1], [1]), (team.annotators[2], [2])):
        document = deepcopy(current(item))
        document["tasks"][0]["steps"][0]["observation"] = observed
        claim_and_submit(person, item, "fix", document=document)
    item.refresh_from_db()
    (place,) = disputed_anchors(open_slot(item))
    review = claim_and_submit(team.senior, item, rulings={place: ruling("third", value=third)})
    assert repr(Ruling.objects.get(review=review).value) == repr(third)
    assert repr(ReviewSerializer(review).data["rulings"][0]["value"]) == repr(third)
    item.refresh_from_db()
    assert repr(lookup(current(item), place)) == repr(third)


def test_the_result_is_the_experts_revision_and_ends_the_cycle(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    review = claim_and_submit(team.senior, item, "fix", rulings={TEXT: ruling("right")})
    item.refresh_from_db()
    assert review.made_revision is not None
    assert (item.head, item.status) == (review.made_revision, "verified")
    assert review.made_revision.author == team.senior


def test_rulings_that_leave_the_version_as_it_is_approve_it(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    before = item.head
    review = claim_and_submit(team.senior, item, "fix", rulings={TEXT: ruling("left")})
    item.refresh_from_db()
    assert (review.verdict, review.made_revision, item.head) == ("approve", None, before)


def test_a_dispute_about_the_verdict_is_settled_without_rulings(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "reject")
    # The reviewer who rejected it reads why it passes.
    with pytest.raises(Invalid, match="Enter why the dialogue passes although a reviewer rejected it"):
        claim_and_submit(team.senior, item, reason=" ")
    assert claim_and_submit(team.senior, item, reason="The answer is right.").verdict == "approve"


def test_a_rejection_needs_no_rulings_but_a_reason(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    with pytest.raises(Invalid, match="Enter a reason"):
        claim_and_submit(team.senior, item, "reject", reason="")
    assert claim_and_submit(team.senior, item, "reject").verdict == "reject"


def test_every_disputed_place_needs_a_ruling(team: Team) -> None:
    item = disputed(team, {"text": "Clear."}, {"text": "Sunny.", "message": "Weather in Ghent x?"})
    with pytest.raises(Invalid, match="1 of 2 are still open") as caught:
        claim_and_submit(team.senior, item, rulings={TEXT: ruling("left")})
    assert caught.value.details["anchors"] == [MESSAGE]
    with pytest.raises(Invalid, match="2 of 2"):
        claim_and_submit(team.senior, item, "approve")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({TEXT: ruling("left", reason_kind="")}, "Choose a reason for"),
        ({TEXT: ruling("left", reason_kind="taste")}, "Choose a reason for"),
        ({TEXT: ruling("middle")}, "Choose one of: left, right, third"),
        ({TEXT: ruling("third")}, "Write the third version"),
        ({TEXT: ruling("left"), MESSAGE: ruling("left")}, "no dispute about task 1, user message"),
        ([ruling("left", anchor=TEXT), ruling("right", anchor=TEXT)], "two rulings"),
        ({TEXT: ruling("left", reason="x" * 1001)}, "at most 1,000 characters"),
    ],
)
def test_rulings_that_make_no_sense(team: Team, given: Any, words: str) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    with pytest.raises(Invalid, match=words):
        claim_and_submit(team.senior, item, rulings=given)
    assert not Ruling.objects.exists()


def test_nothing_to_rule_on(team: Team) -> None:
    item = make_item(team, "cross_check")
    for person in team.annotators[1:]:
        claim_and_submit(person, item, "approve")
    from reviews.services.sampling.draws import close_population_and_draw

    close_population_and_draw(actor=team.administrator, project=team.project)
    with pytest.raises(Invalid, match="isn’t in dispute"):
        claim_and_submit(team.senior, item, "approve", rulings={TEXT: ruling("left")})


def test_the_expert_may_edit_besides(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    own = edited(current(item), message="Tell me the weather in Ghent x.")
    claim_and_submit(team.senior, item, document=own, rulings={TEXT: ruling("right")})
    task = current(item)["tasks"][0]
    assert (task["user_message"], task["steps"][1]["text"]) == ("Tell me the weather in Ghent x.", "Sunny.")


def test_a_third_version_may_stand_in_the_draft(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    own = edited(current(item), text="Sunny, 18 degrees.")
    review = claim_and_submit(team.senior, item, document=own, rulings={TEXT: ruling("third")})
    assert current(item)["tasks"][0]["steps"][1]["text"] == "Sunny, 18 degrees."
    assert review.rulings.get().value == "Sunny, 18 degrees."


@pytest.mark.parametrize("choice", ["left", "right"])
def test_ruling_and_editing_the_same_place_is_a_contradiction(team: Team, choice: str) -> None:
    # On the left it is as it was before: the edit would count, and the record would say that the left was taken.
    item = disputed(team, None, {"text": "Sunny."})
    own = edited(current(item), text="Mine.")
    with pytest.raises(Invalid, match="You have settled and edited the same place"):
        claim_and_submit(team.senior, item, document=own, rulings={TEXT: ruling(choice)})
    with pytest.raises(Invalid, match="Your third version differs from your edit") as refused:
        claim_and_submit(team.senior, item, document=own, rulings={TEXT: ruling("third", value="Another.")})
    assert "Choose" not in refused.value.sentence
    claim_and_submit(team.senior, item, document=own, rulings={TEXT: ruling("third")})
    assert current(item)["tasks"][0]["steps"][1]["text"] == "Mine."


def test_what_both_changed_alike_is_agreed_and_may_be_edited(team: Team, client: Client) -> None:
    mended = "Tell me the weather in Ghent x."
    item = disputed(team, {"text": "Clear.", "message": mended}, {"text": "Sunny.", "message": mended})
    slot = open_slot(item)
    claim_slot(actor=team.senior, slot=slot)
    client.force_login(team.senior)
    page = one_line(client.get(f"/work/{slot.public_id}/settle/"))
    assert "1 changed in the same way" in page
    assert f'href="/work/{slot.public_id}/?at=%2Ftasks%2Ft1%2Fuser_message"' in page
    draft = Draft.objects.get(dialogue=item, author=team.senior)
    edit = {"op": "set", "anchor": MESSAGE, "value": "Is it sunny in Ghent x?"}
    edit_draft(actor=team.senior, draft=draft, operation=edit, seen=draft.version)
    page = one_line(client.get(f"/work/{slot.public_id}/settle/"))
    assert "Your version, which will be used" in page
    assert "Is it sunny in Ghent x?" in page
    draft.refresh_from_db()
    claim_and_submit(team.senior, item, document=draft.document(), rulings={TEXT: ruling("right")})
    task = current(item)["tasks"][0]
    assert (task["user_message"], task["steps"][1]["text"]) == ("Is it sunny in Ghent x?", "Sunny.")


def test_what_the_rulings_make_is_checked_like_anything_else(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    with pytest.raises(Invalid, match="Fix or waive"):
        claim_and_submit(team.senior, item, rulings={TEXT: ruling("third", value="TODO: the weather")})


# --- who settles, and how often ---------------------------------------------------------------------------------------


def test_an_expert_who_took_part_leaves_it_to_another(team: Team) -> None:
    from annotator.errors import Denied

    item = make_item(team, "cross_check")
    claim_and_submit(team.senior, item, "approve")
    claim_and_submit(team.annotators[1], item, "fix", document=changed(current(item)))
    with pytest.raises(Denied):
        claim_and_submit(team.senior, item, rulings={TEXT: ruling("left")})
    assert claim_and_submit(team.seniors[1], item, rulings={TEXT: ruling("left")}).verdict == "approve"
    assert Review.objects.filter(dialogue=item, stage_kind="expert").count() == 1


def test_an_expert_settles_once(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    slot = open_slot(item)
    claim_and_submit(team.senior, item, rulings={TEXT: ruling("left")})
    from reviews.services.queue.claims import claim_slot

    with pytest.raises(Conflict):
        claim_slot(actor=team.seniors[1], slot=slot)


def test_an_expert_who_looks_again_begins_from_what_the_first_has_settled(team: Team, client: Client) -> None:
    preset = load_preset("c3").model_dump(mode="json")
    preset["stages"][-1]["outcomes"][1]["outcome"] = "restart"
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(preset))
    item = disputed(team, {"text": "Clear."}, None)
    own = edited(current(item), date="2025-05-02")
    rulings = {TEXT: {"choice": "left", "reason_kind": "answer_wrong"}}
    claim_and_submit(team.seniors[0], item, document=own, rulings=rulings)
    slot = open_slot(item)
    assert load_dispute(slot) is None
    claim_slot(actor=team.seniors[1], slot=slot)
    client.force_login(team.seniors[1])
    page = client.get(reverse("workspace-settle", args=[slot.public_id]), follow=True)
    assert page.redirect_chain == [(reverse("workspace", args=[slot.public_id]), 302)]
    claim_and_submit(team.seniors[1], item, "approve")
    item.refresh_from_db()
    assert (item.status, current(item)) == ("verified", edited(own, text="Clear."))
