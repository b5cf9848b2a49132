"""A validator on its workbench: written wrong, seen to be wrong, mended, handed in."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotator.models import Dialogue, Job, JobState
from annotator.services import jobs, trials
from annotator.services.revisions import ensure_toolset_revision
from reviews.models import Review
from reviews.services.claims import claim_slot
from tests.annotator.case_documents import CODE, TOOLS, case
from tests.factories import begin, make_dialogue, open_slot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LENIENT = "def validate_punctuation(response):\n    return len(response) > 0, 'Say something.'\n"


def work_off() -> None:
    """As the worker does."""
    for job in Job.objects.filter(kind=trials.KIND, state=JobState.QUEUED):
        jobs.run(job.pk)


def write(page: Page, code: str) -> None:
    """Replace the code. Emptied first: typed over coloured words, Chromium would keep their style as an attribute."""
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(code)


def test_a_faulty_validator_is_seen_mended_and_submitted(desk_of, team, check_accessibility):
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    begin(team.project, [make_dialogue(team.project, case(), toolset=toolset)])
    slot = open_slot(Dialogue.objects.get())
    claim_slot(actor=team.annotator, slot=slot)
    desk = desk_of(team.annotator)
    page = desk.page
    page.goto(reverse("workspace", args=[slot.public_id]))
    page.get_by_role("link", name="Workbench of the validator of constraint 5").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Validator of constraint 5")

    write(page, LENIENT)
    page.get_by_role("button", name="Save and try").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    work_off()
    # The page finds out by itself.
    row = page.get_by_role("row").filter(has_text="With another end")
    expect(row).to_contain_text("Survives")
    row.locator("summary").click()
    expect(row).to_contain_text("at 21:40 and so on")
    check_accessibility(page)

    write(page, CODE)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    work_off()
    expect(page.get_by_text("Passes its trial")).to_be_visible()
    page.locator(".page-head .actions a").click()
    expect(page.locator("#toolbar")).to_contain_text("Nothing blocks")
    page.get_by_role("button", name="Approve…").click()
    page.get_by_role("button", name="Submit and stop").click()
    page.wait_for_url("**/")
    assert Review.objects.get().verdict == "approve"
