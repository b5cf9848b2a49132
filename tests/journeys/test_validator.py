"""A validator on its workbench: written with an error, found, fixed; its case passes both stages and is exported."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotator.models import Dialogue, Job, JobState, Project
from annotator.services.jobs import jobs
from annotator.services.toolsets.storing import ensure_toolset_revision
from benchmark.core.archives.verifying import verify_archive
from reviews.services.protocols.versions import adopt_preset
from tests.annotator.case_documents import CODE, TOOLS, case
from tests.factories import begin, claim_and_submit, make_dialogue
from tests.journeys.browser_window import BrowserWindow

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LENIENT = "def validate_punctuation(response):\n    return len(response) > 0, 'Say something.'\n"
MENDED = f"{CODE}\n# A question mark ends no answer.\n"


def work_off() -> None:
    """As the worker does."""
    while job := Job.objects.filter(state=JobState.QUEUED).order_by("pk").first():
        jobs.run(job.pk)


def write(page: Page, code: str) -> None:
    """Replace the code. Emptied first: typed over coloured words, Chromium would keep their style as an attribute."""
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(code)


def test_a_faulty_validator_is_seen_and_mended_and_its_case_released(window_of, team, check_accessibility, tmp_path):
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    one, two, three, *_ = team.annotators
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    begin(team.project, [make_dialogue(team.project, case(), toolset=toolset, external_id="boat")])
    item = Dialogue.objects.get()
    window = window_of(one)
    window.take_next("Data verification")
    window.submit("Approve")
    claim_and_submit(two, item, "approve")
    look_at_the_code(window_of(three), check_accessibility)
    for person in (two, one):
        claim_and_submit(person, item, "approve")
    item.refresh_from_db()
    assert item.status == "verified"
    released_and_imported_again(window_of(team.administrator), team.project, tmp_path)


def look_at_the_code(window: BrowserWindow, check_accessibility: Any) -> None:
    page = window.page
    window.take_next("Code verification")
    page.get_by_role("link", name="Open validator of constraint 5").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Validator of constraint 5")

    write(page, LENIENT)
    page.get_by_role("button", name="Save and try").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    work_off()
    # The page finds out by itself.
    row = page.get_by_role("row").filter(has_text="With another ending")
    expect(row).to_contain_text("Too lenient")
    row.locator("summary").click()
    expect(row).to_contain_text("at 21:40 and so on")
    check_accessibility(page)

    # The finding leads back here by keyboard. Its row stays in view when the editors above it have grown.
    page.keyboard.press("e")
    page.wait_for_url("**/work/*/?**")
    page.keyboard.press("]")
    row = page.locator("#inspector .finding-row:focus")
    expect(row).to_contain_text("validator")
    expect(page.locator("#inspector code-editor .cm-content").first).to_be_visible()
    expect(row).to_be_in_viewport()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/validators/**")
    page.keyboard.press("v")
    expect(page.locator(".cm-content")).to_be_focused()
    write(page, MENDED)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_text("Queued")).to_be_visible()
    work_off()
    expect(page.get_by_text("Trial passed")).to_be_visible()
    page.locator(".page-head .actions a").click()
    expect(page.locator("#toolbar")).to_contain_text("No issues")
    window.submit("Approve with fix", reason="The code says which sign it wants.")


def released_and_imported_again(window: BrowserWindow, project: Project, folder: Path) -> None:
    page = window.page
    page.goto(reverse("release-list", args=[project.slug]))
    page.get_by_label("Version").fill("1.0")
    page.get_by_label("Native format").select_option("cctu")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Freeze").click()
    page.wait_for_url("**/releases/*/")
    work_off()
    link = page.get_by_role("link", name=re.compile("^Download"))
    expect(link).to_be_visible()
    with page.expect_download() as download:
        link.click()
    archive = folder / download.value.suggested_filename
    download.value.save_as(archive)
    assert verify_archive(archive).problems == []

    page.goto(reverse("import-list", args=[project.slug]))
    page.get_by_label("Candidate file").set_input_files(archive)
    page.get_by_label("Format").select_option("cctu")
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url("**/imports/*/")
    work_off()
    expect(page.locator("#import-state").get_by_text("Nothing to import")).to_be_visible()
    unchanged = page.locator("#import-state dt", has_text="Unchanged").locator("xpath=following-sibling::dd[1]")
    expect(unchanged).to_have_text("1")
    assert Dialogue.objects.count() == 1


def test_code_that_is_not_saved_outlives_whatever_else_one_does_on_the_workbench(window_of, team):
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    begin(team.project, [make_dialogue(team.project, case(), toolset=toolset, external_id="boat")])
    window = window_of(team.annotator)
    window.take_next("Data verification")
    page = window.page
    page.get_by_role("link", name="Open validator of constraint 5").click()
    form, code = page.locator("form[data-words=stored]"), page.locator(".cm-content")
    write(page, LENIENT)
    page.locator("#typed-text").fill("At 21:40?")
    page.get_by_role("button", name="Try this text").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    expect(code).to_contain_text("Say something.")
    expect(form).to_contain_text("Not saved.")
    expect(page.locator("#typed-text")).to_have_value("")
    # A trial that ends reloads the page, even while somebody is typing.
    page.get_by_label("Function").fill("validate_punctuation")
    page.locator("#typed-text").fill("At 21:41?")
    work_off()
    expect(page.locator("#typed")).to_contain_text("At 21:40?")
    expect(code).to_contain_text("Say something.")
    expect(page.locator("#typed-text")).to_have_value("At 21:41?")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(form).not_to_contain_text("Not saved.")
    page.reload()
    expect(code).to_contain_text("Say something.")
    expect(form).not_to_contain_text("Not saved.")
    write(page, "def nothing")
    page.reload()
    form.get_by_role("button", name="Discard").click()
    expect(code).to_contain_text("Say something.")
    page.reload()
    expect(code).to_contain_text("Say something.")
