"""The Review tab beside the dialogue: its keys, and what stays while the draft and the tabs change."""

import re

import pytest
from playwright.sync_api import expect

from reviews.models import Review
from reviews.services.protocols.versions import adopt_protocol, current_protocol
from tests.journeys.workspaces import ANSWER, start_self_check

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def require(team, *keys):
    protocol = current_protocol(team.project)
    definition = protocol.model_dump()
    for item in (item for stage in definition["stages"] for item in stage["checklist"]["items"]):
        item["required"] = item["key"] in keys
    adopt_protocol(actor=team.administrator, project=team.project, protocol=type(protocol).model_validate(definition))


def test_a_checklist_is_answered_by_single_keys(window_of, team, check_accessibility, page_problems):
    page_problems.allow("status of 422")
    require(team, "hidden")
    window = start_self_check(window_of, team)
    page = window.page
    page.keyboard.press("a")
    page.wait_for_url("**/submit/**")

    def focused():
        return page.evaluate("document.activeElement.closest('.check-item')?.id ?? document.activeElement.localName")

    expect(page.locator("#q-dialogue-variety")).to_contain_text("The tasks differ")
    assert focused() == "q-dialogue-variety"
    page.keyboard.press("y")
    assert focused() == "q-t1-relevance"
    # A verdict chosen by its key leads back to the question, where the keys go on.
    page.keyboard.press("x")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    approve = page.get_by_role("radio", name="Approve", exact=True)
    expect(approve).to_be_checked()
    assert focused() == "q-t1-relevance"
    approve.focus()
    page.keyboard.press("y")
    assert focused() == "q-t1-relevance"
    excludes = page.locator("#q-t1-relevance-no")
    expect(excludes).to_be_hidden()
    page.keyboard.press("n")
    note = page.locator("#q-t1-relevance .check-note input")
    expect(note).to_be_focused()
    expect(note).to_have_accessible_description(re.compile("With this “No” you can’t approve"))
    expect(excludes).to_be_visible()
    # In the note, letters are text.
    page.keyboard.type("yes and no")
    page.keyboard.press("Escape")
    expect(page.locator("#q-t1-relevance").get_by_label("No", exact=True)).to_be_focused()
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator("#q-t1-facts input").first).to_be_focused()
    page.keyboard.press("y")
    expect(page.get_by_text("Go to the first required question")).to_be_visible()
    page.get_by_role("button", name="Submit and close").click()
    expect(page.locator("#q-t1-relevance-note")).to_be_focused()
    # All that is missing is said at once.
    summary = page.locator(".error-summary")
    expect(summary.get_by_role("link")).to_have_count(2)
    expect(page.locator("#q-t1-hidden [aria-invalid]")).to_have_accessible_description("This question needs an answer.")
    check_accessibility(page)
    assert not Review.objects.exists()
    summary.get_by_role("link", name="Answer “").click()
    expect(page.locator("#q-t1-hidden input").first).to_be_focused()
    page.keyboard.press("Shift+Y")
    expect(page.locator("#q-t1-hidden-error")).to_have_count(0)
    expect(summary.get_by_role("link")).to_have_count(1)
    expect(page.get_by_text("Go to the first required question")).to_be_hidden()
    # What was answered before stays as it was.
    expect(page.locator("#q-t1-relevance").get_by_label("No", exact=True)).to_be_checked()
    check_accessibility(page)
    page.keyboard.press("x")
    expect(page.locator("#reason")).to_be_focused()
    expect(excludes).to_be_hidden()
    page.keyboard.type("It misses the point.")
    page.keyboard.press("ControlOrMeta+Enter")
    page.wait_for_url("**/")
    review = Review.objects.get()
    assert review.checklist["t1"] | {"relevance": False} == review.checklist["t1"]
    assert review.checklist_notes == {"t1": {"relevance": "yes and no"}}
    assert set(review.answer_times["together"]["t1"]) == {"language", "strategy", "hidden"}


def test_input_stays_while_the_draft_and_the_tabs_change(window_of, team):
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place(ANSWER)
    with window.saving():
        page.locator("#answer-text").fill("It is clear and 18 degrees in Ghent!")
    window.open_panel("Review")
    expect(page.locator("#verdict")).to_contain_text("Ghent!")
    page.get_by_role("radio", name="Approve with fix").check()
    page.locator("#reason").fill("Livelier.")
    window.open_panel("Edit")
    expect(page.locator("#answer-text")).to_have_value("It is clear and 18 degrees in Ghent!")
    window.open_panel("Review")
    expect(page.locator("#reason")).to_have_value("Livelier.")
    expect(page.get_by_role("radio", name="Approve with fix")).to_be_checked()
    # The list of changes and the version that is submitted follow undo and redo, and so does the verdict.
    with window.saving():
        page.get_by_role("button", name="Undo").click()
    expect(page.locator("#verdict")).not_to_contain_text("Ghent!")
    expect(page.get_by_role("radio", name="Approve", exact=True)).to_be_checked()
    expect(page.locator("#reason")).to_have_value("Livelier.")
    with window.saving():
        page.get_by_role("button", name="Redo").click()
    expect(page.locator("#verdict")).to_contain_text("Ghent!")
    suggestion = page.locator(".suggested-error")
    expect(suggestion).to_contain_text("Wrong or unsupported answer")
    # The key that answers questions takes no suggestion.
    suggestion.get_by_role("button", name="Add").focus()
    page.keyboard.press("Shift+Y")
    expect(page.locator(".check-item:focus-within, .check-item:focus")).to_have_count(1)
    expect(suggestion).to_be_visible()
    suggestion.get_by_label("Drop").check()
    expect(suggestion).to_be_hidden()
    window.open_panel("Edit")
    window.open_panel("Review")
    expect(page.locator("#reason")).to_have_value("Livelier.")
    expect(suggestion).to_have_count(0)
    # A comment that was not sent would be out of reach.
    window.open_panel("Comments")
    page.get_by_label("Your comment").fill("Who says so?")
    window.open_panel("Review")
    page.get_by_role("button", name="Submit and close").click()
    expect(page.locator("#toasts")).to_contain_text("You have written a comment that isn’t sent")
    page.locator("#toasts").get_by_role("link", name="Go to the comment").click()
    expect(page.get_by_label("Your comment")).to_be_focused()
    expect(page.get_by_label("Your comment")).to_have_value("Who says so?")
    page.get_by_label("Your comment").fill("")
    window.open_panel("Review")
    page.get_by_role("button", name="Submit and close").click()
    window.leave_blank()
    window.expect_home()
    review = Review.objects.get()
    assert (review.verdict, review.reason, review.errors.count()) == ("fix", "Livelier.", 0)


def test_a_review_waits_for_the_last_edit_and_is_about_it(window_of, team):
    window = start_self_check(window_of, team)
    page, held = window.page, []
    window.open_place(ANSWER)
    page.route("**/edit/", lambda route: held.append(route))
    with page.expect_request("**/edit/"):
        page.locator("#answer-text").fill("It is clear and 18 degrees in Ghent!")
        window.open_panel("Review")
    page.get_by_role("radio", name="Escalate").check()
    page.locator("#reason").fill("Is that right?")
    page.get_by_role("button", name="Submit and close").click()
    with page.expect_response("**/edit/"):
        held[0].continue_()
    window.expect_home()
    assert Review.objects.get().made_revision.document()["tasks"][0]["steps"][1]["text"].endswith("Ghent!")
