"""What is typed into the editors of the protocol and the guideline is kept in the browser until it is stored."""

import pytest
from playwright.sync_api import expect

from annotator.models import Guideline
from annotator.services.projects import publish_guideline
from reviews.models import ProtocolVersion

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def offers_kept_input(page, address):
    page.goto(address)
    expect(page.locator("#draft-question")).to_be_focused()
    return page.get_by_role("button", name="Continue with them")


def test_the_guideline_editor_keeps_what_is_typed_until_it_is_published(window_of, team, check_accessibility):
    page = window_of(team.administrator).page
    address = f"/p/{team.project.slug}/guideline/edit/"
    page.goto(address)
    text = page.get_by_label("Text (Markdown)")
    text.fill("# Rules\n\nNo guesses.")
    page.locator("header, nav").get_by_role("link", name="Dialogues").first.click()
    page.wait_for_url("**/dialogues/")
    # Somebody publishes in the meantime: the kept text does not replace theirs unseen.
    publish_guideline(actor=team.administrator, project=team.project, text="# Theirs", note="", seen=0)
    go_on = offers_kept_input(page, address)
    expect(text).to_have_value("# Theirs")
    check_accessibility(page)
    # Nothing is sent before that is answered.
    page.keyboard.press("ControlOrMeta+Enter")
    go_on.click()
    expect(text).to_have_value("# Rules\n\nNo guesses.")
    expect(page.locator("main")).to_contain_text("Version 1 was published after you started.")
    text.press("Escape")
    expect(page.get_by_role("heading", name="Edit guideline")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url(lambda url: "/guideline/" not in url)
    offers_kept_input(page, address).click()
    expect(text).to_have_value("# Rules\n\nNo guesses.")
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url(lambda url: url.endswith("/guideline/"))
    expect(page.locator("#toasts")).to_contain_text("Guideline published.")
    assert Guideline.objects.get(number=2).text == "# Rules\n\nNo guesses."
    page.goto(address)
    expect(text).to_have_value("# Rules\n\nNo guesses.")
    expect(page.locator("#draft-question")).to_be_hidden()


def test_the_protocol_editor_keeps_added_rows_and_typed_json_and_discards_on_request(window_of, team):
    page = window_of(team.administrator).page
    address = f"/p/{team.project.slug}/protocol/edit/"
    page.goto(address)
    stages = page.locator("#stages > section")
    before = stages.count()
    page.get_by_role("button", name="Add stage").click()
    expect(stages).to_have_count(before + 1)
    title = page.get_by_label("Title").last
    title.fill("Second opinion")
    page.get_by_text("Edit as JSON").click()
    page.locator("#f-json").locator("xpath=ancestor::code-editor").locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text('{"half": ')
    title.focus()
    title.press("Escape")
    expect(stages.last.get_by_role("heading").first).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url(lambda url: "/protocol/" not in url)
    offers_kept_input(page, address).click()
    expect(stages).to_have_count(before + 1)
    expect(title).to_have_value("Second opinion")
    expect(page.locator("#f-json")).to_have_value('{"half": ')
    page.get_by_role("link", name="Guideline").first.click()
    page.wait_for_url("**/guideline/")
    offers_kept_input(page, address)
    page.get_by_role("button", name="Discard them").click()
    expect(page.locator("#draft-question")).to_be_hidden()
    expect(stages).to_have_count(before)
    # What is adopted is no longer kept.
    page.get_by_label("Title").first.fill("First look")
    page.get_by_role("button", name="Review changes").click()
    page.get_by_role("button", name="Adopt", exact=True).click()
    page.wait_for_url(lambda url: url.endswith("/protocol/"))
    assert ProtocolVersion.objects.filter(project=team.project).latest("number").number == 2
    page.goto(address)
    expect(page.get_by_label("Title").first).to_have_value("First look")
    expect(page.locator("#draft-question")).to_be_hidden()


def test_what_is_typed_into_a_refused_form_is_kept_when_the_page_is_reloaded(window_of, team, page_problems):
    page_problems.allow("status of 422")
    page = window_of(team.administrator).page
    page.goto(f"/p/{team.project.slug}/protocol/edit/")
    limit = page.get_by_label("Alarm limit")
    limit.fill("-5")
    page.get_by_role("button", name="Review changes").click()
    expect(page.locator("main")).to_contain_text("Enter a share from 0 % to 100 %")
    page.reload()
    # Nothing was typed since: there is nothing to choose.
    expect(limit).to_have_value("-5")
    expect(page.locator("#draft-question")).to_be_hidden()
    limit.fill("21")
    page.reload()
    expect(page.locator("#draft-question")).to_be_focused()
    page.get_by_role("button", name="Continue with them").click()
    expect(limit).to_have_value("21")
