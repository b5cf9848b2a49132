"""The workspace under somebody's hands: keys, focus, scrolling and double clicks do what was meant and nothing else."""

import re
from copy import deepcopy

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from annotator.models import Guideline
from reviews.models import Claim, Comment, Review
from tests.browser import session_cookie
from tests.factories import WEATHER_TOOLS, begin, broken, make_dialogue, make_document, make_item, make_toolset
from tests.journeys.graph_tasks import coast, edges_of
from tests.journeys.workspaces import ANSWER, CALL, draft_of, open_workspace, start_self_check, steps_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Keys of the page that mean several things at one place: {key: names}.
AMBIGUOUS = """
() => {
  const meanings = {};
  for (const element of document.querySelectorAll("[data-key]")) {
    const {key, keyLabel} = element.dataset;
    (meanings[key] ??= new Set()).add(keyLabel ?? element.textContent.trim());
  }
  return Object.entries(meanings).filter(([, names]) => names.size > 1).map(([key, names]) => [key, ...names]);
}"""


def test_the_json_editor_stays_open_and_keeps_the_keys_while_answers_come(window_of, team):
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place(CALL)
    page.locator("#f-name select").focus()
    page.get_by_text("Arguments as JSON", exact=True).first.click()
    editor = page.locator("#f-json .cm-content")
    with window.saving():
        window.fill_code("#f-json", '{"city": "Bruges"}')
    expect(editor).to_be_focused()
    expect(page.locator("#f-arguments").get_by_label("city")).to_have_value("Bruges")
    address = page.url
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    with window.saving():
        page.keyboard.type(', "date": "x"')
    expect(editor).to_be_focused()
    assert page.url == address
    assert steps_of(team)[0]["arguments"] == {"city": "Bruges", "date": "x"}
    # Either way to the arguments shows what the other has done, so neither takes it back.
    with window.saving():
        page.locator("#f-arguments").get_by_label("city").fill("Ghent")
    expect(editor).to_contain_text('"city": "Ghent"')
    expect(page.locator("#f-json")).to_be_visible()
    # An editor that another form's answer finds in use is left in peace, too.
    page.route("**/edit/", lambda route: (editor.click(), page.keyboard.press("End"), route.continue_()))
    with window.saving():
        page.locator("#f-depends").get_by_label("Not annotated").check()
    page.unroute("**/edit/")
    expect(editor).to_be_focused()
    # The form also shows the value after undo.
    page.keyboard.press("Escape")
    page.locator("#i-head").focus()
    with window.saving():
        page.keyboard.press("u")
    expect(page.locator("#dep-known")).to_be_checked()


def test_what_is_typed_before_the_code_editor_is_there_is_kept_when_an_answer_comes(window_of, team):
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place(CALL)
    held = []
    page.route("**/vendor/codemirror*", lambda route: held.append(route))
    page.reload()
    field = page.locator("#f-observation textarea")
    field.press("ControlOrMeta+A")
    page.keyboard.insert_text('{"degrees": 21, ')
    held[0].continue_()
    editor = page.locator("#f-observation .cm-content")
    expect(editor).to_be_focused()
    # An answer puts what is stored into the textarea.
    field.evaluate("(field) => { field.value = field.defaultValue; field.closest('code-editor').refresh(); }")
    expect(editor).to_have_text('{"degrees": 21, ')
    expect(field).to_have_value('{"degrees": 21, ')
    with window.saving():
        page.keyboard.insert_text('"rain": 0}')
    assert steps_of(team)[0]["observation"] == {"degrees": 21, "rain": 0}


