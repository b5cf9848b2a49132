"""Every edit of the workspace in a real browser, and the way to a verdict."""

from copy import deepcopy

import pytest
from playwright.sync_api import expect

from annotator.models import Draft
from annotator.services.projects import publish_guideline
from reviews.models import Claim, Comment, Review
from tests.factories import begin, broken, make_dialogue, make_document
from tests.journeys.workspaces import ANSWER, CALL, draft_of, start_self_check, steps_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_steps_and_tasks_are_added_moved_duplicated_and_deleted(window_of, team):
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place("task t1")
    page.locator("#f-add-call").get_by_label("Tool").select_option("find_trains")
    assert len(steps_of(team)) == 2  # choosing is not adding yet
    with window.saving():
        page.get_by_role("button", name="Add a call").click()
    expect(page.locator("#i-head")).to_be_focused()
    expect(page.locator("#i-head")).to_contain_text("s2")
    assert [step["id"] for step in steps_of(team)] == ["s0", "s2", "s1"]
    with window.saving():
        page.get_by_role("button", name="Move this step up").click()
    expect(page.get_by_role("button", name="Move this step up")).to_be_focused()
    assert [step["id"] for step in steps_of(team)] == ["s2", "s0", "s1"]
    window.open_place(CALL)
    with window.saving():
        page.get_by_role("button", name="Duplicate").click()
    assert [step.get("name") for step in steps_of(team)] == ["find_trains", "get_weather", "get_weather", None]
    with window.saving():
        page.get_by_role("button", name="Delete this step").click()
    # The toast undoes the deletion and nothing newer: it goes with the next edit.
    deleted = page.locator("#toasts .notice", has_text="Deleted")
    expect(deleted).to_be_visible()
    with window.saving():
        page.get_by_role("button", name="Add a task").click()
    expect(deleted).to_have_count(0)
    expect(page.locator("#i-head")).to_have_text("Task 2")
    with window.saving():
        page.get_by_label("User’s message").fill("And tomorrow?")
    with window.saving():
        page.get_by_role("button", name="Add a clarification").click()
    with window.saving():
        page.get_by_label("Question").fill("In which city?")
    with window.saving():
        page.get_by_label("User’s reply").fill("Ghent as well.")
    assert draft_of(team)["tasks"][1]["steps"][0]["user_reply"] == "Ghent as well."
    window.open_place("task t2")
    with window.saving():
        page.get_by_role("button", name="Delete this task").click()
    assert len(draft_of(team)["tasks"]) == 1
    with window.saving():
        deleted.get_by_role("button", name="Undo").click()
    expect(deleted).to_have_count(0)
    with window.saving():
        page.keyboard.press("u")
    assert draft_of(team)["tasks"][1]["steps"][0]["user_reply"] is None
    expect(window.chat.locator(".task")).to_have_count(2)


def test_a_page_that_is_used_for_hours_stays_as_it_was(window_of, team):
    window = start_self_check(window_of, team)
    page = window.page
    browser = page.context.new_cdp_session(page)
    for command in ("Performance.enable", "HeapProfiler.enable"):
        browser.send(command)

    def listeners() -> float:
        browser.send("HeapProfiler.collectGarbage")
        metrics = browser.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "JSEventListeners")

    def open_and_leave() -> None:
        window.open_place(CALL)
        expect(page.locator("#inspector .cm-content").last).to_be_visible()
        window.open_place("task t1")

    open_and_leave()
    before = listeners()
    for _time in range(8):
        open_and_leave()
    # Each of the editors has about ninety.
    assert listeners() < before + 40


def test_a_circle_of_dependencies_is_refused_and_shown(window_of, team, page_problems):
    page_problems.allow("status of 422")
    document = make_document()
    second = deepcopy(document["tasks"][0]["steps"][0]) | {
        "id": "s2",
        "depends_on": [{"id": "s0", "kind": "parameter"}],
    }
    document["tasks"][0]["steps"].insert(1, second)
    window = start_self_check(window_of, team, document)
    window.open_place(CALL)
    with window.saving(status=422):
        window.page.locator("#f-depends input[value=s2]").check()
    expect(window.page.locator("#edit-note")).to_contain_text("s0")
    expect(window.page.locator("#edit-note")).to_contain_text("s2")
    window.expect_state("saved")
    assert steps_of(team)[0]["depends_on"] == []


