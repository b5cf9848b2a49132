"""An expert settles a dispute without a mouse; its author is told, and the dashboard counts it."""

import pytest
from playwright.sync_api import expect

from annotator.models import Waiver
from annotator.services.dialogues.drafts import edit_draft
from reviews.models import ReviewDraft, Ruling, Slot
from reviews.services.statistics.all_counts import fold_all
from reviews.services.submission.workbench import open_workbench
from tests.factories import claim_and_submit, current, make_document, make_item
from tests.journeys.browser_window import hold
from tests.reviews.adjudication.test_disputes import three_places

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def disputed_three(window_of, team, *choices):
    """The settle page of a dispute in three places, with a choice and a error type at each."""
    item = make_item(team, "cross_check", make_document("x"))
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "fix", document=three_places(current(item)))
    page = window_of(team.senior).page
    page.goto("/")
    page.keyboard.press("n")
    page.wait_for_url("**/settle/")
    for number, choice in enumerate(choices, 1):
        place = page.locator(f"#place-{number}")
        place.locator(f"input[value='{choice}']").check()
        place.locator("select").first.select_option("other")
    return page


def test_a_dispute_is_settled_by_keys(window_of, team, page_problems):
    page_problems.allow("422")
    item = make_item(team, "cross_check", make_document("x"))
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "fix", document=three_places(current(item)))
    window = window_of(team.senior)
    page = window.page
    page.goto("/")
    page.keyboard.press("n")
    page.wait_for_url("**/settle/")
    progress = page.locator("#settle-progress")
    expect(progress).to_contain_text("0 of 3")
    # The tools open beside the places, and a search unfolds what it finds.
    page.keyboard.press("h")
    page.locator("#guideline").get_by_role("link", name="Tools").click()
    parameters = page.locator("#guideline pre").first
    expect(parameters).to_be_hidden()
    page.get_by_label("Search in this page").fill("city")
    expect(parameters).to_be_visible()
    page.get_by_label("Search in this page").fill("")
    expect(parameters).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#guideline")).to_be_hidden()
    # Letters choose nothing in a list that was not reached by its key.
    page.locator("#place-2 select").first.focus()
    page.keyboard.type("Unnatural")
    assert page.evaluate("document.activeElement.value") == ""
    page.keyboard.press("Escape")
    # The first place: the right side, its reason chosen by its first letters, and the same for all that follow.
    page.keyboard.press("k")
    expect(page.locator("#place-1")).to_be_focused()
    page.keyboard.press("2")
    page.keyboard.press("r")
    page.keyboard.type("Unnatural")
    assert page.evaluate("document.activeElement.selectedOptions[0].text.trim()") == "Unnatural message"
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(progress).to_contain_text("1 of 3")
    expect(page.locator("#no-reason-2")).to_have_text("As above")
    # Sent too early, it names the open places, and keeps to those that still are.
    page.keyboard.press("ControlOrMeta+Enter")
    refused = page.locator("#refused-decision")
    expect(refused).to_contain_text("2 of 3 are still open")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("1")
    expect(progress).to_contain_text("2 of 3")
    expect(refused).to_contain_text("1 of 3 are still open")
    expect(page.locator("#note-2")).to_contain_text("Same reason as place 1: Unnatural message")
    # The third place gets words of its own.
    page.keyboard.press("j")
    page.keyboard.press("3")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("It is clear, 18 degrees in Ghent c.")
    expect(progress).to_contain_text("3 of 3")
    expect(page.locator("#outcome")).to_contain_text("Ready to settle.")
    expect(refused).to_have_text("")
    # A click leads to the same field.
    page.keyboard.press("Escape")
    page.locator("#place-3").get_by_text("Write a third version").click()
    expect(page.locator("#third-3")).to_be_focused()
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    page.keyboard.type("x.")
    page.keyboard.press("Escape")
    # Leaving at once and coming back loses nothing.
    page.goto("/")
    page.get_by_role("link", name=item.external_id).click()
    page.wait_for_url("**/settle/")
    expect(progress).to_contain_text("3 of 3")
    expect(page.locator("#third-3")).to_have_value("It is clear, 18 degrees in Ghent x.")
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_contain_text("Use the left side")
    expect(page.locator("#shortcuts")).not_to_contain_text("Answer the rest of the task yes")
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()
    # A click says where one is: keys are taken at once, however late the search of the list lost the focus.
    page.get_by_role("heading", level=1).click()
    # A key alone neither rejects nor settles, and a rejection asks for its reason first: what is typed is text.
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.keyboard.press("x")
    expect(page.locator("#reason")).to_be_focused()
    expect(page.locator("#toasts")).to_contain_text("Enter a reason.")
    page.keyboard.type("scx")
    expect(page.locator("#reason")).to_have_value("scx")
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.keyboard.press("c")
    assert asked == [
        "Reject the dialogue? What you settled or corrected is not used, and this can’t be undone.",
        "Settle and close? This can’t be undone.",
    ]
    # The reason of a rejection is one key away, and Escape leads out of it again.
    page.keyboard.press("Shift+R")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("ControlOrMeta+Enter")
    window.expect_home()
    item.refresh_from_db()
    assert item.status == "verified"
    task = current(item)["tasks"][0]
    assert task["user_message"] == "Weather in Ghent x?"
    assert task["steps"][1]["text"] == "It is clear, 18 degrees in Ghent x."
    rulings = dict(Ruling.objects.values_list("choice", "reason_kind"))
    assert rulings == dict.fromkeys(("right", "left", "third"), "message_unnatural")

    # The author of the error learns what was fixed, where and why.
    fold_all()
    hers = window_of(team.annotator).page
    hers.goto("/")
    hers.get_by_role("link", name="All notices").click()
    expect(hers.get_by_role("heading", level=1)).to_have_text("Notices")
    expect(hers.locator("main")).to_contain_text(item.external_id)
    hers.goto(f"/p/{team.project.slug}/feedback/")
    expect(hers.locator("main")).to_contain_text("Unnatural message")
    hers.locator("summary", has_text="Dispute").first.click()
    hers.get_by_label("Why is the decision wrong?").fill("It was asked for.")
    hers.get_by_role("button", name="Send dispute").click()
    expect(hers.locator("main")).to_contain_text("It was asked for.")
    page.goto(f"/p/{team.project.slug}/feedback/?of=decided")
    page.get_by_label("Your answer to the dispute").fill("No: nobody would ask so.")
    # Neither of two answers is the usual one.
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.locator("#toasts")).to_contain_text("Choose one of the buttons.")
    expect(page.get_by_role("button", name="Accept the dispute")).to_be_focused()
    page.get_by_role("button", name="Keep the decision").click()
    expect(page.locator("main")).to_contain_text("No: nobody would ask so.")
    # And the dashboard knows of one more item at its end.
    seen = window_of(team.administrator).page
    seen.goto(f"/p/{team.project.slug}/")
    seen.get_by_role("link", name="Statistics").first.click()
    seen.get_by_role("link", name="Accuracy").click()
    verified = seen.locator("dt", has_text="Verified").locator("xpath=following-sibling::dd[1]")
    expect(verified.first).to_have_text("1")


