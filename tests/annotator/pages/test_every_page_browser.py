"""Common to all pages: shortcuts, errors, focus and theme; and the style guide has no accessibility errors."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.annotator.pages.draft_site import DRAFT

pytestmark = [pytest.mark.browser, pytest.mark.urls("tests.annotator.pages.draft_site")]


@pytest.fixture
def amina(django_user_model: Any) -> Any:
    return django_user_model.objects.create_user("amina", display_name="Amina Haddad")


@pytest.fixture
def draft_page(open_page: Callable[..., Page], amina: Any) -> Page:
    DRAFT.reset()
    page = open_page(amina)
    page.goto("/draft/")
    return page


@pytest.mark.parametrize("width", [1440, 320])
def test_the_style_guide_has_no_fault(open_page, amina, check_accessibility, width):
    page = open_page(amina, width=width)
    page.goto("/styleguide/")
    expect(page.locator("code-editor .cm-editor").first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_accessibility(page)


def test_j_and_k_walk_and_a_key_acts_on_the_place_with_the_focus(draft_page):
    draft_page.keyboard.press("j")
    draft_page.keyboard.press("j")
    expect(draft_page.locator("#item-y")).to_be_focused()
    draft_page.keyboard.press("d")
    expect(draft_page.locator("#item-y")).to_have_count(0)
    expect(draft_page.locator("#item-z")).to_be_focused()  # the one that took its place
    draft_page.keyboard.press("k")
    expect(draft_page.locator("#item-x")).to_be_focused()


def test_two_keys_go_somewhere(draft_page):
    draft_page.keyboard.press("g")
    draft_page.keyboard.press("h")
    draft_page.wait_for_url(lambda url: "/draft/" not in url)


def test_no_key_is_taken_from_somebody_who_types(draft_page):
    draft_page.locator("#a").press_sequentially("adh?jk")
    expect(draft_page.locator("#a")).to_have_value("adh?jkfirst")
    expect(draft_page.locator("#shortcuts")).to_be_hidden()
    assert all(post["op"] != "submit" for post in DRAFT.posts)


def test_the_dialog_lists_the_keys_and_switches_single_ones_off(draft_page):
    draft_page.keyboard.press("?")
    dialog = draft_page.locator("#shortcuts")
    expect(dialog).to_contain_text("Submit")
    expect(dialog).to_contain_text("My work")
    dialog.get_by_label("Single-key shortcuts").uncheck()
    draft_page.keyboard.press("Escape")
    draft_page.keyboard.press("j")
    draft_page.keyboard.press("d")
    draft_page.reload()
    draft_page.keyboard.press("h")
    expect(draft_page.locator("#guideline")).to_be_hidden()
    assert DRAFT.items == ["x", "y", "z"]
    with draft_page.expect_request("**/draft/submit/"):  # a key held with another stays
        draft_page.keyboard.press("ControlOrMeta+Enter")


def test_a_drawer_takes_the_focus_and_gives_it_back(draft_page):
    draft_page.keyboard.press("h")
    expect(draft_page.locator("#guideline-title")).to_be_focused()
    draft_page.keyboard.press("Escape")
    expect(draft_page.locator("#guideline")).to_be_hidden()
    expect(draft_page.get_by_role("button", name="Guideline")).to_be_focused()


@pytest.mark.parametrize(
    ("button", "sentence"),
    [("#conflict", "This job has ended already."), ("#missing", "This page doesn’t exist")],
)
def test_a_refusal_is_a_notice_and_the_page_stays(draft_page, page_problems, button, sentence):
    page_problems.allow("status of 4")
    draft_page.locator(button).click()
    expect(draft_page.locator("#toasts")).to_contain_text(sentence)
    expect(draft_page.locator(button)).to_be_visible()


def test_a_redirect_leads_to_the_page(draft_page):
    draft_page.locator("#elsewhere").click()
    draft_page.wait_for_url("**/styleguide/")


def test_the_theme_changes_at_once_and_stays(draft_page):
    draft_page.locator("summary", has_text="Amina Haddad").click()
    draft_page.get_by_role("button", name="Dark").click()
    expect(draft_page.locator("html")).to_have_attribute("data-theme", "dark")
    draft_page.keyboard.press("Escape")
    expect(draft_page.get_by_role("button", name="Dark")).to_be_hidden()
    draft_page.reload()
    expect(draft_page.locator("html")).to_have_attribute("data-theme", "dark")


def test_without_a_script_menus_open_and_the_theme_changes(open_page, amina):
    page = open_page(amina, javascript=False)
    page.goto("/styleguide/")
    page.locator("summary", has_text="Amina Haddad").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_file_can_be_dropped(open_page, amina):
    page = open_page(amina)
    page.goto("/styleguide/")
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["x".repeat(1500)], "candidates.jsonl"));
          document.querySelector("file-drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }"""
    )
    expect(page.locator("file-drop output")).to_have_text("candidates.jsonl (1.5 kB)")
