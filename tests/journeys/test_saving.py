"""Nothing is lost, nothing overwritten: reloads, lost connections, second windows, claims that end, newer versions."""

import json
import re
from copy import deepcopy
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotator.models import Dialogue, Draft
from annotator.services.dialogues.drafts import edit_draft
from annotator.services.dialogues.revisions import lock_dialogue, revise
from reviews.models import Claim, Comment, Review, ReviewDraft
from reviews.services.queue.claims import claim_next
from tests.factories import WEATHER_TOOLS, begin, current, make_dialogue, make_document, make_toolset
from tests.journeys.workspaces import ANSWER, CALL, draft_of, open_workspace, start_self_check, steps_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_what_is_typed_survives_a_reload_and_can_be_undone(window_of, team):
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place("task t1")
    with window.saving():
        page.get_by_label("User’s message").fill("How is the weather in Ghent, please?")
    expect(window.chat).to_contain_text("in Ghent, please?")
    with window.saving():
        page.get_by_label("Chat", exact=True).check()
    expect(window.chat.locator(".task-head")).to_contain_text("Chat")
    expect(page.locator("[data-save-text]")).to_have_text(re.compile(r"^Saved ([01]\d|2[0-3]):\d\d$"))
    page.reload()
    expect(window.chat).to_contain_text("in Ghent, please?")
    page.keyboard.press("u")
    expect(window.chat.locator(".task-head")).not_to_contain_text("Chat")
    page.keyboard.press("u")
    expect(window.chat).not_to_contain_text("in Ghent, please?")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    page.keyboard.press("Shift+U")
    expect(window.chat).to_contain_text("in Ghent, please?")
    expect(page.get_by_label("User’s message")).to_have_value("How is the weather in Ghent, please?")


def test_when_the_draft_was_saved_is_said_in_the_readers_zone_also_after_a_reload(window_of, team):
    window = start_self_check(window_of, team, zone="Asia/Kathmandu")
    page = window.page
    # A draft that nobody has touched says so, also after something that was not saved.
    expect(page.locator("[data-save-text]")).to_have_text("No changes yet")
    window.open_place(CALL)
    page.locator("#f-observation .cm-content").click()
    page.keyboard.type("{")
    window.expect_state("unfinished")
    page.locator("#f-observation").get_by_role("button", name="Discard change").click()
    window.expect_state("saved")
    expect(page.locator("[data-save-text]")).to_have_text("No changes yet")
    draft = Draft.objects.get(author=team.annotator)
    edit = {"op": "set", "anchor": "/tasks/t1/user_message", "value": "And in Bruges?"}
    saved = edit_draft(actor=team.annotator, draft=draft, operation=edit, seen=draft.version).draft.updated_at
    local = saved.astimezone(ZoneInfo("Asia/Kathmandu"))
    page.clock.set_fixed_time(saved)
    page.reload()
    expect(page.locator("[data-save-text]")).to_have_text(f"Saved {local:%H:%M}")
    page.clock.set_fixed_time(saved + timedelta(days=1))
    page.reload()
    expect(page.locator("[data-save-text]")).to_contain_text(f"Saved {local:%b} {local.day}, {local.year}")


def test_half_typed_json_stays_in_the_browser_and_never_becomes_a_text(window_of, team):
    window = start_self_check(window_of, team)
    page = window.page
    stored = current(Dialogue.objects.get())["tasks"][0]["steps"][0]["observation"]
    assert isinstance(stored, dict)
    window.open_place(CALL)
    editor = page.locator("#f-observation .cm-content")
    editor.click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type(",")
    window.expect_state("unfinished")
    expect(page.locator("[data-save-text]")).to_have_text("Not saved – invalid JSON")
    window.open_place(ANSWER)
    window.expect_state("unfinished")
    page.reload()
    window.expect_state("unfinished")
    page.get_by_role("link", name="Go to change").click()
    expect(page.locator("#f-observation")).to_contain_text("Not saved: invalid JSON.")
    expect(editor).to_contain_text("},")
    editor.click()
    page.keyboard.press("ControlOrMeta+End")
    with window.saving():
        page.keyboard.press("Backspace")
    assert steps_of(team)[0]["observation"] == stored
    page.keyboard.type("]")
    window.expect_state("unfinished")
    page.locator("#f-observation").get_by_role("button", name="Discard change").click()
    window.expect_state("saved")
    expect(editor).not_to_contain_text("]")
    assert steps_of(team)[0]["observation"] == stored


def test_an_observation_that_is_a_text_in_quotation_marks_is_told_the_way_out(window_of, team, page_problems):
    """“Invalid JSON” stood beside it, which it is, and *Text* was not named."""
    page_problems.allow("status of 422")
    window = start_self_check(window_of, team)
    window.open_place(CALL)
    with window.saving(status=422):
        window.fill_code("#f-observation", '"just text"')
    expect(window.page.locator("#edit-note")).to_contain_text("This JSON is just text. Choose Text")
    expect(window.page.locator("#f-observation")).not_to_contain_text("invalid JSON")
    with window.saving():
        window.page.get_by_label("Observation type").select_option("text")
    with window.saving():
        window.page.locator("textarea#observation").fill("just text")
    assert steps_of(team)[0]["observation"] == "just text"


