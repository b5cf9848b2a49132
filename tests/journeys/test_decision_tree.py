"""The decision tree in a browser: by mouse, by keyboard, without scripts, on a small screen, light and dark."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from annotator.models import Dialogue
from reviews.services.queue.claims import claim_next
from tests.factories import begin, make_dialogue, make_toolset
from tests.paper_example import TOOLS, slides_document, trajectory

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def dialogue_of(team, **needs: str | None) -> Dialogue:
    toolset = make_toolset(team.project, TOOLS)
    return make_dialogue(team.project, slides_document(**needs), external_id="slides", toolset=toolset)


def tree_of(window_of, team, **options) -> Page:
    """The tree of the slides, open, as one comes to it from the dialogue."""
    dialogue = dialogue_of(team)
    page = window_of(team.annotator, **options).page
    page.goto(f"/p/{team.project.slug}/dialogues/{dialogue.public_id}/")
    page.get_by_role("link", name="Decision tree of task 1").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decision tree of task 1")
    return page


def branches(page: Page) -> Locator:
    return page.locator("#tree .branch-link")


def at(page: Page, path: str) -> None:
    """The tree shows that state, and the address, and so a link one may share, names the steps taken."""
    expect(page.locator("#tree")).to_have_attribute("data-path", path)
    expect(page).to_have_url(re.compile(rf"[?&]path={re.escape(path)}$"))


def test_figure_3_by_mouse(window_of, team, check_accessibility):
    page = tree_of(window_of, team)
    tree = page.locator("#tree")
    expect(branches(page)).to_have_count(3)
    branches(page).nth(1).click()
    at(page, "s1")
    expect(tree.locator(".pruned")).to_contain_text("Pruned: 2 branches with 2 paths")
    expect(page.locator("#here")).to_be_focused()
    branches(page).first.click()
    at(page, "s1;s0")
    expect(tree.locator(".tree-level.taken")).to_have_count(2)
    expect(tree).to_contain_text("1 path left")
    expect(tree).to_contain_text("No longer optimal")
    check_accessibility(page)
    page.get_by_label("Batches taken").get_by_role("link", name="s1", exact=True).click()
    at(page, "s1")
    branches(page).nth(2).click()
    at(page, "s1;s0,s2")
    branches(page).first.click()
    expect(tree).to_contain_text("This path takes 3 batches, the fewest possible.")
    page.go_back()
    at(page, "s1;s0,s2")
    expect(branches(page)).to_have_count(1)
    page.reload()
    expect(tree.locator(".tree-level.taken")).to_have_count(2)


def test_all_of_it_by_keyboard(window_of, team):
    page = tree_of(window_of, team)
    press = page.keyboard.press
    press("j")
    expect(branches(page).first).to_be_focused()
    press("j")
    press("Enter")
    at(page, "s1")
    press("j")
    press("Enter")
    at(page, "s1;s0")
    press("u")
    at(page, "s1")
    press("j")
    press("j")
    press("Enter")
    at(page, "s1;s2")
    press("Backspace")
    at(page, "s1")
    press("Backspace")
    at(page, "")
    press("o")
    expect(branches(page)).to_have_count(2)
    press("o")
    expect(branches(page)).to_have_count(3)
    press("?")
    dialog = page.locator("#shortcuts")
    for words in ("Load an optimal path", "Switch between all branches and optimal ones"):
        expect(dialog).to_contain_text(words)
    press("Escape")
    press("x")
    expect(page.locator("#try-head")).to_be_focused()
    press("t")
    press("ControlOrMeta+Enter")
    expect(page.locator("#outcome")).to_be_focused()
    expect(page.locator("#outcome")).to_contain_text("Matched, optimal")


def test_a_trajectory_of_ones_own(window_of, team, check_accessibility, page_problems):
    page_problems.allow("status of 422")
    page = tree_of(window_of, team)
    result = page.locator("#try-result")
    field = page.locator("#try .cm-content")

    def follow(text: str) -> None:
        field.click()
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.insert_text(text)
        page.get_by_role("button", name="Check").click()

    follow('[{"name": ')
    expect(result.get_by_role("alert")).to_contain_text("line 1, column 11")
    follow(json.dumps(trajectory("s1;s3;s0")))
    expect(page.locator("#outcome")).to_contain_text("Deviates 1 of 4 calls matched")
    expect(result.locator(".deviation")).to_contain_text("waits for s0, s2")
    check_accessibility(page)
    result.get_by_role("link", name="Show in the tree").click()
    at(page, "s1")
    expect(page.locator("#tree .tree-level.taken")).to_have_count(1)
    # Typed text stays, whatever the tree shows.
    expect(field).to_contain_text("add_slide")
    page.get_by_role("link", name="Try this path").click()
    expect(field).not_to_contain_text("add_slide")
    expect(field).to_contain_text("get_ranking")


def test_without_scripts(window_of, team, page_problems):
    page_problems.allow("status of 422")
    page = tree_of(window_of, team, javascript=False)
    branches(page).nth(1).click()
    at(page, "s1")
    branches(page).last.locator("xpath=..").locator("summary").click()
    expect(page.locator(".branch[class]").last).to_contain_text("Popular films")
    page.get_by_role("link", name="Load an optimal path").click()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#outcome")).to_contain_text("Matched, optimal")
    expect(page.locator("#tree .tree-level.taken")).to_have_count(1)
    page.get_by_label("Calls as JSON").fill("[3]")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#try-result")).to_contain_text("Entry 1 is neither a batch nor a call.")
    expect(page.get_by_label("Calls as JSON")).to_have_value("[3]")
    page.get_by_role("link", name="Optimal only").click()
    expect(page.locator("#tree .branch")).to_have_count(1)


@pytest.mark.parametrize("width", [320, 800])
def test_a_narrow_window(window_of, team, check_accessibility, width):
    page = tree_of(window_of, team, width=width, scheme="dark")
    branches(page).nth(2).click()
    at(page, "s0,s1")
    page.get_by_role("link", name="Load an optimal path").click()
    expect(page.locator("#try-head")).to_be_focused()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#outcome")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_accessibility(page)


def test_from_what_is_not_annotated_back_to_where_to_mend_it(window_of, team, check_accessibility):
    begin(team.project, [dialogue_of(team, s2=None)])
    claim = claim_next(actor=team.annotator, project=team.project)
    page = window_of(team.annotator).page
    page.goto(f"/work/{claim.slot.public_id}/tasks/t1/paths/")
    expect(page.locator("main")).to_contain_text("The tool graph isn’t annotated")
    check_accessibility(page)
    page.get_by_role("link", name="Go to s2").click()
    expect(page.locator("#i-head")).to_contain_text("s2")
