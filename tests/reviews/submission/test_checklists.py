"""Stage checklists: what must be answered, what a “no” needs, and who reads the answers."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Invalid
from annotator.models import Dialogue
from annotator.services.dialogues.drafts import edit_draft
from reviews.api.serializers import ReviewSerializer
from reviews.models import Review
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.checklists import answer_rows, unanswered
from reviews.services.submission.workbench import open_workbench
from tests.factories import (
    Team,
    adopt_c3,
    changed,
    claim_and_submit,
    current,
    make_document,
    make_item,
    make_team,
    open_slot,
)

pytestmark = pytest.mark.django_db

PER_TASK = ("relevance", "facts", "language", "strategy", "hidden")


def team_with(**options: Any) -> Team:
    team = make_team(seniors=2)
    adopt_c3(team, **options)
    return team


def all_yes(*tasks: str) -> dict[str, dict[str, bool]]:
    return {"dialogue": {"variety": True}} | {task: dict.fromkeys(PER_TASK, True) for task in tasks}


def test_an_unanswered_item_blocks_a_stage_that_wants_answers() -> None:
    team = team_with(require_answers=True)
    item = make_item(team, "self_check_single", make_document("x", tasks=2))
    slot = open_slot(item)
    assert len(unanswered(stage_of(slot), current(item), {})) == 11
    answers = all_yes("t1", "t2")
    del answers["t2"]["facts"]
    with pytest.raises(Invalid, match=r"Arguments, observations and answer are correct.*\(task 2\)") as caught:
        claim_and_submit(team.annotator, item, "approve", checklist=answers)
    assert caught.value.details["unanswered"] == [["t2", "facts"]]
    answers["t2"]["facts"] = None  # type: ignore[assignment]
    with pytest.raises(Invalid, match="Answer every question"):
        claim_and_submit(team.annotator, item, "approve", checklist=answers)
    with pytest.raises(Invalid, match="11 are still open"):
        claim_and_submit(team.annotator, item, "approve")
    review = claim_and_submit(team.annotator, item, "approve", checklist=all_yes("t1", "t2"))
    assert review.checklist["t2"]["facts"] is True


def test_without_the_wish_answers_stay_voluntary() -> None:
    team = team_with()
    assert claim_and_submit(team.annotator, make_item(team, "self_check_single"), "approve").checklist == {}


@pytest.mark.parametrize(
    ("more", "fine"),
    [
        ({}, False),
        ({"notes": {"t1": {"facts": "It rained."}}}, True),
        ({"notes": {"t1": {"facts": "   "}}}, False),
        ({"notes": {"t1": {"language": "Fine."}}}, False),
        ({"named_errors": [{"kind": "answer_wrong", "anchor": "/tasks/t1/steps/s1", "note": ""}]}, True),
        ({"named_errors": [{"kind": "answer_wrong", "anchor": "/tasks/t2", "note": ""}]}, False),
    ],
)
def test_a_no_says_what_is_wrong(more: dict[str, Any], fine: bool) -> None:
    team = team_with()
    item = make_item(team, "self_check_single", make_document("x", tasks=2))
    answers = {"t1": {"facts": False}}
    if fine:
        assert claim_and_submit(team.annotator, item, "escalate", checklist=answers, **more).checklist == answers
    else:
        with pytest.raises(Invalid, match=r"your “No” to “Arguments.*\(task 1\) in a note"):
            claim_and_submit(team.annotator, item, "escalate", checklist=answers, **more)
    # Of the dialogue as a whole any error will do.
    other = make_item(team, "self_check_single")
    named_error = [{"kind": "other", "anchor": "/tasks/t1", "note": "Twice the same."}]
    claim_and_submit(
        team.annotator, other, "escalate", checklist={"dialogue": {"variety": False}}, named_errors=named_error
    )


def test_notes_that_make_no_sense_are_refused() -> None:
    team = team_with()
    item = make_item(team, "self_check_single")
    for notes, words in (
        ({"t1": []}, "must be an object of texts"),
        ({"t1": {"nonsense": "x"}}, "no question “nonsense”"),
        ({"t1": {"facts": "x" * 1001}}, "at most 1,000"),
        ({"t1": {"facts": "It rained."}}, r"answered “Yes” to “Arguments.*\(task 1\) with a note"),
    ):
        with pytest.raises(Invalid, match=words):
            claim_and_submit(team.annotator, item, "approve", notes=notes, checklist={"t1": {"facts": True}})


def test_answers_in_words() -> None:
    team = team_with()
    item = make_item(team, "self_check_single")
    stage = stage_of(open_slot(item))
    rows = answer_rows(
        stage,
        current(item),
        {"t1": {"facts": False}, "dialogue": {"gone": True}},
        {"t1": {"facts": "N"}, "dialogue": {"gone": "Beside a yes, from before these were refused."}},
    )
    assert [(row.place, row.text, row.answer, row.note) for row in rows] == [
        ("task 1", "Arguments, observations and answer are correct and consistent", False, "N"),
        ("the whole dialogue", "gone", True, ""),
    ]


def disputed(team: Team) -> Dialogue:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve", checklist={"t1": {"relevance": True}})
    claim_and_submit(
        team.annotators[2], item, "escalate", document=changed(current(item)),
        checklist={"t1": {"facts": False}}, notes={"t1": {"facts": "It is sunny."}},
    )  # fmt: skip
    item.refresh_from_db()
    return item


def test_the_expert_and_later_readers_see_the_answers(client: Client) -> None:
    team = team_with()
    item = disputed(team)
    slot = open_slot(item)
    claim_slot(actor=team.senior, slot=slot)
    client.force_login(team.senior)
    for url in (
        reverse("workspace-settle", args=[slot.public_id]),
        reverse("dialogue", args=[team.project.slug, item.public_id]),
    ):
        text = client.get(url).content.decode()
        assert "Every call and the answer serve the user’s request" in text
        assert ": It is sunny." in text


def test_the_form_keeps_answers_and_notes(client: Client) -> None:
    team = team_with(require_answers=True)
    item = make_item(team, "self_check_single")
    slot = open_slot(item)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    url = reverse("workspace-submit", args=[slot.public_id])
    assert "Answer every question." in client.get(url).content.decode()
    form = {"verdict": "escalate", "reason": "Wrong.", "check:t1:facts": "no", "check-note:t1:facts": "It rained."}
    refused = client.post(url, form)
    assert refused.status_code == 422
    text = refused.content.decode()
    assert "It rained." in text
    assert "Answer “The tasks differ" in text
    rest = {f"check:t1:{key}": "yes" for key in PER_TASK if key != "facts"} | {"check:dialogue:variety": "yes"}
    assert client.post(url, form | rest).status_code == 302
    assert Review.objects.get().checklist_notes == {"t1": {"facts": "It rained."}}


def test_the_note_of_a_no_that_became_a_yes_is_kept_with_the_form_and_not_handed_in(client: Client) -> None:
    """The adjudicator read an error next to a “yes”, which its writer could no longer see."""
    team = team_with()
    item = make_item(team, "self_check_single")
    slot = open_slot(item)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    form = {"check:t1:facts": "yes", "check-note:t1:facts": "The time is wrong.", "verdict": "approve"}
    assert client.post(reverse("workspace-form", args=[slot.public_id]), form).status_code == 204
    url = reverse("workspace-submit", args=[slot.public_id])
    assert 'value="The time is wrong."' in client.get(url).content.decode()
    assert client.post(url, form).status_code == 302
    review = Review.objects.get()
    assert (review.checklist, review.checklist_notes) == ({"t1": {"facts": True}}, {})
    Review.objects.update(checklist_notes={"t1": {"facts": "The time is wrong."}, "t2": {"facts": "It rained."}})
    assert ReviewSerializer(Review.objects.get()).data["checklist_notes"] == {"t2": {"facts": "It rained."}}


def test_an_error_without_a_kind_and_answers_for_any_task_are_kept_until_they_can_be_handed_in(client: Client) -> None:
    team = team_with()
    document = make_document("x")
    document["tasks"][0]["id"] = "t:1"
    item = make_item(team, "self_check_single", document)
    slot = open_slot(item)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    url = reverse("workspace-submit", args=[slot.public_id])
    form: dict[str, Any] = {
        "verdict": "escalate", "reason": "Wrong.", "check:t:1:facts": "no", "check-note:t:1:facts": "It rained.",
        "error-type": "", "error-anchor": "/tasks/t:1", "error-note": "The city is wrong.",
    }  # fmt: skip
    assert client.post(reverse("workspace-form", args=[slot.public_id]), form).status_code == 204
    assert "The city is wrong." in client.get(url).content.decode()
    refused = client.post(url, form)
    assert refused.status_code == 422
    assert "Choose an error type for your note “The city is wrong.”" in refused.content.decode()
    assert client.post(url, form | {"error-type": "wrong_argument_value"}).status_code == 302
    review = Review.objects.get()
    assert (review.checklist, review.checklist_notes) == ({"t:1": {"facts": False}}, {"t:1": {"facts": "It rained."}})
    assert [named_error.note for named_error in review.errors.all()] == ["The city is wrong."]


def test_as_many_errors_are_named_as_there_are_also_without_scripts(client: Client) -> None:
    """There were three rows, and no way to another."""
    team = team_with()
    slot = open_slot(make_item(team, "self_check_single"))
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    named = {"error-type": [""] * 3, "error-anchor": [""] * 3, "error-note": ["First.", "Second.", "Third."]}
    form = reverse("workspace-form", args=[slot.public_id])
    page = client.post(form, named | {"verdict": "reject", "more": ""}, follow=True)
    assert page.redirect_chain == [(reverse("workspace-submit", args=[slot.public_id]) + "?verdict=reject", 302)]
    assert [row["note"] for row in page.context["named_error_rows"]] == ["First.", "Second.", "Third.", "", "", ""]


def test_an_error_named_where_something_was_taken_out_keeps_its_place(client: Client) -> None:
    team = team_with()
    item = make_item(team, "self_check_single")
    slot = open_slot(item)
    claim_slot(actor=team.annotator, slot=slot)
    bench = open_workbench(actor=team.annotator, slot_id=slot.public_id)
    gone = f"/tasks/t1/steps/{bench.document['tasks'][0]['steps'][0]['id']}"
    edit_draft(actor=team.annotator, draft=bench.draft, operation={"op": "delete_step", "anchor": gone}, seen=0)
    client.force_login(team.annotator)
    form = {"error-type": "superfluous_call", "error-anchor": gone, "error-note": ""}
    assert client.post(reverse("workspace-form", args=[slot.public_id]), form).status_code == 204
    text = client.get(reverse("workspace-submit", args=[slot.public_id])).content.decode()
    assert re.search(f'<option value="{gone}" selected>[^<]* \\(removed by you\\)</option>', text)