def test_what_was_refused_can_be_found_again_and_is_forgotten_for_what_is_typed_after_it(
    window_of, team, page_problems
):
    page_problems.allow("status of 422")
    window = start_self_check(window_of, team)
    page = window.page
    drop = page.locator(".save-state").get_by_role("button", name="Discard change")
    window.open_place(CALL)
    with window.saving(status=422):
        window.fill_code("#f-observation", '{"a": 1, "a": 2}')
    window.expect_state("refused")
    window.open_place(ANSWER)
    note = page.locator("#edit-note")
    expect(note).to_contain_text("Task 1, call s0 get_weather, observation: At /a: The key “a” appears twice")
    page.get_by_role("link", name="Go to change").click()
    expect(page.locator("#i-head")).to_contain_text("s0")
    expect(page.locator("#f-observation .cm-content")).to_contain_text('"a": 2')
    window.expect_state("refused")
    window.fill_code("#f-observation", '{"a": 1, ')
    window.expect_state("unfinished")
    expect(note).to_have_text("")
    drop.click()
    window.expect_state("saved")
    with window.saving(status=422):
        window.fill_code("#f-observation", '{"a": 1, "a": 2}')
    window.open_place(ANSWER)
    drop.click()
    window.expect_state("saved")
    expect(note).to_have_text("")
    expect(drop).to_be_hidden()


def test_numbers_are_as_they_were_when_another_place_is_edited(window_of, team):
    """The window shows 40.0, -0.0 and an integer of 21 digits; no script and no form makes other numbers of them."""
    numbers = {"degrees": 40.0, "change": -0.0, "station": 123456789012345678901, "day": 40.0}
    tool = deepcopy(WEATHER_TOOLS[0])
    tool["function"]["parameters"]["properties"] |= {
        "degrees": {"type": "number"}, "change": {"type": "number"}, "station": {"type": "integer"},
        "day": {"type": "integer"},
    }  # fmt: skip
    document = make_document()
    call = document["tasks"][0]["steps"][0]
    call["arguments"] |= numbers
    call["inferable"] = {f"/{name}": "Given by the weather service." for name in numbers}
    call["observation"] |= {"at": dict(numbers)}
    toolset = make_toolset(team.project, [tool])
    begin(team.project, [make_dialogue(team.project, document, external_id="one", toolset=toolset)])
    window = open_workspace(window_of, team)
    page = window.page
    window.open_place(CALL)
    expect(page.get_by_label("station", exact=False).first).to_have_value("123456789012345678901")
    expect(page.locator("#f-observation")).to_contain_text("-0.0")
    with window.saving():
        page.get_by_label("date", exact=False).first.fill("2026-05-01")
    assert {key: repr(value) for key, value in steps_of(team)[0]["arguments"].items()} == {
        key: repr(value) for key, value in (call["arguments"] | {"date": "2026-05-01"}).items()
    }
    with window.saving():
        page.get_by_label("date", exact=False).first.fill("")
    window.open_place("task t1")
    with window.saving():
        page.get_by_label("User’s message").fill("How is the weather in Ghent now?")
    window.submit("Approve with fix", reason="Said as one says it.")
    stored = current(Dialogue.objects.get())["tasks"][0]
    assert stored["user_message"] == "How is the weather in Ghent now?"
    assert repr(stored["steps"][0]["arguments"]) == repr(dict(sorted(call["arguments"].items())))
    assert repr(stored["steps"][0]["observation"]["at"]) == repr(dict(sorted(numbers.items())))


def test_line_ends_are_as_they_were_when_another_place_is_edited(window_of, team):
    """A browser drops the first line end of a text field, and a field of one line shows no lone CR."""
    document = make_document()
    call = document["tasks"][0]["steps"][0]
    call["arguments"]["city"] = "\nGhent\n\nBelgium\n"
    call["arguments"]["date"] = "2026\r05"
    document["tasks"][0]["user_message"] = "\nIs it sunny?"
    document["context"] = [{"role": "user", "content": "\nHello"}]
    tool = deepcopy(WEATHER_TOOLS[0])
    tool["function"]["parameters"]["properties"]["days"] = {"type": "integer"}
    toolset = make_toolset(team.project, [tool])
    begin(team.project, [make_dialogue(team.project, document, external_id="one", toolset=toolset)])
    window = open_workspace(window_of, team)
    window.open_place(CALL)
    with window.saving():
        window.page.get_by_label("days", exact=False).first.fill("2")
    assert steps_of(team)[0]["arguments"] == call["arguments"] | {"days": 2}
    for place, field in (("/tasks/t1", "#user-message"), ("/", "#context-0")):
        window.page.goto(f"{window.page.url.partition('?')[0]}?at={place}")
        window.page.locator(field).press("Control+End")
        with window.saving():
            window.page.keyboard.type(" Yes")
    assert draft_of(team)["tasks"][0]["user_message"] == "\nIs it sunny? Yes"
    assert draft_of(team)["context"][0]["content"] == "\nHello Yes"


