"""The next item comes into the page that is open: nothing of the last one is left in it, and nothing is lost."""

import pytest
from playwright.sync_api import expect

from annotator.models import Draft
from reviews.models import Claim, ClaimState, Review
from tests.factories import begin, make_dialogue, make_document
from tests.journeys.workspaces import open_workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def two_items(team):
    """Two items that are longer than a window."""
    long = make_document()
    long["tasks"][0]["steps"][1]["text"] = "\n\n".join(f"Line {number}" for number in range(200))
    begin(team.project, [make_dialogue(team.project, long, external_id=name) for name in ("one", "two")])
    return team


def scrolled(page):
    return page.evaluate("['.chat', '#inspector-side'].map((one) => document.querySelector(one).scrollTop)")


def expect_begun(page, external_id):
    """The page is as if it had just been loaded for this item, but was not."""
    expect(page.get_by_role("heading", level=1)).to_have_text(external_id)
    expect(page.locator("main")).to_be_focused()
    draft = Draft.objects.get(dialogue__external_id=external_id)
    slot = Claim.objects.get(slot__dialogue__external_id=external_id, state=ClaimState.LIVE).slot
    assert page.url.endswith(f"/work/{slot.public_id}/")
    assert page.title().startswith(f"{external_id}, Self-check")
    assert page.locator("#workspace").get_attribute("data-draft") == draft.public_id
    expect(page.locator("[data-save-text]")).to_have_text("No changes yet")
    expect(page.locator("#guideline")).to_be_hidden()
    expect(page.locator("#reason")).to_have_count(0)
    assert scrolled(page) == [0, 0]
    assert page.evaluate("window.isFirstPage")


def test_a_submitted_item_makes_way_for_the_next(window_of, two_items, check_accessibility):
    window = open_workspace(window_of, two_items)
    page = window.page
    first, second = ("one", "two") if page.locator("h1").inner_text() == "one" else ("two", "one")
    page.evaluate("window.isFirstPage = true")
    window.open_place("task t1")
    page.get_by_label("User’s message").fill("What is the weather in Ghent?")
    page.keyboard.press("Escape")
    window.expect_state("saved")
    expect(page.locator("[data-save-text]")).to_contain_text("Saved")
    page.keyboard.press("h")
    expect(page.locator("#guideline")).to_be_visible()
    page.locator("#toolbar").get_by_role("button", name="Reject").click()
    page.locator("#reason").fill("It does not fit.")
    page.locator(".chat").evaluate("(pane) => (pane.scrollTop = 300)")
    page.keyboard.press("ControlOrMeta+Enter")
    expect_begun(page, second)
    review = Review.objects.get()
    assert (review.dialogue.external_id, review.reason) == (first, "It does not fit.")
    check_accessibility(page)
    # What is typed now belongs to the second item, and to the place that is seen.
    with window.saving():
        page.keyboard.press("2")
    assert Draft.objects.get(dialogue__external_id=second).document()["tasks"][0]["policy"] == "multi_tool"
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(second)


def test_a_skipped_item_makes_way_and_comes_back_with_a_key(window_of, two_items, page_problems):
    window = open_workspace(window_of, two_items)
    page = window.page
    first, second = ("one", "two") if page.locator("h1").inner_text() == "one" else ("two", "one")
    page.evaluate("window.isFirstPage = true")
    page.keyboard.press("s")
    expect_begun(page, second)
    expect(page.locator("#toasts")).to_contain_text("Skipped. Your draft is kept. This is the next item.")
    page.keyboard.press("z")
    expect(page.get_by_role("heading", level=1)).to_have_text(first)
    # The address of an item never shows another one.
    page.evaluate("window.isFirstPage = true")
    page.keyboard.press("s")
    expect_begun(page, second)
    page_problems.allow("status of 409")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).not_to_have_text(second)


def test_a_refused_submission_and_newer_scripts_load_a_page(window_of, two_items, page_problems):
    page_problems.allow("status of 422")
    window = open_workspace(window_of, two_items)
    page = window.page
    first, second = ("one", "two") if page.locator("h1").inner_text() == "one" else ("two", "one")
    page.locator("#toolbar").get_by_role("button", name="Reject").click()
    submit = page.get_by_role("button", name="Submit and open next")
    submit.click()
    expect(page.locator(".error-summary")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text(first)
    assert not Review.objects.exists()
    page.locator("#reason").fill("It does not fit.")
    page.evaluate("window.isFirstPage = true; document.getElementById('workspace').dataset.assets = 'older'")
    submit.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(second)
    expect(page.locator("#toasts")).to_contain_text(f"{first} rejected.")
    assert not page.evaluate("window.isFirstPage")
    assert Review.objects.get().reason == "It does not fit."