def test_arguments_are_edited_by_form_and_as_json(window_of, team, page_problems):
    page_problems.allow("status of 422")
    window = start_self_check(window_of, team, broken(make_document()))
    page = window.page
    window.open_place(CALL)
    expect(window.findings.filter(has_text="town")).to_have_count(1)
    with window.saving():
        page.locator("#f-arguments").get_by_label("city").fill("Ghent")
    with window.saving():
        page.locator("#f-arguments").get_by_label("date").fill("2025-05-02")
    assert steps_of(team)[0]["arguments"] == {"town": "Ghent", "city": "Ghent", "date": "2025-05-02"}
    page.get_by_text("Arguments as JSON", exact=True).first.click()
    with window.saving(status=422):
        window.fill_code("#f-json", '{"city": "Ghent",\n "city": "Oslo"}')
    expect(page.locator("#edit-note")).to_contain_text("appears twice")
    expect(page.locator("#f-json .cm-content")).to_contain_text('"Oslo"}')
    with window.saving():
        window.fill_code("#f-json", '{"city": "Ghent"}')
    expect(page.locator("#edit-note")).to_have_text("")
    expect(window.findings).to_have_count(0)
    assert steps_of(team)[0]["arguments"] == {"city": "Ghent"}
    expect(page.locator("#f-arguments").get_by_label("city")).to_have_value("Ghent")
    with window.saving():
        page.get_by_label("Tool", exact=True).select_option("find_trains")
    expect(page.locator("#f-arguments").get_by_label("destination")).to_be_visible()
    with window.saving():
        page.get_by_label("Observation type").select_option("text")
    with window.saving():
        page.locator("#observation").fill("no trains today")
    assert steps_of(team)[0]["observation"] == "no trains today"


def test_the_environment_and_earlier_messages_are_edited(window_of, team):
    document = make_document() | {"context": [{"role": "user", "content": "Hello!"}]}
    window = start_self_check(window_of, team, document)
    # The keys of the walk open it, so that Backspace and the like don't act on the place that was open before.
    window.open_place("s1 of task t1")
    window.page.keyboard.press("Shift+K")
    expect(window.inspector).to_have_attribute("data-at", "/")
    window.page.keyboard.press("Backspace")
    expect(window.page.get_by_label("Environment")).to_be_visible()
    expect(window.chat).to_contain_text("s1")
    with window.saving():
        window.page.get_by_label("Environment").fill("2025-07-01")
    with window.saving():
        window.page.get_by_label("Message 1").fill("Good morning!")
    with window.saving():
        window.page.get_by_label("Language").select_option("zh")
    document = draft_of(team)
    assert (document["env_info"], document["language"]) == ("2025-07-01", "zh")
    assert document["context"] == [{"role": "user", "content": "Good morning!"}]


def test_a_warning_is_waived_with_a_reason(window_of, team):
    document = make_document()
    steps = document["tasks"][0]["steps"]
    for number in (2, 3):
        steps.insert(-1, deepcopy(steps[0]) | {"id": f"s{number}"})
        steps[-1]["depends_on"].append({"id": f"s{number}", "kind": "parameter"})
    document["tasks"][0]["policy"] = "multi_tool"
    window = start_self_check(window_of, team, document)
    page = window.page
    expect(page.locator("#toolbar")).to_contain_text("2 warnings")
    # At a place with a finding, the key leads to that finding, not past it.
    window.open_place("s3 of task t1")
    page.keyboard.press("]")
    expect(page.locator("#live")).to_contain_text("Finding 2 of 2")
    page.keyboard.press("]")
    expect(page.locator("#live")).to_contain_text("Finding 1 of 2")
    expect(page.locator("#inspector .finding-row")).to_be_focused()
    page.keyboard.press("Backspace")
    expect(page.locator("#toolbar")).to_contain_text("1 warning")
    page.keyboard.press("f")
    expect(page.locator("#i-head")).to_be_focused()
    window.inspector.locator("summary", has_text="Waive").click()
    reason = page.get_by_label("Why doesn’t it matter here?")
    reason.press_sequentially("The sky changes", delay=20)
    reason.press_sequentially(" within minutes.")
    with window.saving():
        page.get_by_role("button", name="Waive").click()
    expect(page.locator("#toolbar")).to_contain_text("No open issues · 1 waived")
    expect(window.inspector).to_contain_text("The sky changes within minutes.")
    page.locator("#i-head").focus()
    page.keyboard.press("a")
    page.wait_for_url("**/submit/**")
    # An approval without any answer is asked about once.
    page.get_by_role("radio", name="Approve").first.focus()
    page.keyboard.press("ControlOrMeta+Enter")
    # The second press of a double press is no answer.
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_text("No question is answered.")).to_be_visible()
    page.locator("[data-unanswered][data-asked]").wait_for()
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.locator("#toasts")).to_contain_text("You have finished all your items in this stage.")
    assert Review.objects.get().verdict == "fix"


