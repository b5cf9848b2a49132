"""The constraints of a case: one edited by its form, one added, moved, deleted and brought back."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotator.models import Dialogue, Draft
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.services.queue.claims import claim_slot
from tests.annotator.case_documents import TOOLS, case
from tests.factories import begin, make_dialogue, open_slot

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def desk_at(window_of, team, place):
    """The annotator at a place of a constrained case."""
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    begin(team.project, [make_dialogue(team.project, case(), toolset=toolset)])
    slot = open_slot(Dialogue.objects.get())
    claim_slot(actor=team.annotator, slot=slot)
    window = window_of(team.annotator)
    window.page.goto(f"{reverse('workspace', args=[slot.public_id])}?at={place}")
    return window


def test_constraints_are_edited_added_moved_deleted_and_brought_back(
    window_of, team, check_accessibility, page_problems
):
    page_problems.allow("status of 422")
    window = desk_at(window_of, team, "/constraints/c0")
    page, inspector = window.page, window.inspector

    most = inspector.get_by_label("At most")
    with window.saving(status=422):
        most.fill("many")
    expect(page.locator("#edit-note")).to_contain_text("At most: Enter a whole number")
    expect(most).to_have_value("many")
    expect(most).to_be_focused()
    with window.saving():
        most.fill("3")
    expect(inspector.get_by_text("Text and parameters differ.")).to_be_visible()
    expect(most).to_be_focused()
    with window.saving():
        inspector.get_by_role("button", name="Use this sentence").click()
    expect(inspector.get_by_label("Text")).to_have_value("Make at most 3 tool calls in total.")
    # What is said of the text is about what one types now.
    text = inspector.get_by_label("Text")
    add = inspector.get_by_role("button", name="Add the text to the system prompt")
    with window.saving():
        text.fill("Make at most 5 tool calls in total.")
    expect(inspector.get_by_text("Text and parameters differ.")).to_be_visible()
    expect(inspector).to_contain_text("Not found in the prompt")
    expect(add).to_be_visible()
    expect(text).to_be_focused()
    with window.saving():
        inspector.get_by_role("button", name="Use this sentence").first.click()
    with window.saving():
        add.click()
    expect(window.chat.locator(".turn-text").first).to_contain_text("- Make at most 3 tool calls in total.")

    inspector.locator("#f-add-constraint select").select_option("sequential dependencies")
    with window.saving():
        inspector.get_by_role("button", name="Add after this").click()
    expect(page.locator("#i-head")).to_have_text("Constraint 2")
    expect(page.locator("#i-head")).to_be_focused()
    with window.saving():
        inspector.get_by_label("Chain 1, number 3").select_option("find_ferry")
    expect(inspector.get_by_label("Chain 1, number 4")).to_be_visible()
    check_accessibility(page)
    with window.saving():
        inspector.get_by_role("button", name="Move this constraint down").click()
    expect(page.locator("#i-head")).to_have_text("Constraint 3")
    with window.saving():
        inspector.get_by_role("button", name="Delete this constraint").click()
    expect(window.chat.locator("ol.constraints > li")).to_have_count(5)
    with window.saving():
        page.locator("#toolbar").get_by_role("button", name="Undo").click()
    expect(window.chat.locator("ol.constraints > li")).to_have_count(6)

    constraints = Draft.objects.get().document()["constraints"]
    assert [one["category"] for one in constraints[:3]] == [
        "tool call count", "sequential dependencies", "sequential dependencies",
    ]  # fmt: skip
    assert constraints[0]["parameters"] == {"min_callTimes": 0, "max_callTimes": 3}
    assert constraints[2]["parameters"] == {"order_constraints": [["find_ferry", "read_timetable", "find_ferry"]]}


@pytest.mark.parametrize(
    ("place", "summary", "delete"),
    [
        ("/constraints/c0", "Parameters as JSON", "Delete this constraint"),
        ("/reference_trajectory/r1/calls/s1", "Arguments as JSON", "Delete this call"),
    ],
)
def test_half_typed_json_of_a_part_that_is_deleted_is_shown_until_its_part_comes_back(
    window_of, team, place, summary, delete
):
    """The indicator said “Invalid JSON”, led to another place, and the words were on no page."""
    window = desk_at(window_of, team, place)
    page, inspector = window.page, window.inspector
    inspector.locator("summary", has_text=summary).click()
    window.fill_code("details", '{"mine": ')
    window.expect_state("unfinished")
    placeless = page.locator("#placeless")
    expect(placeless).to_have_text("")
    with page.expect_response("**/edit/"):
        inspector.get_by_role("button", name=delete).click()
    expect(placeless.get_by_label("Your text")).to_have_value('{"mine": ')
    with page.expect_response("**/undo/"):
        page.locator("#toolbar").get_by_role("button", name="Undo").click()
    expect(placeless).to_have_text("")


def test_half_typed_json_whose_form_is_gone_is_shown(window_of, team, page_problems):
    """With the last variant went the form of all variants, and what had been typed into it was on no page."""
    page_problems.allow("status of 422")
    window = desk_at(window_of, team, "/constraints/c0")
    page, inspector = window.page, window.inspector
    placeless = page.locator("#placeless")
    inspector.get_by_text("Parameters that depend on the first call").click()
    with window.saving():
        inspector.get_by_role("button", name="Add a variant").click()
    window.fill_code("details:has-text('Variants as JSON')", "[half")
    window.expect_state("unfinished")
    with page.expect_response("**/edit/"):
        inspector.get_by_role("button", name="Delete variant 1").click()
    expect(placeless.get_by_label("Your text")).to_have_value("[half")
    placeless.get_by_role("button", name="Discard").click()
    window.expect_state("saved")

    # Of what was refused, too, only what was typed is shown.
    with window.saving(status=422):
        inspector.get_by_label("At most").fill("many")
    with page.expect_response("**/edit/"):
        inspector.get_by_role("button", name="Delete this constraint").click()
    expect(placeless.get_by_label("Your text")).to_have_value(re.compile(r"^[^/]*many[^/]*$"))


#: Where words of the prompt begin and end on the screen: [x, y] of the first and of the last.
PLACES = """(prompt, [first, last]) => {
    const at = (words, end) => {
        const walker = document.createTreeWalker(prompt, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const found = walker.currentNode.data.indexOf(words);
            if (found < 0) continue;
            const range = document.createRange();
            const edge = found + (end ? words.length : 0);
            range.setStart(walker.currentNode, edge - (end ? 1 : 0));
            range.setEnd(walker.currentNode, edge + (end ? 0 : 1));
            const box = range.getBoundingClientRect();
            return [end ? box.right - 0.5 : box.left + 0.5, (box.top + box.bottom) / 2];
        }
    };
    prompt.scrollIntoView();
    return [at(first, false), at(last, true)];
}"""


def test_the_words_that_state_a_constraint_are_selected_in_the_prompt(window_of, team, check_accessibility):
    window = desk_at(window_of, team, "/constraints/c2")
    page, inspector = window.page, window.inspector
    prompt = window.chat.locator(".turn-text").first
    take = inspector.get_by_role("button", name="Use selection")
    span = inspector.get_by_label("Wording in the system prompt")
    expect(take).to_be_disabled()

    def select(first, last):
        # Pressed within what is selected, the button of the mouse would begin to drag that.
        page.locator("#i-head").click()
        (left, top), (right, bottom) = prompt.evaluate(PLACES, [first, last])
        page.mouse.move(left, top)
        page.mouse.down()
        page.mouse.move(right, bottom, steps=5)
        page.mouse.up()

    # Over the number of the constraint that the first line states: that is no word of the prompt.
    select("no more than six", "Answer in at most")
    words = "no more than six rounds.\n- Answer in at most"
    expect(inspector.locator("prompt-selection output")).to_have_text(f"Selected: “{words}”")
    check_accessibility(page)
    with window.saving():
        take.click()
    expect(span).to_have_value(words)
    select("no more than six", "six rounds.")
    # By keyboard: what was selected stays while the focus goes to the button.
    inspector.locator("#span").focus()
    window.tab_to("prompt-selection button")
    with window.saving():
        page.keyboard.press("Enter")
    expect(span).to_have_value("no more than six rounds.")
    expect(inspector.get_by_text("Stated once")).to_be_visible()
    assert Draft.objects.get().document()["constraints"][2]["anchor"] == "no more than six rounds."
