"""The page of a dispute: errors named besides, refusals in words, what was edited offered as the third version."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Dialogue
from annotator.services.dialogues.drafts import edit_draft
from reviews.core.protocols.presets import load_preset
from reviews.models import Review
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.throughput import read_error_types
from reviews.services.submission.rulings import Dispute, load_dispute
from reviews.services.submission.workbench import open_workbench
from reviews.views.adjudication.sides import found_errors, what_differs
from reviews.views.workspace.form_versions import reason_label
from tests.factories import Team, adopt_c3, changed, claim_and_submit, depends, make_document, make_item, make_team
from tests.reviews.adjudication.test_adjudication import TEXT
from tests.reviews.adjudication.test_disputes import at_desk, disputed, same, sheet_of

pytestmark = pytest.mark.django_db

WHY = "answer_wrong"


@pytest.fixture
def team() -> Team:
    team = make_team(seniors=1)
    adopt_c3(team)
    return team


@pytest.fixture
def slot(team: Team) -> str:
    return at_desk(team, disputed(team, same, lambda document: changed(document, "Sunny."), make_document("x")))


def settle(team: Team, client: Client, slot: str, choice: str, **more: Any) -> Any:
    client.force_login(team.senior)
    draft = open_workbench(actor=team.senior, slot_id=slot).draft
    form = {"seen": draft.version, f"ruling:{TEXT}": choice, f"why:{TEXT}": WHY, "stay": "1"}
    return client.post(reverse("workspace-settle", args=[slot]), form | more)


def test_whoever_settles_names_what_was_wrong_besides(team: Team, client: Client, slot: str) -> None:
    """The page had no rows for it, so an error in what is not disputed was told nobody."""
    client.force_login(team.senior)
    assert "Errors you found" in client.get(reverse("workspace-settle", args=[slot])).content.decode()
    named = {"error-type": "message_unnatural", "error-anchor": "/tasks/t1/user_message", "error-note": "Stiff."}
    assert settle(team, client, slot, "right", **named).status_code == 302
    review = Review.objects.get(stage_kind="expert")
    assert [(one.kind, one.anchor, one.note) for one in review.errors.all()] == [tuple(named.values())]
    assert (
        "Stiff."
        in client.get(reverse("dialogue", args=[team.project.slug, review.dialogue.public_id])).content.decode()
    )
    fold_all()
    assert {one.kind: one.total for one in read_error_types(project=team.project)} == {WHY: 1, "message_unnatural": 1}


def test_a_refused_settlement_names_the_place_in_words_and_leads_there(team: Team, client: Client, slot: str) -> None:
    refused = settle(team, client, slot, "third", **{f"third:{TEXT}": "TODO: the weather"})
    page = refused.content.decode()
    summary = page.partition("error-summary")[2].partition("</div>")[0]
    assert refused.status_code == 422
    assert "Task 1, answer s1, text: " in summary
    assert "/tasks/" not in summary.replace("%2F", "/").partition("<ul>")[0]
    assert 'href="#place-1"' in summary


def test_a_task_shows_its_user_message_and_the_note_is_for_the_people_there_are(
    team: Team, client: Client, slot: str
) -> None:
    """To judge a place, one had to open the dialogue; a single reviewer was called both."""
    (group,) = sheet_of(team, slot).groups
    assert group.said == ["What is the weather like in Ghent x?"]
    edit = {"op": "set", "anchor": "/tasks/t1/user_message", "value": "Sunny? " * 40}
    draft = open_workbench(actor=team.senior, slot_id=slot).draft
    edit_draft(actor=team.senior, draft=draft, operation=edit, seen=draft.version)
    client.force_login(team.senior)
    page = client.get(reverse("workspace-settle", args=[slot])).content.decode()
    assert "You changed 1 place" in " ".join(page.split())
    assert page.count("Sunny? " * 40) >= 2  # the change, and the rest of the shortened message
    assert "Note to both reviewers" in page
    Review.objects.filter(person=team.annotators[1]).update(sealed=True)
    assert reason_label(open_workbench(actor=team.senior, slot_id=slot), "") == "Note to the reviewer"


def test_several_dependencies_of_a_step_are_one_changed_place(team: Team, client: Client) -> None:
    document = make_document("x")
    task = document["tasks"][0]
    task["policy"] = "multi_tool"
    task["steps"].insert(1, {**task["steps"][0], "id": "s2", "arguments": {"city": "Ghent"}})
    task["steps"][2]["depends_on"] += depends("s2")
    slot = at_desk(team, disputed(team, same, lambda one: changed(one, "Sunny."), document))
    draft = open_workbench(actor=team.senior, slot_id=slot).draft
    for needs in ("s0", "s2"):
        edit = {"op": "remove_dependency", "anchor": "/tasks/t1/steps/s1", "id": needs}
        draft = edit_draft(actor=team.senior, draft=draft, operation=edit, seen=draft.version).draft
    client.force_login(team.senior)
    answer = client.get(reverse("workspace-settle", args=[slot]))
    assert len(answer.context["own_changes"]) == 2
    assert "You changed 1 place" in " ".join(answer.content.decode().split())


def test_what_was_edited_at_a_disputed_place_is_offered_as_the_third_version(team: Team, slot: str) -> None:
    """The field held the left side’s words, and choosing “third”, as the page asked, contradicted the edit."""
    draft = open_workbench(actor=team.senior, slot_id=slot).draft
    edit_draft(
        actor=team.senior, draft=draft, operation={"op": "set", "anchor": TEXT, "value": "Mine."}, seen=draft.version
    )
    assert [row.value for row in sheet_of(team, slot).rows] == ["Mine."]


def test_the_page_says_what_there_is_to_settle_and_compares_the_errors_that_were_found(team: Team) -> None:
    """It said that the verdicts differ of two that were the same, and of an escalation without a second verdict."""
    both = load_dispute_of(team, disputed(team, same, same))
    assert what_differs(both) == (
        "A reviewer escalated this dialogue. All versions are the same. "
        "Approve the dialogue or reject it. You can edit it first."
    )
    one = load_dispute_of(team, disputed(team, same, lambda document: changed(document, "Sunny."), make_document("x")))
    assert what_differs(one) == "A reviewer escalated this dialogue. The versions differ in 1 place."
    # Two approvals of a single reviewer's stage never meet; the verdicts of the other two differ.
    item = make_item(team, "cross_check", make_document("y"))
    tags = [{"kind": WHY, "anchor": TEXT, "note": "It is dry."}, {"kind": WHY, "anchor": TEXT}]
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "reject", named_errors=tags)
    item.refresh_from_db()
    verdicts = load_dispute_of(team, item)
    assert what_differs(verdicts) == (
        "A reviewer rejected this dialogue. All versions are the same. The verdicts differ. "
        "Reject the dialogue, or approve it and say why the rejection is wrong."
    )
    found = found_errors(verdicts, load_preset("c3"))
    ((label, place, cells),) = found["rows"]
    assert (label, place) == ("Wrong or unsupported answer", "task 1, answer s1, text")
    assert cells == [{"notes": []}, {"found": True, "notes": ["It is dry."]}]
    # One reviewer: what was there before is no verdict.
    alone = replace(verdicts, left=replace(verdicts.left, review=None), right=replace(one.right))
    assert what_differs(alone) == (
        "The reviewer escalated this dialogue. The reviewer changed nothing. "
        "Approve the dialogue or reject it. You can edit it first."
    )


def load_dispute_of(team: Team, item: Dialogue) -> Dispute:
    dispute = load_dispute(open_workbench(actor=team.senior, slot_id=at_desk(team, item)).work.slot)
    assert dispute is not None
    return dispute


def test_a_rejection_without_a_reason_leads_to_the_reason(team: Team, client: Client, slot: str) -> None:
    page = settle(team, client, slot, "left", verdict="reject").content.decode()
    assert 'href="#reason"' in page