def test_a_select_takes_no_commands_and_undo_is_ctrl_z_outside_of_text(window_of, team):
    window = start_self_check(window_of, team)
    page, press = window.page, window.page.keyboard.press
    window.open_place(CALL)
    tool = page.get_by_label("Tool", exact=True)
    tool.focus()
    with window.saving():
        tool.select_option("find_trains")
    tool.focus()
    press("u")
    press("g")
    expect(tool).to_have_value("find_trains")
    expect(tool).to_be_focused()
    press("Escape")
    with window.saving():
        press("u")
    assert steps_of(team)[0]["name"] == "get_weather"
    with window.saving():
        press("ControlOrMeta+Shift+Z")
    assert steps_of(team)[0]["name"] == "find_trains"
    with window.saving():
        press("ControlOrMeta+z")
    assert steps_of(team)[0]["name"] == "get_weather"
    press("ControlOrMeta+z")  # there is nothing more to undo
    with window.saving():
        press("ControlOrMeta+y")
    with window.saving():
        press("ControlOrMeta+z")
    window.open_place(ANSWER)
    answer = page.locator("#answer-text")
    before = answer.input_value()
    answer.click()
    press("End")
    with window.saving():
        page.keyboard.type("!")
    with window.saving():
        press("ControlOrMeta+z")  # in text it is the text's own
    expect(answer).to_have_value(before)
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    for place in ("task t1", CALL, ANSWER):
        window.open_place(place)
        for panel in ("Edit", "Graph", "Findings", "Comments"):
            window.open_panel(panel)
            assert page.evaluate(AMBIGUOUS) == []


def test_e_edits_the_selected_place_where_nothing_has_the_focus(window_of, team):
    """It opened the first task instead."""
    window = start_self_check(window_of, team)
    page = window.page
    page.goto(f"{page.url}?at=/tasks/t1/steps/s1&panel=findings")
    page.keyboard.press("e")
    expect(page.locator("#answer-text")).to_be_focused()


def test_a_letter_that_is_no_key_chooses_nothing_in_a_closed_select(window_of, team):
    stations = {"type": "function", "function": {"name": "list_stations", "parameters": {"type": "object"}}}
    toolset = make_toolset(team.project, [*WEATHER_TOOLS, stations])
    begin(team.project, [make_dialogue(team.project, toolset=toolset)])
    window = open_workspace(window_of, team)
    window.open_place(CALL)
    tool = window.page.get_by_label("Tool", exact=True)
    tool.focus()
    window.page.keyboard.press("l")
    expect(tool).to_have_value("get_weather")
    with window.saving():
        window.page.keyboard.press("ArrowDown")
    expect(tool).to_have_value("find_trains")


def test_the_list_of_keys_names_the_field_and_not_what_stands_in_it(window_of, team):
    window = start_self_check(window_of, team)
    window.open_place(CALL)
    window.page.keyboard.press("?")
    editor = window.page.locator("#shortcuts h3", has_text="Editor").locator("+ dl dd")
    expect(editor).to_have_text(
        [
            "Edit the selected part",
            "Delete the selected part",
            "Arguments",
            "The observation",
            "Go to the dependencies",
            "Go to the first field",
        ]
    )


def test_of_two_panels_asked_for_the_later_stays(window_of, team):
    window = start_self_check(window_of, team)
    page, held = window.page, []
    page.route("**panel=findings*", lambda route: held.append(route))
    with page.expect_request("**panel=findings*"):
        page.locator("#toolbar [data-findings]").click()
    # Its answer could come after the other's, so nobody waits for it any more.
    with page.expect_event("requestfailed", lambda request: "panel=findings" in request.url):
        window.open_panel("Graph")
    assert "panel=graph" in page.url


def test_who_types_while_another_place_is_asked_for_stays_in_their_field(window_of, team):
    """The answer took the field away: the next keys were commands, and what was typed last seemed gone."""
    window = start_self_check(window_of, team)
    page, held = window.page, []
    window.open_place(ANSWER)
    answer = page.locator("#answer-text")
    before = answer.input_value()
    page.route("**/work/**?at=*", lambda route: held.append(route))
    for kept in (before, before + " x"):
        with page.expect_request("**/work/**?at=*"):
            window.chat.get_by_role("link", name=f"Edit {CALL}", exact=True).click()
        with page.expect_event("requestfailed"):
            answer.click()
        expect(answer).to_have_value(kept)
        with window.saving():
            page.keyboard.press("ControlOrMeta+End")
            page.keyboard.type(" x")
    # A field that had the focus before, such as one in a page that focuses none on a click.
    with page.expect_request("**/work/**?at=*"):
        window.chat.get_by_role("link", name=f"Edit {CALL}", exact=True).evaluate("link => link.click()")
    with page.expect_event("requestfailed"), window.saving():
        page.keyboard.type(" s")
    expect(answer).to_be_focused()
    expect(page.locator("#toasts")).to_have_text("")
    assert steps_of(team)[1]["text"] == before + " x x s"
    page.unroute("**/work/**?at=*")
    window.open_place(CALL)