def test_the_reason_of_a_waiver_that_is_not_made_yet_outlives_a_reload_and_enter(window_of, team, page_problems):
    """The page said that it was kept, and came back without it."""
    page_problems.allow("Failed to fetch|ERR_INTERNET_DISCONNECTED")
    page = disputed_three(window_of, team, "left", "left", "third")
    page.locator("#third-3").fill("TODO: the weather")
    reason = page.get_by_label("Why doesn’t it matter here?")

    page.get_by_text("Waive this warning", exact=True).click()
    # Leaving the field above sent its words, too: the answer to that is another one.
    with page.expect_response(lambda response: "title+of+a+film" in (response.request.post_data or "")):
        reason.fill("It is the title of a film.")
    expect(page.locator("#settle-note")).to_have_text("Saved")
    # htmx starts when it likes: here before any other script is there.
    page.add_init_script(
        "let own; Object.defineProperty(globalThis, 'htmx', {get: () => own, set: (one) => (own = one).initialize()})"
    )
    page.reload()
    expect(reason).to_be_visible()
    expect(reason).to_have_value("It is the title of a film.")
    with page.expect_navigation():
        page.locator("#place-1").get_by_label("Details").press("Enter")
    expect(page.locator("#toasts")).to_contain_text("To waive the warning, press “Waive” next to the reason.")
    expect(reason).to_have_value("It is the title of a film.")
    assert not Waiver.objects.exists()
    # The form sends itself after an outage; what a button in it was to do, it does not.
    page.context.set_offline(True)
    page.get_by_role("button", name="Waive", exact=True).click()
    expect(page.locator(".toasts")).to_contain_text("Nothing was changed. Try again.")
    expect(page.locator(".toasts")).not_to_contain_text("What you filled in")
    page.context.set_offline(False)
    page.get_by_role("button", name="Waive", exact=True).click()
    expect(page.locator("#outcome")).to_contain_text("Ready to settle.")
    assert Waiver.objects.get().reason == "It is the title of a film."


