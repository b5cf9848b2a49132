"""The layout of the workspace: what a click opens, what stays where it is, and what a phone shows."""

import json
import re

import pytest
from playwright.sync_api import expect

from annotator.services.projects import publish_guideline
from tests.factories import make_document
from tests.journeys.graph_tasks import coast
from tests.journeys.workspaces import start_self_check

pytestmark = [pytest.mark.browser, pytest.mark.slow]


PLACES = """() => [document.querySelector(".chat").scrollTop, ...[...document.querySelectorAll(
    ".topbar, .inspector-side .tabs a, #toolbar > *, #split, .pane-bar h1"
)].map((one) => JSON.stringify(one.getBoundingClientRect()))]"""


def long_document():
    """Six tasks, of which the first has four calls."""
    document = coast()
    document["tasks"] += make_document(tasks=6)["tasks"][1:]
    return document


def test_a_click_opens_its_fields_and_nothing_else_moves(window_of, team):
    window = start_self_check(window_of, team, long_document())
    page = window.page
    call = window.chat.locator(".turn.call").nth(3)
    call.scroll_into_view_if_needed()
    call.locator(".turn-head").click()
    expect(page.locator("#i-head")).to_contain_text("Call")
    expect(call).to_have_attribute("aria-current", "true")
    expect(page.locator("#f-arguments [type=text]").first).to_be_focused()
    call.locator(".io [data-field='#f-observation'] h3").click()
    expect(page.locator("#f-observation .cm-content")).to_be_focused()
    before = page.evaluate(PLACES)
    for tab in ("Graph", "Discussion", "Step"):
        window.inspector.get_by_role("link", name=tab, exact=True).click()
        expect(window.inspector.locator(".tabs [aria-current=page]")).to_have_text(tab)
        assert page.evaluate(PLACES) == before
    # The selection comes into view, however one gets there.
    page.keyboard.press("f")
    page.goto(f"{page.url.partition('?')[0]}?at=/tasks/t6")
    expect(window.chat.locator("[aria-current]")).to_be_in_viewport()
    page.get_by_role("link", name="Edit task t1", exact=True).focus()
    page.keyboard.press("Enter")
    expect(window.chat.locator("[aria-current]")).to_be_in_viewport()


def test_the_panes_keep_the_widths_one_gives_them(window_of, team):
    page = start_self_check(window_of, team).page
    line = page.get_by_role("separator", name="Width of the dialogue")
    usual = page.locator(".chat").bounding_box()["width"]
    assert usual == pytest.approx(0.55 * 1280, abs=2)
    box = line.bounding_box()
    page.mouse.move(box["x"], 300)
    page.mouse.down()
    page.mouse.move(0.4 * 1280, 300, steps=4)
    page.mouse.up()
    assert page.locator(".chat").bounding_box()["width"] == pytest.approx(0.4 * 1280, abs=4)
    page.reload()
    assert page.locator(".chat").bounding_box()["width"] == pytest.approx(0.4 * 1280, abs=4)
    line.focus()
    page.keyboard.press("ArrowRight")
    expect(line).to_have_attribute("aria-valuenow", "42")
    page.keyboard.press("Home")
    assert page.locator(".chat").bounding_box()["width"] == pytest.approx(usual, abs=2)


def test_the_reference_is_searched_beside_the_work(window_of, team, check_accessibility):
    text = "# Times\n\nWrite days as dates.\n\n## Places\n\nName the city."
    publish_guideline(actor=team.administrator, project=team.project, text=text, note="", seen=0)
    window = start_self_check(window_of, team)
    page = window.page
    page.keyboard.press("h")
    drawer = page.locator("#guideline")
    page.get_by_label("Search in this page").fill("city")
    expect(drawer.get_by_text("Name the city.")).to_be_visible()
    expect(drawer.get_by_text("Write days as dates.")).to_be_hidden()
    expect(drawer.get_by_role("status")).to_have_text("1 place")
    drawer.get_by_role("link", name="Tools").click()
    expect(drawer.locator("summary").first).to_be_visible()
    # The work goes on beside it.
    side = page.locator("#inspector-side").bounding_box()
    assert side["x"] + side["width"] <= drawer.bounding_box()["x"] + 1
    check_accessibility(page)
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_on_a_phone_a_sheet_opens_and_the_bars_take_a_quarter(window_of, team, check_accessibility):
    window = start_self_check(window_of, team, long_document(), width=320, height=640)
    page = window.page
    tops = [page.locator(one).bounding_box()["height"] for one in (".topbar", "#toolbar", ".inspector-side")]
    assert sum(tops) <= 0.25 * 640
    expect(page.locator("#toolbar").get_by_role("button")).to_have_count(2)
    call = window.chat.locator(".turn.call").nth(2)
    call.scroll_into_view_if_needed()
    call.locator(".turn-head").click()
    expect(page.locator("#i-head")).to_be_in_viewport()
    expect(call).to_be_in_viewport()
    at = page.evaluate("scrollY")
    page.get_by_role("button", name="Back to the dialogue").click()
    expect(page.locator("#i-head")).not_to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - at) < 700
    # Two taps on “More” open and close it; all verdicts are in it, and the verdict is one tap away in the Review tab.
    more = page.locator("#toolbar").get_by_role("button", name="More")
    more.dblclick()
    expect(page.get_by_role("button", name="Skip for now")).to_be_hidden()
    more.click()
    expect(page.get_by_role("button", name="Escalate")).to_be_visible()
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("#q-t1-relevance input").first.focus()
    expect(page.get_by_role("radio", name="Escalate")).not_to_be_in_viewport()
    at = page.evaluate("scrollY")
    page.get_by_role("link", name="Go to the verdict").dispatch_event("click")
    expect(page.get_by_role("radio", name="Escalate")).to_be_in_viewport()
    assert page.evaluate("scrollY") == at
    page.get_by_role("button", name="Back to the dialogue").click()
    page.get_by_role("button", name=re.compile("^Menu")).click()
    expect(page.get_by_role("link", name="Feedback")).to_be_visible()
    check_accessibility(page)


def test_a_long_list_shows_its_first_items_and_stays_open_while_one_edits(window_of, team):
    document = long_document()
    flights = [{"flight": f"XQ{number}", "from": "Lisbon", "to": "Bergen Flesland"} for number in range(40)]
    document["tasks"][0]["steps"][0]["observation"] = {"flights": flights}
    window = start_self_check(window_of, team, document)
    page = window.page
    shown = window.chat.locator(".turn.call").first
    last = shown.get_by_text('"XQ39"')
    expect(shown.get_by_text('"XQ0"')).to_be_visible()
    assert not last.evaluate("node => node.checkVisibility({contentVisibilityAuto: true})")
    more = shown.get_by_role("button", name=re.compile(r"^\d+ more lines$"))
    more.focus()
    page.keyboard.press("Enter")
    expect(more).to_have_attribute("aria-expanded", "true")
    assert last.evaluate("node => node.checkVisibility({contentVisibilityAuto: true})")
    window.open_place("s0 of task t1")
    with window.saving():
        window.fill_code("#f-observation", json.dumps({"flights": [*flights, {"flight": "XQ40"}]}))
    expect(more).to_have_attribute("aria-expanded", "true")
    expect(shown.get_by_text('"XQ40"')).to_be_visible()
    more.click()
    assert not last.evaluate("node => node.checkVisibility({contentVisibilityAuto: true})")