def test_an_answer_that_comes_late_leaves_the_editor_that_was_opened_since(window_of, team):
    """It brought the editor of its own place back, took the focus away, and what was typed on became commands."""
    window = start_self_check(window_of, team)
    page, held = window.page, []
    window.open_place(CALL)
    page.route("**/edit/", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/edit/"):
        page.get_by_label("date", exact=False).first.fill("2026-05-01")
        window.open_place("task t1")
    page.locator("#user-message").press("Control+End")
    page.keyboard.type(" One")
    with page.expect_response("**/edit/"):
        held[0].continue_()
    expect(window.chat).to_contain_text("2026-05-01")
    expect(page.locator("#user-message")).to_be_focused()
    # Escape, the key e and Undo are of the place that is open, too, not of the one that was edited before.
    expect(window.chat.locator("[aria-current]")).to_have_id("at-tasks-t1-user_5f_message")
    assert {*page.locator("#toolbar [name=at]").evaluate_all("all => all.map(one => one.value)")} == {"/tasks/t1"}
    with window.saving():
        page.keyboard.type(" by one")
    task = draft_of(team)["tasks"][0]
    assert task["user_message"].endswith(" One by one")
    assert task["steps"][0]["arguments"]["date"] == "2026-05-01"


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (1280, 560), (320, 640)])
def test_the_page_scrolls_no_further_than_what_it_holds_and_the_menu_opens_inside_it(window_of, team, width, height):
    document = broken(make_document(tasks=40))
    document["tasks"][38]["policy"] = "clarify"
    window = start_self_check(window_of, team, document, width=width, height=height)
    page = window.page
    panes = width > 1000 and height > 700
    for place in ("task t1", CALL, ANSWER):
        window.open_place(place)
        if panes:
            assert page.evaluate("document.documentElement.scrollHeight") <= height
    if width < 700:
        page.locator("#toolbar [popovertarget=bar-rest]").click()
    more = page.locator("#toolbar summary", has_text="More")
    if width > 700:
        more.click()
    for wider in (0, 60, 120):  # the bar breaks elsewhere
        page.set_viewport_size({"width": width + wider, "height": height})
        for name in ("Skip for now", "Release", "Reset to the revision under review"):
            expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=0.98)
    page.set_viewport_size({"width": width, "height": height})
    page.keyboard.press("Escape")
    # The place open in the editor is visible in the dialogue.
    current = window.chat.locator("[aria-current]")
    page.keyboard.press("f")
    window.inspector.get_by_role("link", name=re.compile("task 39, policy")).click()
    expect(page.locator("#i-head")).to_contain_text("Task 39")
    expect(page.locator("#i-head")).to_be_in_viewport()
    if panes:
        expect(current).to_be_in_viewport()
        assert page.evaluate("scrollY") == 0
    page.goto(page.url.partition("?")[0] + "?at=/tasks/t38")
    expect(current).to_be_in_viewport()


def test_a_double_click_deletes_one_thing(window_of, team):
    window = start_self_check(window_of, team, coast())
    page = window.page
    window.open_place(CALL)
    with window.saving():
        page.get_by_role("button", name="Delete this step").dblclick()
    expect(window.chat.locator(".turn.call")).to_have_count(3)
    expect(page.locator("#edit-note")).to_have_text("")


def test_a_button_pressed_while_an_answer_comes_is_not_lost(window_of, team):
    """The answer put another button in its place."""
    window = start_self_check(window_of, team, coast())
    page, calls = window.page, window.chat.locator(".turn.call")
    window.open_place(CALL)
    page.route("**/edit/", lambda route: (page.mouse.down(click_count=2), route.continue_()), times=1)
    with window.saving():
        page.get_by_role("button", name="Move this step down").click()
    expect(calls.nth(1)).to_have_id(re.compile("-s0$"))
    with window.saving():
        page.mouse.up(click_count=2)
    expect(calls.nth(2)).to_have_id(re.compile("-s0$"))
    assert [step["id"] for step in steps_of(team)] == ["s1", "s2", "s0", "s3", "s4"]


