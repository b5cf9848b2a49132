"""A function of a toolset in review: changed by its form, refused at a field, changed as JSON, and brought back."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotator.core.comparison import resolve
from annotator.models import Dialogue, Draft
from reviews.services.queue.claims import claim_slot
from tests.annotator.toolset_documents import F1, described_toolset
from tests.factories import begin, make_dialogue, make_toolset, open_slot

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_function_is_changed_refused_added_deleted_and_brought_back(
    window_of, team, check_accessibility, page_problems
):
    page_problems.allow("status of 422")
    toolset = make_toolset(team.project, [], "none")
    begin(team.project, [make_dialogue(team.project, described_toolset(), toolset=toolset)])
    slot = open_slot(Dialogue.objects.get())
    claim_slot(actor=team.annotator, slot=slot)
    window = window_of(team.annotator)
    page, inspector = window.page, window.inspector
    page.goto(reverse("workspace", args=[slot.public_id]))

    current = window.chat.locator("[aria-current]")
    expect(current).to_contain_text("find_ferry")
    apply = inspector.get_by_role("button", name="Apply", exact=True)
    page.locator("#f-p0-name").fill("harbour")
    with window.saving(status=422):
        apply.click()
    expect(page.locator("#f-p0-name-error")).to_contain_text("There is a parameter harbour already")
    expect(page.locator("#f-p0-name")).to_have_value("harbour")
    page.locator("#f-p0-name").fill("cabin")
    page.locator("#f-description").fill("Find the next ferry.")
    with window.saving():
        apply.click()
    expect(page.locator("#f-p0-name-error")).to_have_count(0)
    expect(current).to_contain_text("cabin")
    expect(current).to_contain_text("Find the next ferry.")
    check_accessibility(page)

    inspector.locator("#f-add-tool input[name=name]").fill("cancel_ferry")
    with window.saving():
        inspector.get_by_role("button", name="Add after this one").click()
    expect(page.locator("#i-head")).to_have_text("Function cancel_ferry")
    expect(page.locator("#i-head")).to_be_focused()
    expect(window.chat.locator(".turn")).to_have_count(3)
    with window.saving():
        inspector.get_by_role("button", name="Move this function down").click()
    expect(window.chat.locator(".turn").last).to_contain_text("cancel_ferry")
    with window.saving():
        inspector.get_by_role("button", name="Delete this function").click()
    expect(window.chat.locator(".turn")).to_have_count(2)
    with window.saving():
        page.locator("#toolbar").get_by_role("button", name="Undo").click()
    expect(window.chat.locator(".turn")).to_have_count(3)
    expect(inspector).to_contain_text(re.compile("Function (cancel_ferry|book_ferry)"))
    assert resolve(Draft.objects.get().document(), f"{F1}/description") == "Find the next ferry."