def test_words_that_were_not_sent_survive_selections_panels_and_reloads(window_of, team):
    document = make_document()
    document["tasks"][0]["steps"].insert(1, deepcopy(document["tasks"][0]["steps"][0]) | {"id": "s2"})
    window = start_self_check(window_of, team, document)
    page = window.page
    window.open_place(ANSWER)
    window.open_panel("Comments")
    page.get_by_label("Your comment").fill("Is this the right tone?")
    window.open_panel("Findings")
    waiver = page.get_by_text("Why doesn’t it matter here?").first
    page.get_by_text("Waive “").first.click()
    waiver.locator("input").fill("Both are wanted")
    window.open_panel("Edit")
    window.open_panel("Findings")
    expect(waiver.locator("input")).to_have_value("Both are wanted")
    page.reload()
    expect(waiver.locator("input")).to_be_visible()
    expect(waiver.locator("input")).to_have_value("Both are wanted")
    window.open_panel("Comments")
    expect(page.get_by_label("Your comment")).to_have_value("Is this the right tone?")
    page.get_by_role("button", name="Add comment").click()
    expect(window.inspector.locator(".comment-thread")).to_contain_text("Is this the right tone?")
    expect(page.get_by_label("Your comment")).to_have_value("")
    page.reload()
    expect(page.get_by_label("Your comment")).to_have_value("")


def test_a_checklist_that_could_not_be_kept_comes_back_after_a_reload_and_is_kept_then(window_of, team, page_problems):
    page_problems.allow("ERR_FAILED|Failed to fetch")
    window = start_self_check(window_of, team)
    page = window.page
    page.goto(f"{page.url}submit/?verdict=reject")
    page.route("**/form/", lambda route: route.abort())
    page.locator("#reason").fill("It cannot be saved.")
    page.locator(".check-item").first.get_by_label("No", exact=True).check()
    page.locator(".check-note input").first.fill("Not what was asked.")
    page.reload()
    expect(page.locator("#reason")).to_have_value("It cannot be saved.")
    expect(page.locator(".check-item").first.get_by_label("No", exact=True)).to_be_checked()
    expect(page.locator(".check-note input").first).to_have_value("Not what was asked.")
    page.unroute("**/form/")
    with page.expect_response("**/form/") as kept:
        page.reload()
    assert kept.value.status == 204
    assert ReviewDraft.objects.get().form["reason"] == "It cannot be saved."


def test_the_question_of_two_windows_about_a_review_is_answered_by_one_click(window_of, team, page_problems):
    """Leaving the field asked once more: the buttons were replaced under the mouse, or the question stayed."""
    page_problems.allow("status of 409")
    window = start_self_check(window_of, team)
    one = window.page
    two = one.context.new_page()
    for page in (one, two):
        page.goto(f"{one.url.partition('submit/')[0]}submit/?verdict=reject")
    with one.expect_response("**/form/"):
        one.locator("#reason").fill("The city is wrong.")
    with two.expect_response("**/form/"):
        two.locator("#reason").press_sequentially("The date is wrong.")
    question, sent = two.locator("#form-conflict"), []
    expect(question).to_contain_text("The city is wrong.")
    two.on("request", lambda request: sent.append(request) if request.url.endswith("/form/") else None)
    button = question.get_by_role("button", name="Use mine")
    button.hover()
    two.mouse.down()
    two.mouse.up()
    expect(question).to_have_text("")
    assert len(sent) == 1
    assert ReviewDraft.objects.get().form["reason"] == "The date is wrong."
    with two.expect_response("**/form/"):
        two.keyboard.type(" I say.")
    assert ReviewDraft.objects.get().form["reason"] == "The date is wrong. I say."


