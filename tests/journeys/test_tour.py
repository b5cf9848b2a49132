"""The tour of the workspace: at the first item, by keyboard, on a phone, and never again once it has ended."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotator.models import User
from annotator.services.accounts.key_settings import change_keys
from reviews.services.queue.claims import claim_next
from tests.factories import Team, adopt_c3, make_item, make_team

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    make_item(team, "self_check_single")
    User.objects.filter(pk=team.annotator.pk).update(toured_at=None)
    return team


def open_item(team: Team) -> str:
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    return f"/work/{claim.slot.public_id}/"


def test_the_tour_starts_with_the_first_item_and_goes_by_keyboard(
    team: Team, open_page: Any, check_accessibility: Any
) -> None:
    change_keys(actor=team.annotator, keys={"next-place": ";"}, seen={})
    page = open_page(team.annotator, width=1440)
    page.goto(open_item(team))
    card = page.locator("#tour")
    expect(card.get_by_role("heading", name="The dialogue")).to_be_visible()
    # The person's own keys.
    expect(card).to_contain_text("The keys ; and k go to the next and the previous one.")
    expect(card.get_by_role("button", name="Next")).to_be_focused()
    check_accessibility(page)
    # A key of the page has no meaning now.
    page.keyboard.press("a")
    for heading in ("The editor", "The findings", "The review", "Submit"):
        page.keyboard.press("ArrowRight")
        expect(card.get_by_role("heading", name=heading)).to_be_visible()
        box = card.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1440
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900
    expect(card.get_by_role("button", name="Next")).to_be_hidden()
    card.get_by_role("button", name="Back").click()
    expect(card.get_by_role("heading", name="The review")).to_be_visible()
    card.get_by_role("button", name="Next").click()
    with page.expect_response("**/tour/") as told:
        card.get_by_role("button", name="Finish").click()
    assert told.value.status == 204
    expect(card).to_be_hidden()
    page.reload()
    expect(page.locator("#chat")).to_be_visible()
    expect(card).to_be_hidden()
    page.keyboard.press("h")
    page.get_by_role("button", name="Show the tour again").click()
    expect(card.get_by_role("heading", name="The dialogue")).to_be_visible()


def test_escape_skips_the_tour_on_a_phone_and_it_fits(team: Team, open_page: Any, check_accessibility: Any) -> None:
    page = open_page(team.annotator, width=390, height=844)
    page.goto(open_item(team))
    card = page.locator("#tour")
    expect(card).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    check_accessibility(page)
    # Also while the focus is elsewhere.
    page.locator("#main").focus()
    with page.expect_response("**/tour/"):
        page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    team.annotator.refresh_from_db()
    assert team.annotator.toured_at is not None


def test_the_tour_waits_while_the_page_shows_an_error(team: Team, open_page: Any) -> None:
    page = open_page(team.annotator)
    address = open_item(team)
    page.add_init_script(
        # Before deferred scripts run.
        "document.addEventListener('readystatechange', () => document.getElementById('edit-note')"
        ".insertAdjacentHTML('beforeend', '<p role=alert>Refused.</p>'), {once: true})"
    )
    page.goto(address)
    page.locator("html[data-shortcuts]").wait_for(state="attached")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator("#tour")).to_be_hidden()