def test_the_graph_takes_keys_at_once_and_undo_leaves_the_step_the_focus(window_of, team):
    window = start_self_check(window_of, team, coast())
    page, press = window.page, window.page.keyboard.press
    window.open_place("s3 of task t1")
    press("g")
    expect(page.locator("#node-s3")).to_be_focused()
    press("d")
    press("ArrowUp")
    with window.saving():
        press("Enter")
    assert edges_of(team)["s3"] == "s2"
    expect(page.locator("#node-s3")).to_be_focused()
    for key, edge in (("u", ""), ("Shift+U", "s2"), ("ControlOrMeta+z", "")):
        with window.saving():
            press(key)
        assert edges_of(team)["s3"] == edge
        expect(page.locator("#node-s3")).to_be_focused()


def test_a_session_that_ended_is_said_and_work_goes_on_after_signing_in_again(window_of, team, page_problems):
    page_problems.allow("status of 403")
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place(ANSWER)
    Session.objects.all().delete()
    page.locator("#answer-text").fill("Kept.")
    window.expect_state("signed-out")
    expect(page.locator("[data-save-text]")).to_contain_text("Signed out – 1 change kept in this browser")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    window.expect_state("signed-out")
    # Signing in gives a new token, too: that of the open page is worth nothing any more.
    site = page.url.partition("/work/")[0]
    token = {"name": "csrftoken", "value": "n" * 32, "url": site}
    page.context.add_cookies([session_cookie(team.annotator, site), token])
    with window.saving():
        page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_hidden()
    assert steps_of(team)[1]["text"] == "Kept."
    page.locator("#toolbar").get_by_role("button", name="Approve with fix…").click()
    page.wait_for_url("**/submit/**")
    Session.objects.all().delete()
    page.locator("#reason").fill("Shorter.")
    expect(page.locator("#toasts")).to_contain_text("You are signed out")
    page.context.add_cookies([session_cookie(team.annotator, site), token | {"value": "m" * 32}])
    page.get_by_role("button", name="Submit and close").click()
    window.leave_blank()
    window.expect_home()
    assert Review.objects.get().reason == "Shorter."


def test_a_form_that_is_sent_after_the_session_ended_keeps_its_words_and_a_double_click_sends_once(window_of, team):
    """The way over the sign-in page gave an empty form back; two clicks made two tokens, and one was never shown."""
    page = window_of(team.administrator).page
    page.goto(f"/p/{team.project.slug}/guideline/edit/")
    page.get_by_label("Text (Markdown)").fill("# An hour’s work")
    site = page.url.partition("/p/")[0]
    Session.objects.all().delete()
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("#toasts")).to_contain_text("You are signed out, so nothing was sent")
    expect(page.get_by_label("Text (Markdown)")).to_have_value("# An hour’s work")
    page.context.add_cookies([session_cookie(team.administrator, site)])
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/guideline/")
    assert Guideline.objects.get().text == "# An hour’s work"
    page.goto("/tokens/")
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="Create token").dblclick()
    expect(page.locator("#token-secret")).to_be_visible()
    assert team.administrator.api_tokens.count() == 1


def test_a_form_whose_server_does_not_answer_says_so_and_can_be_sent_again(window_of, team):
    """The user waited for ever, and a second click did nothing."""
    page = window_of(team.administrator).page
    page.clock.install()
    page.goto(f"/p/{team.project.slug}/guideline/edit/")
    page.get_by_label("Text (Markdown)").fill("# An hour’s work")
    held = []
    page.route("**/signed-in/", lambda route: held.append(route))
    with page.expect_request("**/signed-in/"):
        page.get_by_role("button", name="Publish").click()
    page.clock.run_for(10_000)
    expect(page.locator("#toasts")).to_contain_text("The server isn’t responding, so nothing was sent. Try again.")
    expect(page.get_by_label("Text (Markdown)")).to_have_value("# An hour’s work")
    page.clock.run_for(1)
    page.unroute("**/signed-in/")
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/guideline/")
    assert Guideline.objects.get().text == "# An hour’s work"