def test_two_tabs_with_the_form_of_one_review_lose_nothing(window_of, team, page_problems):
    """The older tab sent its whole form: it blanked what the other had kept."""
    page_problems.allow("status of 409")
    window = start_self_check(window_of, team)
    one = window.page
    address = f"{one.url}submit/?verdict=reject"
    two = one.context.new_page()
    for page in (one, two):
        page.goto(address)

    def answered(page, text=""):
        """The answer to a form, with this word in it: what was typed before may be sent once more."""
        return page.expect_response(lambda one: "/form/" in one.url and text in (one.request.post_data or ""))

    def no(page, number):
        return page.locator(".check-item").nth(number).get_by_label("No", exact=True)

    def note(page, number):
        return page.locator(".check-note input").nth(number)

    with answered(one):
        one.locator("#reason").fill("The city is wrong.")
    with answered(one):
        no(one, 0).check()
    # It shows then what the other has kept; that the draft moved, too, its form as it is now would hide.
    draft = Draft.objects.get(author=team.annotator)
    edit = {"op": "set", "anchor": "/tasks/t1/user_message", "value": "And in Bruges?"}
    edit_draft(actor=team.annotator, draft=draft, operation=edit, seen=draft.version)
    with answered(two):
        no(two, 1).check()
    expect(two.locator("#toasts")).to_contain_text("This form and the draft were also changed in another window")
    expect(two.locator("#verdict")).to_contain_text("And in Bruges?")
    expect(two.locator("#reason")).to_have_value("The city is wrong.")
    expect(no(two, 0)).to_be_checked()
    expect(no(two, 1)).to_be_checked()
    with answered(two):
        note(two, 1).fill("It rained.")
    # At the same place they are asked.
    with answered(two, "date"):
        two.locator("#reason").fill("The date is wrong.")
    with answered(one, "fear") as refused:
        one.locator("#reason").fill("The city is wrong, I fear.")
    assert refused.value.status == 409
    question = one.locator("#form-conflict")
    expect(one.locator("#reason")).to_be_focused()
    expect(one.locator("#toasts")).to_contain_text("Choose below which version to keep")
    expect(question).to_contain_text("The date is wrong.")
    expect(question).to_contain_text("The city is wrong, I fear.")
    assert ReviewDraft.objects.get().form["reason"] == "The date is wrong."
    one.reload()
    expect(one.locator("#reason")).to_have_value("The city is wrong, I fear.")
    expect(question).to_contain_text("The date is wrong.")
    with answered(one):
        question.get_by_role("button", name="Use mine").click()
    expect(question).to_have_text("")
    expect(note(one, 1)).to_have_value("It rained.")
    assert ReviewDraft.objects.get().form["reason"] == "The city is wrong, I fear."
    with answered(two):
        two.locator("#reason").fill("Forget it.")
    two.locator("#form-conflict").get_by_role("link", name="Keep the saved version").click()
    expect(two.locator("#reason")).to_have_value("The city is wrong, I fear.")
    expect(two.locator("#form-conflict")).to_have_text("")
    with answered(one):
        note(one, 0).fill("Not what was asked.")
    # Enter in a field hands nothing in: a review cannot be changed any more.
    with answered(one):
        note(one, 0).press("Enter")
    expect(note(one, 0)).to_have_value("Not what was asked.")
    assert not Review.objects.exists()
    one.get_by_role("button", name="Submit and close").click()
    window.expect_home()
    review = Review.objects.get()
    assert review.reason == "The city is wrong, I fear."
    assert review.checklist_notes == {"dialogue": {"variety": "Not what was asked."}, "t1": {"relevance": "It rained."}}


def test_no_review_is_sent_while_the_editor_still_holds_edits_of_its_draft(window_of, team, page_problems):
    page_problems.allow("503")
    window = start_self_check(window_of, team)
    page = window.page
    page.on("dialog", lambda dialog: dialog.accept())
    page.route("**/edit/", lambda route: route.fulfill(status=503, body="<!doctype html>"))
    window.open_place(ANSWER)
    page.locator("#answer-text").fill("It is sunny.")
    window.expect_state("offline")
    page.goto(f"{page.url.partition('?')[0]}submit/?verdict=reject")
    page.locator("#reason").fill("It does not fit.")
    page.get_by_role("button", name="Submit and close").click()
    refused = "Some changes to this dialogue aren’t saved yet, so nothing was sent."
    expect(page.locator("#toasts")).to_contain_text(refused)
    page.unroute("**/edit/")
    page.get_by_role("link", name="Back to the draft").click()
    expect(window.chat).to_contain_text("It is sunny.")
    window.expect_state("saved")
    assert steps_of(team)[1]["text"] == "It is sunny."
    window.submit("Reject")
    assert Review.objects.get().reason == "It does not fit."


def test_a_form_that_was_submitted_saves_itself_no_more(window_of, team):
    """A save that waited for a pause in typing came after the review, and was refused."""
    window = start_self_check(window_of, team)
    page, saves = window.page, []
    page.goto(f"{page.url.partition('?')[0]}submit/?verdict=reject")
    page.on("request", lambda request: saves.append(request.url) if request.url.endswith("/form/") else None)
    page.get_by_role("button", name="Submit and close").evaluate(
        """button => {
            const {form} = button;
            form.elements.reason.value = "It does not fit.";
            form.requestSubmit(button);
            form.dispatchEvent(new Event("change", {bubbles: true}));
        }"""
    )
    window.expect_home()
    assert saves == []
    assert Review.objects.get().reason == "It does not fit."


