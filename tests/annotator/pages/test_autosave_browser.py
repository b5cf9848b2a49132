"""Drafts save themselves, in a real browser: nothing typed is lost, nothing of others is overwritten silently."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from annotator.services.maintenance import begin_maintenance, end_maintenance
from tests.annotator.pages.draft_site import DRAFT

pytestmark = [pytest.mark.browser, pytest.mark.urls("tests.annotator.pages.draft_site")]


@pytest.fixture
def draft_page(open_page: Callable[..., Page], django_user_model: Any) -> Page:
    DRAFT.reset()
    page = open_page(django_user_model.objects.create_user("amina"))
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto("/draft/")
    return page


def state_is(page: Page, state: str) -> None:
    expect(page.locator("[data-save-state]")).to_have_attribute("data-state", state)


def stored_is(page: Page, name: str, value: str) -> None:
    expect(page.locator(f"#{name}-card .stored")).to_have_text(value)


def waiting(page: Page) -> int:
    """Edits that this browser keeps."""
    return page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('assay.draft.')).length")


def test_typing_is_saved_with_the_version_it_was_made_on(draft_page):
    draft_page.locator("#a").fill("hello")
    stored_is(draft_page, "a", "hello")
    state_is(draft_page, "saved")
    assert DRAFT.posts[-1]["seen"] == "7"
    assert waiting(draft_page) == 0


def test_the_caret_stays_while_answers_come(draft_page):
    draft_page.locator("#a").click()
    draft_page.keyboard.press("End")
    draft_page.keyboard.type(" one")
    stored_is(draft_page, "a", "first one")
    draft_page.keyboard.type(" two")
    stored_is(draft_page, "a", "first one two")


def test_edits_of_several_fields_follow_one_another(draft_page):
    draft_page.locator("#a").fill("A")
    draft_page.locator("#b").fill("B")
    draft_page.get_by_role("button", name="Delete y").click()
    expect(draft_page.locator("#item-y")).to_have_count(0)
    assert [post["seen"] for post in DRAFT.posts] == ["7", "8", "9"]
    assert [post["name"] for post in DRAFT.posts] == ["a", "b", "y"]


def test_what_is_refused_stays_on_the_page_and_others_go_on(draft_page, page_problems):
    page_problems.allow("status of 422")
    draft_page.locator("#number").fill("many")
    expect(draft_page.locator("#number-card .field-error")).to_have_text("This is not a number.")
    state_is(draft_page, "refused")
    draft_page.locator("#a").fill("goes on")
    stored_is(draft_page, "a", "goes on")
    assert draft_page.locator("#number").input_value() == "many"
    draft_page.locator("#number").fill("42")
    stored_is(draft_page, "number", "42")
    state_is(draft_page, "saved")
    assert waiting(draft_page) == 0


def test_offline_edits_are_kept_and_sent_in_order(draft_page):
    draft_page.context.set_offline(True)
    for name, value in (("a", "one"), ("b", "two"), ("a", "three")):
        draft_page.locator(f"#{name}").fill(value)
        draft_page.locator("h1").click()
    state_is(draft_page, "offline")
    expect(draft_page.locator("[data-save-text]")).to_have_text("Offline – 2 changes kept in this browser")
    draft_page.context.set_offline(False)
    stored_is(draft_page, "a", "three")
    stored_is(draft_page, "b", "two")
    state_is(draft_page, "saved")


def test_a_lost_answer_is_no_conflict(draft_page, page_problems):
    page_problems.allow("502")
    DRAFT.behaviour = "loses the answer"
    draft_page.locator("#a").fill("arrived")
    stored_is(draft_page, "a", "arrived")
    state_is(draft_page, "saved")
    assert DRAFT.version == 8
    assert DRAFT.posts[0]["edit"] == DRAFT.posts[1]["edit"]


def test_a_second_tab_gets_a_prompt_not_an_overwrite(draft_page, page_problems):
    page_problems.allow("status of 409")
    DRAFT.other_tab_sets("b", "theirs")
    draft_page.locator("#b").fill("mine")
    expect(draft_page.locator("#merge")).to_contain_text("Yours: mine. Theirs: theirs.")
    expect(draft_page.locator("#b")).to_be_focused()
    state_is(draft_page, "conflict")
    assert DRAFT.values["b"] == "theirs"
    draft_page.locator("#a").fill("typed meanwhile")
    draft_page.get_by_role("button", name="Keep mine").click()
    stored_is(draft_page, "b", "mine")
    stored_is(draft_page, "a", "typed meanwhile")
    state_is(draft_page, "saved")
    expect(draft_page.locator("#merge")).to_be_empty()


def test_ones_own_edit_can_be_dropped_for_theirs(draft_page, page_problems):
    page_problems.allow("status of 409")
    DRAFT.other_tab_sets("b", "theirs")
    draft_page.locator("#b").fill("mine")
    draft_page.get_by_role("button", name="Keep theirs").click()
    expect(draft_page.locator("#b")).to_have_value("theirs")
    assert waiting(draft_page) == 0


def test_what_could_not_be_sent_is_sent_when_the_page_is_opened_again(draft_page, page_problems):
    page_problems.allow("503")
    DRAFT.behaviour = "fails"
    draft_page.locator("#b").fill("survives")
    state_is(draft_page, "offline")
    DRAFT.behaviour = ""
    draft_page.reload()
    stored_is(draft_page, "b", "survives")
    state_is(draft_page, "saved")


def test_edits_wait_for_the_end_of_maintenance(draft_page, page_problems, settings, tmp_path):
    page_problems.allow("503")
    settings.DATA_DIR = tmp_path
    begin_maintenance(actor=None, message="Back at noon.")
    for name, value in (("a", "one"), ("b", "two")):
        draft_page.locator(f"#{name}").fill(value)
        draft_page.locator("h1").click()
    state_is(draft_page, "maintenance")
    expect(draft_page.locator("[data-save-text]")).to_have_text("Maintenance – 2 changes kept in this browser")
    assert DRAFT.posts == []
    end_maintenance(actor=None)
    draft_page.locator("[data-save-retry]").click()
    stored_is(draft_page, "a", "one")
    stored_is(draft_page, "b", "two")
    state_is(draft_page, "saved")


@pytest.mark.parametrize(("behaviour", "state"), [("refuses", "lost"), ("signed out", "signed-out")])
def test_a_lost_claim_or_session_keeps_the_words(draft_page, page_problems, behaviour, state):
    page_problems.allow("status of 403")
    DRAFT.behaviour = behaviour
    draft_page.locator("#a").fill("kept")
    state_is(draft_page, state)
    assert draft_page.locator("#a").input_value() == "kept"
    assert waiting(draft_page) == 1
    DRAFT.behaviour = ""
    draft_page.get_by_role("button", name="Try again").click()
    stored_is(draft_page, "a", "kept")
    state_is(draft_page, "saved")


def test_a_verdict_waits_for_the_last_words(draft_page):
    draft_page.locator("#a").fill("last words")
    with draft_page.expect_response("**/draft/submit/"):
        draft_page.get_by_role("button", name="Submit").click()
    assert [post["op"] for post in DRAFT.posts] == ["set", "submit"]
    assert DRAFT.posts[-1]["a"] == "last words"


def test_a_verdict_is_not_sent_over_unsaved_words(draft_page):
    draft_page.context.set_offline(True)
    draft_page.locator("#a").fill("unsaved")
    draft_page.get_by_role("button", name="Submit").click()
    expect(draft_page.locator("#toasts")).to_contain_text("aren’t saved yet")
    assert DRAFT.posts == []
    draft_page.context.set_offline(False)
    stored_is(draft_page, "a", "unsaved")


def test_going_back_shows_the_draft_as_it_is_now(draft_page):
    draft_page.locator("#a").fill("newer")
    stored_is(draft_page, "a", "newer")
    draft_page.goto("/styleguide/")
    draft_page.go_back()
    expect(draft_page.locator("[data-draft]")).to_have_attribute("data-seen", "8")
    draft_page.locator("#b").fill("and on")
    stored_is(draft_page, "b", "and on")


def test_the_code_editor_saves_like_a_field(draft_page):
    editor = draft_page.locator("#form-json .cm-content")
    editor.click()
    draft_page.keyboard.press("ControlOrMeta+A")
    draft_page.keyboard.type('{"b": 2')
    stored_is(draft_page, "json", '{"b": 2}')
    draft_page.keyboard.type(', "c": 3')
    stored_is(draft_page, "json", '{"b": 2, "c": 3}')
    draft_page.keyboard.press("Tab")
    expect(editor).not_to_be_focused()
    draft_page.locator("label[for=json]").click()
    expect(editor).to_be_focused()


def test_the_claim_is_kept_alive_and_its_loss_is_said(draft_page, page_problems):
    page_problems.allow("status of 403")
    draft_page.mouse.move(100, 100)
    with draft_page.expect_request("**/draft/beat/"):
        pass
    DRAFT.behaviour = "claim lost"
    expect(draft_page.locator("assay-heartbeat")).to_contain_text("Your claim has ended", timeout=15_000)


def test_the_last_seconds_of_work_are_sent_with_a_verdict_and_when_the_page_is_left(draft_page):
    # The clock goes only where it is told to: on a busy machine, seconds of the test itself would count as work.
    draft_page.clock.install(time=0)
    draft_page.clock.pause_at(1000)
    draft_page.reload()
    draft_page.mouse.move(100, 100)
    draft_page.clock.run_for(3000)
    with draft_page.expect_response("**/draft/beat/") as left:
        # As a browser says it: requests of a page that is gone are not shown to a test.
        draft_page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    assert parse_qs(left.value.request.post_data) == {"active_seconds": ["3"], "leaving": ["1"]}
    # Seconds count as sent when the page has the answer, and it has this later answer after that one.
    draft_page.evaluate("fetch('/draft/').then((answer) => answer.text())")
    draft_page.mouse.move(100, 120)
    draft_page.clock.run_for(4000)
    with draft_page.expect_request("**/draft/submit/") as sent:
        draft_page.get_by_role("button", name="Submit").click()
    assert parse_qs(sent.value.post_data)["active_seconds"] == ["4"]


def test_seconds_that_a_busy_server_did_not_take_are_sent_again_at_the_next_look(draft_page, page_problems):
    """They were lost, and the claim went on without a beat for as long as after one that had arrived."""
    page_problems.allow("503")
    DRAFT.behaviour = "busy"
    draft_page.clock.install()
    draft_page.reload()
    for least in (4, 8):
        draft_page.mouse.move(100, 100 + least)
        with draft_page.expect_response("**/draft/beat/") as answered:
            draft_page.clock.run_for(5000)
        assert int(parse_qs(answered.value.request.post_data)["active_seconds"][0]) >= least