def test_a_page_that_somebody_else_left_open_sends_nothing_in_their_name(window_of, team):
    """The person who signed in in another tab became the author of what had been typed in this one."""
    item = make_dialogue(team.project, external_id="one")
    page = window_of(team.senior).page
    address = f"/p/{team.project.slug}/dialogues/{item.public_id}/"
    page.goto(address)
    page.locator("#comment-text").fill("Sam’s comment")
    other = page.context.new_page()
    site = page.url.partition("/p/")[0]
    token = {"name": "csrftoken", "value": "n" * 32, "url": site}
    page.context.add_cookies([session_cookie(team.administrator, site), token])
    other.goto(address)
    page.get_by_role("button", name="Add comment").click()
    expect(page.locator("#toasts")).to_contain_text("Somebody else has signed in")
    expect(page.locator("#comment-text")).to_have_value("Sam’s comment")
    page.locator("header").get_by_text(team.senior.display_name).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("#comment-text")).to_have_value("Sam’s comment")
    assert not Comment.objects.exists()
    page.context.add_cookies([session_cookie(team.senior, site), token])
    other.reload()
    page.get_by_role("button", name="Add comment").click()
    expect(page.locator(".comment-thread")).to_have_count(1)
    assert Comment.objects.get().author == team.senior


def test_n_goes_on_with_what_one_holds_and_escape_leaves_the_verdict(window_of, team, page_problems):
    page_problems.allow("ERR_INTERNET_DISCONNECTED|Failed to fetch")
    make_item(team, "self_check_multi")
    begin(team.project, [make_dialogue(team.project, external_id="one")])
    window = open_workspace(window_of, team, stage="self_check_single")
    page = window.page
    workspace = page.url
    page.goto("/")
    page.keyboard.press("?")
    listed = page.locator("#shortcuts")
    expect(listed.get_by_text("Continue")).to_be_visible()
    expect(listed.get_by_text("Notices", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    page.keyboard.press("n")
    page.wait_for_url(workspace)
    assert Claim.objects.filter(person=team.annotator, state="live").count() == 1
    # A place that cannot be loaded is nothing that was to be changed.
    page.context.set_offline(True)
    window.chat.get_by_role("link", name=f"Edit {ANSWER}", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("This couldn’t be loaded")
    expect(page.locator("#toasts")).not_to_contain_text("Nothing was changed")
    page.context.set_offline(False)
    expect(page.locator("#toasts")).to_have_text("")
    expect(page.locator("#live")).to_have_text("The server can be reached again.")
    page.keyboard.press("x")
    page.wait_for_url("**/submit/**")
    # Escape leaves the reason first, so that keys work again.
    page.locator("#reason").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.get_by_role("radio", name="Approve", exact=True)).to_be_checked()
    expect(page.locator("#reason")).to_have_value("")
    page.keyboard.press("Escape")
    page.wait_for_url(f"{workspace}?at=*")


def test_an_argument_whose_json_is_not_valid_holds_up_only_itself(window_of, team):
    tool, document = deepcopy(WEATHER_TOOLS[0]), make_document()
    tool["function"]["parameters"]["properties"]["extra"] = {"type": "object"}
    document["tasks"][0]["steps"][0]["arguments"]["extra"] = {"a": 1}
    toolset = make_toolset(team.project, [tool])
    begin(team.project, [make_dialogue(team.project, document, external_id="one", toolset=toolset)])
    window = open_workspace(window_of, team)
    page = window.page
    window.open_place(CALL)
    window.fill_code("#f-arguments", '{"a": ')
    window.expect_state("unfinished")
    city = page.locator("#f-arguments").get_by_label("city")
    with page.expect_response("**/edit/"):
        city.fill("Bruges")
    window.expect_state("unfinished")
    assert steps_of(team)[0]["arguments"] == {"city": "Bruges", "extra": {"a": 1}}
    # Another tab of the editor opens; only the review is not sent.
    page.locator("#toolbar").get_by_role("button", name="Approve with fix…").click()
    page.wait_for_url("**/submit/**")
    page.locator("#reason").fill("In Bruges.")
    page.get_by_role("button", name="Submit and close").click()
    page.locator("#toasts").get_by_role("link", name="Go to change").click()
    expect(page.locator("#f-arguments .cm-content")).to_be_focused()
    expect(city).to_have_value("Bruges")
    with window.saving():
        window.fill_code("#f-arguments", '{"a": 2}')
    assert steps_of(team)[0]["arguments"] == {"city": "Bruges", "extra": {"a": 2}}