def test_without_places_a_warning_is_waived_by_keys_and_own_changes_are_listed(window_of, team, check_accessibility):
    """What was typed as its reason ran as keys, and skipped the item."""
    item = make_item(team, "cross_check", make_document("x"))
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "escalate", reason="See the answer.")
    window = window_of(team.senior)
    page = window.page
    page.goto("/")
    page.keyboard.press("n")
    page.wait_for_url("**/settle/")
    expect(page.locator("#own-changes")).to_have_count(0)
    slot = Slot.objects.get(holder=team.senior)
    draft = open_workbench(actor=team.senior, slot_id=slot.public_id).draft
    edit = {"op": "set", "anchor": "/tasks/t1/steps/s1/text", "value": "TODO: the weather"}
    edit_draft(actor=team.senior, draft=draft, operation=edit, seen=draft.version)
    page.reload()
    expect(page.locator("#own-changes")).to_have_text("You changed 1 place")
    expect(page.locator("main .changes")).to_contain_text("TODO: the weather")
    expect(page.get_by_label("Note to both reviewers")).to_be_visible()
    expect(page.locator("#outcome")).to_contain_text("TODO")
    check_accessibility(page)
    page.keyboard.press("Shift+W")
    page.keyboard.type("scx It is the title of a film.")
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).to_contain_text("No open issues")
    assert Waiver.objects.get().reason == "scx It is the title of a film."
    page.keyboard.press("ControlOrMeta+Enter")
    window.expect_home()
    item.refresh_from_db()
    assert item.status == "verified"
    assert current(item)["tasks"][0]["steps"][1]["text"] == "TODO: the weather"


def test_enter_in_the_reason_of_a_waiver_waives_and_leaves_the_reason_typed_beside_it(window_of, team):
    """Enter kept the form, and “Kept” was all that it said; the answer to one waiver emptied the next one's reason."""
    page = disputed_three(window_of, team, "third", "left", "third")
    page.locator("#third-1").fill("TODO: weather in Ghent x?")
    page.locator("#third-3").fill("TODO: the weather")
    reasons = page.get_by_label("Why doesn’t it matter here?")
    expect(page.get_by_text("Waive this warning", exact=True)).to_have_count(2)
    for one in page.get_by_text("Waive this warning", exact=True).all():
        one.click()
    reasons.first.fill("It is the title of a film.")
    release_requests = hold(page, lambda: reasons.first.press("Enter"), "**/keep/")
    reasons.last.press_sequentially("It is the title of a song.")
    release_requests()
    expect(reasons).to_have_count(1)
    expect(reasons).to_have_value("It is the title of a song.")
    assert Waiver.objects.get().reason == "It is the title of a film."
    reasons.press("Enter")
    expect(page.locator("#outcome")).to_contain_text("Ready to settle.")
    assert Waiver.objects.count() == 2


def test_a_ruling_that_could_not_be_kept_is_not_called_kept(window_of, team, page_problems):
    """“Kept” stood beside it from the time before; and the page of a review session was wider than a narrow window."""
    page_problems.allow("Failed to fetch|ERR_INTERNET_DISCONNECTED|502")
    item = make_item(team, "cross_check", make_document("x"))
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "fix", document=three_places(current(item)))
    other = make_item(team, "expert", make_document("y"))
    page = window_of(team.senior, width=320).page
    page.goto(f"/p/{team.project.slug}/review-sessions/cross_check-1/")
    page.get_by_label("Ann2").check()
    page.get_by_role("button", name="Start session").click()
    page.get_by_role("row", name=other.external_id).get_by_role("button").click()
    page.wait_for_url("**/settle/")
    expect(page.get_by_role("button", name="Previous")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(item.external_id)
    page.locator("#place-1 input[value=left]").check()
    expect(page.locator("#settle-note")).to_have_text("Saved")
    page.context.set_offline(True)
    page.locator("#place-2 input[value=right]").check()
    expect(page.locator(".toasts")).to_contain_text("No connection to the server.")
    expect(page.locator("#settle-note")).to_be_empty()
    page.locator("#place-2 select").first.select_option("other")
    expect(page.locator("#settle-progress strong")).to_have_text("0 of 3")
    page.context.set_offline(False)
    expect(page.locator("#settle-note")).to_have_text("Saved")
    expect(page.locator("#settle-progress strong")).to_have_text("1 of 3")
    expect(page.locator(".toasts")).to_have_text("")
    with page.expect_response(lambda response: (response.request.post_data or "").count("&ruling%3A") == 3):
        page.locator("#place-3 input[value=left]").check()
    expect(page.locator("#settle-note")).to_have_text("Saved")
    assert len(ReviewDraft.objects.get(slot__dialogue=item).form["rulings"]) == 3
    # A server that fails says so once, and the form is sent again as well.
    page.route("**/settle/keep/", lambda route: route.fulfill(status=502))
    page.locator("#place-3 input[value=right]").check()
    failed = "Server error. Your input is kept in this browser"
    expect(page.locator(".toasts").get_by_text("Server error.")).to_have_count(1)
    expect(page.locator(".toasts")).to_contain_text(failed)
    page.unroute("**/settle/keep/")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#settle-note")).to_have_text("Saved")
