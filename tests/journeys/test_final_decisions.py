"""What can't be taken back is asked first, and a key pressed too often decides nothing."""

import re

import pytest
from playwright.sync_api import expect

from benchmark.models import Release
from reviews.core.protocols import load_preset
from reviews.models import Review, Slot
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.sampling.draws import close_population_and_draw
from tests.factories import claim_and_submit, make_item
from tests.journeys.workspaces import open_workspace
from tests.reviews.gold.gold_team import gold_team, make_gold

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Presses `x` twice in one moment. Returns whether each was taken as a key, and where the focus is.
PRESS_TWICE = """() => {
  const press = () => {
    const event = new KeyboardEvent("keydown", {key: "x", bubbles: true, cancelable: true});
    document.activeElement.dispatchEvent(event);
    return event.defaultPrevented;
  };
  return [press(), press(), document.activeElement.id];
}"""


@pytest.fixture
def audited(team):
    """Two items of the audit, which everybody approved: one senior reviewer decides."""
    preset = load_preset("c3")
    expert = preset.stages[-1]
    entry = expert.entry.model_copy(update={"fraction": 1.0})
    stages = (*preset.stages[:-1], expert.model_copy(update={"entry": entry}))
    adopt_protocol(
        actor=team.administrator, project=team.project, protocol=preset.model_copy(update={"stages": stages})
    )
    for name in ("one", "two"):
        item = make_item(team, "cross_check", external_id=name)
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    return team


def test_a_release_is_frozen_after_a_question_which_names_the_gold_items(window_of, transactional_db):
    team = gold_team()
    make_gold(team)
    page = window_of(team.administrator).page
    asked: list[str] = []
    answers = [False, False, True]
    page.on("dialog", lambda one: (asked.append(one.message), one.accept() if answers.pop(0) else one.dismiss()))
    page.goto(f"/p/{team.project.slug}/releases/")
    leave_out = page.get_by_label("Leave out the dialogues of gold items in use")
    expect(leave_out).to_be_checked()
    page.get_by_label("Version").fill("1.0")
    with page.expect_event("dialog"):
        page.keyboard.press("Enter")
    leave_out.uncheck()
    with page.expect_event("dialog"):
        page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_label("Version")).to_have_value("1.0")
    assert not Release.objects.exists()
    leave_out.check()
    page.get_by_role("button", name="Freeze").click()
    page.wait_for_url("**/releases/*/")
    question = "Freeze a release? It can’t be changed or deleted, and its version can’t be used again.\n\nAt most"
    spares = f"{question} 0 dialogues go in."
    retires = f"{question} 1 dialogue goes in. 1 gold item is retired, because anyone can then read its answer."
    assert asked == [spares, retires, spares]
    assert Release.objects.get().leave_out_gold


def test_a_senior_reviewer_is_asked_before_a_final_verdict_and_sends_once(window_of, audited):
    window = open_workspace(window_of, audited, audited.senior, stage="expert")
    page = window.page
    first = page.url
    asked: list[str] = []
    answers = [False, False, True]
    page.on("dialog", lambda one: (asked.append(one.message), one.accept() if answers.pop(0) else one.dismiss()))
    page.keyboard.press("z")
    expect(page.locator("#toasts")).to_contain_text("There is no review that you can take back.")
    # The same key twice opens the Review tab, and no more.
    page.keyboard.press("ControlOrMeta+Enter")
    page.wait_for_url("**/submit/?verdict=approve**")
    page.keyboard.press("ControlOrMeta+Enter")
    approve = page.get_by_role("radio", name="Approve", exact=True)
    expect(approve).to_be_checked()
    assert asked == []
    page.keyboard.press("a")
    with page.expect_event("dialog"):
        page.keyboard.press("ControlOrMeta+Enter")
    assert asked == ["Approve the dialogue? Your review ends this stage, so this can’t be undone."]
    assert page.evaluate(PRESS_TWICE) == [True, True, "reason"]
    expect(page.locator("#reason")).to_have_value("")
    page.locator("#reason").fill("It asks for nothing that a tool could do.")
    with page.expect_event("dialog"):
        page.keyboard.press("ControlOrMeta+Enter")
    assert asked[1:] == ["Reject the dialogue? What you corrected in it is not used, and this can’t be undone."]
    # What was chosen last is chosen after a reload, too, whatever opened the Review tab.
    expect(page).to_have_url(re.compile("verdict=reject"))
    page.reload()
    expect(page.get_by_role("radio", name="Reject", exact=True)).to_be_checked()
    expect(page.locator("#reason")).to_have_value("It asks for nothing that a tool could do.")
    expert = Review.objects.filter(person=audited.senior)
    assert not expert.exists()
    # Pressed again and again, the key sends one review and does nothing to the next item.
    approve.check()
    for _ in range(3):
        page.keyboard.press("ControlOrMeta+Enter")
    expect(page.locator("#toasts")).to_contain_text("submitted. Its stage has ended")
    assert "/submit/" not in page.url
    assert page.url != first
    assert [one.verdict for one in expert] == ["approve"]
    assert Slot.objects.filter(stage="expert", state="claimed", holder=audited.senior).count() == 1


def test_the_key_that_leads_back_to_a_dispute_does_not_settle_it(window_of, team, page_problems):
    page_problems.allow("status of 422")
    make_item(team, "expert")
    page = open_workspace(window_of, team, team.senior, stage="expert").page
    page.get_by_role("link", name="Edit the dialogue").click()
    expect(page.get_by_role("button", name="Back to the dispute")).to_be_visible()
    for _ in range(2):
        page.keyboard.press("ControlOrMeta+Enter")
    page.wait_for_url("**/settle/**")
    # Had the second one been sent, the page would say what is open.
    page.keyboard.press("j")
    expect(page.locator("#place-1")).to_be_focused()
    expect(page.locator("#refused-decision")).to_have_text("")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.locator("#refused-decision")).to_contain_text("Settle every place")