def test_a_comment_is_one_comment_and_the_guideline_is_one_key_away(window_of, team):
    publish_guideline(actor=team.administrator, project=team.project, text="# Be *kind*", note="", seen=0)
    window = start_self_check(window_of, team)
    page = window.page
    window.open_place(CALL)
    window.open_panel("Comments")
    page.get_by_label("Your comment").press_sequentially("Is the sky ever clear?", delay=40)
    page.wait_for_timeout(0)
    with window.saving():
        page.get_by_role("button", name="Add comment").click()
    expect(window.inspector.get_by_role("article")).to_have_count(1)
    assert list(Comment.objects.values_list("anchor", "text")) == [("/tasks/t1/steps/s0", "Is the sky ever clear?")]
    page.locator("#i-head").focus()
    page.keyboard.press("h")
    guideline = page.locator("#guideline")
    expect(guideline.get_by_role("heading", name="Be kind")).to_be_visible()
    expect(guideline).to_contain_text("Every call and the answer serve the user’s request")
    page.keyboard.press("Escape")
    expect(guideline).to_be_hidden()


def test_errors_refuse_an_approval_and_say_where(window_of, team, page_problems):
    page_problems.allow("status of 422")
    window = start_self_check(window_of, team, broken(make_document()))
    page = window.page
    page.locator("#toolbar").get_by_role("button", name="Approve…").click()
    expect(page.get_by_role("heading", name="Fix before submitting")).to_be_visible()
    page.get_by_label("Note to the others (optional)").fill("Kept for later.")
    page.get_by_role("button", name="Submit and close").click()
    expect(page.get_by_role("alert")).to_contain_text("before approving")
    expect(page.locator("#reason")).to_have_value("Kept for later.")
    assert not Review.objects.exists()
    page.get_by_role("link", name="Go to findings").click()
    expect(window.inspector).to_contain_text("town")
    window.inspector.get_by_role("link", name="Go to step").first.click()
    expect(page.locator("#i-head")).to_contain_text("s0")
    window.submit("Escalate", reason="No such city.")
    assert Review.objects.get().reason == "No such city."


def test_a_fourth_error_is_added_named_and_kept(window_of, team, page_problems):
    page_problems.allow("ERR_INTERNET_DISCONNECTED|Failed to fetch")
    page = start_self_check(window_of, team).page
    page.keyboard.press("x")
    page.wait_for_url("**/submit/**")
    page.get_by_label("Reason").fill("Wrong all over.")
    page.get_by_role("button", name="Add another error").click()
    fourth = page.get_by_role("group", name="Error 4")
    expect(fourth.get_by_label("Error type")).to_be_focused()
    for row in page.get_by_role("group", name="Error").all():
        row.get_by_label("Error type").select_option(index=1)
    page.context.set_offline(True)
    fourth.get_by_label("Note").fill("The fourth.")
    page.wait_for_function("Object.values(localStorage).some((words) => words.includes('The+fourth'))")
    page.context.set_offline(False)
    page.reload()
    expect(page.get_by_role("group", name="Error 4").get_by_label("Note")).to_have_value("The fourth.")
    page.get_by_role("button", name="Submit and close").click()
    page.wait_for_url("**/")
    assert [one.note for one in Review.objects.get().errors.order_by("pk")] == ["", "", "", "The fourth."]


def test_skipping_and_giving_back_keep_the_draft(window_of, team):
    begin(team.project, [make_dialogue(team.project, external_id="two")])
    window = start_self_check(window_of, team)
    page = window.page
    expect(page.get_by_role("heading", level=1)).to_have_text("two")
    window.open_place(ANSWER)
    with window.saving():
        page.locator("#answer-text").fill("Begun.")
    page.locator("#toolbar summary", has_text="More").click()
    page.get_by_role("button", name="Skip for now").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("one")
    page.locator("#toolbar summary", has_text="More").click()
    page.get_by_role("button", name="Release").click()
    window.expect_home()
    assert not Claim.objects.filter(state="live").exists()
    window.take_next("Self-check, single round")
    window.page.locator("#toolbar summary", has_text="More").click()
    assert Draft.objects.filter(closed_at=None, content__contains="Begun.").count() == 1


def test_a_key_takes_the_last_skip_back_and_later_says_that_its_time_is_over(window_of, team):
    begin(team.project, [make_dialogue(team.project, external_id="two")])
    window = start_self_check(window_of, team)
    page = window.page
    for taken_back in (True, False):
        page.locator("#toolbar summary", has_text="More").click()
        page.get_by_role("button", name="Skip for now").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("one")
        if taken_back:
            page.keyboard.press("z")
            expect(page.get_by_role("heading", level=1)).to_have_text("two")
            page.clock.install()
            page.reload()
    undo = page.locator("#toasts").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    page.clock.run_for(16_000)
    expect(undo).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator("#toasts")).to_contain_text("The time for undoing this is over.")
    expect(page.get_by_role("heading", level=1)).to_have_text("one")
