"""Single tasks in the browser: imported, run, corrected, verified, released, run again, and imported again."""

import io
import json
import re
import zipfile

import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import expect

from annotator.models import Dialogue
from annotator.services.projects import create_project
from reviews.services.protocols.versions import adopt_preset
from tests.benchmark.releases.test_single_tasks import SHELF, TOOLS, record
from tests.factories import claim_and_submit
from tests.journeys.test_validator import work_off

pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=20)]


def archive():
    """Two tasks that name their toolset: one takes a book from a locked shelf."""
    data = io.BytesIO()
    faulty = record(id="shelf_1", question="Take Emma, and look.", ground_truth=["take(title='Emma')", "look()"])
    rows = [{**one, "toolset": "shelf"} for one in (record(), faulty)]
    for row in rows:
        del row["tools"], row["implementation"]
    toolset = {"id": "shelf", "source_file": "shelf.py", "class": "Shelf", "load": "load", "functions": TOOLS}
    with zipfile.ZipFile(data, "w") as target:
        target.writestr("single_tasks.jsonl", "\n".join(map(json.dumps, rows)))
        target.writestr("toolsets.jsonl", json.dumps(toolset))
        target.writestr("shelf.py", SHELF)
    return {"name": "shelf.zip", "mimeType": "application/zip", "buffer": data.getvalue()}


def import_file(page, project, file):
    page.goto(reverse("import-list", args=[project.slug]))
    page.get_by_label("Candidate file").set_input_files(file)
    page.get_by_label("Format").select_option("async")
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url("**/imports/*/")
    work_off()


def test_faulty_tasks_are_run_mended_verified_released_and_run_again(
    window_of, team, check_accessibility, tmp_path, capsys
):
    adopt_preset(actor=team.administrator, project=team.project, preset="async")
    office = window_of(team.administrator)
    import_file(office.page, team.project, archive())
    right, faulty = Dialogue.objects.order_by("external_id")
    claim_and_submit(team.annotator, right, "approve")

    window = window_of(team.annotator)
    window.take_next("Trajectory validation")
    page = window.page
    expect(page.get_by_text("It succeeds after unlock().")).to_be_visible()
    page.keyboard.press("y")
    expect(page.get_by_role("heading", level=1)).to_have_text("Run of shelf_1")
    check_accessibility(page)
    page.get_by_role("button", name="Add it and run").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    work_off()
    # The page finds out by itself, and shows what each call changed.
    expect(page.get_by_text("All calls return")).to_be_visible()
    expect(page.locator("ins").first).to_have_text("true")
    # What is typed outlives a reload, and is run with the keyboard.
    write_calls = page.locator("#run-form .cm-content").first
    write_calls.click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text("unlock()\ntake('Dracula')")
    page.reload()
    expect(write_calls).to_contain_text("Dracula")
    page.locator("#run-form .cm-content").first.click()
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_text("Queued")).to_be_visible()
    work_off()
    expect(page.get_by_text("Calls fail")).to_be_visible()
    expect(page.get_by_text("Exception", exact=True)).to_be_visible()
    # The server has stored it with names of arguments, and the page shows that.
    expect(write_calls).to_contain_text("take(title='Dracula')")
    expect(page.get_by_text("Not saved.")).to_be_hidden()
    page.locator(".page-head .actions a").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#toolbar")).to_contain_text("No issues")
    window.submit("Approve with fix", reason="The shelf was locked.")
    # The first round finds an error, so the second takes both again, and finds none.
    draw(office, "Round 1: 2 of 2 items drawn.")
    expect(office.page.get_by_text("one person reviews each of its items")).to_be_visible()
    check_accessibility(office.page)
    claim_and_submit(team.annotators[1], right, "approve")
    faulty.refresh_from_db()
    clearer = faulty.head.document()
    clearer["tasks"][0]["user_message"] = "Open the shelf, take Emma, and look."
    claim_and_submit(team.annotators[1], faulty, "fix", document=clearer)
    work_off()
    office.page.reload()
    expect(office.page.get_by_role("rowheader", name="2", exact=True)).to_be_visible()
    for one in (right, faulty):
        claim_and_submit(team.annotators[2], one, "approve")
    work_off()
    assert set(Dialogue.objects.values_list("status", flat=True)) == {"verified"}

    compose_and_play(office, window, team, check_accessibility)
    page = office.page
    page.goto(reverse("release-list", args=[team.project.slug]))
    page.get_by_label("Version").fill("1.0")
    page.get_by_label("Native format").select_option("async")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Freeze").click()
    page.wait_for_url("**/releases/*/")
    work_off()
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("^Download")).click()
    released = tmp_path / download.value.suggested_filename
    download.value.save_as(released)
    call_command("verify_release", str(released), "--execute")
    assert "Run again: 2 single tasks" in capsys.readouterr().err
    import_file(page, team.project, released)
    expect(page.locator("#import-state").get_by_text("Nothing to import")).to_be_visible()
    # In another project, everything arrives as it was.
    other = create_project(actor=team.administrator, name="Second")
    import_file(page, other, released)
    ours, theirs = (
        dict(Dialogue.objects.filter(project=one).values_list("external_id", "content_hash"))
        for one in (team.project, other)
    )
    assert len(ours) == 3
    assert ours == theirs
    assert not Dialogue.objects.filter(project=other, error_count__gt=0).exists()


def draw(office, sentence):
    """Draw a round on the project's page; the next one is drawn when all its items are settled."""
    office.page.goto(reverse("project", args=[Dialogue.objects.first().project.slug]))
    office.page.once("dialog", lambda dialog: dialog.accept())
    office.page.get_by_role("button", name=re.compile("^Draw a sample from")).click()
    expect(office.page.locator("#toasts")).to_contain_text(sentence)


def compose_and_play(office, window, team, check_accessibility):
    """Draw the one composite that there is, play it under delays, run a model's messages, and verify it."""
    page = office.page
    page.goto(reverse("composite-list", args=[team.project.slug]))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("row", name=re.compile("library × library"))).to_contain_text("1")
    check_accessibility(page)
    page.get_by_role("button", name="Draw and import").click()
    page.wait_for_url("**/imports/*/")
    work_off()
    window.take_next("Trajectory validation")
    page = window.page
    expect(page.get_by_role("heading", level=1)).to_have_text("similar2_1_000")
    page.keyboard.press("y")
    expect(page.get_by_text("All tasks solved")).to_be_visible()
    expect(page.get_by_role("heading", name="The reference solution, delay 1")).to_be_visible()
    check_accessibility(page)
    page.get_by_label("Delay in rounds").select_option("2")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("heading", name="The reference solution, delay 2")).to_be_visible()
    expect(page.get_by_text("Still waiting for:").first).to_be_visible()
    said = {"id": "shelf_0", "func_name": "take", "params": {"title": "Emma"}}
    page.get_by_role("textbox", name="Messages").fill(f"{json.dumps(said)}\nI am done.")
    page.get_by_role("button", name="Run the calls").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    work_off()
    expect(page.get_by_text("Not all tasks solved")).to_be_visible()
    expect(page.get_by_text("The message is not one JSON object of the agreed form")).to_be_visible()
    expect(page.get_by_text("The messages ended before the dialogue did.")).to_be_visible()
    page.keyboard.press("e")
    window.submit("Approve")
    draw(office, "1 of 1 items drawn.")
    claim_and_submit(team.annotators[1], Dialogue.objects.get(external_id="similar2_1_000"), "approve")
    work_off()
    assert set(Dialogue.objects.values_list("status", flat=True)) == {"verified"}