def test_a_lost_connection_keeps_the_edits_and_sends_them_later(window_of, team):
    window = start_self_check(window_of, team)
    window.open_place(ANSWER)
    window.page.context.set_offline(True)
    window.page.locator("#answer-text").fill("It is sunny.")
    window.expect_state("offline")
    window.page.get_by_label("Own knowledge").check()
    expect(window.page.locator("[data-save-text]")).to_contain_text("2 changes kept in this browser")
    window.page.context.set_offline(False)
    window.expect_state("saved")
    assert steps_of(team)[1] | {"text": "It is sunny.", "answer_type": "chat"} == steps_of(team)[1]


def test_a_place_that_was_asked_for_before_an_edit_was_stored_shows_the_edit(window_of, team):
    """After typing and opening another place at once, the dialogue showed the text from before."""
    window = start_self_check(window_of, team)
    page, held = window.page, []
    window.open_place(ANSWER)
    window.open_place("task t1")
    page.route("**/work/*/?at=*", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/work/*/?at=*"):
        window.chat.get_by_role("link", name=f"Edit {ANSWER}", exact=True).evaluate("link => link.click()")
    message = page.get_by_label("User’s message")
    text = f"{message.input_value()} And tomorrow?"
    [route] = held
    answer = route.fetch()  # made before the edit is stored
    with window.saving():
        # Not by hand: that would call off the other place.
        message.evaluate(
            """(field, text) => {
                field.value = text;
                field.form.requestSubmit();
            }""",
            text,
        )
    route.fulfill(response=answer)
    expect(page.locator("#answer-text")).to_be_visible()
    expect(window.chat).to_contain_text("And tomorrow?")
    window.expect_state("saved")
    window.open_place("task t1")
    expect(message).to_have_value(text)


def test_a_box_ticked_while_the_one_before_is_on_its_way_stays_ticked(window_of, team):
    """The answer to the first tick took the second away, and the third saved it so."""
    document = make_document()
    steps = document["tasks"][0]["steps"]
    steps[1:1] = [steps[0] | {"id": "s2"}, steps[0] | {"id": "s3"}]
    steps[-1]["depends_on"] = []
    window = start_self_check(window_of, team, document)
    window.open_place(ANSWER)
    page, held = window.page, []
    boxes = page.locator("#f-depends input[name=dep]")
    page.route("**/edit/", lambda route: held.append(route) if len(held) < 2 else route.continue_())
    with page.expect_request("**/edit/"):
        boxes.nth(0).check()
    boxes.nth(1).check()
    with page.expect_request("**/edit/"):
        held[0].continue_()  # the next one sets out when this one has been answered and shown
    boxes.nth(2).check()
    held[1].continue_()
    window.expect_state("saved")
    expect(page.locator("#f-depends input[name=dep]:checked")).to_have_count(3)
    assert {one["id"] for one in steps_of(team)[-1]["depends_on"]} == {"s0", "s2", "s3"}


def test_two_windows_keep_what_they_changed_in_different_places(window_of, team):
    one = start_self_check(window_of, team)
    two = open_workspace(window_of, team)
    one.open_place("task t1")
    two.open_place(ANSWER)
    with one.saving():
        one.page.get_by_label("User’s message").fill("Weather in Ghent?")
    with two.saving():
        two.page.locator("#answer-text").fill("Sunny in Ghent.")
    expect(two.chat).to_contain_text("Weather in Ghent?")
    assert draft_of(team)["tasks"][0]["user_message"] == "Weather in Ghent?"
    assert steps_of(team)[1]["text"] == "Sunny in Ghent."


@pytest.mark.parametrize(
    ("choice", "kept"),
    [("Use mine", "From window two, next."), ("Keep the saved version", "From window one.")],
)
def test_two_windows_at_one_place_are_asked_which_version_stays(window_of, team, page_problems, choice, kept):
    page_problems.allow("status of 409")
    one = start_self_check(window_of, team)
    two = open_workspace(window_of, team)
    two.page.on("dialog", lambda dialog: dialog.accept())
    one.open_place(ANSWER)
    two.open_place(ANSWER)
    with one.saving():
        one.page.locator("#answer-text").fill("From window one.")
    with two.saving(status=409):
        two.page.locator("#answer-text").fill("From window two")
    prompt = two.page.locator("[data-merge]")
    expect(prompt).to_contain_text("From window one.")
    expect(prompt).to_contain_text("From window two")
    # Without the focus, the next keys would be commands: `x` opens Reject.
    two.page.keyboard.type(", next.")
    expect(two.page.locator("#answer-text")).to_have_value("From window two, next.")
    two.expect_state("conflict")
    assert steps_of(team)[1]["text"] == "From window one."
    two.inspector.get_by_role("button", name="Delete").click()
    expect(two.page.locator("#toasts")).to_contain_text("First choose which version to keep")
    expect(prompt).to_be_focused()
    prompt.get_by_role("button", name=choice).click()
    if choice == "Keep the saved version":
        # Further typing is also shown before it is sent.
        expect(prompt).to_contain_text("From window two, next.")
        prompt.get_by_role("button", name=choice).click()
    expect(prompt).not_to_contain_text("window")
    two.expect_state("saved")
    expect(two.page.locator("#answer-text")).to_have_value(kept)
    expect(two.chat).to_contain_text(kept)
    assert steps_of(team)[1]["text"] == kept


@pytest.mark.parametrize("elsewhere", [True, False])
def test_half_typed_json_whose_step_is_deleted_is_shown_until_it_is_dropped_or_its_step_comes_back(
    window_of, team, elsewhere
):
    """The indicator said “Invalid JSON”, led to another place, and the words were on no page."""
    one = start_self_check(window_of, team)
    page = one.page
    one.open_place(CALL)
    page.locator("#f-observation .cm-content").click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type(", mine")
    one.expect_state("unfinished")
    placeless = page.locator("#placeless")
    if elsewhere:
        two = open_workspace(window_of, team)
        two.open_place(CALL)
        with two.saving():
            two.inspector.get_by_role("button", name="Delete this step").click()
        one.open_place(ANSWER)
    else:
        with page.expect_response("**/edit/"):
            one.inspector.get_by_role("button", name="Delete this step").click()
    typed = placeless.get_by_label("Your text")
    expect(typed).to_have_value(re.compile(", mine"))
    expect(placeless).to_contain_text("its place was deleted")
    page.reload()
    expect(typed).to_have_value(re.compile(", mine"))
    one.expect_state("unfinished")
    page.get_by_role("link", name="Go to change").click()
    expect(placeless).to_be_focused()
    # The indicator of the window goes on saying that something is not saved.
    with page.expect_response("**/undo/"):
        page.keyboard.press("u")
    expect(placeless).to_have_text("")
    one.open_place(CALL)
    expect(page.locator("#f-observation")).to_contain_text("Not saved: invalid JSON.")
    with page.expect_response("**/edit/"):
        one.inspector.get_by_role("button", name="Delete this step").click()
    placeless.get_by_role("button", name="Discard change").click()
    expect(placeless).to_have_text("")
    one.expect_state("saved")


def test_words_for_a_step_that_another_window_deletes_can_be_copied(window_of, team, page_problems):
    page_problems.allow("status of 409|status of 404")  # where the words come from cannot be shown any more
    one = start_self_check(window_of, team)
    two = open_workspace(window_of, team)
    two.page.on("dialog", lambda dialog: dialog.accept())
    one.open_place(CALL)
    two.open_place(CALL)
    with one.saving():
        one.inspector.get_by_role("button", name="Delete").click()
    with two.saving(status=409):
        two.page.get_by_label("city", exact=False).first.fill("Bruges, typed with care")
    prompt = two.page.locator("[data-merge]")
    expect(prompt).to_contain_text("was deleted in the meantime")
    expect(prompt.get_by_label("Your text")).to_have_value(re.compile("Bruges, typed with care"))
    expect(prompt.get_by_role("button", name="Copy")).to_be_visible()
    two.open_place(ANSWER)
    expect(prompt.get_by_label("Your text")).to_be_visible()
    prompt.get_by_role("button", name="Cancel").click()
    two.expect_state("saved")
    two.page.keyboard.press("u")
    expect(two.chat).to_contain_text("get_weather")
    assert steps_of(team)[0]["type"] == "call"


def test_a_field_shows_the_words_that_were_sent_after_a_reload(window_of, team, page_problems):
    """It showed what was stored before them. Typing more saved that, and the words were lost."""
    page_problems.allow("503")
    window = start_self_check(window_of, team)
    window.open_place("task t1")
    page = window.page
    page.goto(f"{page.url.partition('?')[0]}?at=/tasks/t1")
    page.route("**/edit/", lambda route: route.fulfill(status=503, body="<!doctype html>"))
    page.locator("#user-message").fill("Typed while the server was away.")
    window.expect_state("offline")
    page.unroute("**/edit/")
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    window.expect_state("saved")
    expect(page.locator("#user-message")).to_have_value("Typed while the server was away.")
    page.locator("#user-message").press("Control+End")
    with window.saving():
        page.keyboard.type(" More.")
    assert draft_of(team)["tasks"][0]["user_message"] == "Typed while the server was away. More."


def test_an_editor_opened_again_shows_the_words_that_wait_to_be_sent(window_of, team, page_problems):
    """It showed what was stored. Typing in another field of the form sent that too, and overwrote the words."""
    page_problems.allow("503")
    window = start_self_check(window_of, team)
    page = window.page
    page.on("dialog", lambda dialog: dialog.accept())
    city, day = (page.locator(f"#f-arguments [name='arg:/{name}']") for name in ("city", "date"))
    box = page.locator("#f-depends input[name=dep]")
    page.route("**/edit/", lambda route: route.fulfill(status=503, body="<!doctype html>"))
    window.open_place(CALL)
    city.fill("Antwerp")
    window.expect_state("offline")
    window.open_place(ANSWER)
    expect(box).to_be_checked()
    box.uncheck()
    window.open_place(CALL)
    expect(city).to_have_value("Antwerp")
    day.fill("2026-05-04")
    expect(page.locator("[data-save-text]")).to_contain_text("3 changes")
    page.reload()
    window.open_place(ANSWER)
    expect(box).not_to_be_checked()
    window.open_place(CALL)
    expect(city).to_have_value("Antwerp")
    expect(day).to_have_value("2026-05-04")
    page.unroute("**/edit/")
    # Not by "Try again", which is gone when the next attempt begins by itself.
    page.evaluate("dispatchEvent(new Event('online'))")
    window.expect_state("saved")
    expect(city).to_have_value("Antwerp")
    call, answer = steps_of(team)
    assert call["arguments"] == {"city": "Antwerp", "date": "2026-05-04"}
    assert answer["depends_on"] == []


def test_a_field_beside_ones_own_edit_shows_what_another_window_made_of_it(window_of, team):
    """The editor of a place has several fields: what one of them showed before was saved over the newer words."""
    one = start_self_check(window_of, team)
    two = open_workspace(window_of, team)
    for window in (one, two):
        window.open_place(CALL)
    with two.saving():
        two.page.get_by_label("city", exact=False).first.fill("Bruges")
    with one.saving():
        one.fill_code("#f-observation", '{"degrees": 20}')
    with one.saving():
        one.page.get_by_label("date", exact=False).first.fill("2026-05-01")
    assert steps_of(team)[0]["arguments"] == {"city": "Bruges", "date": "2026-05-01"}
    assert steps_of(team)[0]["observation"] == {"degrees": 20}


def test_arguments_as_json_show_the_fields_that_were_just_left(window_of, team):
    """Going from a field straight to the JSON restored the field's earlier value."""
    window = start_self_check(window_of, team)
    window.open_place(CALL)
    window.page.get_by_text("Arguments as JSON", exact=True).first.click()
    before = steps_of(team)[0]["arguments"]
    window.page.locator("#f-arguments").get_by_label("city").fill("Ghent")
    with window.saving():
        window.page.locator("#f-json .cm-content").click()
    expect(window.page.locator("#f-json .cm-content")).to_contain_text('"Ghent"')
    with window.saving():
        window.page.keyboard.press("ControlOrMeta+Home")
        window.page.keyboard.press("ArrowRight")
        window.page.keyboard.type('"note": 1,')
    assert steps_of(team)[0]["arguments"] == before | {"city": "Ghent", "note": 1}


@pytest.mark.parametrize("json_first", [False, True])
def test_fields_and_json_of_one_place_typed_without_a_connection_are_asked_about(
    window_of, team, page_problems, json_first
):
    """Each form holds all arguments, and shows the other's words only when they are saved: one's were lost."""
    page_problems.allow("status of 409")
    page_problems.allow("INTERNET_DISCONNECTED|Failed to fetch")
    window = start_self_check(window_of, team)
    window.open_place(CALL)
    page = window.page
    page.get_by_text("Arguments as JSON", exact=True).first.click()
    before = steps_of(team)[0]["arguments"]
    by_field, by_json = before | {"city": "Ghent"}, before | {"note": 1}

    def fill(as_json: bool) -> None:
        if as_json:
            window.fill_code("#f-json", json.dumps(by_json))
        else:
            page.locator("#f-arguments").get_by_label("city").fill("Ghent")
        expect(page.locator("[data-save-text]")).to_contain_text("kept in this browser")

    page.context.set_offline(True)
    fill(json_first)
    fill(not json_first)
    expect(page.locator("[data-save-text]")).to_contain_text("2 changes kept")
    page.context.set_offline(False)
    window.expect_state("conflict")
    expect(page.locator("[data-merge]")).to_contain_text("another field of this page")
    first, second = (by_json, by_field) if json_first else (by_field, by_json)
    assert steps_of(team)[0]["arguments"] == first
    page.get_by_role("button", name="Use mine").click()
    window.expect_state("saved")
    # The form of arguments changes what it has fields for, and leaves the rest.
    assert steps_of(team)[0]["arguments"] == (first | second if json_first else second)


def test_json_finished_after_another_window_changed_the_place_asks_which_version_stays(window_of, team, page_problems):
    page_problems.allow("status of 409")
    one = start_self_check(window_of, team)
    two = open_workspace(window_of, team)
    for window in (one, two):
        window.open_place(CALL)
    one.fill_code("#f-observation", '{"degrees": 20')
    one.expect_state("unfinished")
    with two.saving():
        two.fill_code("#f-observation", '{"degrees": 30}')
    one.open_place(ANSWER)
    one.open_place(CALL)
    with one.saving(status=409):
        one.fill_code("#f-observation", '{"degrees": 21}')
    one.expect_state("conflict")
    assert steps_of(team)[0]["observation"] == {"degrees": 30}
    one.page.get_by_role("button", name="Use mine").click()
    one.expect_state("saved")
    with one.saving():
        one.fill_code("#f-observation", '{"degrees": 22}')
    assert steps_of(team)[0]["observation"] == {"degrees": 22}


def test_a_claim_somebody_else_has_taken_is_said_and_the_draft_stays(window_of, team, page_problems):
    page_problems.allow("status of 410")
    page_problems.allow("status of 409")
    window = start_self_check(window_of, team)
    window.page.on("dialog", lambda dialog: dialog.accept())
    window.open_place(ANSWER)
    with window.saving():
        window.page.locator("#answer-text").fill("Typed in time.")
    Claim.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    colleague = team.annotators[1]
    assert claim_next(actor=colleague, project=team.project) is not None
    with window.saving(status=410):
        window.page.locator("#answer-text").fill("Typed too late.")
    expect(window.page.locator("main, #toasts").filter(has_text="a colleague has claimed this").first).to_be_visible()
    window.expect_state("lost")
    expect(window.page.locator("#answer-text")).to_have_value("Typed too late.")
    window.page.reload()
    expect(window.page.get_by_role("main")).to_contain_text("a colleague has claimed this item. Your draft is kept.")
    assert steps_of(team)[1]["text"] == "Typed in time."


def test_a_claim_that_ran_out_goes_on_while_nobody_has_taken_it(window_of, team):
    window = start_self_check(window_of, team)
    Claim.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    window.open_place(ANSWER)
    with window.saving():
        window.page.locator("#answer-text").fill("Still mine.")
    assert steps_of(team)[1]["text"] == "Still mine."


def test_a_newer_version_is_brought_together_with_the_draft(window_of, team, page_problems):
    page_problems.allow("status of 409")
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place(ANSWER)
    with window.saving():
        page.locator("#answer-text").fill("The draft’s answer.")
    window.open_place("task t1")
    with window.saving():
        page.get_by_label("User’s message").fill("The draft’s question?")
    dialogue = Dialogue.objects.get()
    newer = current(dialogue)
    newer["tasks"][0]["steps"][1]["text"] = "The new version’s answer."
    newer["tasks"][0]["user_message"] = "The new version’s question?"
    newer["env_info"] = "2025-06-01"
    revise(
        actor=None, dialogue=lock_dialogue(dialogue.pk), document=newer, seen=dialogue.head, message="A better source"
    )
    page.reload()
    page.get_by_role("link", name="Merge the newest revision").click()
    expect(page.get_by_role("heading", name="Conflicts")).to_be_visible()
    places = page.locator(".ruling")
    expect(places).to_have_count(2)
    places.filter(has_text="answer").get_by_label("Use mine").check()
    places.filter(has_text="question").get_by_label("Use the new revision").check()
    page.get_by_role("button", name="Merge").click()
    expect(page.locator("#toasts")).to_contain_text("Merged")
    merged = draft_of(team)
    assert merged["env_info"] == "2025-06-01"
    assert merged["tasks"][0]["user_message"] == "The new version’s question?"
    assert merged["tasks"][0]["steps"][1]["text"] == "The draft’s answer."


def test_a_comment_begun_on_the_page_of_a_dialogue_outlives_what_else_one_does_there(window_of, team):
    item = make_dialogue(team.project, external_id="one")
    page = window_of(team.senior).page
    page.goto(f"/p/{team.project.slug}/dialogues/{item.public_id}/")
    box, threads = page.locator("#comment-text"), page.locator(".comment-thread")
    box.fill("Is this so?")
    page.get_by_role("button", name="Add comment").dblclick()
    expect(threads).to_have_count(1)
    expect(box).to_have_value("")
    box.fill("Half a thought")
    threads.locator("summary").click()
    threads.get_by_label("Your reply").fill("It is.")
    page.get_by_role("button", name="Resolve").click()
    expect(threads).to_contain_text("Resolved")
    expect(box).to_have_value("Half a thought")
    page.reload()
    expect(box).to_have_value("Half a thought")
    expect(threads.get_by_label("Your reply")).to_have_value("It is.")
    threads.get_by_role("button", name="Reply").click()
    expect(threads.locator(".comment-replies")).to_contain_text("It is.")
    expect(box).to_have_value("Half a thought")
    page.get_by_role("button", name="Add comment").click()
    expect(threads).to_have_count(2)
    expect(box).to_have_value("")
    page.reload()
    expect(box).to_have_value("")
    assert [comment.text for comment in Comment.objects.order_by("pk")] == ["Is this so?", "It is.", "Half a thought"]
