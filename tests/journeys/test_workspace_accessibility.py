"""The workspace for everybody: by keyboard alone, without scripts, on a small screen."""

import pytest
from playwright.sync_api import expect

from annotator.models import Dialogue
from reviews.models import Review
from tests.factories import begin, current, make_dialogue, make_document
from tests.journeys.workspaces import ANSWER, CALL, open_workspace, start_self_check

#: Controls that can be seen and stick out of the window at a side.
OUTSIDE = """
[...document.querySelectorAll("main :is(a, button, input, select, textarea, summary), #toolbar :is(a, button)")]
  .filter((node) => node.checkVisibility())
  .filter((node) => ((box) => box.left < -1 || box.right > innerWidth + 1)(node.getBoundingClientRect()))
  .map((node) => node.outerHTML)"""

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_an_item_goes_from_my_work_to_submission_without_a_mouse(window_of, team):
    document = make_document()
    call, answer = document["tasks"][0]["steps"]
    call |= {"observation": None, "depends_on": None}
    answer |= {"text": None, "depends_on": None}
    begin(team.project, [make_dialogue(team.project, document, external_id="one")])
    window = window_of(team.annotator)
    page, press = window.page, window.page.keyboard.press
    page.goto("/")
    press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text("one")
    expect(window.findings).to_have_count(4)
    window.walk_to("s0")
    expect(page.locator("#i-head")).to_contain_text("s0")
    press("o")
    with window.saving():
        page.keyboard.insert_text('{"sky": "clear", "degrees": 18}')
    press("Escape")
    # The key leads to the choices, and makes none.
    press("d")
    expect(page.locator("#dep-unknown")).to_be_focused()
    expect(page.locator("#dep-unknown")).to_be_in_viewport()
    with window.saving():
        press("ArrowDown")
    press("Escape")
    window.walk_to("s1")
    expect(page.locator("#i-head")).to_contain_text("s1")
    press("m")
    with window.saving():
        page.keyboard.insert_text("It is clear in Ghent, 18 degrees.")
    press("Escape")
    expect(window.chat.locator(".turn[aria-current]")).to_be_focused()
    press("d")
    with window.saving():
        press("ArrowDown")
    window.tab_to("#dep-s0")
    with window.saving():
        press("Space")
    expect(page.locator("#dep-s0")).to_be_focused()
    expect(window.findings).to_have_count(0)
    press("a")
    page.wait_for_url("**/submit/**")
    window.tab_to("#reason")
    page.keyboard.insert_text("Written.")
    press("ControlOrMeta+Enter")
    # Questions without an answer are asked about once.
    page.locator("[data-unanswered][data-asked]").wait_for()
    press("ControlOrMeta+Enter")
    # The stage has nothing else; the next item is one of the next stage.
    expect(page.locator("#toasts")).to_contain_text("You have finished all your items in this stage.")
    expect(page.locator("#chat")).to_be_visible()
    review = Review.objects.get()
    assert (review.verdict, review.reason) == ("fix", "Written.")


def test_everything_can_be_done_without_scripts(window_of, team, page_problems):
    page_problems.allow("status of 422")
    window = start_self_check(window_of, team, javascript=False)
    page = window.page
    window.chat.get_by_role("link", name=f"Edit {CALL}", exact=True).click()
    page.locator("#arguments-json").locator("xpath=ancestor::details").locator("summary").click()
    page.locator("#arguments-json").fill('{"city": ')
    page.locator("#f-json").get_by_role("button", name="Save").click()
    expect(page.locator("#edit-note")).to_contain_text("line 1")
    expect(page.get_by_label("Your text")).to_have_value('{"city": ')
    page.locator("#f-arguments").get_by_label("city").fill("GHENT")
    page.locator("#f-arguments").get_by_role("button", name="Save").click()
    expect(window.chat).to_contain_text("GHENT")
    page.locator("#f-depends").get_by_label("Not annotated").check()
    page.locator("#f-depends").get_by_role("button", name="Save").click()
    expect(page.locator("#toolbar")).to_contain_text("1 error")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#toolbar")).to_contain_text("No issues")
    window.inspector.get_by_role("link", name="Discussion").click()
    page.get_by_label("Your comment").fill("By hand.")
    page.get_by_role("button", name="Add comment").click()
    expect(window.inspector.get_by_role("article")).to_contain_text("By hand.")
    page.get_by_role("button", name="Approve with fix…").click()
    page.locator("#reason").fill("The other city.")
    page.get_by_role("button", name="Submit and close").click()
    window.expect_home()
    assert current(Dialogue.objects.get())["tasks"][0]["steps"][0]["arguments"] == {"city": "GHENT"}


def test_a_narrow_window_shows_every_control(window_of, team, check_accessibility):
    window = start_self_check(window_of, team, width=320, height=640)
    page = window.page
    for place in ("task t1", CALL, ANSWER):
        window.open_place(place)
        expect(page.locator("#i-head")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert page.evaluate(OUTSIDE) == []
    with window.saving():
        page.locator("#answer-text").fill("Short.")
    page.get_by_role("button", name="Back to the dialogue").click()
    expect(window.chat.get_by_text("Short.")).to_be_in_viewport()
    assert page.locator("#toolbar").bounding_box()["height"] < 130
    check_accessibility(page)


def test_a_long_place_widens_no_form_of_a_review(window_of, team):
    document = make_document()
    document["tasks"][0]["steps"][0]["name"] = "get_the_weather_of_a_city_at_an_hour_of_a_day"
    begin(team.project, [make_dialogue(team.project, document)])
    page = open_workspace(window_of, team, width=320).page
    page.goto(f"{page.url.partition('?')[0]}submit/")
    expect(page.get_by_label("Place").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_name_without_a_space_widens_no_page(window_of, team):
    project = team.project
    dialogue = make_dialogue(project, make_document(), external_id="candidate" * 20)
    begin(project, [dialogue])
    page = open_workspace(window_of, team, width=320).page
    listed, workspace = f"/p/{project.slug}/dialogues/", page.url
    for width in (320, 1440):
        page.set_viewport_size({"width": width, "height": 640})
        for path in ("/", listed, f"{listed}{dialogue.public_id}/", workspace):
            page.goto(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
