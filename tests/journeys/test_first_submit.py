"""How much it takes from the first page to the first honest review of an item with one wrong argument."""

from typing import Any

import pytest
from playwright.sync_api import expect

from reviews.models import Review
from tests.factories import adopt_c3, begin, make_dialogue, make_document, make_team

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KEYS, CLICKS = 12, 7


@pytest.fixture
def team(transactional_db: None) -> Any:
    team = make_team("tools")
    adopt_c3(team, conditions=True)
    return team


def wrong_city() -> dict[str, Any]:
    """The call asks about another city than the user."""
    document = make_document()
    document["tasks"][0]["steps"][0]["arguments"]["city"] = "Bruges"
    return document


def expect_honest_review() -> None:
    review = Review.objects.get()
    assert review.verdict == "fix"
    assert review.checklist == {"t1": dict.fromkeys(("relevance", "facts", "language", "strategy", "hidden"), True)}
    assert [(error.kind, error.anchor) for error in review.errors.all()] == [
        ("wrong_argument_value", "/tasks/t1/steps/s0")
    ]
    assert review.made_revision is not None
    assert review.made_revision.document()["tasks"][0]["steps"][0]["arguments"] == {"city": "Ghent"}
    assert review.answer_times is not None
    assert len(review.answer_times["tenths"]["t1"]) == 5


def test_the_first_review_takes_few_keys(window_of, team):
    begin(team.project, [make_dialogue(team.project, wrong_city(), external_id="one")])
    page = window_of(team.annotator).page
    pressed = []

    def press(key: str) -> None:
        pressed.append(key)
        page.keyboard.press(key)

    page.goto("/")
    press("n")
    page.wait_for_url("**/work/**")
    expect(page.get_by_role("heading", level=1)).to_have_text("one")
    for _ in range(3):
        press("j")
        if page.evaluate("document.activeElement.closest('[data-nav-item]')?.id ?? ''").endswith("-s0"):
            break
    press("e")
    expect(page.get_by_label("city")).to_be_focused()
    page.keyboard.insert_text("Ghent")
    press("Escape")
    press("a")
    page.wait_for_url("**/submit/**")
    expect(page.locator(".suggested-error button")).to_be_focused()
    press("y")
    press("Shift+Y")
    expect(page.locator("[data-primary]").first).to_be_focused()
    press("Enter")
    page.wait_for_url("**/")
    expect_honest_review()
    assert len(pressed) <= KEYS, pressed


def test_the_first_review_takes_few_clicks(window_of, team):
    begin(team.project, [make_dialogue(team.project, wrong_city(), external_id="one")])
    page = window_of(team.annotator).page
    clicks = []

    def click(target: Any) -> None:
        clicks.append(str(target))
        target.click()

    page.goto("/")
    click(page.get_by_role("button", name="Claim next").first)
    page.wait_for_url("**/work/**")
    # The message's own click opens its fields.
    click(page.locator("#chat .turn", has_text="Bruges").locator("[data-field]").first)
    field = page.get_by_label("city")
    expect(field).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text("Ghent")
    click(page.locator("#toolbar").get_by_role("button", name="Approve with fix…"))
    page.wait_for_url("**/submit/**")
    click(page.locator(".suggested-error button"))
    click(page.get_by_role("button", name="Yes to the rest"))
    click(page.get_by_role("button", name="Submit and close"))
    page.wait_for_url("**/")
    expect_honest_review()
    assert len(clicks) <= CLICKS, clicks
