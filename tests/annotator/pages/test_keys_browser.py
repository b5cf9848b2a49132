"""Keys in a browser: when they are taken, the search of all pages, and keys of one's own."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from annotator.services.accounts.key_settings import change_keys
from annotator.services.projects import publish_guideline
from tests.annotator.pages.draft_site import DRAFT
from tests.factories import adopt_c3, begin, make_dialogue, make_team, make_user

pytestmark = pytest.mark.browser


@pytest.fixture
def team(db):
    team = make_team("travel")
    adopt_c3(team)
    return team


@pytest.mark.urls("tests.annotator.pages.draft_site")
def test_keys_rest_for_a_second_after_a_field_lost_the_focus(open_page: Callable[..., Page], django_user_model):
    DRAFT.reset()
    page = open_page(django_user_model.objects.create_user("amina"))
    page.goto("/draft/")
    page.clock.install()
    page.route("**/draft/edit/", lambda route: route.fulfill(status=204))
    field = page.locator("#a")
    for lose in ("node => node.remove()", "node => { node.disabled = true; }", "node => node.blur()"):
        page.reload()
        field.click()
        page.keyboard.type("x")
        # A slow machine takes more than a second for the next lines.
        page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
        field.evaluate(lose)
        page.keyboard.press("h")
        expect(page.locator("#guideline")).to_be_hidden()
        page.clock.run_for(1100)
        page.keyboard.press("h")
        expect(page.locator("#guideline")).to_be_visible()
        page.keyboard.press("h")
        page.clock.resume()
    # A person who leaves the field does not wait.
    page.reload()
    field.click()
    page.locator("h1").click()
    page.keyboard.press("h")
    expect(page.locator("#guideline")).to_be_visible()


def test_the_search_and_pairs_of_keys_lead_to_pages_and_the_search_gives_the_focus_back(
    open_page, team, check_accessibility
):
    begin(team.project, [make_dialogue(team.project, external_id="trip-17")])
    publish_guideline(actor=team.administrator, project=team.project, text="# Wrong arguments\n\nText.", seen=0)
    page = open_page(team.administrator)
    page.goto("/p/travel/people/")
    page.locator("main h1").click()
    page.keyboard.press("ControlOrMeta+k")
    box = page.get_by_role("combobox", name="Search actions")
    expect(box).to_be_focused()
    expect(page.get_by_role("option", name="Dialogues")).to_contain_text("g d")
    check_accessibility(page)
    box.fill("wrarg")  # letters of the words, in their order
    option = page.get_by_role("option", name="Wrong arguments")
    box.fill("argum")
    expect(option.locator("mark")).to_have_text("argum")
    expect(page.locator("#palette [role=status]")).to_contain_text("result")
    box.fill("trip-17")
    expect(page.get_by_role("option", name="trip-17")).to_be_visible()
    expect(box).to_have_attribute("aria-activedescendant", "palette-option-0")
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()
    page.keyboard.press("ControlOrMeta+k")
    box.fill("gudlin")
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/travel/guideline/")
    page.keyboard.press("ControlOrMeta+k")
    box.fill("trip-17")
    page.get_by_role("option", name="trip-17").click()
    page.wait_for_url("**/dialogues/*/")
    # j and k alone go to the next place and to the previous one.
    for second, name in (("j", "jobs"), ("k", "gold")):
        page.goto("/p/travel/dialogues/")
        page.keyboard.press("j")
        expect(page.locator("[data-nav-item]:focus")).to_have_count(1)
        for key in ("g", second):
            page.keyboard.press(key)
        page.wait_for_url(f"**/p/travel/{name}/")


def test_the_list_of_keys_is_searched_and_shows_ones_own_keys(open_page, team, check_accessibility, page_problems):
    page_problems.allow("status of 422")
    change_keys(actor=team.annotator, keys={"go-guideline": "g w", "go-feedback": ""})
    page = open_page(team.annotator)
    page.goto("/p/travel/people/")
    page.keyboard.press("?")
    page.locator("#shortcut-search").fill("guid")
    expect(page.locator("#shortcuts dd")).to_have_text(["Guideline"])
    expect(page.locator("#shortcuts dt")).to_have_text(["g w"])
    page.locator("#shortcut-search").fill("feedback")
    expect(page.locator("[data-shortcut-none]")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    for key in "gw":
        page.keyboard.press(key)
    page.wait_for_url("**/p/travel/guideline/")
    page.goto("/keys/")
    check_accessibility(page)
    page.get_by_label("Feedback", exact=True).fill("g g")
    page.get_by_role("button", name="Save").last.click()
    # The page that comes next; the old one has no alert either, and would lose what is typed into it.
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_label("Undo", exact=True).fill("f")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_role("alert")).to_contain_text("already the key of")


def test_a_key_counts_as_soon_as_a_dialog_is_closed(open_page, transactional_db):
    """Its search field keeps the focus until the browser draws the next frame."""
    page = open_page(make_user())
    page.goto("/projects/")
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    at_once = """() => {
      const dialog = document.getElementById("shortcuts"), field = document.activeElement;
      dialog.close();
      const kept = document.activeElement === field;
      const key = new KeyboardEvent("keydown", {key: "g", bubbles: true, cancelable: true});
      return [field.matches("input"), kept, !field.dispatchEvent(key)];
    }"""
    assert page.evaluate(at_once) == [True, True, True]
