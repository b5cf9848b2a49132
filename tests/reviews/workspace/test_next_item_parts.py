"""What a page gets that asks for the next item, and that it loads every other page itself."""

import json

import pytest
from django.test import Client

from reviews.models import Claim
from reviews.services.queue.claims import claim_next
from tests.factories import Team, begin, make_dialogue
from tests.pages import one_line

pytestmark = pytest.mark.django_db

ASKS = {"X-Next-Item": ""}


def leave(client: Client, team: Team, action: str) -> tuple[str, Claim]:
    """Leave the first item as a page does. Return where the answer leads, and the claim."""
    begin(team.project, [make_dialogue(team.project, external_id=name) for name in ("one", "two")])
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    client.force_login(team.annotator)
    answer = client.post(f"/work/{claim.slot.public_id}/{action}/", headers=ASKS)
    assert answer.status_code == 302
    return answer["Location"], claim


def test_the_parts_of_the_next_item_come_with_their_address(client: Client, team: Team) -> None:
    address, first = leave(client, team, "skip")
    answer = client.get(address, headers=ASKS)
    item = json.loads(answer["X-Item"])
    assert answer.status_code == 200
    assert item["url"] == address
    assert item["data"]["seen"] == "0"
    assert "<html" not in answer.text
    text = one_line(answer)
    assert "Skipped. Your draft is kept." in text
    other = "two" if first.slot.dialogue.external_id == "one" else "one"
    assert f"{other}, Self-check" in text
    # Other scripts than those of the page need a page of their own.
    assert client.get(address, headers={"X-Next-Item": "older"})["X-Leads-To"] == address


def test_other_pages_are_left_to_the_browser_with_their_messages(client: Client, team: Team) -> None:
    address, _first = leave(client, team, "release")
    answer = client.get(address, headers=ASKS)
    assert (answer.status_code, answer["X-Leads-To"], answer.content) == (204, "/", b"")
    assert "Released. Your draft is kept" in one_line(client.get(address))


def test_a_page_that_begins_with_the_tour_is_loaded(client: Client, team: Team) -> None:
    team.annotator.toured_at = None
    team.annotator.save()
    address, _first = leave(client, team, "skip")
    answer = client.get(address, headers=ASKS)
    assert (answer.status_code, answer["X-Leads-To"]) == (204, address)
    assert "Skipped. Your draft is kept." in one_line(client.get(address))
