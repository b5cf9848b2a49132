"""The form of a review in two windows: each keeps what it changed, and none overwrites the other unseen."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.schema.exact_json import dumps
from annotator.errors import Invalid
from annotator.models import Draft
from annotator.services.dialogues.drafts import edit_draft
from reviews.models import Review, ReviewDraft, ReviewSession
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission import review_forms
from reviews.services.submission.review_forms import MAX_STEPS, store_form
from tests.factories import Team, make_item, open_slot
from tests.html_forms import HtmlForm
from tests.pages import one_line
from tests.reviews.adjudication.test_disputes import MESSAGE, SKY, TEXT, at_desk, disputed, same, three_places

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

CHECK, NOTE = "check:t1:facts", "check-note:t1:facts"


TEAM = {"seniors": 2}


@pytest.fixture
def item(team: Team, client: Client) -> str:
    """The slot of a first self-check that the annotator holds, and is signed in for."""
    slot = open_slot(make_item(team, "self_check_single"))
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    return str(slot.public_id)


def review_form(client: Client, slot: str) -> HtmlForm:
    return HtmlForm(client, reverse("workspace-submit", args=[slot]) + "?verdict=reject", "verdict")


def keep(at: HtmlForm, slot: str, **filled: Any) -> Any:
    return at.send(reverse("workspace-form", args=[slot]), scripts=True, **filled)


def form() -> dict[str, Any]:
    stored: dict[str, Any] = ReviewDraft.objects.get().form
    return stored


def test_what_another_window_has_kept_is_not_blanked(client: Client, item: str) -> None:
    one, two = review_form(client, item), review_form(client, item)
    answer = keep(one, item, **{"reason": "The date is wrong.", CHECK: "no", NOTE: "See the observation."})
    assert (answer.status_code, answer["X-Form-Version"]) == (204, "1")
    answer = keep(two, item, **{"check:dialogue:variety": "yes"})
    assert answer.status_code == 204
    assert "X-Form-Version" not in answer  # it does not show what the other has kept
    kept = form()
    assert (kept["reason"], kept["checklist"], kept["notes"]) == (
        "The date is wrong.",
        {"t1": {"facts": False}, "dialogue": {"variety": True}},
        {"t1": {"facts": "See the observation."}},
    )


def test_the_same_place_is_asked_about_and_nothing_is_stored_before(client: Client, item: str) -> None:
    one, two = review_form(client, item), review_form(client, item)
    keep(one, item, reason="From window one.")
    asked = keep(two, item, **{"reason": "From window two.", NOTE: "A note."})
    assert asked.status_code == 409
    text = one_line(asked)
    assert "From window" in text
    assert "Saved version" in text
    assert "doctype" not in text.lower()
    assert form() == {"reason": "From window one."}
    assert keep(two, item, reason="From window two, more.").status_code == 409
    decided = keep(two, item, reason="From window two.", over="1")
    assert (decided.status_code, decided["X-Form-Version"]) == (204, "2")
    assert form() == {"reason": "From window two.", "notes": {"t1": {"facts": "A note."}}}
    # The first is asked in its turn, and so is a decision about a version that is not the newest any more.
    assert keep(one, item, kept="1", reason="Window one again.").status_code == 409
    assert keep(one, item, over="1").status_code == 409
    assert form()["reason"] == "From window two."


def test_a_window_whose_answers_were_lost_is_not_asked_about_its_own_words(client: Client, item: str) -> None:
    one = review_form(client, item)
    keep(one, item, reason="The da", edits="a1")
    answer = keep(one, item, reason="The date is wrong.", edits="a1 a2")
    assert (answer.status_code, answer["X-Form-Version"]) == (204, "2")
    # A save that was outdated on its way is too late.
    assert keep(one, item, reason="The da", edits="a0").status_code == 409
    assert form()["reason"] == "The date is wrong."


def test_a_window_that_is_very_old_is_asked_wherever_it_differs(client: Client, team: Team, item: str) -> None:
    old = review_form(client, item)
    work = load_slot_work(actor=team.annotator, public_id=item)
    for n in range(MAX_STEPS + 2):
        store_form(actor=team.annotator, work=work, changes={"reason": f"Version {n}."})
    assert len(ReviewDraft.objects.get().steps) == MAX_STEPS
    assert keep(old, item, **{NOTE: "A note."}).status_code == 409
    assert keep(old, item, reason=f"Version {MAX_STEPS + 1}.", **{NOTE: ""}).status_code == 204


def test_autosave_does_not_make_a_form_grow_without_end(team: Team, item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_forms, "MAX_FORM", 3000)
    work = load_slot_work(actor=team.annotator, public_id=item)
    for n in range(5):
        for text in ("x" * 1000, "y" * 1000):
            store_form(actor=team.annotator, work=work, changes={"notes": {"t1": {f"note-{n % 2}": text}}})
    before = form()
    with pytest.raises(Invalid, match="wasn’t saved"):
        store_form(actor=team.annotator, work=work, changes={"notes": {"t1": {"note-2": "x" * 1000}}})
    kept = ReviewDraft.objects.get()
    assert kept.form == before
    assert len(dumps(kept.steps)) <= 3000
    store_form(actor=team.annotator, work=work, changes={"notes": {"t1": {"note-0": ""}}})


def test_nobody_hands_in_what_another_window_has_filled_in_unseen(client: Client, item: str) -> None:
    one, two = review_form(client, item), review_form(client, item)
    keep(one, item, **{CHECK: "no", NOTE: "See the observation."})
    refused = two.send(reason="It does not say.", verdict="reject")
    assert refused.status_code == 409
    two.read(refused)
    assert "changed in another window" in two.text
    assert two.fields[NOTE] == ["See the observation."]
    assert two.fields["reason"] == ["It does not say."]
    assert two.send(verdict="reject").status_code == 302
    review = Review.objects.get()
    assert (review.reason, review.checklist_notes) == ("It does not say.", {"t1": {"facts": "See the observation."}})


def test_that_the_draft_moved_is_told_beside_the_change_of_the_form(client: Client, team: Team, item: str) -> None:
    """The page that told of the form showed the new draft as seen, so the next click handed it in."""
    one, two, three = (review_form(client, item) for _ in range(3))
    keep(one, item, reason="From window one.")
    draft = Draft.objects.get()
    edit = {"op": "set", "anchor": MESSAGE, "value": "And in Bruges?"}
    edit_draft(actor=team.annotator, draft=draft, operation=edit, seen=draft.version)
    for other, filled in ((two, {NOTE: "A note."}), (three, {"reason": "From window three."})):
        refused = other.send(verdict="reject", **filled)
        assert refused.status_code == 409
        other.read(refused)
        assert "in another window" in other.text
        assert "The draft was also changed in another window. Check it, too." in other.text
    assert two.send(verdict="reject", reason="From window one.").status_code == 302


def test_without_scripts_both_versions_stand_on_the_page_that_refuses(client: Client, item: str) -> None:
    one, two = review_form(client, item), review_form(client, item)
    keep(one, item, reason="From window one.")
    refused = two.send(reason="From window two.", verdict="reject")
    assert refused.status_code == 409
    two.read(refused)
    assert two.fields["reason"] == ["From window two."]
    assert 'name="over" value="1"' in two.text
    assert two.send(verdict="reject").status_code == 409
    back = two.send(reverse("workspace-form", args=[item]), verdict="reject", over="1")
    assert back["Location"] == f"{reverse('workspace-submit', args=[item])}?verdict=reject"
    two.load()
    assert two.send(verdict="reject").status_code == 302
    assert Review.objects.get().reason == "From window two."


def test_the_question_names_a_field_as_its_form_does(client: Client, team: Team, item: str) -> None:
    """It asked about “Details”, which is another field of another page."""
    fields = (
        ("reject", "Reason", "Reason:"),
        ("fix", "Note to the others (optional)", "Note to the others (optional):"),
    )
    for verdict, label, asked_of in fields:
        ReviewDraft.objects.all().delete()
        url = reverse("workspace-submit", args=[item]) + f"?verdict={verdict}"
        one, two = (HtmlForm(client, url, "verdict") for _ in range(2))
        assert f'<label for="reason">{label}' in one_line(one.text)
        keep(one, item, reason="From window one.")
        assert f"<p>{asked_of}</p>" in one_line(keep(two, item, reason="From window two."))
    slot = at_desk(team, disputed(team, same, three_places))
    client.force_login(team.senior)
    url, save = (reverse(name, args=[slot]) for name in ("workspace-settle", "workspace-settle-keep"))
    one, two = (HtmlForm(client, url, "settle") for _ in range(2))
    one.send(save, scripts=True, reason="From window one.")
    asked = one_line(two.send(save, scripts=True, reason="From window two."))
    assert '<label for="reason">Note to both reviewers' in one_line(one.text)
    assert "<p>Note to both reviewers:</p>" in asked


def test_rulings_of_two_windows_stand_side_by_side(client: Client, team: Team) -> None:
    slot = at_desk(team, disputed(team, same, three_places))
    client.force_login(team.senior)
    url, save = (reverse(name, args=[slot]) for name in ("workspace-settle", "workspace-settle-keep"))
    one, two = (HtmlForm(client, url, "settle") for _ in range(2))
    first = one.send(save, scripts=True, **{f"ruling:{TEXT}": "left", f"why:{TEXT}": "answer_wrong"})
    assert (first.status_code, first["X-Form-Version"]) == (200, "1")
    second = two.send(save, scripts=True, **{f"ruling:{SKY}": "right", f"why:{SKY}": "other"})
    assert second.status_code == 200
    assert "X-Form-Version" not in second
    assert "<strong>2 of 3</strong>" in one_line(second)
    asked = two.send(save, scripts=True, **{f"ruling:{TEXT}": "right", f"why:{TEXT}": "other"})
    assert asked.status_code == 409
    assert "Left" in one_line(asked)
    one.load()
    assert one.send(**{f"ruling:{MESSAGE}": "left", f"why:{MESSAGE}": "other"}).status_code == 302
    rulings = {one.anchor: one.choice for one in Review.objects.get(stage_kind="expert").rulings.all()}
    assert rulings == {TEXT: "left", SKY: "right", MESSAGE: "left"}


def test_going_on_to_another_dispute_of_a_session_and_back_keeps_the_note(client: Client, team: Team) -> None:
    first, second = (disputed(team, same, three_places) for _ in range(2))
    client.force_login(team.senior)
    table = reverse("review-session", args=[team.project.slug, "cross_check-1"])
    client.post(table, {"present": [team.senior.public_id, team.annotators[0].public_id]})
    taken = client.post(table, {"dialogue": first.public_id})["Location"]
    desk = HtmlForm(client, taken, "settle")
    assert desk.send(f"{taken}keep/", **{"session-note": "We looked it up."}).status_code == 302
    client.post(table, {"dialogue": second.public_id})
    client.post(table, {"dialogue": first.public_id})
    desk.load()
    assert desk.fields["session-note"] == ["We looked it up."]
    assert desk.fields["review-session"] == [str(ReviewSession.objects.get().pk)]
