"""A program lists, writes, resolves and reopens comments, and is as blind as the page."""

import json

import pytest
from django.test import Client

from reviews.models import Comment
from reviews.services.feedback.comments import add_comment, comment_on
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.slot_work import load_slot_work
from tests.api_client import ApiClient, refusal
from tests.factories import Team, changed, claim_and_submit, current, make_item, make_team, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

HERE = "/tasks/t1/steps/s1"


def path_of(team: Team, item: object) -> str:
    return f"/api/projects/{team.project.slug}/dialogues/{item.public_id}/comments/"  # type: ignore[attr-defined]


def test_a_program_comments_and_the_page_shows_it(team: Team, client: Client) -> None:
    item = make_item(team, "self_check_single")
    api, path = ApiClient(team.senior), path_of(team, item)
    sent = {"anchor": HERE, "text": "Is this so?"}
    made = api.send(path, sent)
    first = made.json()
    assert (made.status_code, first["author"], first["outdated"]) == (201, team.senior.public_id, False)
    assert api.send(path, sent).json() == first
    reply = ApiClient(team.annotators[1]).send(path, {"text": "Yes.", "reply_to": first["public_id"]}).json()
    assert (reply["reply_to"], reply["anchor"]) == (first["public_id"], HERE)
    claim_and_submit(team.annotator, item, "fix", document=changed(current(item)))
    rows = ApiClient(team.annotator).get(path).json()["results"]
    assert [(one["text"], one["outdated"]) for one in rows] == [("Is this so?", True), ("Yes.", True)]
    client.force_login(team.annotator)
    page = f"/p/{team.project.slug}/dialogues/{item.public_id}/"
    assert "Is this so?" in client.get(page).content.decode()
    for action, by in (("resolve", team.annotator.public_id), ("resolve", team.annotator.public_id), ("reopen", None)):
        answer = ApiClient(team.annotator).send(f"{path}{first['public_id']}/{action}/")
        assert (answer.status_code, answer.json()["resolved_by"]) == (200, by)
        # Another cannot take over what is resolved.
        ApiClient(team.senior).send(f"{path}{first['public_id']}/{action}/")


def test_what_is_wrong_with_a_comment_is_said(team: Team) -> None:
    item = make_item(team, "self_check_single")
    api, path = ApiClient(team.senior), path_of(team, item)
    for sent, status, words in (
        ({"text": "Hm.", "anchor": "/tasks/t9"}, 422, "has nothing at /tasks/t9"),
        ({"text": "Ask @nobody-here."}, 422, "isn’t a member of this project"),
        ({"text": "Hm.", "reply_to": "none"}, 404, "replying to doesn’t exist"),
        ({"text": "Hm.", "place": "x"}, 400, "Use: text, anchor, reply_to."),
        ({}, 400, "text"),
    ):
        answer = api.send(path, sent)
        assert refusal(answer)[0] == status, sent
        assert words in answer.json()["sentence"]
    assert not Comment.objects.exists()


def test_comments_of_another_project_do_not_exist(team: Team) -> None:
    item = make_item(team, "self_check_single")
    path = path_of(team, item)
    made = ApiClient(team.senior).send(path, {"text": "Hm."}).json()["public_id"]
    other = make_team()
    stranger = ApiClient(other.administrator)
    assert refusal(stranger.get(path)) == (404, "not_found")
    assert refusal(stranger.send(path, {"text": "Hm."})) == (404, "not_found")
    assert refusal(stranger.send(f"{path}{made}/resolve/")) == (404, "not_found")
    beside = make_item(team, "self_check_single")
    assert refusal(ApiClient(team.senior).send(f"{path_of(team, beside)}{made}/resolve/")) == (404, "not_found")


def test_a_blind_reviewer_sees_neither_a_colleagues_comment_nor_its_place_in_the_list(team: Team) -> None:
    item = make_item(team, "cross_check")
    first, other = team.annotators[1:3]
    comment_on(actor=team.senior, dialogue=item, anchor="", text=f"@{first.username}, is this so?")
    path = path_of(team, item)
    for person in (first, other):
        claim_slot(actor=person, slot=open_slot(item, person))
    before = ApiClient(other).get(path).json()
    work = load_slot_work(actor=first, public_id=open_slot(item, first).public_id)
    hidden = add_comment(actor=first, work=work, anchor=HERE, text="zebra")
    for query in ("", "?size=1", "?updated_since=2020-01-01T00:00:00Z"):
        assert "zebra" not in ApiClient(other).get(path + query).content.decode()
        assert "zebra" not in ApiClient(team.administrator).get(path + query).content.decode()
    seen = ApiClient(other).get(path).json()
    assert seen == before
    # No name of a colleague, as on the page.
    assert seen["results"][0]["author"].startswith("colleague-")
    assert not {team.senior.public_id, first.username} & set(json.dumps(seen).replace('"', " ").split())
    assert first.username not in json.dumps(seen)
    assert [one["text"] for one in ApiClient(first).get(path).json()["results"]][-1] == "zebra"
    reviewer = ApiClient(other)
    assert refusal(reviewer.send(path, {"text": "Hm."})) == (403, "denied")
    assert refusal(reviewer.send(f"{path}{seen['results'][0]['public_id']}/resolve/")) == (403, "denied")
    for action in ("resolve", "reopen"):
        assert refusal(reviewer.send(f"{path}{hidden.public_id}/{action}/")) == (404, "not_found")
    assert refusal(reviewer.send(path, {"text": "Hm.", "reply_to": hidden.public_id})) == (403, "denied")
    for person in (first, other):
        claim_and_submit(person, item, "approve")
    assert "zebra" in ApiClient(other).get(path).content.decode()
