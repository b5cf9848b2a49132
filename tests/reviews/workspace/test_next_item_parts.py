"""What a page gets that asks for the next item, and that it loads every other page itself."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from annotator.errors import Hidden
from annotator.services.projects import publish_guideline
from reviews.models import Claim, ClaimState
from reviews.services.queue.claims import claim_next
from tests.factories import Team, begin, make_dialogue
from tests.pages import one_line

pytestmark = pytest.mark.django_db

ASKS = {"X-Next-Item": ""}


@pytest.fixture
def claim(client: Client, team: Team) -> Claim:
    """The first of two items, which its annotator has open."""
    begin(team.project, [make_dialogue(team.project, external_id=name) for name in ("one", "two")])
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    client.force_login(team.annotator)
    return claim


def leave(client: Client, claim: Claim, action: str, version: str = "") -> Any:
    """Leave the item as a page does."""
    return client.post(f"/work/{claim.slot.public_id}/{action}/", headers={"X-Next-Item": version})


def test_the_answer_is_the_next_item_with_its_address(client: Client, claim: Claim) -> None:
    answer = leave(client, claim, "skip")
    item = json.loads(answer["X-Item"])
    held = Claim.objects.get(state=ClaimState.LIVE)
    assert answer.status_code == 200
    assert item["url"] == f"/work/{held.slot.public_id}/"
    assert (item["data"]["seen"], item["data"]["work"]) == ("0", item["url"])
    assert "<html" not in answer.text
    text = one_line(answer)
    assert "Skipped. Your draft is kept." in text
    other = "two" if claim.slot.dialogue.external_id == "one" else "one"
    assert f"{other}, Self-check" in text
    # The page has shown it.
    assert "Skipped." not in one_line(client.get(item["url"]))


def test_the_guideline_comes_only_if_the_page_does_not_show_it(client: Client, team: Team, claim: Claim) -> None:
    def answer(shown: str) -> str:
        held = Claim.objects.get(state=ClaimState.LIVE)
        headers = {"X-Next-Item": "", "X-Guideline": shown}
        text = one_line(client.post(f"/work/{held.slot.public_id}/skip/", headers=headers))
        held = Claim.objects.get(state=ClaimState.LIVE)
        # The tabs lead to the new item in any case.
        assert f'href="/work/{held.slot.public_id}/?panel=tools"' in text
        return text

    publish_guideline(actor=team.administrator, project=team.project, text="Check every value.", seen=0)
    page = client.get(f"/work/{claim.slot.public_id}/").text
    shown = re.search(r'data-guideline="([^"]+)"', page)
    assert shown
    assert "Check every value." in page
    assert "Check every value." not in answer(shown[1])
    assert "Check every value." in answer("")
    publish_guideline(actor=team.administrator, project=team.project, text="Check every name.", seen=1)
    assert "Check every name." in answer(shown[1])


@pytest.mark.parametrize(("shown", "comes"), [("0", False), ("", True), ("2", True)])
def test_the_bar_at_the_top_comes_only_with_another_number_of_notices(
    client: Client, claim: Claim, shown: str, comes: bool
) -> None:
    assert 'class="topbar" data-unread="0"' in client.get(f"/work/{claim.slot.public_id}/").text
    headers = {"X-Next-Item": "", "X-Unread": shown}
    answer = client.post(f"/work/{claim.slot.public_id}/skip/", headers=headers)
    assert ('class="topbar"' in answer.text) is comes


def test_a_page_with_other_scripts_is_loaded(client: Client, claim: Claim) -> None:
    answer = leave(client, claim, "skip", version="older")
    address = answer["X-Leads-To"]
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Skipped. Your draft is kept." in one_line(client.get(address))


def test_other_pages_are_left_to_the_browser_with_their_messages(client: Client, claim: Claim) -> None:
    answer = leave(client, claim, "release")
    assert (answer.status_code, answer["Location"]) == (302, "/")
    answer = client.get("/", headers=ASKS)
    assert (answer.status_code, answer["X-Leads-To"], answer.content) == (204, "/", b"")
    assert "Released. Your draft is kept" in one_line(client.get("/"))


def test_the_api_answers_as_it_always_does(client: Client, team: Team) -> None:
    client.force_login(team.administrator)
    answer = client.get(f"/api/projects/{team.project.slug}/history/", headers=ASKS)
    assert (answer.status_code, answer.json()["results"] != []) == (200, True)


def test_a_page_that_begins_with_the_tour_is_loaded(client: Client, team: Team, claim: Claim) -> None:
    team.annotator.toured_at = None
    team.annotator.save()
    answer = leave(client, claim, "skip")
    assert answer.status_code == 204
    assert "Skipped. Your draft is kept." in one_line(client.get(answer["X-Leads-To"]))


def test_without_a_session_the_browser_is_led_to_the_sign_in(client: Client, claim: Claim) -> None:
    client.logout()
    answer = leave(client, claim, "skip")
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")


def test_if_the_next_item_is_lost_at_this_moment_the_browser_is_told(
    client: Client, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_args: object) -> None:
        raise Hidden("This item doesn’t exist.")

    monkeypatch.setattr("reviews.views.workspace.page.read_notices", lost)
    answer = leave(client, claim, "skip")
    held = Claim.objects.get(state=ClaimState.LIVE)
    assert (answer.status_code, answer["Location"]) == (302, f"/work/{held.slot.public_id}/")
