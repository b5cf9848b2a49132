"""A comment is edited for five minutes, by its author; names that an edit adds are notified once."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Notice
from reviews.models import Comment
from reviews.services.feedback.comments import add_comment, comment_on, edit_comment
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.slot_work import load_slot_work
from tests.api_client import ApiClient
from tests.factories import Team, adopt_c3, make_item, make_team, open_slot

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    return team


def mentions(team: Team) -> list[object]:
    return list(Notice.objects.filter(kind="mention").order_by("pk").values_list("person", flat=True))


def test_an_edit_is_an_event_and_notifies_who_was_added_once(team: Team) -> None:
    item, actor = make_item(team, "self_check"), team.annotator
    one, other = team.annotators[1], team.annotators[2]
    comment = comment_on(actor=actor, dialogue=item, anchor="", text=f"@{one.username} look")
    which = {"actor": actor, "public_id": comment.public_id, "dialogue": item}
    for text in (
        f"@{one.username} @{other.username} look",
        "look",
        f"@{other.username} look",
        f"@{other.username} look",
    ):
        edit_comment(**which, text=text)
    assert mentions(team) == [one.pk, other.pk]
    events = Event.objects.filter(kind="comment.edited").order_by("pk")
    assert [event.after["text"] for event in events] == [
        f"@{one.username} @{other.username} look", "look", f"@{other.username} look",
    ]  # fmt: skip
    assert Comment.objects.get().edited_at is not None


def test_what_is_too_late_or_somebody_elses_is_refused(team: Team) -> None:
    item, actor = make_item(team, "self_check"), team.annotator
    comment = comment_on(actor=actor, dialogue=item, anchor="", text="Is this so?")
    which = {"public_id": comment.public_id, "dialogue": item}
    with pytest.raises(Denied, match="your own comments"):
        edit_comment(actor=team.senior, text="No.", **which)
    with pytest.raises(Hidden):
        edit_comment(actor=team.outsider, text="No.", **which)
    with pytest.raises(Invalid, match="isn’t a member"):
        edit_comment(actor=actor, text="@nobody-here look", **which)
    Comment.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    with pytest.raises(Conflict, match="five minutes"):
        edit_comment(actor=actor, text="It is so.", **which)
    assert not Event.objects.filter(kind="comment.edited").exists()


def test_a_blind_reviewers_edit_is_sealed_and_tells_nobody(team: Team) -> None:
    item, actor = make_item(team, "cross_check"), team.annotators[1]
    open_one = comment_on(actor=actor, dialogue=item, anchor="", text="Before.")
    claim = claim_slot(actor=actor, slot=open_slot(item))
    work = load_slot_work(actor=actor, public_id=claim.slot.public_id)
    comment = add_comment(actor=actor, work=work, anchor="", text="Mine.")
    text = f"@{team.annotators[2].username} mine"
    edit_comment(actor=actor, public_id=comment.public_id, dialogue=item, text=text)
    assert Event.objects.get(kind="comment.edited").sealed
    assert mentions(team) == []
    with pytest.raises(Denied, match="independently"):
        edit_comment(actor=actor, public_id=open_one.public_id, dialogue=item, text="After.")


def test_the_workspace_edits_resolves_and_reopens_without_scripts(team: Team, client: Client) -> None:
    item = make_item(team, "self_check")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    work = load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    comment = add_comment(actor=team.annotator, work=work, anchor="", text="Is this so?")
    client.force_login(team.annotator)
    change = reverse("workspace-comment-change", args=[claim.slot.public_id, comment.public_id])
    page = reverse("workspace", args=[claim.slot.public_id]) + "?panel=comments"
    assert 'data-mentions="member-names"' in client.get(page).content.decode()
    assert client.post(change, {"text": "It is so."}).status_code == 302
    text = client.get(page).content.decode()
    assert "It is so." in text
    assert "edited" in text
    client.post(change)
    assert "Reopen" in client.get(page).content.decode()
    client.post(change, {"reopen": "1"})
    assert Comment.objects.get().resolved_at is None


def test_a_refused_edit_keeps_what_was_typed(team: Team, client: Client) -> None:
    item = make_item(team, "self_check")
    comment = comment_on(actor=team.annotator, dialogue=item, anchor="", text="Is this so?")
    client.force_login(team.annotator)
    url = reverse("comment-edit", args=[team.project.slug, item.public_id, comment.public_id])
    refused = client.post(url, {"text": "@nobody-here look"})
    assert "@nobody-here look" in refused.content.decode()
    assert client.post(url, {"text": "It is so."}).status_code == 302


def test_a_program_edits_as_a_page_does(team: Team) -> None:
    item = make_item(team, "self_check")
    comment = comment_on(actor=team.annotator, dialogue=item, anchor="", text="Is this so?")
    path = reverse("api-comment-edit", args=[team.project.slug, item.public_id, comment.public_id])
    answer = ApiClient(team.annotator).send(path, {"text": "It is so."})
    assert (answer.status_code, answer.json()["text"]) == (200, "It is so.")
    assert answer.json()["edited_at"]
    assert ApiClient(team.annotators[1]).send(path, {"text": "No."}).status_code == 403
